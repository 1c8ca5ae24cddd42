"""The same bytes of a tar file, whichever GNU tar has written it."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path
from typing import Literal

import pytest

from artifacts.headers import BLOCK, normalize, normalized

DEVICE = slice(329, 345)
USTAR: Literal[0] = 0
GNU: Literal[1] = 1
"""As `tarfile` numbers them."""


def archive(place: Path, form: Literal[0, 1], device: bytes) -> Path:
    """Write a tar file whose headers have something in the fields of devices."""
    path = place / f"{form}-{device[:1].hex()}.tar"
    with path.open("wb") as stream:
        for name, content in {
            "a": b"x",
            "b/c": b"y" * 700,
            "empty": b"",
            "block": b"z" * 512,
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            header = bytearray(entry.tobuf(form))
            header[DEVICE] = device
            header[148:156] = b" " * 8
            header[148:156] = b"%06o\x00 " % sum(header)
            stream.write(bytes(header) + content + bytes(-len(content) % BLOCK))
        stream.write(bytes(2 * BLOCK))
    return path


def test_headers_of_old_and_new_tar_become_equal(tmp_path: Path) -> None:
    old = archive(tmp_path, USTAR, b"0000000\x00" * 2)
    new = archive(tmp_path, USTAR, bytes(16))
    before = old.read_bytes()
    assert new.read_bytes() != before
    for path in (old, new):
        normalize(path)
        assert path.read_bytes() == before, "the recorded sums are of what the older one wrote"
    with tarfile.open(new) as read:
        assert read.getnames() == ["a", "b/c", "empty", "block"]
        stream = read.extractfile("b/c")
        assert stream
        assert stream.read() == b"y" * 700


def test_other_headers_stay(tmp_path: Path) -> None:
    path = archive(tmp_path, GNU, bytes(16))
    before = path.read_bytes()
    normalize(path)
    assert path.read_bytes() == before
    entry = tarfile.TarInfo("null")
    entry.type, entry.devmajor, entry.devminor = tarfile.CHRTYPE, 1, 3
    assert normalized(entry.tobuf(tarfile.USTAR_FORMAT)) == entry.tobuf(tarfile.USTAR_FORMAT)


def test_a_file_that_ends_early_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.tar"
    path.write_bytes(tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT)[:300])
    with pytest.raises(ValueError, match=r"cut\.tar"):
        normalize(path)


def test_what_tar_writes_here_has_the_fields(tmp_path: Path) -> None:
    """As artifacts/pack calls it, with the tar of this machine."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/file").write_text("x")
    path = tmp_path / "home.tar"
    command = ["tar", "--create", "--file", str(path), "--format=ustar", "--directory"]
    subprocess.run([*command, str(tmp_path / "home"), "."], check=True)
    normalize(path)
    assert path.read_bytes()[DEVICE] == b"0000000\x00" * 2
    with tarfile.open(path) as read:
        assert "./file" in read.getnames()
