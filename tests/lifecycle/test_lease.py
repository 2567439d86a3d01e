"""Leases by the kernel's locks: never two at once, in turn, gone with their holder, and safe in a shared folder."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rocenv.errors import HostError, UsageError
from rocenv.lifecycle import holders, lease
from rocenv.lifecycle.lease import EXCLUSIVE, SHARED, Lease, acquire, leased

EIGHT = tuple(f"0000:{number:02x}:00.0-0" for number in range(8))


def nothing(_line: str) -> None: ...


def take(place: Path, keys: Sequence[str], count: int, mode: str = EXCLUSIVE, wait: float = 0) -> Lease:
    return acquire(keys, count, mode=mode, wait=wait, tell=nothing, place=place)


def state(wanted: str, place: Path) -> str | None:
    """How a GPU is leased, as the kernel tells it."""
    modes = {one.mode for one in leased(place).get(wanted, ())}
    assert len(modes) <= 1
    return next(iter(modes), None)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "leases"


def python(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process, with the lease module in it; it says what it comes to and waits for its input to end."""
    head = "import sys, os\nfrom pathlib import Path\nfrom rocenv.lifecycle.lease import *\nplace = Path(sys.argv[1])\n"
    words = [sys.executable, "-c", head + textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


HOLD = """
got = acquire(sys.argv[2].split(','), int(sys.argv[3]), wait=30, tell=lambda line: print(line, flush=True), place=place)
print('got', *got.keys, flush=True)
sys.stdin.read()
"""


def test_the_first_free_ones_are_leased_and_nobody_gets_them_twice(place: Path) -> None:
    first = take(place, EIGHT, 3)
    second = take(place, EIGHT, 3)
    assert (first.keys, second.keys) == (EIGHT[:3], EIGHT[3:6])
    with pytest.raises(HostError, match="3 of 8 GPUs are wanted for lease, and 2 are free"):
        take(place, EIGHT, 3)
    first.end()
    assert take(place, EIGHT, 3).keys == EIGHT[:3]


def test_shared_leases_go_together_and_not_with_an_exclusive_one(place: Path) -> None:
    shared = [take(place, EIGHT[:1], 1, SHARED) for _ in range(3)]
    assert state(EIGHT[0], place) == "shared"
    with pytest.raises(HostError):
        take(place, EIGHT[:1], 1)
    for one in shared:
        one.end()
    assert state(EIGHT[0], place) is None
    take(place, EIGHT[:1], 1)
    assert state(EIGHT[0], place) == "exclusive"
    with pytest.raises(HostError):
        take(place, EIGHT[:1], 1, SHARED)


def test_what_was_not_enough_is_given_back(place: Path) -> None:
    take(place, EIGHT[:2], 2)
    with pytest.raises(HostError):
        take(place, EIGHT[1:4], 3)
    assert take(place, EIGHT[2:4], 2).keys == EIGHT[2:4]


def test_a_lease_ends_with_its_holder_even_by_kill(place: Path) -> None:
    holder = python(HOLD, place, ",".join(EIGHT), 8)
    assert holder.stdout is not None
    assert holder.stdout.readline().split()[0] == "got"
    with pytest.raises(HostError):
        take(place, EIGHT, 1)
    holder.kill()
    holder.communicate()
    assert len(take(place, EIGHT, 8).keys) == 8


def test_a_lease_goes_over_to_what_its_holder_becomes(place: Path) -> None:
    """As `run` becomes the engine's client."""
    script = "acquire([sys.argv[2]], 1, tell=print, place=place)\nos.execvp('sh', ['sh', '-c', 'echo now; cat'])"
    holder = python(script, place, EIGHT[0])
    assert holder.stdout is not None
    assert holder.stdout.readline() == "now\n"
    assert state(EIGHT[0], place) == "exclusive"
    holder.communicate()
    assert state(EIGHT[0], place) is None


def test_twenty_jobs_on_eight_gpus_never_meet(place: Path, tmp_path: Path) -> None:
    """Each makes a folder for each of its GPUs, which a second one cannot make, and removes it at its end."""
    script = """
    for turn in range(3):
        got = acquire(sys.argv[3].split(','), int(sys.argv[4]), wait=60, tell=lambda line: None, place=place)
        for one in got.keys:
            os.mkdir(f'{sys.argv[2]}/{one}')
        for one in got.keys:
            os.rmdir(f'{sys.argv[2]}/{one}')
        got.end()
    """
    (tmp_path / "in-use").mkdir()
    jobs = [python(script, place, tmp_path / "in-use", ",".join(EIGHT), 1 + number % 4) for number in range(20)]
    for job in jobs:
        job.communicate()
    assert [job.returncode for job in jobs] == [0] * 20
    assert [name for name in os.listdir(place) if name.startswith("ticket")] == []


def test_who_came_first_is_not_passed_by_who_wants_less(place: Path) -> None:
    held = take(place, EIGHT, 1)
    large = python(HOLD, place, ",".join(EIGHT), 8)
    assert large.stdout is not None
    assert large.stdout.readline().startswith("waiting for 8 of 8 GPUs: 7 free, 0 ahead")
    with pytest.raises(HostError, match="7 are free, and 1 wait for them already"):
        take(place, EIGHT, 1)
    held.end()
    assert large.stdout.readline() == f"got {' '.join(EIGHT)}\n"
    large.communicate()


def test_who_waits_for_other_gpus_is_in_nobodys_way(place: Path) -> None:
    take(place, EIGHT[:1], 1)
    waiting = python(HOLD, place, EIGHT[0], 1)
    assert waiting.stdout is not None
    assert waiting.stdout.readline().startswith("waiting")
    assert take(place, EIGHT[1:], 7).keys == EIGHT[1:]
    waiting.kill()
    waiting.communicate()


def test_a_waiter_that_was_killed_holds_nobody_up(place: Path) -> None:
    held = take(place, EIGHT[:1], 1)
    waiting = python(HOLD, place, EIGHT[0], 1)
    assert waiting.stdout is not None
    assert waiting.stdout.readline().startswith("waiting")
    waiting.send_signal(signal.SIGKILL)
    waiting.communicate()
    held.end()
    assert take(place, EIGHT[:1], 1).keys == EIGHT[:1]
    assert [name for name in os.listdir(place) if name.startswith("ticket")] == []


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter: pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="rocenv-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


class TestSharedFolder:
    def test_it_is_everybodys_and_nobody_removes_anothers(self, place: Path) -> None:
        before = os.umask(0o077)
        try:
            take(place, EIGHT, 1)
        finally:
            os.umask(before)
        assert stat.S_IMODE(place.stat().st_mode) == 0o1777
        assert stat.S_IMODE((place / EIGHT[0]).stat().st_mode) == 0o644

    @pytest.mark.engine  # these run as root, who can become two users
    def test_two_users_share_it(self, open_folder: Path) -> None:
        place = open_folder / "leases"
        user = "os.setgid(4711); os.setuid(4711)\n"
        mine = take(place, EIGHT[:1], 1)
        other = python(user + HOLD.lstrip("\n"), place, ",".join(EIGHT[:2]), 1)
        assert other.stdout is not None
        assert other.stdout.readline() == f"got {EIGHT[1]}\n"
        with pytest.raises(HostError):
            take(place, EIGHT[:2], 1)
        mine.end()
        other.communicate()
        assert (place / EIGHT[1]).stat().st_uid == 4711
        take(place, EIGHT[:2], 2)

    def test_links_and_pipes_in_a_files_place_are_not_followed(self, place: Path, tmp_path: Path) -> None:
        take(place, EIGHT, 1)
        (place / EIGHT[1]).symlink_to(tmp_path / "target")
        with pytest.raises(OSError, match="symbolic links"):
            take(place, EIGHT[1:2], 1)
        assert not (tmp_path / "target").exists()
        os.mkfifo(place / EIGHT[2])
        with pytest.raises(UsageError, match="no file"):
            take(place, EIGHT[2:3], 1)

    def test_a_folder_behind_a_link_or_open_to_all_is_refused(self, place: Path, tmp_path: Path) -> None:
        place.symlink_to(tmp_path)
        with pytest.raises(UsageError, match="cannot be used"):
            take(place, EIGHT, 1)
        wide = tmp_path / "wide"
        wide.mkdir()
        wide.chmod(0o777)
        with pytest.raises(UsageError, match="everybody's leases"):
            take(wide, EIGHT, 1)

    def test_tickets_that_are_not_locked_or_not_tickets_count_for_nothing(self, place: Path) -> None:
        take(place, EIGHT, 1).end()
        for name in ("ticket-0-0000000000000000", "ticket-x", "ticket-00000000000000000001-aaaaaaaaaaaaaaaa"):
            (place / name).write_text(" ".join(EIGHT))
        os.mkfifo(place / "ticket-00000000000000000002-aaaaaaaaaaaaaaaa")
        assert take(place, EIGHT, 8).keys == EIGHT


def test_who_holds_a_lease_is_known_and_can_be_asked_to_end(place: Path) -> None:
    holder = python(HOLD, place, EIGHT[3], 1)
    assert holder.stdout is not None
    assert holder.stdout.readline() == f"got {EIGHT[3]}\n"
    [found] = leased(place)[EIGHT[3]]
    assert (found.pid, found.mode, found.uid) == (holder.pid, EXCLUSIVE, os.getuid())
    assert sys.executable in (found.command or "")
    base = lease.opened(place)
    assert not holders.end(base, EIGHT[2], holder.pid)  # it holds no such lease: it is left alone
    assert holders.end(base, EIGHT[3], holder.pid)
    holder.communicate()
    assert holder.returncode == -signal.SIGTERM
    assert not holders.end(base, EIGHT[3], holder.pid)
    os.close(base)


def test_a_name_that_leads_out_of_the_folder_is_none(place: Path) -> None:
    with pytest.raises(UsageError):
        take(place, ["../x"], 1)


def test_where_leases_are_can_be_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROCENV_LEASES", str(tmp_path))
    assert lease.folder() == tmp_path
