#!/bin/sh
# Process 1 of a bed: lays the host over /sys, /dev, /etc and /opt of its own namespaces, starts the registry and the
# engine, and waits. When it ends, the kernel ends all others and drops every mount, bridge and interface with them.
# Argument: the bed's run folder. From the environment: FOLDER, IMAGES (place.py), HOST (a capture's root/), NODES,
# CGROUP, SOCKET_GID, BUSYBOX.
set -eu
RUN=$1
stage=$RUN/stage
mkdir -p "$stage"
mount -t tmpfs -o mode=0755 bed "$stage"

# /etc, /opt, /usr: what the host says of itself on top of the machine's own; what the engine writes stays in here
for folder in etc opt usr; do
  mkdir -p "$stage/up/$folder" "$stage/work/$folder"
  if [ -d "$HOST/$folder" ]; then cp -a "$HOST/$folder/." "$stage/up/$folder/"; elif [ $folder = usr ]; then continue; fi
  rm -f "$stage/up/$folder/passwd" "$stage/up/$folder/group"
  chown -R 0:0 "$stage/up/$folder"
  mount -t overlay -o "lowerdir=/$folder,upperdir=$stage/up/$folder,workdir=$stage/work/$folder" "bed-$folder" "/$folder"
done

# /sys: the host's tree, with what engines need of the real one bound back
mkdir "$stage/sys"
cp -a "$HOST/sys/." "$stage/sys/"
for keep in fs kernel; do
  mkdir -p "$stage/sys/$keep"
  mount --rbind "/sys/$keep" "$stage/sys/$keep"
done
if [ ! -d "$stage/sys/devices/system" ]; then
  mkdir "$stage/sys/devices/system"
  mount --bind /sys/devices/system "$stage/sys/devices/system"
  mount -o remount,bind,ro "$stage/sys/devices/system" # containers get it from here, and may not write to it
fi
mount --rbind "$stage/sys" /sys

# /dev: copies of the real nodes but the GPUs', and the host's
mkdir "$stage/dev"
for node in /dev/*; do
  case ${node##*/} in
    kfd | dri | dxg) ;;
    pts | shm | mqueue | hugepages) mkdir "$stage$node"; mount --rbind "$node" "$stage$node" ;;
    *) cp -a "$node" "$stage/dev/" 2>/dev/null || : ;; # one that vanishes meanwhile is none of ours
  esac
done
while read -r path minor mode owner; do
  mkdir -p "$stage${path%/*}"
  mknod -m "$mode" "$stage$path" c 4 "$minor"
  chown "$owner" "$stage$path"
done < "$NODES"
mount --rbind "$stage/dev" /dev

# /run: empty but for this bed's folder, so that no command in here can reach an engine that was there before
mkdir -p "$stage/run/${RUN##*/}" "$stage/run/lock"
mount --bind "$RUN" "$stage/run/${RUN##*/}"
mount --rbind "$stage/run" /run
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG

"$BUSYBOX" ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward # of this network alone; without it docker warns at every start
mkdir -p "$FOLDER/docker" "$IMAGES"
cat > "$RUN/registry.yml" <<YAML
version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: "$IMAGES"}}
http: {addr: "127.0.0.1:5000"}
YAML
docker-registry serve "$RUN/registry.yml" > "$RUN/registry.log" 2>&1 &
echo '{}' > "$RUN/daemon.json"
PATH=$RUN/bin:$PATH dockerd --config-file "$RUN/daemon.json" --data-root "$FOLDER/docker" \
  --host unix:///run/docker.sock --host "unix://$RUN/docker.sock" --group "$SOCKET_GID" \
  --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$CGROUP" --registry-mirror http://127.0.0.1:5000 \
  --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false --log-level warn > "$RUN/dockerd.log" 2>&1 &
daemon=$!
trap 'kill "$daemon"' TERM
until docker version > /dev/null 2>&1 && "$BUSYBOX" wget -q -O /dev/null http://127.0.0.1:5000/v2/; do
  kill -0 "$daemon" || exit 1
  sleep 0.1
done
: > "$RUN/ready"
wait "$daemon" || wait "$daemon"
