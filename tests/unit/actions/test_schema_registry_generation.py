"""An archive of the schema registry replaces another one in one step, and earlier ones are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from tests.unit.in_process import AnsibleRun, Answer, no_module
from tests.unit.operations.archives import planes

pytestmark = pytest.mark.usefixtures("local_tmp")
NONE, ONE, TWO = planes(), planes("a"), planes("a", "b")
HOSTS = "kafka_brokers: {hosts: {k1: {kafka_node_id: 1}}}\n"


class Place:
    """A directory with archives."""

    def __init__(self, folder: Path) -> None:
        (folder / "hosts.yml").write_text(HOSTS)
        self.run = AnsibleRun(folder / "hosts.yml", no_module)
        self.folder = folder / "backup"
        self.folder.mkdir()
        self.path, self.received = self.folder / "schemas.zip", self.folder / ".received"
        self.times = 0

    def keep(self, content: bytes, **options: Any) -> Answer:
        """Let an archive take its place; each is a day older than the next."""
        self.received.write_bytes(content)
        self.times += 1
        os.utime(self.received, (self.times * 86400,) * 2)
        options |= {"received": str(self.received), "path": str(self.path)}
        return self.run.task("schema_registry_generation", "k1", **options)

    def earlier(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.folder.glob("schemas-*.zip"))]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_newest_earlier_ones_are_kept(place: Place) -> None:
    subjects = [f"s{number}" for number in range(5)]
    archives = [planes(*subjects[:number]) for number in range(5)]
    for archive in archives:
        assert place.keep(archive, keep=2)["changed"]
    assert not place.keep(archives[-1], keep=2)["changed"]
    assert place.path.read_bytes() == archives[-1]
    assert place.earlier() == archives[2:4]
    assert not place.received.exists()


@pytest.mark.parametrize("content", [b"", b"PK", NONE[:-30]])
def test_a_damaged_one_replaces_nothing(place: Place, content: bytes) -> None:
    place.keep(NONE)
    with pytest.raises(AnsibleActionFail, match=r"\.received"):
        place.keep(content)
    assert place.path.read_bytes() == NONE
    assert not place.earlier()


def test_a_partial_one_replaces_nothing_and_pushes_none_out(place: Place) -> None:
    for archive in (ONE, TWO):
        place.keep(archive, keep=1)
    for _ in range(3):
        with pytest.raises(AnsibleActionFail, match="b version 1"):
            place.keep(ONE, keep=1)
    assert place.path.read_bytes() == TWO
    assert ONE in place.earlier()
    assert place.keep(ONE, keep=1, fewer=True)["changed"]
    assert TWO in place.earlier()


def test_what_is_no_archive_is_kept_as_an_earlier_file(place: Place) -> None:
    place.path.write_bytes(b"notes")
    place.keep(NONE)
    assert place.earlier() == [b"notes"]


def test_a_place_that_cannot_be_written_is_named(place: Place) -> None:
    place.path.mkdir()
    with pytest.raises(AnsibleActionFail, match="cannot be kept"):
        place.keep(NONE)
