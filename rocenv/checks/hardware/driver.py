"""The amdgpu driver: whether it may load, has loaded, and is the one that is installed."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import gpus_of, inside, listed, log_lines, on_wsl
from rocenv.model.health import DkmsTree, Health
from rocenv.model.host import Host
from rocenv.rules.absent import LOAD_DRIVER, NOT_LOADED

_REJECTED = ("key was rejected", "unavailable key", "module verification failed")
_LOADED = "ls -d /sys/module/amdgpu"


@check(
    id="driver.secureboot",
    layer="hardware",
    severity="fail",
    title="Secure Boot lets the driver load",
    reads="/sys/firmware/efi/efivars/SecureBoot-*, /var/lib/dkms/amdgpu, the kernel log",
    why="a module that DKMS built is signed by a key that the firmware does not know until it is enrolled",
    source="legacy-rocm-build#4328, #276",
)
def secure_boot(facts: Facts) -> Answer:
    """Secure Boot on, a DKMS module there, and none loaded; or the kernel's own word that it refused the key."""
    host, health = facts.need_host(), facts.need_health()
    if host.driver.loaded:
        return ok("amdgpu is loaded")
    refused = log_lines(health, *_REJECTED[:2])
    built = [tree.version for tree in health.dkms if _state(tree, host) == "installed"]
    if refused or (health.secure_boot and built):
        seen = refused[0] if refused else f"Secure Boot is on; amdgpu {listed(built)} of DKMS is not loaded"
        return fail(
            seen,
            "Secure Boot refuses the module that DKMS built: its signing key is not enrolled",
            "`sudo mokutil --import /var/lib/shim-signed/mok/MOK.der`, then enroll it at the next boot; "
            "or remove amdgpu-dkms and use the kernel's own driver",
            needs="reboot",
            verify="mokutil --test-key /var/lib/shim-signed/mok/MOK.der",
        )
    if health.secure_boot is None:
        return skip(health.missing.get("secure_boot", "this machine does not tell whether Secure Boot is on"))
    return ok(f"Secure Boot is {'on' if health.secure_boot else 'off'}, and no module of DKMS is kept out")


@check(
    id="driver.dkms-kernel",
    layer="hardware",
    severity="fail",
    title="DKMS has built the driver for the running kernel",
    reads="/var/lib/dkms/amdgpu, the kernel's release",
    why="after an update of the kernel, or a build that failed, the module is not there for the kernel that runs",
    source="ROCm/amdgpu#115; legacy-rocm-build#1583",
)
def dkms_kernel(facts: Facts) -> Answer:
    """How far DKMS has come for this kernel; worth a failure only where no other driver serves the GPUs."""
    host, health = facts.need_host(), facts.need_health()
    if not health.dkms:
        return skip("amdgpu is not in DKMS")
    if inside(host):
        return skip("this is a container: the driver is the host's")
    if host.kernel is None:
        return skip("the running kernel's release is unknown")
    states = {tree.version: _state(tree, host) for tree in health.dkms}
    others = [f"{version} ({state})" for version, state in states.items() if state != "installed"]
    if "installed" in states.values() or host.driver.origin == "dkms":
        left = f"; left over: {listed(others)}" if others else ""
        return ok(f"amdgpu {listed(v for v, s in states.items() if s == 'installed')} for {host.kernel}{left}")
    evidence = f"/var/lib/dkms/amdgpu has {listed(others)} for {host.kernel}"
    version = next(iter(states))
    say = warn if "built" in states.values() or host.gpus else fail
    return say(
        evidence,
        f"DKMS has no amdgpu installed for this kernel; /var/lib/dkms/amdgpu/{version}/build/make.log says why a build "
        "failed",
        f"`sudo dkms autoinstall -k {host.kernel} && sudo modprobe amdgpu`",
        verify="dkms status amdgpu",
    )


def _state(tree: DkmsTree, host: Host) -> str:
    return tree.kernels.get(host.kernel or "", "added")


