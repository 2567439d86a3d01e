"""Newer engines beside the bed's own: Docker of other Debian releases, unpacked from Debian's archive, not installed.

They are fetched by apt with settings and lists of its own, so that nothing of the machine's changes; what was unpacked
stays beside the bed's images until `down`.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from bed.place import IMAGES, BedError, say

# Debian 13 has Docker 26, where CDI is an experiment to be switched on; testing has 28 or newer, where it is on.
SUITES = ("trixie", "testing")
PACKAGES = ("docker.io", "docker-cli", "containerd", "rootlesskit")
ARCHIVE = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def fill() -> None:
    """Fetch and unpack what is missing, the suites side by side."""
    missing = [suite for suite in SUITES if not (_root() / suite).is_dir()]
    if missing:
        say(f"fetching Docker of Debian {' and '.join(missing)} (once)")
    started = [(suite, _begun(suite)) for suite in missing]
    for suite, (child, folder) in started:
        said, _ = child.communicate()
        try:
            if child.returncode:
                raise BedError(f"Docker of Debian {suite} could not be fetched\n{said[-2000:]}")
            (folder / "root").rename(_root() / suite)
        finally:
            shutil.rmtree(folder)


def unpacked(suite: str) -> Path:
    """The folder of the programs of a suite's Docker, for PATH."""
    fill()
    return _root() / suite / "programs"


def _root() -> Path:
    folder = IMAGES / "engines"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _begun(suite: str) -> tuple[subprocess.Popen[str], Path]:
    """A shell that fetches and unpacks into a fresh folder, below `root`."""
    folder = Path(tempfile.mkdtemp(dir=_root(), prefix=f"{suite}-"))
    for name in ("lists/partial", "archives/partial", "root/programs"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb [signed-by={KEYS}] {ARCHIVE} {suite} main\n")
    own = {
        "Dir::Etc::SourceList": folder / "sources.list", "Dir::Etc::SourceParts": "-", "Dir::State": folder,
        "Dir::State::status": folder / "status", "Dir::Cache": folder, "APT::Sandbox::User": "root",
        "Acquire::Languages": "none", "Acquire::Check-Valid-Until": "false",  # testing's may have run out
        "APT::Architecture": "amd64", "Acquire::Retries": "3",
    }  # fmt: skip
    apt = ["apt-get", "--quiet=2", *(f"--option={key}={value}" for key, value in own.items())]
    script = (
        'set -e; cd "$0"; "$@" update; cd archives; "$@" download ' + " ".join(PACKAGES) + "; cd ..\n"
        'for file in archives/*.deb; do dpkg-deb -x "$file" root; done\n'
        'for file in root/usr/bin/* root/usr/sbin/*; do ln -s "../${file#root/}" root/programs/; done\n'
    )
    child = subprocess.Popen(
        ["sh", "-c", script, str(folder), *apt], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return child, folder
