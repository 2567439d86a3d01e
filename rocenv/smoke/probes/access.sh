# /// probe
# summary: opens /dev/kfd and the render node of every planned GPU read-write, as the container's user
# level: access
# timeout: 10
# quick: yes
# ///
# A real open tells more than modes: EACCES is a question of groups (or of SELinux), EPERM comes from the device
# cgroup, ENOENT from a node that was not passed, ENODEV and the like from the driver. Plain POSIX sh: it runs in busybox.
me="uid $(id -u), groups $(id -G)"

denied() { # whose matter an EACCES is: mode and gid of the node
    case " $(id -G) " in
    *" $2 "*) case $1 in c???rw*) allowed=group ;; *) allowed=none ;; esac ;;
    *) case $1 in c??????rw*) allowed=others ;; c???rw*) echo "no permission: EACCES, group $2 has access"; return ;; *) allowed=none ;; esac ;;
    esac
    case $allowed in
    none) echo "denied by the host: EACCES, the mode gives no group access" ;;
    *) echo "denied by the host: EACCES although the mode lets $allowed in (SELinux?)" ;;
    esac
}

said() { # name the error in the shell's words: the words, mode and gid
    case $1 in
    *"Permission denied"*) denied "$2" "$3" ;;
    *"not permitted"*) echo "device not allowed: EPERM" ;;
    *"No such file"* | *nonexistent*) echo "node missing: ENOENT" ;;
    *"No such device or address"*) echo "driver does not answer: ENXIO" ;;
    *"No such device"*) echo "driver does not answer: ENODEV" ;;
    *"Invalid argument"*) echo "driver does not answer: EINVAL" ;;
    *"annot allocate memory"*) echo "driver does not answer: ENOMEM" ;;
    *"busy"*) echo "driver does not answer: EBUSY" ;;
    *) echo "node does not open: $(printf %s "$1" | tr -d '"\\' | tr -c '[:print:]' ' ')" ;;
    esac
}

try() { # node, and how the answer names it: one line of JSON
    facts="" owner=null
    if [ ! -e "$1" ]; then
        cause="node missing: ENOENT on $1"
    elif [ ! -c "$1" ]; then
        cause="node missing: $1 is no character device"
    else
        set -- "$1" "$2" $(ls -lnd "$1")
        facts="$3" owner=$6
        cause=""
        error=$( (exec 3<>"$1") 2>&1) || cause="$(said "$error" "$3" "$6") on $1 ($3, owner $5:$6) for $me"
    fi
    if [ -z "$cause" ]; then
        verdict='"result": "passed", "cause": null'
    else
        verdict="\"result\": \"failed\", \"cause\": \"$cause\""
    fi
    printf '{%s%s, "ran_on": "%s", "figures": {"mode": "%s", "gid": %s%s}}\n' "$2" "$verdict" "$1" "$facts" "$owner" "$more"
}

unplanned=""
for node in /dev/dri/renderD*; do
    case " $ROCENV_NODES /dev/dri/renderD* " in
    *" $node "*) ;;
    *) unplanned="$unplanned $node" ;;
    esac
done
shm=$(df -kP /dev/shm 2>/dev/null | while read -r _ kib _; do echo "$kib"; done | tail -n 1)
case $shm in '' | *[!0-9]*) shm=null ;; *) shm=$((shm * 1024)) ;; esac
more=$(printf ', "uid": %s, "groups": "%s", "shm_bytes": %s, "unplanned_nodes": "%s"' "$(id -u)" "$(id -G)" "$shm" "${unplanned# }")
try /dev/kfd ""
more=""
for node in $ROCENV_NODES; do
    try "$node" "\"gpu\": {\"render_node\": \"$node\"}, "
done
