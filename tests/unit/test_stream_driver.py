"""What the tests of streams read from the files of a job and of its checkpoint."""

from __future__ import annotations

import pytest

from tests.support.faults.stream_driver import newest, next_offsets, parsed

OFFSETS = """v1
{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{"spark.sql.shuffle.partitions":"4"}}
{"orders":{"2":17,"1":0,"0":18}}
"""


def test_the_offsets_of_a_batch_are_those_of_the_topic() -> None:
    assert next_offsets(OFFSETS, "orders") == {0: 18, 1: 0, 2: 17}


@pytest.mark.parametrize("text", [OFFSETS[:-10], OFFSETS.replace("orders", "others"), "v1\n", ""])
def test_offsets_that_do_not_name_the_topic_are_no_offsets(text: str) -> None:
    with pytest.raises(ValueError, match="nothing of orders"):
        next_offsets(text, "orders")


def test_only_batches_count_among_the_files_of_a_log() -> None:
    assert newest("0\n9\n10\n11.tmp\n.12.crc\n") == 10
    assert newest("") == -1


def test_reports_survive_a_line_that_was_torn() -> None:
    text = '{"step": "begun"}\n{"step": "writ{"step": "begun"}\n{"step": "held"}\n{"ste'
    assert parsed(text) == [{"step": "begun"}, {"step": "held"}]
