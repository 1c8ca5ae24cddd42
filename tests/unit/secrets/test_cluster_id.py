"""The cluster id beside an inventory: generated once, kept, and never replaced."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.formats.uuids import is_cluster_id
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import cluster_id

ID = "4L6g3nShT-eMCtK--X86sw"
OTHER = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kafka_cluster_id.txt"


def test_an_id_is_generated_once_and_kept(path: Path) -> None:
    first = cluster_id.keep(path)
    assert is_cluster_id(first)
    assert path.read_text() == f"{first}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(path.parent.iterdir()) == [path], "no draft is left"
    assert cluster_id.keep(path) == first
    assert cluster_id.read(path) == (first, "")


def test_there_is_no_id_before(path: Path) -> None:
    assert cluster_id.read(path) == ("", "")


def test_a_known_id_is_kept_but_replaces_none(path: Path) -> None:
    assert cluster_id.keep(path, OTHER) == OTHER
    assert cluster_id.keep(path, ID) == OTHER
    assert path.read_text() == f"{OTHER}\n"


@pytest.mark.parametrize(
    "content", ["", "not-an-id\n", f"{ID}\n{OTHER}\n", "AAAAAAAAAAAAAAAAAAAAAA", "x" * 5000]
)
def test_other_content_is_refused_and_kept(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(AnsibleError) as refusal:
        cluster_id.keep(path)
    stored_id, error = cluster_id.read(path)
    assert stored_id == ""
    assert error in str(refusal.value)
    for text in (str(path), repr(content.strip()[:60])[:-1]):
        assert text in error
    assert path.read_text() == content


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "kafka_cluster_id.txt"
    with pytest.raises(AnsibleError, match=str(path)):
        cluster_id.keep(path)


def test_a_directory_in_its_place_is_named(tmp_path: Path) -> None:
    stored_id, error = cluster_id.read(tmp_path)
    assert stored_id == ""
    assert str(tmp_path) in error
