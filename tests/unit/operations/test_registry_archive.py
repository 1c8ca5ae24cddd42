"""What an archive of the schema registry holds, and into which registry it may be restored."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    registry_archive,
)

from tests.unit.operations.archives import PLANE, archive


def test_versions_that_were_removed_do_not_count() -> None:
    found = registry_archive.versions(
        archive(PLANE, {**PLANE, "version": "2", "state": "DISABLED"})
    )
    assert found == {("planes-value", 1): 7}


@pytest.mark.parametrize(
    "content", [b"", b"PK", archive(manifest="other.json"), archive(PLANE)[:-30]]
)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(registry_archive.ArchiveError):
        registry_archive.versions(content)


def test_an_empty_registry_and_a_part_of_the_archive_may_be_restored_into() -> None:
    archived = {("a", 1): 1, ("a", 2): 2}
    assert registry_archive.conflicts(archived, {}) == []
    assert registry_archive.conflicts(archived, {("a", 1): 1}) == []
    assert registry_archive.differences(archived, {("a", 1): 1}) == ["a version 2"]


def test_other_schemas_and_other_ids_are_refused() -> None:
    archived = {("a", 1): 1}
    (found,) = registry_archive.conflicts(archived, {("a", 1): 5})
    assert "id 5" in found
    (found,) = registry_archive.conflicts(archived, {("b", 1): 1})
    assert "b version 1" in found
    assert registry_archive.differences(archived, {("a", 1): 5}) == ["a version 1"]
