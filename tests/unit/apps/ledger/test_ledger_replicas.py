"""What lies on the disks of the brokers: how it is read, and how it is held against the readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ledger import replicas
from apps.ledger.history import History, Read, Reader
from apps.ledger.invariants import violations
from apps.ledger.replicas import held
from apps.ledger.verdict import as_dict, as_text, judge
from tests.unit.apps.ledger.ledger_draft import PARTITIONS, Draft, drafted, remove
from tests.unit.apps.ledger.ledger_segments import GZIP, batch, segment

NAMES = ("k1", "k2", "k3")

# Segments


def test_records_are_read_over_segments_and_markers_left_out() -> None:
    first = batch(0, ["a", "b"]) + batch(2, ["marker"], control=True) + batch(3, ["c"])
    reads, end = held(7, [first, batch(4, ["d"] * 50, codec=GZIP)])
    assert reads[:3] == [Read(7, 0, "a"), Read(7, 1, "b"), Read(7, 3, "c")]
    assert reads[3:] == [Read(7, 4 + i, "d") for i in range(50)]
    assert end == 54


def test_a_marker_counts_for_the_end() -> None:
    assert held(0, [batch(0, ["a"]) + batch(1, ["marker"], control=True)]) == ([Read(0, 0, "a")], 2)
    assert held(0, []) == ([], 0)


@given(st.lists(st.lists(st.text(max_size=5), min_size=1, max_size=4), max_size=5), st.data())
def test_a_log_cut_anywhere_holds_its_whole_batches(
    values: list[list[str]], data: st.DataObject
) -> None:
    wholes: list[tuple[int, int]] = [(0, 0)]
    log = b""
    for group in values:
        log += batch(wholes[-1][1], group)
        wholes.append((len(log), wholes[-1][1] + len(group)))
    cut = data.draw(st.integers(0, len(log)))
    rows = [value for group in values for value in group]
    end = max(end for size, end in wholes if size <= cut)
    assert held(0, [log[:cut]]) == ([Read(0, i, rows[i]) for i in range(end)], end)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),  # a bit of the last record
        lambda data: data[:16] + b"\x00" + data[17:],  # another format
        lambda data: data[:8] + b"\x00\x00\x00\x00" + data[12:],  # zeros where a length was
        lambda data: data[:8] + b"\xff\xff\xff\xff" + data[12:],
        lambda data: data[:8] + b"\x00\x00\x00\x14" + data[12:],  # shorter than any header
        lambda data: bytes(len(data)),
    ],
)
def test_behind_a_damaged_batch_nothing_of_its_segment_is_held(
    damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    good = batch(0, ["a"])
    broken = good + damage(batch(1, ["b"])) + batch(2, ["c"])
    longer = batch(3, ["longer than the first"])
    assert held(0, [broken, longer]) == ([Read(0, 0, "a"), Read(0, 3, "longer than the first")], 4)
    assert f"byte {len(good)}" in caplog.text
    assert f"byte {len(longer)}" not in caplog.text


def test_a_directory_is_read_as_it_was_fetched(tmp_path: Path) -> None:
    for name in ("k1/t-0", "k1/t-1", "k1/t-2-0", "k1/t-1.a-delete", "k2/t-1", "k3/other-0"):
        (tmp_path / name).mkdir(parents=True)
    for name, data in (
        ("k1/t-0/00000000000000000010.log", batch(10, ["c"])),
        ("k1/t-0/00000000000000000002.log", batch(2, ["b"])),
        ("k1/t-0/00000000000000000000.log", batch(0, ["a"]) + batch(1, ["torn"])[:-3]),
        ("k1/t-0/00000000000000000000.index", b"no records"),
        ("k1/t-2-0/00000000000000000000.log", batch(0, ["of t-2"])),
        ("k1/t-1.a-delete/00000000000000000000.log", batch(0, ["deleted"])),
        ("k2/t-1/00000000000000000000.log", batch(0, ["x"])),
    ):
        (tmp_path / name).write_bytes(data)
    first = [Read(0, 0, "a"), Read(0, 2, "b"), Read(0, 10, "c")]
    assert replicas.readers(tmp_path, "t") == [
        Reader("k1", "replica", first, {0: 11, 1: 0}, done=True),
        Reader("k2", "replica", [Read(1, 0, "x")], {1: 1}, done=True),
    ]
    assert replicas.readers(tmp_path / "none", "t") == []


# Against the readers

Disks = dict[str, dict[int, list[Read]]]


@pytest.fixture
def draft() -> Draft:
    return drafted(Random(3))


def disks_of(draft: Draft) -> Disks:
    log = draft.logs["final-1"]
    return {name: {p: list(reads) for p, reads in log.items()} for name in NAMES}


def compared(draft: Draft, disks: Disks) -> History:
    """The history with what lies on each disk, through its segments."""
    history = draft.history()
    replicas = []
    for name, logs in disks.items():
        disk_logs = {
            p: held(p, [segment(reads[:50]), segment(reads[50:])]) for p, reads in logs.items()
        }
        reads = [read for disk_reads, _ in disk_logs.values() for read in disk_reads]
        ends = {p: end for p, (_, end) in disk_logs.items()}
        replicas.append(Reader(name, "replica", reads, ends, done=True))
    return replace(history, readers=[*history.readers, *replicas])


def broken(history: History) -> set[str]:
    return {violation.invariant for violation in violations(history)}


def test_equal_disks_are_counted_in_the_report(draft: Draft) -> None:
    report = judge(compared(draft, disks_of(draft)))
    assert (report.state, list(report.violations)) == ("PASS", [])
    assert "compared with the disks of 3 replicas, 9 copies of 3 partitions" in as_text(report)
    assert as_dict(report)["counts"]["copies"] == 3 * PARTITIONS
    assert "compared" not in as_text(judge(draft.history()))


def lack_in_the_middle(draft: Draft, disks: Disks) -> None:
    del disks["k2"][1][30]


def lack_at_the_end(draft: Draft, disks: Disks) -> None:
    disks["k2"][1].pop()


def lack_all_of_a_partition(draft: Draft, disks: Disks) -> None:
    disks["k2"][1].clear()


def another_value(draft: Draft, disks: Disks) -> None:
    """One that was sent without an answer and is nowhere else."""
    log = disks["k2"][0]
    log[30] = log[30]._replace(value=draft.unread("info").value)


def a_foreign_value(draft: Draft, disks: Disks) -> None:
    log = disks["k2"][1]
    log[30] = log[30]._replace(value="another program's")


def a_value_twice(draft: Draft, disks: Disks) -> None:
    log = disks["k2"][1]
    log[31] = log[31]._replace(value=log[30].value)


def an_extra_value(draft: Draft, disks: Disks) -> None:
    """At the offset of another one, whose batch is there too."""
    log = disks["k2"][1]
    log.insert(30, Read(1, log[30].offset, "another program's"))


def one_that_no_consumer_was_given(draft: Draft, disks: Disks) -> None:
    draft.commits = []
    for log in draft.every_log():
        remove(log[1], disks["k2"][1][30].value)
    for name in ("k1", "k3"):
        del disks[name][1][30]


MUTATIONS: list[tuple[Callable[[Draft, Disks], None], set[str], str]] = [
    # A disk is also a reader that skips nothing.
    (lack_in_the_middle, {"I6", "I7"}, "and not by k2"),
    (lack_at_the_end, {"I7"}, "and not by k2"),
    (lack_all_of_a_partition, {"I7"}, "and not by k2"),
    (another_value, {"I2", "I5"}, "(k2)"),
    (a_foreign_value, {"I2", "I4"}, "by k2, never sent"),
    (a_value_twice, {"I2", "I3"}, "(k2)"),
    (an_extra_value, {"I2", "I4", "I6"}, "by k2, never sent"),
    (one_that_no_consumer_was_given, {"I1", "I6", "I7"}, "never read, on the disk of k2"),
]


@pytest.mark.parametrize(
    ("damage", "expected", "text"), MUTATIONS, ids=lambda value: getattr(value, "__name__", "")
)
def test_each_damage_of_one_disk_is_found_and_names_it(
    draft: Draft, damage: Callable[[Draft, Disks], None], expected: set[str], text: str
) -> None:
    disks = disks_of(draft)
    damage(draft, disks)
    history = compared(draft, disks)
    assert broken(history) == expected
    assert judge(history).state == "FAIL"
    assert any(text in violation.what for violation in violations(history))


def test_what_was_never_acknowledged_may_lie_behind_the_end(draft: Draft) -> None:
    """Of a leader that was cut off: its own records, at offsets that others never reached."""
    disks = disks_of(draft)
    end = disks["k2"][0][-1].offset + 1
    disks["k2"][0] += [Read(0, end, draft.acked(0, 5).value), Read(0, end + 1, "anything")]
    disks["k3"][0] += [Read(0, end, draft.unread("info").value)]
    assert judge(compared(draft, disks)).state == "PASS"


def test_not_every_broker_has_every_partition(draft: Draft) -> None:
    disks = disks_of(draft)
    del disks["k2"][1]
    report = judge(compared(draft, disks))
    assert report.state == "PASS"
    assert (report.counts["replicas"], report.counts["copies"]) == (3, 8)


def test_a_lost_record_says_whether_a_disk_still_has_it(draft: Draft) -> None:
    disks = disks_of(draft)
    lost = draft.acked(1, 40).value
    for logs in (*draft.every_log(), *disks.values()):
        remove(logs[1], lost)
    (violation,) = violations(compared(draft, disks))
    assert violation.invariant == "I1"
    assert violation.what.endswith("never read, on the disk of no replica")


@given(st.randoms(use_true_random=False), st.integers(12, 60), st.data())
def test_any_record_that_one_disk_lacks_is_found(
    random: Random, records: int, data: st.DataObject
) -> None:
    draft = drafted(random, records)
    disks = disks_of(draft)
    name = data.draw(st.sampled_from(NAMES))
    partition = data.draw(st.integers(0, PARTITIONS - 1))
    lost = data.draw(st.sampled_from(disks[name][partition]))
    disks[name][partition].remove(lost)
    problems = [
        violation for violation in violations(compared(draft, disks)) if violation.invariant == "I7"
    ]
    assert [violation.records for violation in problems] == [(lost.value,)]
    assert problems[0].what.endswith(f"and not by {name}")