@check(
    id="driver.nomodeset",
    layer="hardware",
    severity="fail",
    title="the kernel's command line does not keep amdgpu off",
    reads="/proc/cmdline",
    why="`nomodeset`, set for an installation and forgotten, stops amdgpu from taking any GPU",
    source="linux: drivers/gpu/drm/drm_nomodeset.c",
)
def nomodeset(facts: Facts) -> Answer:
    """`nomodeset` or amdgpu.modeset=0 where the driver has no GPU."""
    host, health = facts.need_host(), facts.need_health()
    if health.cmdline is None:
        return skip("/proc/cmdline was not read")
    off = [word for word in health.cmdline.split() if word in ("nomodeset", "amdgpu.modeset=0")]
    if not off or host.gpus:
        return ok("/proc/cmdline does not say so" if not off else "GPUs are there all the same")
    return fail(
        f"/proc/cmdline: {off[0]}",
        f"`{off[0]}` keeps amdgpu from taking any GPU",
        f"take `{off[0]}` out of GRUB_CMDLINE_LINUX* in /etc/default/grub, then `sudo update-grub`",
        needs="reboot",
        verify="cat /proc/cmdline",
    )


@check(
    id="driver.blacklist",
    layer="hardware",
    severity="warn",
    title="amdgpu is not blacklisted",
    reads="/proc/cmdline, /etc/modprobe.d/*.conf, /usr/lib/modprobe.d/*.conf",
    why="a blacklisted driver does not load by itself; on some MI300X systems that is meant, to load it late",
    source="legacy-rocm-build#4426",
    after=("pci.gpu",),
)
def blacklist(facts: Facts) -> Answer:
    """Where it is blacklisted; removal is not advised, for it may be on purpose."""
    host, health = facts.need_host(), facts.need_health()
    if not health.blacklists:
        return ok("no line blacklists it")
    places = listed(health.blacklists)
    if host.driver.loaded:
        return info(places, "amdgpu is blacklisted and loaded all the same: somebody loads it late, on purpose")
    return warn(
        places,
        "amdgpu is blacklisted there, perhaps on purpose (MI300X systems load it late): it must be loaded by hand",
        LOAD_DRIVER,
        verify=_LOADED,
    )


@check(
    id="driver.firmware",
    layer="hardware",
    severity="fail",
    title="the driver finds the GPU's firmware",
    reads="the kernel log",
    why="a new GPU on an old linux-firmware is given up by the driver while it starts",
    source="linux: drivers/gpu/drm/amd/amdgpu/amdgpu_ucode.c",
)
def firmware(facts: Facts) -> Answer:
    """The kernel's own words that a firmware file is missing."""
    host, health = facts.need_host(), facts.need_health()
    if health.kernel_log is None:
        return skip(health.missing.get("kernel_log", "the kernel log was not read"))
    lines = [line for line in log_lines(health, "amdgpu") if "firmware" in line.lower() and "fail" in line.lower()]
    if not lines or host.gpus:
        return ok("the kernel log names no missing firmware")
    return fail(
        lines[0],
        "firmware files that this GPU needs are not in /lib/firmware/amdgpu",
        "`sudo apt-get install --only-upgrade linux-firmware && sudo update-initramfs -u`",
        needs="reboot",
        verify="sudo dmesg | grep -i 'amdgpu.*firmware'",
    )


@check(
    id="driver.loaded",
    layer="hardware",
    severity="fail",
    title="the amdgpu driver is loaded",
    reads="/sys/module/amdgpu",
    why="images carry user space alone: the host's kernel driver makes /dev/kfd and the render nodes",
    source="AUTOMATIC1111/stable-diffusion-webui#6837; ROCm/TheRock#2573",
    after=("pci.gpu", "driver.secureboot", "driver.dkms-kernel", "driver.nomodeset"),
)
def loaded(facts: Facts) -> Answer:
    """The module's folder: `initstate` and `version` may be absent in drivers that the kernel brought."""
    host = facts.need_host()
    if on_wsl(host):
        return skip("on WSL2 Windows' driver is used")
    if host.driver.loaded:
        return ok("/sys/module/amdgpu is there")
    if host.unusable and all(device.reason == "vfio-pci" for device in host.unusable):
        return skip("every AMD GPU is reserved for a virtual machine (`driver.bound`)")
    if inside(host) and (host.device("/dev/kfd") or host.gpus):
        return ok("this container's /sys shows no module, but the devices are there")
    return fail(
        f"no /sys/module/amdgpu; on the bus: {listed(gpus_of(host))}",
        NOT_LOADED,
        LOAD_DRIVER + _since_container(host),
        verify=_LOADED,
    )


