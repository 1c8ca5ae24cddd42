"""The ledger's verdict: what proves nothing is unknown, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from apps.ledger.gaps import measure
from apps.ledger.history import Event, History, Reader, Run, Send
from apps.ledger.invariants import Violation
from apps.ledger.verdict import Report, _counts, as_dict, as_text, judge, violated
from tests.unit.apps.ledger.ledger_draft import WALL, Draft, drafted, remove, with_readers


@pytest.fixture
def draft() -> Draft:
    return drafted(Random(3))


# What proves nothing


def unfinished(history: History) -> History:
    """One final reader stopped at half of each partition, at its deadline."""

    def half(reader: Reader) -> Reader:
        if reader.kind != "final":
            return reader
        reads = [read for read in reader.reads if read.offset < 50]
        return replace(reader, reads=reads, done=False)

    return with_readers(history, half)


def silent_partition(history: History) -> History:
    gone = {send.value for send in history.sends if send.partition == 2}
    return replace(
        with_readers(
            history,
            lambda r: replace(r, reads=[read for read in r.reads if read.value not in gone]),
        ),
        sends=[send for send in history.sends if send.partition != 2],
        commits=[commit for commit in history.commits if commit.partition != 2],
    )


def unanswered_partition(history: History) -> History:
    def unanswered(send: Send) -> Send:
        if send.partition != 2 or send.outcome == "fail":
            return send
        return send._replace(outcome="info", acked=None, offset=None)

    return replace(history, sends=[unanswered(send) for send in history.sends])


def at(history: History, start: float, end: float | None) -> History:
    return replace(history, events=[Event("k1", 1, "restart", WALL + start, end and WALL + end)])


NOTHING_PROVEN: list[tuple[Callable[[History], History], str]] = [
    (lambda h: replace(h, events=[]), "no change was made"),
    (lambda h: at(h, 500, 501), "restart of k1: 0 acknowledgements around it, 50 needed"),
    (lambda h: at(h, -10, -4.99), "acknowledgements around it"),
    (lambda h: at(h, 1, None), "restart of k1 has no end"),
    (silent_partition, "partition 2 acknowledged no record"),
    (unanswered_partition, "partition 2 acknowledged"),
    (unfinished, "final-1 did not read to the end"),
    (
        lambda h: with_readers(h, lambda r: None if r.name == "final-2" else r),
        "1 readers of kind final, 2 needed",
    ),
    (
        lambda h: with_readers(h, lambda r: None if r.kind == "group" else r),
        "0 readers of kind group, 1 needed",
    ),
    (
        lambda h: with_readers(h, lambda r: replace(r, reads=[]) if r.kind == "assign" else r),
        "consumer-assign read nothing",
    ),
    (lambda h: replace(h, commits=[]), "the group never committed an offset"),
    (lambda h: replace(h, samples=[]), "start and end of the log were never sampled"),
]


@pytest.mark.parametrize(("change", "reason"), NOTHING_PROVEN, ids=[r for _, r in NOTHING_PROVEN])
def test_what_proves_nothing_is_unknown(
    draft: Draft, change: Callable[[History], History], reason: str
) -> None:
    report = judge(change(draft.history()))
    assert (report.state, list(report.violations)) == ("UNKNOWN", [])
    assert any(reason in text for text in report.reasons), report.reasons
    assert reason in as_text(report)


def test_a_run_without_changes_can_pass_when_none_were_meant(draft: Draft) -> None:
    draft.events = []
    assert judge(draft.history(), expect_changes=False).state == "PASS"


def test_the_needed_acknowledgements_can_be_chosen(draft: Draft) -> None:
    assert judge(draft.history(), least_acks=100).state == "PASS"
    assert judge(draft.history(), least_acks=100_000).state == "UNKNOWN"


def test_a_change_can_say_what_it_needs_itself(draft: Draft) -> None:
    """A fault that stops all writing needs none, one that must not may need more than its time."""
    history = at(draft.history(), 500, 560)
    (fault,) = history.events
    none = replace(fault, least_acks=0, detail="2 of 3 brokers down")
    assert judge(replace(history, events=[none])).state == "PASS"
    assert judge(replace(history, events=[none]), least_acks=1).state == "PASS"
    assert "restart of k1: 60.0 s (2 of 3 brokers down), gap" in as_text(
        judge(replace(history, events=[none]))
    )
    history = draft.history()
    much = [replace(event, least_acks=100_000) for event in history.events]
    report = judge(replace(history, events=much), least_acks=1)
    assert report.state == "UNKNOWN"
    assert "acknowledgements around it, 100000 needed" in report.reasons[0]


def test_what_is_broken_outweighs_what_is_missing(draft: Draft) -> None:
    for log in draft.logs.values():
        remove(log[1], draft.acked(1, 40).value)
    draft.events = []
    assert judge(draft.history()).state == "FAIL"


# Gaps


def acks_at(partition: int, *times: float) -> list[Send]:
    return [
        Send(f"v{partition}{t}", "p1", partition, i, t - 0.01, "ok", t, i)
        for i, t in enumerate(times)
    ]


def test_a_gap_is_that_of_the_worst_partition_and_belongs_to_its_change() -> None:
    sends = [*acks_at(0, 1, 2, 3, 4, 5, 6, 7), *acks_at(1, 1.5, 5.5, 6.5)]
    history = History(
        Run("r", "t", 2, 1, WALL, 0.0),
        sends,
        (),
        events=[
            Event("k1", 1, "restart", WALL + 2, WALL + 3),
            Event("k2", 2, "restart", WALL + 6, WALL + 6.2),
        ],
        started=0.5,
        stopped=9.0,
    )
    gaps = measure(history)
    assert gaps.longest == pytest.approx(4.0)
    assert gaps.by_partition == {0: pytest.approx(2.0), 1: pytest.approx(4.0)}
    assert gaps.any_partition == pytest.approx(2.0)  # production went on after the last one
    assert gaps.between_sends == pytest.approx(1.0)
    assert [window.longest for window in gaps.windows] == [pytest.approx(4.0), pytest.approx(1.0)]
    assert gaps.latency["max"] == pytest.approx(0.01)


def test_a_window_has_what_touches_it(draft: Draft) -> None:
    random = Random(5)
    for _ in range(40):
        start = random.uniform(-8, 8)
        draft.events.append(Event("k", None, "x", WALL + start, WALL + start + random.random()))
    history = draft.history()
    times: dict[int, list[float]] = {0: [0.0], 1: [0.0], 2: [0.0]}
    for send in sorted(history.sends, key=lambda send: send.acked or 0.0):
        if send.acked is not None:
            times[send.partition].append(send.acked)
    acks = [at for acked in times.values() for at in acked[1:]]
    for window in measure(history).windows:
        start, end = (at - WALL for at in (window.event.start, window.event.end or 0.0))
        assert window.acks == sum(start - 5 <= at <= end + 5 for at in acks)
        gaps = [
            (before, after)
            for acked in times.values()
            for before, after in pairwise([*acked, max(3.6, acked[-1])])
            if before < end and after > start
        ]
        longest = max((after - before for before, after in gaps), default=0.0)
        assert window.longest == pytest.approx(longest)


def test_a_load_that_got_no_answer_has_a_gap_of_all_its_time() -> None:
    history = History(Run("r", "t", 1, 1, WALL, 0.0), (), (), started=1.0, stopped=31.0)
    assert measure(history).longest == pytest.approx(30.0)


def test_the_report_has_each_change_with_its_parts(draft: Draft) -> None:
    report: Report = judge(draft.history())
    text = as_text(report)
    assert "restart of k1: 1.8 s (stop 1.0, ready 2.0), gap 0." in text
    assert "gap at a change: median 0." in text
    many = [Violation("I1", "w", (f"x{i}",)) for i in range(30)]
    assert "I1 (no lost write) violated 30 times" in as_text(replace(report, violations=many))


def test_each_change_that_proves_nothing_is_named(draft: Draft) -> None:
    endless = Event("k1", 1, "restart", WALL, None)
    idle = Event("k2", 2, "restart", WALL + 500, WALL + 501)
    report = judge(replace(draft.history(), events=[endless, idle]))
    reasons = "\n".join(report.reasons)
    assert "restart of k1 has no end" in reasons
    assert "restart of k2: 0 acknowledgements" in reasons


def test_a_change_of_no_length_has_an_end(draft: Draft) -> None:
    moment = Event("k1", 1, "restart", WALL + 1, WALL + 1)
    assert judge(replace(draft.history(), events=[moment])).state == "PASS"


def test_a_longer_change_needs_more_acknowledgements(draft: Draft) -> None:
    """Half of what the rate gives in its time."""
    report = judge(at(draft.history(), 500, 510))
    assert any("500 needed" in reason for reason in report.reasons), report.reasons


def test_a_reader_of_each_kind_is_needed(draft: Draft) -> None:
    history = with_readers(draft.history(), lambda r: None if r.kind == "assign" else r)
    reasons = judge(history).reasons
    assert any("0 readers of kind assign, 1 needed" in reason for reason in reasons)


def test_what_a_change_took_is_summed_up_by_its_parts(draft: Draft) -> None:
    seconds = as_dict(judge(draft.history()))["seconds_by_change"]
    assert seconds == {
        "stop": {"median": 2.0, "worst": 3.0},
        "ready": {"median": 2.0, "worst": 2.0},
    }


def test_what_is_reordered_counts_for_both_reasons() -> None:
    problems = [Violation(name, "w", ()) for name in ("I5", "I5", "I8", "I3")]
    counts = _counts(drafted(Random(3)).history(), problems)
    assert (counts["reordered"], counts["duplicated"], counts["lost"]) == (3, 1, 0)


def test_an_invariant_is_named_with_how_often_it_was_violated() -> None:
    assert violated("I5", 1).endswith("violated once")
    assert violated("I5", 2).endswith("violated 2 times")
    assert "order of sending" in violated("I5", 2)


def test_latencies_are_shown_in_milliseconds(draft: Draft) -> None:
    draft.sends = [
        send if send.acked is None else send._replace(acked=send.invoked + 0.0625)
        for send in draft.sends
    ]
    assert "62.5" in as_text(judge(draft.history()))
