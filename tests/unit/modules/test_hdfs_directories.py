"""The module that makes directories of HDFS, as far as it reads the host."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.host import paths

from tests.unit.module_runner import run_module


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Its account can make it larger than the memory of the host."""
    version = tmp_path / "current/VERSION"
    version.parent.mkdir()
    with version.open("wb") as stream:
        stream.truncate(paths.LARGEST + 1)
    result = run_module(
        "hdfs_directories",
        {
            "directories": [{"path": "/user"}],
            "name_dirs": [str(tmp_path)],
            "mark": str(tmp_path / "mark"),
            **dict.fromkeys(("java", "class_path", "user"), "none"),
        },
    )
    assert result["failed"]
    assert str(version) in result["msg"]
