"""Real terminals and signals: a shell's size, Ctrl-C, its status; what becomes of a one-off command that is stopped."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from typing import TYPE_CHECKING

import pytest
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

pytestmark = pytest.mark.engine


class Terminal:
    """A command on a terminal of its own, as a person has it."""

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, environment)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def until(self, pattern: str) -> str:
        """Read until something that was not read before matches; what matched. Fails at the end of all output."""
        while True:
            found = re.search(pattern, self.seen)
            if found is not None:
                self.seen = self.seen[found.end() :]
                return found.group()
            try:
                data = os.read(self.master, 4096)
            except OSError:
                data = b""
            assert data, f"ended without {pattern!r}: {self.seen!r}"
            self.seen += data.decode(errors="replace")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def status(self) -> int:
        """Wait for the end; the exit status."""
        try:
            while os.read(self.master, 4096):
                pass
        except OSError:
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def on_terminal(bed: TestBed, *arguments: str) -> Terminal:
    return Terminal(bed.argv(str(ROCENV), *arguments), bed.environment())


@pytest.fixture
def running(home: TestBed) -> TestBed:
    done = home.rocenv("up", "--no-test")
    assert done.returncode == 0, done.stderr
    return home


class TestShell:
    def test_it_is_a_terminal_of_the_users_size_that_follows_it(self, running: TestBed) -> None:
        shell = on_terminal(running, "shell")
        shell.resize(31, 97)
        # The shell echoes what is typed: the quotes keep the echo from being the answer.
        shell.type("tty; echo re''ady\n")
        shell.until(r"/dev/pts/\d+")
        shell.until("ready")
        self.expect_size(shell, "31 97")
        shell.resize(50, 120)
        self.expect_size(shell, "50 120")
        shell.type("exit 5\n")
        assert shell.status() == 5

    def expect_size(self, shell: Terminal, size: str) -> None:
        """A new size takes its way through client and daemon: ask until it has come."""
        while True:
            shell.type("stty size\n")
            if shell.until(r"\d+ \d+\r") == f"{size}\r":
                return
            rows, columns = map(int, size.split())  # docker loses a size that it is told too early: tell it again
            shell.resize(rows + 1, columns)
            shell.resize(rows, columns)

    def test_ctrl_c_ends_what_runs_and_not_the_shell(self, running: TestBed) -> None:
        shell = on_terminal(running, "shell")
        # One command, so that it says so when the terminal is its own: between two, the signal may meet neither.
        shell.type("sh -c 'echo beg\"\"un; sleep 1000'\n")
        shell.until("begun")
        shell.type("\x03")
        shell.until(r"\$ ")  # a prompt again; what is typed before it may be dropped, as on any terminal
        shell.type("echo sta''tus $?\n")
        assert shell.until(r"status \d+") == "status 130"
        shell.type("\x04")
        assert shell.status() == 0

    def test_exec_is_a_terminal_only_where_both_ends_are(self, running: TestBed) -> None:
        assert running.rocenv("exec", "--", "test", "-t", "0").returncode == 1
        terminal = on_terminal(running, "exec", "--", "sh", "-c", "test -t 0 && test -t 1")
        assert terminal.status() == 0


def test_a_changed_plan_is_asked_about_on_a_terminal(running: TestBed) -> None:
    before = running.docker("ps", "-q", f"--filter=name={running.project.name}").stdout
    refused = on_terminal(running, "up", "--no-test", "--gpus", "0")
    refused.until(r"\[y/N\]")
    refused.type("n\n")
    assert refused.status() == 2
    assert running.docker("ps", "-q", f"--filter=name={running.project.name}").stdout == before
    agreed = on_terminal(running, "up", "--no-test", "--gpus", "0")
    agreed.until(r"\[y/N\]")
    agreed.type("y\n")
    agreed.until("made anew")
    assert agreed.status() == 0
    assert running.docker("ps", "-q", f"--filter=name={running.project.name}").stdout != before


def containers(bed: TestBed) -> list[str]:
    return bed.docker("ps", "-aq", f"--filter=name={bed.project.name}").stdout.split()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_one_off_command_that_is_stopped_leaves_no_container(home: TestBed, number: signal.Signals) -> None:
    argv = home.argv(str(ROCENV), "run", "--", "sh", "-c", "echo begun; exec sleep 1000")
    with subprocess.Popen(argv, env=home.environment(), stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        assert len(containers(home)) == 1
        os.killpg(process.pid, number)
    while containers(home):  # the daemon removes it after the client has gone
        pass


def test_ctrl_c_in_a_one_off_command_is_the_commands(home: TestBed) -> None:
    terminal = on_terminal(
        home, "run", "--", "sh", "-c", "trap 'echo caught; exit 9' INT; echo beg''un; while :; do sleep 0.1; done"
    )
    terminal.until("begun")
    terminal.type("\x03")
    terminal.until("caught")
    assert terminal.status() == 9
    while containers(home):
        pass


STALL = '''
import http.server, json, sys

class Stalls(http.server.BaseHTTPRequestHandler):
    """A registry that describes an image, and never sends its layer."""

    def do_HEAD(self): self.do_GET()

    def do_GET(self):
        if "/manifests/" in self.path:
            zero = "sha256:" + "0" * 64
            kind = "application/vnd.docker."
            body = {"schemaVersion": 2, "mediaType": kind + "distribution.manifest.v2+json",
                    "config": {"mediaType": kind + "container.image.v1+json", "size": 7, "digest": zero},
                    "layers": [{"mediaType": kind + "image.rootfs.diff.tar.gzip", "size": 7777,
                                "digest": "sha256:" + "1" * 64}]}
            self.answer(json.dumps(body).encode(), body["mediaType"])
        elif "/blobs/" in self.path:
            print("asked", flush=True)
            self.send_response(200); self.send_header("Content-Length", "7777"); self.end_headers()
            self.rfile.read(1)
        else:
            self.answer(b"{}", "application/json")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET": self.wfile.write(body)

    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stalls)
print(server.server_port, flush=True)
server.serve_forever()
'''


def test_an_interrupted_pull_leaves_nothing(home: TestBed) -> None:
    script = home.project / "stall.py"
    script.write_text(STALL)
    stalls = home.argv("python3", "-u", str(script))
    with subprocess.Popen(stalls, env=home.environment(), stdout=subprocess.PIPE, start_new_session=True) as registry:
        try:
            assert registry.stdout is not None
            image = f"127.0.0.1:{int(registry.stdout.readline())}/slow/image:1"
            argv = home.argv(str(ROCENV), "up", "--no-test", "--image", image)
            with subprocess.Popen(
                argv, env=home.environment(), start_new_session=True, stderr=subprocess.PIPE
            ) as process:
                assert registry.stdout.readline() == b"asked\n"  # the daemon has begun to fetch the layer
                os.killpg(process.pid, signal.SIGINT)
                said = process.communicate()[1].decode()
            assert "pulling" in said
            assert "7.59 KiB to fetch" in said  # 7777 bytes
            assert "interrupted" in said
            assert process.returncode in (130, -signal.SIGINT)
        finally:
            os.killpg(registry.pid, signal.SIGKILL)
    assert containers(home) == []
    assert home.docker("images", "-q", image).stdout == ""
