from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.action import cluster_id
from ansible_collections.millrace.streaming.plugins.module_utils.uuids import is_cluster_id

ID = "4L6g3nShT-eMCtK--X86sw"
OTHER = "MkU3OEVBNTcwNTJENDM2Qg"


def run(path: Path, check_mode: bool = False, known: str = "") -> dict[str, Any]:
    task = SimpleNamespace(
        args={"path": str(path), **({"known": known} if known else {})},
        check_mode=check_mode,
        async_val=0,
        diff=False,
        action="cluster_id",
    )
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
    make: Any = cluster_id.ActionModule
    result: dict[str, Any] = make(task, connection, None, None, None, None).run(task_vars={})
    return result


def test_mints_once_and_keeps(tmp_path: Path) -> None:
    path = tmp_path / "kafka_cluster_id"
    first = run(path)
    assert first["changed"] is True
    assert is_cluster_id(first["cluster_id"])
    assert path.read_text() == f"{first['cluster_id']}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [left.name for left in tmp_path.iterdir()] == ["kafka_cluster_id"]
    second = run(path)
    assert second["changed"] is False
    assert second["cluster_id"] == first["cluster_id"]


def test_check_mode_stores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kafka_cluster_id"
    result = run(path, check_mode=True)
    assert result["changed"] is True
    assert is_cluster_id(result["cluster_id"])
    assert not list(tmp_path.iterdir())


def test_check_mode_reads_what_stands(tmp_path: Path) -> None:
    path = tmp_path / "kafka_cluster_id"
    path.write_text(ID)
    result = run(path, check_mode=True)
    assert result["cluster_id"] == ID
    assert result["changed"] is False


def test_the_faster_run_wins(tmp_path: Path) -> None:
    path = tmp_path / "kafka_cluster_id"
    path.write_text(f"{OTHER}\n")
    assert cluster_id.store(path, ID) == OTHER
    assert path.read_text() == f"{OTHER}\n"


@pytest.mark.parametrize(
    "content", ["", "not-an-id\n", f"{ID}\n{OTHER}\n", "AAAAAAAAAAAAAAAAAAAAAA"]
)
def test_other_content_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "kafka_cluster_id"
    path.write_text(content)
    with pytest.raises(AnsibleError) as refusal:
        run(path)
    for part in (str(path), repr(content.strip()), "meta.properties", "Delete it only if"):
        assert part in str(refusal.value)
    assert path.read_text() == content


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match=r"missing/kafka_cluster_id cannot be written"):
        run(tmp_path / "missing" / "kafka_cluster_id")


def test_directory_in_the_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match=r"cannot be read"):
        run(tmp_path)


def test_keeps_an_id_that_stands_already(tmp_path: Path) -> None:
    path = tmp_path / "kafka_cluster_id"
    assert run(path, known=OTHER)["cluster_id"] == OTHER
    assert path.read_text() == f"{OTHER}\n"
    assert run(path, known=OTHER)["changed"] is False
