"""The sandbox in which `./lab mutate` runs planted bugs: they reach nothing of the machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.lab.topology import ROOT

CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"


def run(*command: str) -> bool:
    """Run a command in the sandbox, and return whether it succeeds."""
    done = subprocess.run([ROOT / "lab", "sandbox", *command], capture_output=True, check=False)
    return not done.returncode


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    program = shutil.which("bwrap")
    command = f"{program} --ro-bind / / --proc /proc --unshare-pid --unshare-net true"
    if not program or subprocess.run(command.split(), check=False).returncode:
        pytest.skip("bubblewrap is not there, or this machine does not let it run")


@pytest.mark.parametrize("command", ["touch {}/new", "rm {}/file", "chmod 600 {}/file"])
def test_files_of_the_machine_stay(command: str) -> None:
    (ROOT / ".lab").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / ".lab") as directory:
        file = Path(directory, "file")
        file.touch(0o644)
        assert run("test", "-f", str(file))
        assert not run(*command.format(directory).split())
        assert [path.name for path in Path(directory).iterdir()] == ["file"]


@pytest.mark.parametrize(
    "command",
    [
        "touch /etc/millrace-probe",
        "mount -o remount,rw /",
        "umount /tmp",
        "unshare --mount true",
        "chroot / true",
        "test -w /proc/sys/kernel/hostname",
        "test -e /run/systemd",
        "test -e /proc/{pid}/environ",
        "mknod /tmp/device b 7 0",
    ],
)
def test_rights_over_the_machine_are_gone(command: str) -> None:
    assert not run(*command.format(pid=os.getpid()).split())


def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert not subprocess.run([sys.executable, "-c", CONNECT, port], check=False).returncode
        assert not run(sys.executable, "-c", CONNECT, port)


def test_tests_have_what_they_need() -> None:
    assert run("sh", "-c", "touch /tmp/file && rm /tmp/file")
    assert run(sys.executable, "-c", "import socket; socket.create_server(('127.0.0.1', 0))")
    if os.geteuid() == 0:
        assert run("sh", "-c", "touch /tmp/file && chown nobody /tmp/file")
