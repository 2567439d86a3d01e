"""The flags of `docker run` and `podman run`, and which of them take a value: without this no image is found.

From `docker run --help` of Docker 20.10 and 28.2, `podman run --help` of 4.3, and podman-run(1) of 5.4 and 6.0.
"""

from __future__ import annotations

_BOTH_SWITCHES = """
detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
read-only rm sig-proxy tty
"""
_BOTH_VALUES = """
add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period
cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device device-cgroup-rule
device-read-bps device-read-iops device-write-bps device-write-iops dns dns-opt dns-option dns-search entrypoint env
env-file expose gpus group-add health-cmd health-interval health-retries health-start-period health-timeout hostname
ip ip6 ipc label label-file link log-driver log-opt mac-address memory memory-reservation memory-swap
memory-swappiness mount name net network network-alias oom-score-adj pid pids-limit platform publish pull restart
runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit user userns uts volume
volumes-from workdir
"""
_DOCKER_SWITCHES = "use-api-socket"
_DOCKER_VALUES = """
cpu-count cpu-percent domainname health-start-interval io-maxbandwidth io-maxiops isolation kernel-memory
link-local-ip net-alias volume-driver
"""
_PODMAN_SWITCHES = """
env-host http-proxy no-hostname no-hosts passwd read-only-tmpfs replace rmi rootfs tls-verify unsetenv-all
"""
_PODMAN_VALUES = """
arch authfile cert-dir cgroup-conf cgroups chrootdirs conmon-pidfile creds decryption-key env-merge gidmap group-entry
health-log-destination health-max-log-count health-max-log-size health-on-failure health-startup-cmd
health-startup-interval health-startup-retries health-startup-success health-startup-timeout hosts-file hostuser
image-volume init-ctr init-path os passwd-entry personality pidfile pod pod-id-file preserve-fd preserve-fds
rdt-class requires retry retry-delay sdnotify seccomp-policy secret shm-size-systemd subgidname subuidname systemd
timeout tz uidmap umask unsetenv variant
"""
SWITCHES = {
    "docker": frozenset(_BOTH_SWITCHES.split() + _DOCKER_SWITCHES.split()),
    "podman": frozenset(_BOTH_SWITCHES.split() + _PODMAN_SWITCHES.split()),
}
VALUES = {
    "docker": frozenset(_BOTH_VALUES.split() + _DOCKER_VALUES.split()),
    "podman": frozenset(_BOTH_VALUES.split() + _PODMAN_VALUES.split()),
}
SHORT_SWITCHES = {"d": "detach", "i": "interactive", "P": "publish-all", "q": "quiet", "t": "tty"}
SHORT_VALUES = {
    "a": "attach",
    "c": "cpu-shares",
    "e": "env",
    "h": "hostname",
    "l": "label",
    "m": "memory",
    "p": "publish",
    "u": "user",
    "v": "volume",
    "w": "workdir",
}
# Of the program itself, before `run`.
GLOBAL_VALUES = frozenset(
    [
        "-c",
        "-H",
        "-l",
        "--config",
        "--connection",
        "--context",
        "--host",
        "--identity",
        "--log-level",
        "--root",
        "--runroot",
        "--runtime",
        "--ssh",
        "--storage-driver",
        "--storage-opt",
        "--tlscacert",
        "--tlscert",
        "--tlskey",
        "--tmpdir",
        "--url",
        "--volumepath",
        "--cgroup-manager",
        "--conmon",
        "--events-backend",
        "--hooks-dir",
        "--namespace",
        "--network-cmd-path",
        "--network-config-dir",
        "--runtime-flag",
        "--imagestore",
        "--module",
    ]
)
# Flags that no program inside has for its own, so that one behind the image is surely misplaced.
ENGINES_ALONE = frozenset(
    [
        "privileged",
        "group-add",
        "security-opt",
        "shm-size",
        "cap-add",
        "cap-drop",
        "ipc",
        "gpus",
        "device-cgroup-rule",
        "ulimit",
        "userns",
        "volumes-from",
        "cgroupns",
        "publish-all",
        "oom-kill-disable",
        "rm",
        "publish",
        "volume",
        "network",
        "net",
        "entrypoint",
    ]
)
