"""A distribution is unpacked once, completely, from the tarball that was meant."""

from __future__ import annotations

import hashlib
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import distribution
from ansible_collections.millrace.streaming.plugins.module_utils.host.distribution import (
    DistributionError,
)


@dataclass
class Tarball:
    """A small tarball, its sum, and the home that it is unpacked to."""

    path: Path
    sha256: str
    home: Path

    def unpack(self) -> None:
        distribution.unpack(self.path, self.home, self.sha256)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def tarball(tmp_path: Path) -> Tarball:
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin" / "run").write_text("#!/bin/sh\n")
    (tree / "bin" / "run").chmod(0o755)
    (tree / "note").write_text("x" * 100_000)
    (tree / "note").chmod(0o600)
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(tree, ".")
    return Tarball(path, sha256(path), tmp_path / "opt" / "1")


def left(tarball: Tarball) -> list[Path]:
    """What lies beside the home."""
    return list(tarball.home.parent.iterdir())


def test_it_is_unpacked_once_with_the_modes_of_the_archive(tarball: Tarball) -> None:
    assert not distribution.is_unpacked(tarball.home, tarball.sha256)
    tarball.unpack()
    assert distribution.is_unpacked(tarball.home, tarball.sha256)
    assert (tarball.home / "bin" / "run").stat().st_mode & 0o777 == 0o755
    assert (tarball.home / "note").stat().st_mode & 0o777 == 0o600
    assert (tarball.home / "note").stat().st_uid == os.geteuid()
    assert tarball.home.stat().st_mode & 0o777 == 0o755
    assert left(tarball) == [tarball.home]


def test_leftovers_of_an_interrupted_run_are_removed(tarball: Tarball) -> None:
    leftover = tarball.home.parent / ".0.unpacking"
    (leftover / "deep").mkdir(parents=True)
    tarball.unpack()
    assert left(tarball) == [tarball.home]


def test_an_interrupted_run_leaves_no_half_tree(
    tarball: Tarball, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="Input/output error"):
        tarball.unpack()
    assert left(tarball) == []


def test_what_arrived_is_checked(tarball: Tarball) -> None:
    tarball.path.write_bytes(tarball.path.read_bytes()[:-1] + b"x")
    with pytest.raises(DistributionError, match=tarball.sha256):
        tarball.unpack()
    assert left(tarball) == []


def test_a_broken_archive_is_named(tarball: Tarball) -> None:
    tarball.path.write_bytes(b"x" * 20_000)
    tarball.sha256 = sha256(tarball.path)
    with pytest.raises(DistributionError, match=str(tarball.path)):
        tarball.unpack()
    assert left(tarball) == []


def test_too_little_space_is_refused_with_what_is_needed(tarball: Tarball) -> None:
    distribution.check_space(tarball.home, 2**10)
    with pytest.raises(DistributionError, match="1319413953332 MiB") as refusal:
        distribution.check_space(tarball.home, 2**60)
    assert str(tarball.path.parent) in str(refusal.value)


@pytest.mark.parametrize("marker", [None, "0" * 64])
def test_another_directory_is_left_alone(tarball: Tarball, marker: str | None) -> None:
    tarball.home.mkdir(parents=True)
    if marker:
        (tarball.home / ".unpacked").write_text(f"{marker}\n")
    with pytest.raises(DistributionError, match=marker or str(tarball.home)):
        distribution.is_unpacked(tarball.home, tarball.sha256)


def test_a_link_that_leads_nowhere_is_left_alone(tarball: Tarball) -> None:
    tarball.home.parent.mkdir()
    tarball.home.symlink_to("/nonexistent")
    with pytest.raises(DistributionError, match=str(tarball.home)):
        distribution.is_unpacked(tarball.home, tarball.sha256)


def unpacked_at(home: Path, seconds: int) -> Path:
    """A home that was unpacked so many seconds after 1970."""
    home.mkdir(parents=True)
    (home / "jar").write_text("x")
    marker = home / distribution.MARKER
    marker.write_text("0\n")
    os.utime(marker, (seconds, seconds))
    return home


@pytest.fixture
def homes(tmp_path: Path) -> list[Path]:
    """Five homes of a product, the oldest first."""
    return [
        unpacked_at(tmp_path / f"kafka-4.{minor}.0-00000000000{minor}", 1000 + minor)
        for minor in range(5)
    ]


def test_the_last_homes_stay(homes: list[Path]) -> None:
    assert distribution.remove_former(homes[-1], 3) == homes[1::-1]
    assert [path.exists() for path in homes] == [False, False, True, True, True]


@pytest.mark.parametrize("place", ["proc/17/cmdline", "units/kafka.service"])
def test_the_home_in_use_stays_however_old_it_is(
    homes: list[Path], tmp_path: Path, place: str
) -> None:
    """After a change back to an old version, and before its roll."""
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_bytes(b"java\0-cp\0" + f"{homes[0]}/libs/*".encode() + b"\0")
    distribution.remove_former(homes[1], 2, tmp_path / "proc", tmp_path / "units")
    assert [path.exists() for path in homes] == [True, True, False, True, True]


def test_other_products_and_what_millrace_has_not_unpacked_stay(
    homes: list[Path], tmp_path: Path
) -> None:
    foreign = unpacked_at(tmp_path / "kafka-connect-4.3.1-000000000009", 1)
    unknown = tmp_path / "kafka-3.9.2-00000000000a"
    unknown.mkdir()
    distribution.remove_former(homes[-1], 1)
    assert foreign.exists()
    assert unknown.exists()
    assert sorted(tmp_path.glob("kafka-4*")) == [homes[-1]]
