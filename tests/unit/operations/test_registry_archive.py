"""What an archive of the schema registry holds, and into which registry it may be restored."""

from __future__ import annotations

import io
import zipfile

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    registry_archive,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.registry_archive import (
    Held,
)

from tests.unit.operations.archives import PLANE, archive

ONE = Held({("a", "1"): 1}, {"": "FULL", "a": "NONE"}, frozenset({1}))


def test_an_archive_has_versions_levels_and_contents() -> None:
    contents_of_archive = registry_archive.read(
        archive(
            ("ArtifactVersion", PLANE),
            ("ArtifactVersion", {**PLANE, "version": "2", "contentId": 8, "state": "DISABLED"}),
            ("ArtifactRule", {"artifactId": "a", "type": "COMPATIBILITY", "configuration": "NONE"}),
            ("ArtifactRule", {"artifactId": "a", "type": "VALIDITY", "configuration": "FULL"}),
            ("GlobalRule", {"ruleType": "COMPATIBILITY", "configuration": "FULL"}),
            ("Content", {"contentId": 7}),
            ("Content", {"contentId": 8}),
        )
    )
    assert contents_of_archive.versions == {("planes-value", "1"): 7}
    assert contents_of_archive.levels == {"": "FULL", "a": "NONE"}
    assert contents_of_archive.contents == {7, 8}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        archive(manifest="other.json"),
        archive(("ArtifactVersion", PLANE))[:-30],
        archive(("ArtifactVersion", {"artifactId": "a"})),
    ],
)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(registry_archive.ArchiveError):
        registry_archive.read(content)


def test_a_small_archive_of_huge_files_is_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(*_: object) -> None:
        pytest.fail("a file was read")

    content = archive(("Content", {"contentId": 7, "more": "x" * 5000}))
    assert registry_archive.read(content).contents == {7}
    monkeypatch.setattr(registry_archive, "MOST_BYTES", 5000)
    monkeypatch.setattr(zipfile.ZipFile, "open", read)
    with pytest.raises(registry_archive.ArchiveError, match="5000"):
        registry_archive.read(content)


def encrypted() -> bytes:
    """An archive whose files need a password."""
    content = bytearray(archive())
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def deflated(text: bytes, *, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", kind) as made:
        made.writestr("m.Manifest.json", "{}")
        made.writestr("1.Content.json", text)
    return content.getvalue()


def broken() -> bytes:
    """An archive with compressed data that is none."""
    content = bytearray(deflated(b"x" * 1000))
    at = content.index(b"1.Content.json") + len(b"1.Content.json")
    content[at] = 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        encrypted(),
        broken(),
        deflated(b"[" * 200_000),
        deflated(b"{}", kind=zipfile.ZIP_BZIP2),
    ],
    ids=["encrypted", "broken", "nested", "other compression"],
)
def test_an_archive_that_cannot_be_read_is_refused(content: bytes) -> None:
    with pytest.raises(registry_archive.ArchiveError):
        registry_archive.read(content)


def test_an_empty_registry_lacks_everything_and_the_same_one_nothing() -> None:
    assert len(ONE.missing(Held())) == 3
    assert ONE.differences(Held()) == []
    assert ONE.missing(ONE) == ONE.differences(ONE) == []


@pytest.mark.parametrize(
    ("existing", "reason"),
    [
        (Held({("a", "1"): 5}), "id 5"),
        (Held({**ONE.versions, ("b", "1"): 2}), "b version 1"),
        (Held(levels={"a": "FULL"}), "level of a is FULL"),
        (Held(levels={"b": "FULL"}), "level of b is FULL"),
        (Held(contents=frozenset({1})), "a version 1 is not there"),
    ],
)
def test_a_registry_in_which_an_import_would_leave_something_out_is_refused(
    existing: Held, reason: str
) -> None:
    (why,) = ONE.differences(existing)
    assert reason in why


def test_a_level_that_is_not_there_can_be_imported() -> None:
    existing = Held(ONE.versions, {}, ONE.contents)
    assert ONE.differences(existing) == []
    assert len(ONE.missing(existing)) == 2
