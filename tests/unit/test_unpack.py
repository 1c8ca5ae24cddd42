from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.module_runner import run_module, run_playbook

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def tarball(tmp_path: Path) -> Any:
    """Return a small tarball and its checksum."""
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin" / "run").write_text("#!/bin/sh\n")
    (tree / "bin" / "run").chmod(0o755)
    (tree / "note").write_text("x" * 100_000)
    (tree / "note").chmod(0o600)
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(tree, ".")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def unpack(tarball: tuple[Path, str], tmp_path: Path) -> Any:
    """Run the module's half on the host, with the tarball already there."""
    path, sha256 = tarball

    def run(check: bool = False, sabotage: str = "", **more: Any) -> Any:
        args = {
            "src": str(path),
            "sha256": sha256,
            "dest": str(tmp_path / "opt" / "1"),
            "link": str(tmp_path / "opt" / "current"),
            "archive": str(path),
            **more,
        }
        return run_module("unpack", args, check=check, sabotage=sabotage)

    return run


def test_unpacks_once_with_the_modes_of_the_archive(unpack: Run, tmp_path: Path) -> None:
    planned = unpack(check=True)
    assert (planned["changed"], planned["unpacked"], planned["linked"]) == (True, True, True)
    assert not (tmp_path / "opt").exists()
    first = unpack()
    assert first["diff"] == planned["diff"]
    assert (first["changed"], first["unpacked"], first["linked"]) == (True, True, True)
    current = tmp_path / "opt" / "current"
    assert current.readlink() == tmp_path / "opt" / "1"
    assert (current / "bin" / "run").stat().st_mode & 0o777 == 0o755
    assert (current / "note").stat().st_mode & 0o777 == 0o600
    assert (current / "note").stat().st_uid == os.geteuid()
    assert unpack()["changed"] is False


def test_without_the_tarball_the_host_only_answers(unpack: Run, tmp_path: Path) -> None:
    answer = unpack(archive=None)
    assert answer["needs_archive"]
    assert not (tmp_path / "opt").exists()
    unpack()
    assert "needs_archive" not in unpack(archive=None)


def test_the_link_alone_is_moved(unpack: Run, tmp_path: Path) -> None:
    unpack()
    current = tmp_path / "opt" / "current"
    current.unlink()
    current.symlink_to("/elsewhere")
    moved = unpack(archive=None)
    assert (moved["changed"], moved["unpacked"], moved["linked"]) == (True, False, True)
    assert moved["diff"]["before"] == "link to /elsewhere\n"
    assert current.readlink() == tmp_path / "opt" / "1"


def test_leftovers_of_an_interrupted_run_are_cleaned(unpack: Run, tmp_path: Path) -> None:
    leftover = tmp_path / "opt" / ".0.unpacking"
    (leftover / "deep").mkdir(parents=True)
    unpack()
    assert not leftover.exists()


@pytest.mark.parametrize(
    ("sabotage", "message"),
    [
        ("module.extract = lambda *a: 'tar could not unpack'", "tar could not unpack"),
        ("module.Path.rename = lambda *a: (_ for _ in ()).throw(OSError(5, 'EIO', 'x'))", "EIO"),
    ],
)
def test_an_interrupted_run_leaves_no_half_tree(
    unpack: Run, tmp_path: Path, sabotage: str, message: str
) -> None:
    result = unpack(sabotage=sabotage)
    assert message in result["msg"]
    assert list((tmp_path / "opt").iterdir()) == []


def test_what_arrived_is_checked(unpack: Run, tarball: tuple[Path, str], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(tarball[0].read_bytes()[:-1] + b"x")
    result = unpack(archive=str(damaged))
    assert "that arrived has sha256" in result["msg"]
    assert list((tmp_path / "opt").iterdir()) == []


def test_a_broken_archive_is_named(unpack: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar"
    broken.write_bytes(b"x" * 20_000)
    digest = hashlib.sha256(broken.read_bytes()).hexdigest()
    assert "tar could not unpack" in unpack(archive=str(broken), sha256=digest)["msg"]


def test_too_little_space_is_said_with_numbers(unpack: Run, tmp_path: Path) -> None:
    result = unpack(size=2**60, archive=None)
    assert "needs 1319413953332 MiB on the file system of" in result["msg"]
    assert str(tmp_path) in result["msg"]


def test_a_strange_directory_or_link_is_left_alone(unpack: Run, tmp_path: Path) -> None:
    dest = tmp_path / "opt" / "1"
    dest.mkdir(parents=True)
    assert "was not unpacked from this tarball" in unpack()["msg"]
    dest.rmdir()
    (tmp_path / "opt" / "current").mkdir()
    assert "current is not a link" in unpack()["msg"]


def test_ansible_ships_it_only_when_it_is_missing(
    tarball: tuple[Path, str], tmp_path: Path
) -> None:
    path, sha256 = tarball
    dest = tmp_path / "opt" / "1"
    args = {"src": str(path), "sha256": sha256, "dest": str(dest)}
    task = {"millrace.streaming.unpack": args}
    assert run_playbook(tmp_path, task, "--check")["changed"]
    assert not dest.exists()

    wrong = {"millrace.streaming.unpack": {**args, "sha256": "0" * 64}}
    refused = run_playbook(tmp_path, wrong)
    assert f"{path} has sha256 {sha256}, wanted is {'0' * 64}" in refused["msg"]
    assert not dest.exists()

    assert run_playbook(tmp_path, task)["unpacked"]
    assert (dest / ".unpacked").read_text().strip() == sha256
    assert not list(Path(tmp_path / "remote").rglob("archive.tar"))
    path.unlink()
    assert run_playbook(tmp_path, task)["changed"] is False
    gone = {"millrace.streaming.unpack": {**args, "dest": str(tmp_path / "opt" / "2")}}
    assert "does not exist on the controller" in run_playbook(tmp_path, gone)["msg"]