def _since_container(host: Host) -> str:
    return " on the host, not in here" if inside(host) else ""


@check(
    id="driver.stale-module",
    layer="hardware",
    severity="warn",
    title="the driver that runs is the one that is installed",
    reads="/sys/module/amdgpu/srcversion, the srcversion in the installed module",
    why="after an update the old driver runs until a reboot, and versions that packages tell are not those in use",
    source="a public driver policy page (srcversion against modinfo)",
    after=("driver.loaded",),
)
def stale_module(facts: Facts) -> Answer:
    """Two srcversions that differ."""
    health = facts.need_health()
    runs, installed = health.module_loaded, health.module_installed
    if runs is None or installed is None:
        return skip(health.missing.get("module_installed", "one of the two srcversions is not to be had"))
    if runs == installed:
        return ok(f"srcversion {runs} both")
    return warn(
        f"srcversion {runs} runs, {installed} is installed",
        "the driver was updated and the old one still runs",
        "`sudo reboot`",
        needs="reboot",
        verify="cat /sys/module/amdgpu/srcversion; modinfo -F srcversion amdgpu",
    )


@check(
    id="driver.version",
    layer="hardware",
    severity="info",
    title="which driver this is",
    reads="/sys/module/amdgpu/version, dpkg's list, /var/lib/dkms, the kernel's release",
    why="only AMD's DKMS driver has a version file; that it is absent is no fault ('amdgpu version file missing')",
    source="ollama/ollama#10691; NixOS/nixpkgs#308206",
    after=("driver.loaded",),
)
def version(facts: Facts) -> Answer:
    """What it is, without a verdict."""
    host = facts.need_host()
    driver = host.driver
    if not driver.loaded:
        return skip("no driver is loaded")
    if driver.origin == "dkms":
        return info(f"AMD's driver (DKMS), release {driver.release or 'unknown'}, module {driver.version}")
    return info(f"in-tree driver of kernel {host.kernel or 'unknown'}: it has no version of its own, which is well")


@check(
    id="gpu.reset",
    layer="hardware",
    severity="warn",
    title="no GPU has hung since the last boot",
    reads="the kernel log",
    why="a GPU that was reset, or failed to be, gives errors that no container setting explains",
    source="ROCm/TheRock#7099, #3298",
    after=("driver.loaded",),
)
def reset(facts: Facts) -> Answer:
    """The kernel's words about hangs and resets."""
    health = facts.need_health()
    if health.kernel_log is None:
        return skip(health.missing.get("kernel_log", "the kernel log was not read"))
    lines = _hangs(health)
    if not lines:
        return ok("the kernel log tells of no reset")
    return warn(
        f"{lines[-1]} ({len(lines)} such lines)",
        "a GPU hung since the last boot: its driver state may be stale, and jobs on it may fail for no other cause",
        "`sudo reboot`",
        needs="reboot",
        verify="sudo dmesg | grep -iE 'amdgpu.*(reset|timeout)'",
    )


def _hangs(health: Health) -> list[str]:
    words = ("gpu reset begin", "gpu reset(", "ring timeout", " timeout, signaled seq", "hw exception", "gpu hang",
             "failed to respond to msg", "vram is lost")  # fmt: skip
    return [line for line in log_lines(health, *words) if "amdgpu" in line.lower() or "kfd" in line.lower()]
