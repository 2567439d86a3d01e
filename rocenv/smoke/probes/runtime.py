# /// probe
# summary: asks ROCm's runtime which GPUs it sees: exactly the planned ones, with their gfx target and in their order
# level: runtime
# needs: python
# timeout: 30
# quick: yes
# ///
# HSA is the judge of what a container sees; where its library is not found, HIP; then rocminfo, which asks HSA.
# rocm_agent_enumerator only reads sysfs: it is information, and never decides.
# Attribute numbers: hsa.h (hsa_agent_info_t, hsa_device_type_t) and hsa_ext_amd.h (hsa_amd_agent_info_t).
import shutil, subprocess

from prelude import *

NAME, DEVICE, BDFID, PRODUCT, DOMAIN, UUID = 0, 17, 0xA006, 0xA009, 0xA00F, 0xA011
GPU_TYPE = 1
VARIABLES = re.compile(r"(HIP|ROCR|CUDA)_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|HSA_OVERRIDE_GFX_VERSION(_\d+)?|HSA_ENABLE_DXG_DETECTION")


class Agent(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_uint64)]


def bdf_of(domain, bdfid):
    """dddd:bb:dd.f from HSA's numbers: bus, device and function in the low 16 bits."""
    return "%04x:%02x:%02x.%x" % (domain, bdfid >> 8 & 0xFF, bdfid >> 3 & 0x1F, bdfid & 7)


def known_uuid(text):
    return text if re.fullmatch(r"GPU-[0-9a-f]{16}", text) else None  # GPU-XX: this GPU has none


def by_hsa(hsa):
    """Every GPU agent of HSA, in its order."""
    hsa.hsa_agent_get_info.argtypes = [Agent, ctypes.c_int, ctypes.c_void_p]
    status = hsa.hsa_init()
    if status:
        words = ctypes.c_char_p()
        hsa.hsa_status_string(status, ctypes.byref(words))
        text = (words.value or b"").decode("utf-8", "replace").split(":")[0]
        raise Fault("the ROCm runtime does not start: hsa_init answers 0x%x %s" % (status, text))
    agents = []

    def text(agent, attribute, size):
        buffer = ctypes.create_string_buffer(size)
        return "" if hsa.hsa_agent_get_info(agent, attribute, buffer) else buffer.value.decode("utf-8", "replace")

    def number(agent, attribute):
        value = ctypes.c_uint32(0)
        hsa.hsa_agent_get_info(agent, attribute, ctypes.byref(value))
        return value.value

    def see(agent, _):
        if number(agent, DEVICE) == GPU_TYPE:
            agents.append({"bdf": bdf_of(number(agent, DOMAIN), number(agent, BDFID)), "uuid": known_uuid(text(agent, UUID, 64)),
                           "gfx": text(agent, NAME, 64), "name": text(agent, PRODUCT, 64)})
        return 0

    visit = ctypes.CFUNCTYPE(ctypes.c_int, Agent, ctypes.c_void_p)(see)
    status = hsa.hsa_iterate_agents(visit, None)
    hsa.hsa_shut_down()
    if status:
        raise Fault("the ROCm runtime does not start: hsa_iterate_agents answers 0x%x" % status)
    return agents


def by_rocminfo(program):
    """The same from rocminfo's words: one block an agent, the keys at its left edge."""
    done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode("utf-8", "replace"))
    if done.returncode or "Agent 1" not in text:
        raise Fault("the ROCm runtime does not start: rocminfo says `%s`" % " ".join(text.split())[:200])
    agents = []
    for block in re.split(r"\*+\s*\nAgent \d+\s*\n\*+", text)[1:]:
        keys = dict(re.findall(r"^  (\w[\w /()]*?):[ \t]+(.*?)[ \t]*$", block, re.M))
        if keys.get("Device Type") == "GPU":
            agents.append({"bdf": bdf_of(int(keys.get("Domain", "0")), int(keys.get("BDFID", "0"))),
                           "uuid": known_uuid(keys.get("Uuid", "")), "gfx": keys.get("Name"), "name": keys.get("Marketing Name")})
    return agents


def shown(agents):
    """What HIP shows of HSA's list: HIP_VISIBLE_DEVICES, else CUDA_VISIBLE_DEVICES, up to the first entry that is wrong.

    So ROCclr reads them (rocdevice.cpp, Device::init); ROCR_VISIBLE_DEVICES has been applied by HSA already.
    """
    wished = os.environ.get("HIP_VISIBLE_DEVICES") or os.environ.get("CUDA_VISIBLE_DEVICES")
    if not wished:
        return agents
    kept = []
    for word in wished.split(","):
        chosen = [agent for index, agent in enumerate(agents) if word in (str(index), agent["uuid"])]
        if not chosen:
            break
        kept += [agent for agent in chosen if agent not in kept]
    return kept


def enumerator():
    """The gfx targets that sysfs shows, as rocm_agent_enumerator prints them; None where it is not there."""
    program = shutil.which("rocm_agent_enumerator") or shutil.which("/opt/rocm/bin/rocm_agent_enumerator")
    if program is None:
        return None
    try:
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return [line for line in done.stdout.decode("utf-8", "replace").split() if re.fullmatch(r"gfx[0-9a-f]+", line) and line != "gfx000"]


def ask():
    """(who answered, the GPUs seen)."""
    hsa = load("libhsa-runtime64")
    if hsa is not None:
        return "HSA", by_hsa(hsa)
    if load("libamdhip64") is not None:
        hip = Hip()
        return "HIP", [hip.gpu(device) for device in range(hip.count())]
    program = shutil.which("rocminfo") or shutil.which("/opt/rocm/bin/rocminfo")
    if program is None:
        raise Fault("no ROCm runtime: neither libhsa-runtime64 nor libamdhip64 nor rocminfo is in the image")
    return "rocminfo", by_rocminfo(program)


def main():
    figures = {name: value for name, value in sorted(os.environ.items()) if VARIABLES.fullmatch(name)}
    sysfs = enumerator()
    if sysfs is not None:
        figures["rocm_agent_enumerator"] = sysfs
    if STAND_IN:
        for gfx in sysfs or []:
            say("passed", gpu={"gfx": gfx}, ran_on="CPU", figures={"asked": "rocm_agent_enumerator"})
        if not sysfs:
            say("failed", "no GPU seen: rocm_agent_enumerator is not there or shows none", figures=figures)
        return
    try:
        asked, agents = ask()
    except Fault as fault:
        say("failed", str(fault), figures=figures)
        return
    visible = agents if asked == "HIP" else shown(agents)
    for agent in visible:
        say("passed", gpu=agent, figures={"asked": asked})
    figures["hidden"] = [agent["bdf"] for agent in agents if agent not in visible]
    say("passed" if visible else "failed", None if visible else "no GPU seen: %s shows none" % asked, figures=figures)


main()
