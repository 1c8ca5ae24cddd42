"""Whether checkpoints are those of their jobs, on small trees as Spark writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.job_checkpoints import (
    problems,
    topics_read,
)
from ansible_collections.millrace.streaming.plugins.modules.spark_job_checkpoints import found

BATCH = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


def offsets(*sources: str) -> str:
    return "\n".join(["v1", BATCH, *sources])


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (offsets('{"clicks":{"0":7,"1":9}}'), {"clicks"}),
        (offsets('{"clicks":{"0":7},"views":{"0":1}}', '{"logOffset":3}'), {"clicks", "views"}),
        (offsets("17", "-"), set()),
        (offsets('{"clicks":{"0":'), set()),
        (offsets('{"a":' * 100000, '{"clicks":{"0":7}}'), {"clicks"}),
        ("", set()),
    ],
)
def test_the_topics_of_a_checkpoint(text: str, topics: set[str]) -> None:
    assert topics_read(text) == topics


def write(query: Path, **batches: str) -> None:
    (query / "offsets").mkdir(parents=True)
    (query / "offsets/.2.crc").touch()
    for number, topic in batches.items():
        text = offsets(f'{{"{topic}":{{"0":1}}}}')
        (query / "offsets" / number.removeprefix("batch")).write_text(text)


def job(checkpoint: Path, *topics: str) -> dict[str, Any]:
    return {"name": "clicks", "checkpoint": str(checkpoint), "topics": topics}


def test_a_checkpoint_of_another_query_is_refused(tmp_path: Path) -> None:
    """Of several queries below one directory, each by its newest micro-batch."""
    write(tmp_path / "hourly", batch2="clicks", batch10="views")
    write(tmp_path / "daily", batch1="clicks")
    [problem] = problems(found(job(tmp_path, "clicks", "clicks.hourly")))
    assert all(text in problem for text in (f"{tmp_path}/hourly", "job clicks", "views"))


@pytest.mark.parametrize("topics", [(), ("clicks", "other")])
def test_a_checkpoint_of_its_own_is_not(tmp_path: Path, topics: tuple[str, ...]) -> None:
    """Nor one of a job that names no topics, of which nothing is known."""
    write(tmp_path, batch3="clicks")
    assert problems(found(job(tmp_path, *topics))) == []


def test_a_job_that_has_not_run_has_none(tmp_path: Path) -> None:
    assert list(found(job(tmp_path / "none", "clicks"))) == []


def test_what_is_no_number_is_no_batch(tmp_path: Path) -> None:
    write(tmp_path, batch3="clicks")
    for name in ("\u00b2", "\u0663", "9" * 100):
        (tmp_path / "offsets" / name).write_text("")
    (checkpoint,) = found(job(tmp_path, "clicks"))
    assert checkpoint.read == {"clicks"}
