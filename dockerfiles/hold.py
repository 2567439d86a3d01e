"""Install Python packages into an image, and hold what it came with: its torch is built for ROCm, PyPI's is not."""

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys

try:
    from importlib.metadata import distributions
except ImportError:
    import pkg_resources

    def distributions():
        """The same before Python 3.8 (AlmaLinux 8 has 3.6)."""
        return pkg_resources.working_set


FILE = "/etc/rocenv/constraints.txt"
SECRETS = "/run/secrets"
HELD = re.compile(
    "torch|torchvision|torchaudio|triton|triton-rocm|pytorch-triton-rocm|tensorflow|tensorflow-rocm|jax|jaxlib"
    "|jax-rocm[0-9]+-[a-z]+|onnxruntime|onnxruntime-(rocm|migraphx)|vllm|sglang|flash-attn|aiter|amd-aiter|numpy"
)


def there():
    """The held packages that are installed, with their whole versions (2.10.0+rocm7.2.4)."""
    found = {}
    for one in distributions():
        name = getattr(one, "project_name", None) or one.metadata["Name"] or ""
        name = re.sub("[-_.]+", "-", name).lower()
        if HELD.fullmatch(name):
            found.setdefault(name, one.version)
    return found


def hip():
    """What torch.version.hip would be, read without loading torch."""
    spec = importlib.util.find_spec("torch")
    path = os.path.join(os.path.dirname(spec.origin or ""), "version.py") if spec else ""
    return runpy.run_path(path).get("hip") if os.path.isfile(path) else None


def fail(said, mend):
    sys.exit(f"error: rocenv: {said}\n\nhint: {mend}")


def hold():
    """Write down what is there, for this build and for every pip after it."""
    os.makedirs(os.path.dirname(FILE), exist_ok=True)
    with open(FILE, "w") as file:
        file.writelines(f"{name}=={version}\n" for name, version in sorted(there().items()))
    with open(FILE + ".hip", "w") as file:
        file.write(str(hip()))


def check():
    """End the build where something that is held has changed."""
    with open(FILE) as file:
        before = dict(line.strip().split("==", 1) for line in file)
    with open(FILE + ".hip") as file:
        build = file.read()
    now = there()
    for name, version in before.items():
        if now.get(name) != version:
            fail(f"`{name}` was {version}, and is now {now.get(name)}", "leave out the package that replaces it")
    if build != str(hip()):
        fail(f"torch.version.hip was {build}, and is now {hip()}", "leave out the package that replaces torch")


def install(packages):
    """Install with pip, or with uv where the image has no pip."""
    env = {"PIP_BREAK_SYSTEM_PACKAGES": "1", "UV_BREAK_SYSTEM_PACKAGES": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    env.update(PIP_CACHE_DIR="/root/.cache/pip", UV_CACHE_DIR="/root/.cache/uv", PIP_NO_INPUT="1")
    for name in sorted(os.listdir(SECRETS)) if os.path.isdir(SECRETS) else ():
        if name == "rocenv-pip":
            env["PIP_CONFIG_FILE"] = os.path.join(SECRETS, name)
        elif name == "rocenv-uv":
            env["UV_CONFIG_FILE"] = os.path.join(SECRETS, name)
        elif name.isidentifier():
            with open(os.path.join(SECRETS, name)) as file:
                env[name] = file.read().rstrip("\n")
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip"):
        words = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    elif uv:
        words = [uv, "pip", "install", "--python", sys.executable]
    else:
        fail(f"{sys.executable} has no pip, and there is no uv", "add `python3-pip` to `build.packages.apt`")
    done = subprocess.run([*words, "--constraint", FILE, *packages], env={**os.environ, **env})
    if done.returncode:
        with open(FILE) as file:
            held = ", ".join(file.read().split()) or "nothing"
        fail(
            f"what `build.packages.pip` asks for cannot be installed beside what the image holds ({held})",
            "where a package asks for another version of one of these, take a release of it that does not",
        )


if sys.argv[1] == "hold":
    hold()
elif sys.argv[1] == "pip":
    install(sys.argv[2:])
check()
