# Tells what a process inside a container has of the GPUs, in lines `key: value`. Runs in dash, bash and busybox.
export LC_ALL=C
echo "ids: $(id -u) $(id -g) $(id -G)"
for node in /dev/kfd /dev/dri/renderD*; do
    [ -e "$node" ] || continue
    echo "list: $(ls -lnd "$node")"
    echo "open: $node $( (: <>"$node") 2>&1 | tail -n 1)"
done
for node in /sys/class/kfd/kfd/topology/nodes/*; do
    [ -d "$node" ] || continue
    cat "$node/properties" >/dev/null 2>&1 && echo "node: ${node##*/}"
done
echo "uid_map: $(head -n 1 /proc/self/uid_map)"
echo "seccomp: $(grep '^Seccomp:' /proc/self/status)"
echo "shm: $(df -k /dev/shm 2>/dev/null | tail -n 1)"
while IFS= read -r line; do echo "group: $line"; done </etc/group
env | grep -E '^[A-Z_0-9]+=' | while IFS= read -r line; do echo "env: $line"; done
echo "end: of it"
