#!/bin/sh
# Rootless podman in the bed, as a user of its own: mounts and processes in namespaces that end with this command, so
# that neither /etc of the bed nor podman's pause process outlives it.
# Arguments: the OCI runtime, a folder with passwd, group, subuid and subgid (and `cdi` for /etc/cdi), and the command to
# run.
set -eu
runtime=$1 folder=$2
shift 2
mount --make-rprivate /
for file in passwd group subuid subgid; do mount --bind "$folder/$file" "/etc/$file"; done
# crun takes no hierarchy of both kinds; where there is but one kind, nothing is mounted here.
[ ! -d /sys/fs/cgroup/unified ] || umount /sys/fs/cgroup/unified
if [ -d "$folder/cdi" ]; then mkdir -p /etc/cdi && mount --bind "$folder/cdi" /etc/cdi; fi
cat > "$folder/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
netns = "host"
[engine]
runtime = "$runtime"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
rm -rf "$folder/run" # it names a pause process of namespaces that have ended
mkdir -p "$folder/home/project" "$folder/run"
chown -R 1500:1500 "$folder/run" "$folder/home"
chmod 0700 "$folder/run"
cd "$folder/home/project"
exec setpriv --reuid=1500 --regid=1500 --groups=1500,993,2044 --inh-caps=+dac_read_search --ambient-caps=+dac_read_search \
  env -i PATH="$PATH" HOME="$folder/home" XDG_RUNTIME_DIR="$folder/run" CONTAINERS_CONF="$folder/containers.conf" \
  PYTHONDONTWRITEBYTECODE=1 "$@"
