"""Secrets in the memory of the control node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.action import from_model
from ansible_collections.millrace.streaming.plugins.plugin_utils import memory


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for /dev/shm."""
    (tmp_path / "shm").mkdir()
    monkeypatch.setattr(memory, "_MEMORY", str(tmp_path / "shm"))
    return tmp_path / "shm"


def test_a_file_is_a_link_into_memory_that_is_replaced(shm: Path, tmp_path: Path) -> None:
    path = tmp_path / "state/client.properties"
    path.parent.mkdir()
    path.write_text("a former one, in clear text")
    for text in ("first", "second"):
        memory.write(path, text)
        assert path.read_text() == text
    [directory] = shm.iterdir()
    [file] = directory.iterdir()
    assert path.readlink() == file
    assert (directory.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    memory.write(tmp_path / "other", "third")
    assert path.read_text() == "second"


@pytest.mark.parametrize("kind", ["open", "link"])
def test_a_directory_that_others_may_use_is_refused(shm: Path, tmp_path: Path, kind: str) -> None:
    directory = shm / f"millrace-{os.geteuid()}"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        directory.symlink_to(tmp_path / "elsewhere")
    else:
        directory.mkdir()
        directory.chmod(0o755)
    with pytest.raises(PermissionError, match="not a directory of this account alone"):
        memory.write(tmp_path / "client.properties", "secret")
    assert not (tmp_path / "client.properties").is_symlink()


def test_a_system_without_it_is_an_error(shm: Path, tmp_path: Path) -> None:
    shm.rmdir()
    with pytest.raises(FileNotFoundError):
        memory.write(tmp_path / "client.properties", "secret")


def test_a_file_without_a_name_is_read_by_other_programs(tmp_path: Path) -> None:
    with memory.unnamed(b"secret") as path:
        copied = subprocess.run(["cp", path, tmp_path / "copy"], check=False)
        assert copied.returncode == 0
        assert Path(path).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "copy").read_bytes() == b"secret"
    assert not Path(path).exists()


@pytest.mark.usefixtures("local_tmp")
def test_a_module_is_sent_without_a_file_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a connection does not pipeline; without memory Ansible's own way is left."""
    connection = SimpleNamespace(transport="ssh")
    task = SimpleNamespace(args={}, action="kafka_health", async_val=0)
    untyped: Any = from_model.ActionModule
    action = untyped(task, connection, None, None, None, None)
    temporary = Path(constants.DEFAULT_LOCAL_TMP)  # type: ignore[attr-defined]  # as in run.py
    sent: list[tuple[str, bytes, list[str]]] = []

    def transfer(source: str, target: str) -> None:
        there = [path.name for path in temporary.iterdir()]
        sent.append((target, Path(source).read_bytes(), there))
        if target == "/full":
            message = "no space left"
            raise AnsibleError(message)

    monkeypatch.setattr(action, "_transfer_file", transfer)
    for data in ("secret \udce9", b"secret \xe9"):
        assert action._transfer_data("/remote", data) == "/remote"
    assert sent == [("/remote", b"secret \xe9", [])] * 2
    with pytest.raises(AnsibleError):
        action._transfer_data("/full", b"secret")
    with monkeypatch.context() as patch:
        patch.delattr(os, "memfd_create")
        action._transfer_data("/remote", b"secret")
    connection.transport = "local"  # which follows a link
    action._transfer_data("/remote", b"secret")
    assert [content for _, content, there in sent if there] == [b"secret"] * 2
