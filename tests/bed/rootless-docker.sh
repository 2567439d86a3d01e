#!/bin/sh
# Rootless Docker in the bed, as a user of its own; daemon, mounts and processes end with this command.
# Arguments: a folder with passwd, group, subuid, subgid and `cdi`, the folder of Docker's programs and
# rootlesskit, an image as `docker save` writes it, and the command to run.
set -eu
folder=$1 programs=$2 image=$3
shift 3
mount --make-rprivate /
for file in passwd group subuid subgid; do mount --bind "$folder/$file" "/etc/$file"; done
mkdir -p "$folder/bin" "$folder/home/project" "$folder/run"
# A user namespace gets no sysfs of its own where files lie over the machine's, as in the bed: it is given the bed's.
{ printf '#!/bin/sh\nrunc=%s\n' "$(command -v runc)" && cat; } > "$folder/bin/runc" <<'RUNC'
before=
for word; do
  [ "$before" != --bundle ] ||
    sed -i 's,"type":"sysfs"\,"source":"sysfs"\,"options":\[,"type":"bind"\,"source":"/sys"\,"options":["rbind"\,,' \
      "$word/config.json"
  before=$word
done
exec "$runc" "$@"
RUNC
chmod 755 "$folder/bin/runc"
cat > "$folder/bin/start" <<'START'
#!/bin/sh
rm -f /run/docker /run/containerd
exec dockerd --rootless --host "$DOCKER_HOST" --data-root "$HOME/data" --exec-root "$XDG_RUNTIME_DIR/exec" \
  --pidfile "$XDG_RUNTIME_DIR/pid" --config-file /dev/null --bridge=none --iptables=false --ip6tables=false \
  --storage-driver=vfs --log-level error --cdi-spec-dir "$(dirname "$HOME")/cdi"
START
chmod 755 "$folder/bin/start"
chown -R 1500:1500 "$folder/run" "$folder/home"
chmod 0700 "$folder/run"
cd "$folder/home/project"
exec setpriv --reuid=1500 --regid=1500 --groups=1500,993,2044 --inh-caps=+dac_read_search --ambient-caps=+dac_read_search \
  env -i PATH="$folder/bin:$programs:$PATH" HOME="$folder/home" XDG_RUNTIME_DIR="$folder/run" \
  DOCKER_HOST="unix://$folder/run/docker.sock" PYTHONDONTWRITEBYTECODE=1 sh -c '
    rootlesskit --net=host --copy-up=/etc --copy-up=/run --state-dir="$XDG_RUNTIME_DIR/dockerd-rootless" start > ../log 2>&1 &
    until docker info > /dev/null 2>&1; do kill -0 $! || { cat ../log >&2; exit 1; }; sleep 0.1; done
    docker load --quiet --input "$0" > ../loaded
    "$@"' "$image" "$@"
