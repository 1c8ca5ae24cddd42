"""The ledger's checker: a healthy history passes, each damage is found as what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ledger.history import History, Read, Reader, Run, Sample, Send, value_of
from apps.ledger.invariants import violations
from apps.ledger.verdict import as_text, judge
from tests.unit.apps.ledger.ledger_draft import (
    FINALS,
    PARTITIONS,
    Draft,
    drafted,
    remove,
    with_readers,
)


@pytest.fixture
def draft() -> Draft:
    return drafted(Random(3))


def broken(history: History) -> set[str]:
    return {violation.invariant for violation in violations(history)}


def test_a_healthy_history_passes(draft: Draft) -> None:
    report = judge(draft.history())
    assert (report.state, list(report.violations), list(report.reasons)) == ("PASS", [], [])
    assert report.counts["acked"] > 200
    assert report.counts["info"] > 20
    assert report.counts["sessions"] == 2


def drop_everywhere(draft: Draft) -> None:
    for log in draft.every_log():
        remove(log[1], draft.acked(1, 40).value)


def drop_the_last_everywhere(draft: Draft) -> None:
    draft.ends = draft.history().readers[-1].ends  # type: ignore[assignment]  # that reader has read to an end
    value = draft.acked(1, -1).value
    assert draft.logs["final-1"][1][-1].value == value
    draft.commits = []
    for log in draft.every_log():
        remove(log[1], value)


def drop_at_the_end(draft: Draft) -> None:
    for name in FINALS:
        remove(draft.logs[name][1], draft.acked(1, 40).value)


def drop_from_one_final(draft: Draft) -> None:
    remove(draft.logs["final-2"][1], draft.acked(1, 40).value)


def drop_from_the_live_reader(draft: Draft) -> None:
    remove(draft.logs["consumer-assign"][1], draft.acked(1, 40).value)


def drop_from_the_group(draft: Draft) -> None:
    remove(draft.logs["consumer-group"][1], draft.acked(1, 40).value)


def swap(draft: Draft, first: int, second: int, *, acks: bool, partition: int = 0) -> None:
    earlier, later = draft.acked(partition, first), draft.acked(partition, second)
    for logs in draft.every_log():
        log = logs[partition]
        ranks = {read.value: rank for rank, read in enumerate(log)}
        for old, new in ((earlier, later), (later, earlier)):
            rank = ranks[old.value]
            log[rank] = log[rank]._replace(value=new.value)
    if acks:
        for send, acked in ((earlier, later), (later, earlier)):
            draft.sends[draft.send(send.value)] = send._replace(offset=acked.offset)


def swap_in_the_log(draft: Draft) -> None:
    swap(draft, 10, 40, acks=False)


def swap_in_log_and_acks(draft: Draft) -> None:
    swap(draft, 10, 40, acks=True)


def swap_over_sessions(draft: Draft) -> None:
    """The last record of one session and the first of the next: only time shows their order."""
    answered = [s for s in draft.sends if s.outcome == "ok" and s.partition == 0]
    last = max(rank for rank, send in enumerate(answered) if send.producer == "p1")
    late = draft.send(answered[last + 1].value)
    draft.sends[late] = draft.sends[late]._replace(acked=draft.sends[late].invoked + 0.5)
    early = draft.send(answered[last].value)
    draft.sends[early] = draft.sends[early]._replace(acked=draft.sends[early].invoked + 0.001)
    for i, send in enumerate(draft.sends):
        # Records without an answer of either session would stand between the two.
        if send.partition == 0 and early < i < late:
            for log in draft.every_log():
                assert send.value not in {read.value for read in log[0]}
    swap(draft, last, last + 1, acks=True)


def append(draft: Draft, send: Send) -> None:
    for log in draft.every_log():
        log[0].append(Read(0, log[0][-1].offset + 1, send.value))


def duplicate(draft: Draft) -> None:
    append(draft, draft.acked(0, 20))


def change_for_one_reader(draft: Draft) -> None:
    """To a value that was sent without an answer: only the others show that it is wrong."""
    stranger = draft.unread("info")
    log = draft.logs["final-2"][0]
    rank = next(
        rank
        for rank, read in enumerate(log)
        if (send := draft.sends[draft.send(read.value)]).offset is not None
        and send.producer == stranger.producer
        and send.seq == stranger.seq - 1
    )
    log[rank] = log[rank]._replace(value=stranger.value)


def show_a_refused(draft: Draft) -> None:
    last = draft.acked(0, -1)
    refused = last._replace(
        value=value_of("r", "p2", 0, last.seq + 100), seq=last.seq + 100, outcome="fail", acked=None
    )
    draft.sends.append(refused._replace(offset=None, invoked=last.invoked + 1))
    append(draft, refused)


def show_a_stranger(draft: Draft) -> None:
    append(draft, draft.acked(0, 0)._replace(value="another program's"))


def show_it_in_another_partition(draft: Draft) -> None:
    misled = draft.unread("info")
    for log in draft.every_log():
        log[1].append(Read(1, log[1][-1].offset + 1, misled.value))


def truncate(draft: Draft) -> None:
    for name in FINALS:
        del draft.logs[name][0][-10:]
    draft.commits = []


def truncate_unread(draft: Draft) -> None:
    """Nobody read the tail before; only the acknowledgements and nothing else show it."""
    draft.commits = []
    for log in draft.every_log():
        del log[0][-10:]


def truncate_the_start(draft: Draft) -> None:
    for name in FINALS:
        del draft.logs[name][0][:10]


def replay(draft: Draft) -> None:
    log = draft.logs["consumer-assign"][0]
    log[60:60] = log[10:16]


def commit_back(draft: Draft) -> None:
    draft.commits = [(0, 50), (1, 50), (0, 40), (0, 60)]


def commit_past_the_end(draft: Draft) -> None:
    draft.commits = [(0, 50), (0, 100_000)]


MUTATIONS: list[tuple[Callable[[Draft], None], set[str]]] = [
    (drop_everywhere, {"I1"}),
    (drop_the_last_everywhere, {"I1"}),
    # What a live reader had is also skipped, and no longer there.
    (drop_at_the_end, {"I1", "I6", "I7"}),
    (drop_from_one_final, {"I6", "I7"}),
    (drop_from_the_live_reader, {"I6"}),
    (drop_from_the_group, {"I9"}),
    # The acknowledgements contradict the log.
    (swap_in_the_log, {"I2", "I3", "I5", "I8"}),
    (swap_in_log_and_acks, {"I5", "I8"}),
    (swap_over_sessions, {"I8"}),
    (duplicate, {"I3"}),
    (change_for_one_reader, {"I2"}),
    (show_a_refused, {"I4"}),
    (show_a_stranger, {"I4"}),
    (show_it_in_another_partition, {"I4"}),
    (truncate, {"I1", "I7"}),
    (truncate_unread, {"I1"}),
    (truncate_the_start, {"I1", "I6", "I7"}),
    (replay, {"I6"}),
    (commit_back, {"I9"}),
    (commit_past_the_end, {"I9"}),
]


@pytest.mark.parametrize(
    ("damage", "expected"), MUTATIONS, ids=lambda value: getattr(value, "__name__", "")
)
def test_each_damage_breaks_its_invariants(
    draft: Draft, damage: Callable[[Draft], None], expected: set[str]
) -> None:
    damage(draft)
    history = draft.history()
    assert broken(history) == expected
    assert judge(history).state == "FAIL"


def test_every_invariant_is_broken_by_some_damage() -> None:
    assert {name for _, names in MUTATIONS for name in names} == {f"I{n}" for n in range(1, 10)}


@pytest.mark.parametrize("bound", ["start", "end"])
def test_a_log_whose_start_or_end_goes_back_is_not_stable(draft: Draft, bound: str) -> None:
    history = draft.history()
    low, high = dict.fromkeys(range(PARTITIONS), 0), dict.fromkeys(range(PARTITIONS), 5)
    series = [high, low] if bound == "start" else [low, low]
    ends = [high, high] if bound == "start" else [high, low]
    samples = [Sample(float(i), s, e) for i, (s, e) in enumerate(zip(series, ends, strict=True))]
    (first, *_) = problems = violations(replace(history, samples=samples))
    assert {violation.invariant for violation in problems} == {"I7"}
    assert first.what == f"partition 0: {bound} of the log went back from 5 to 0"


def test_a_group_may_read_again_after_a_rebalance(draft: Draft) -> None:
    log = draft.logs["consumer-group"][0]
    log[60:60] = log[10:60]
    assert judge(draft.history()).state == "PASS"


def test_a_lost_record_is_named_with_who_had_read_it(draft: Draft) -> None:
    drop_at_the_end(draft)
    report = judge(draft.history())
    (lost,) = (violation for violation in report.violations if violation.invariant == "I1")
    assert lost.records == (draft.acked(1, 40).value,)
    assert lost.what.endswith("once read by consumer-assign, consumer-group")
    text = as_text(report)
    assert text.startswith("FAIL")
    assert lost.records[0] in text
    assert report.counts["lost"] == 1


# Any history


def histories() -> st.SearchStrategy[Draft]:
    return st.builds(drafted, st.randoms(use_true_random=False), st.integers(12, 120))


@given(histories())
def test_any_healthy_history_passes(draft: Draft) -> None:
    report = judge(draft.history(), least_acks=1)
    assert (report.state, list(report.violations), list(report.reasons)) == ("PASS", [], [])


@given(histories(), st.data())
def test_dropping_any_acknowledged_record_is_found(draft: Draft, data: st.DataObject) -> None:
    ends = draft.history().readers[-1].ends
    lost = data.draw(st.sampled_from([send for send in draft.sends if send.outcome == "ok"]))
    for log in draft.every_log():
        remove(log[lost.partition], lost.value)
    history = with_readers(draft.history(), lambda reader: replace(reader, ends=ends))
    (violation,) = violations(history)
    assert (violation.invariant, violation.records) == ("I1", (lost.value,))


# At the edges


def texts(history: History, invariant: str) -> list[str]:
    return [violation.what for violation in violations(history) if violation.invariant == invariant]


def test_two_neighbours_that_are_swapped_break_the_order(draft: Draft) -> None:
    session = [s for s in draft.sends if s.outcome == "ok" and s.partition == 0]
    first = next(
        rank
        for rank, (send, following) in enumerate(pairwise(session))
        if following.seq == send.seq + 1 and send.producer == following.producer
    )
    swap(draft, first, first + 1, acks=True)
    assert "I5" in broken(draft.history())


def test_one_loss_hides_no_other_damage(draft: Draft) -> None:
    """A place that nobody reads comes before one that only one reader misses."""
    for log in draft.every_log():
        remove(log[0], draft.acked(0, 10).value)
    drop_from_one_final(draft)
    assert {"I1", "I6", "I7"} <= broken(draft.history())


def test_every_wrong_commit_is_named(draft: Draft) -> None:
    draft.commits = [(0, 50), (0, 50), (0, 40), (0, 99_999), (1, 50), (1, 49)]
    back, past, other_partition = texts(draft.history(), "I9")
    assert [text in back for text in ("partition 0", "50", "40")] == [True] * 3
    assert "99999" in past
    assert "partition 1" in other_partition


def test_a_commit_past_what_was_delivered_names_the_first(draft: Draft) -> None:
    drop_from_the_group(draft)
    lost = draft.acked(1, 40).offset
    (text,) = texts(draft.history(), "I9")
    assert f"first {lost}" in text
    assert "passes 1 " in text


@pytest.mark.parametrize(("start", "violated"), [(10, False), (9, True)])
def test_what_lies_before_the_start_of_a_log_may_be_gone(
    draft: Draft, start: int, violated: bool
) -> None:
    truncate_the_start(draft)
    history = draft.history()
    (sample,) = history.samples
    later = sample._replace(at=1.0, start={**sample.start, 0: start})
    gone = texts(replace(history, samples=[sample, later]), "I7")
    assert bool(gone) is violated


def test_a_log_that_ends_before_it_once_did_went_back(draft: Draft) -> None:
    history = draft.history()
    (sample,) = history.samples
    longer = sample._replace(at=1.0, end=dict.fromkeys(sample.end, 10_000))
    went = texts(replace(history, samples=[longer]), "I7")
    assert [text for text in went if "end of the log" in text and "10000" in text]
    assert texts(history, "I7") == []


@pytest.mark.parametrize(("later", "violated"), [(1.0, False), (1.001, True)])
def test_only_what_was_sent_after_an_answer_must_lie_behind_it(
    later: float, violated: bool
) -> None:
    first = Send("r/p1/0/0", "p1", 0, 0, 0.0, "ok", 1.0, 1)
    second = Send("r/p2/0/0", "p2", 0, 0, later, "ok", 9.0, 0)
    reads = [Read(0, 0, second.value), Read(0, 1, first.value)]
    reader = Reader("final-1", "final", reads, {0: 2}, done=True)
    history = History(Run("r", "t", 1, 1.0, 0.0, 0.0), [first, second], [reader])
    found_there = [
        violation.records for violation in violations(history) if violation.invariant == "I8"
    ]
    assert found_there == ([(second.value, first.value)] if violated else [])


def test_a_skip_and_a_return_are_told_apart(draft: Draft) -> None:
    drop_from_the_live_reader(draft)
    (skipped,) = texts(draft.history(), "I6")
    assert "skips 1:" in skipped
    replayed = drafted(Random(3))
    replay(replayed)
    assert any("goes back" in text for text in texts(replayed.history(), "I6"))


def test_a_loss_names_its_place(draft: Draft) -> None:
    lost = draft.acked(1, 40)
    drop_everywhere(draft)
    (text,) = texts(draft.history(), "I1")
    assert f"offset {lost.offset} of partition 1" in text
    index = draft.send(lost.value)
    draft.sends[index] = lost._replace(offset=None)
    (text,) = texts(draft.history(), "I1")
    assert "unknown offset" in text


def test_a_stranger_is_named_with_its_first_place(draft: Draft) -> None:
    show_a_stranger(draft)
    place = draft.logs["final-1"][0][-1]
    for log in draft.every_log():
        log[2].append(Read(2, log[2][-1].offset + 1, place.value))
    (text,) = texts(draft.history(), "I4")
    assert f"partition 0, offset {place.offset}" in text


@pytest.mark.parametrize("partition", [0, 2])
def test_a_copy_in_another_partition_hides_no_wrong_order(draft: Draft, partition: int) -> None:
    session = [s for s in draft.sends if s.outcome == "ok" and s.partition == 1]
    swap(draft, 20, 21, acks=True, partition=1)
    for log in draft.every_log():
        end = log[partition][-1].offset + 1
        log[partition] += [Read(partition, end + n, session[20 + n].value) for n in range(2)]
    assert "I5" in broken(draft.history())


def test_a_commit_past_several_names_the_first(draft: Draft) -> None:
    lost = [draft.acked(1, rank) for rank in (40, 41)]
    for record in lost:
        remove(draft.logs["consumer-group"][1], record.value)
    (text,) = texts(draft.history(), "I9")
    assert [fragment in text for fragment in ("passes 2 ", f"first {lost[0].offset}")] == [True] * 2


def test_another_value_in_its_place_proves_a_loss_to_a_reader_that_did_not_finish() -> None:
    send = Send("r/p1/0/0", "p1", 0, 0, 0.0, "ok", 1.0, 0)
    for reads, violated in (([], False), ([Read(0, 0, "r/p1/0/9")], True)):
        reader = Reader("final-1", "final", reads, {0: 1}, done=False)
        history = History(Run("r", "t", 1, 1.0, 0.0, 0.0), [send], [reader])
        assert ("I1" in broken(history)) is violated


@pytest.mark.parametrize(("read", "violated"), [(39, False), (40, False), (41, True)])
def test_a_reader_that_did_not_finish_proves_a_loss_behind_which_it_read(
    draft: Draft, read: int, violated: bool
) -> None:
    lost = next(s for s in draft.sends if s.partition == 1 and s.offset == 40)
    drop = [log[1] for log in draft.every_log()]
    for log in drop:
        remove(log, lost.value)

    def unfinished(reader: Reader) -> Reader:
        reads = [
            record for record in reader.reads if record.partition != 1 or record.offset <= read
        ]
        return replace(reader, reads=reads, done=False) if reader.kind == "final" else reader

    history = with_readers(draft.history(), unfinished)
    assert ("I1" in broken(history)) is violated
