#!/bin/sh
# Rootful podman in the bed, with a store of its own and the bed's runtime. Runs in a mount namespace of its own, so
# that /etc/cdi is this command's alone.
# Arguments: the bed's run folder, a folder for its store, settings and `cdi`, and the command to run.
set -eu
run=$1 folder=$2
shift 2
mount --make-rprivate /
mkdir -p /etc/cdi "$folder/cdi" "$folder/project" "$folder/run"
mount --bind "$folder/cdi" /etc/cdi
cat > "$folder/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[engine.runtimes]
runc = ["$run/bin/runc"]
CONF
cat > "$folder/storage.conf" <<CONF
[storage]
driver = "vfs"
graphroot = "$folder/store"
runroot = "$folder/run"
CONF
cd "$folder/project"
exec env -i PATH="$PATH" HOME="$folder/project" CONTAINERS_CONF="$folder/containers.conf" \
  CONTAINERS_STORAGE_CONF="$folder/storage.conf" PYTHONDONTWRITEBYTECODE=1 "$@"
