"""The ledger's checker: a healthy history passes, each damage is found as what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.history import History, Read, Sample, Send, value_of
from ledger.invariants import violations
from ledger.verdict import as_text, judge
from tests.unit.ledger_draft import FINALS, PARTITIONS, Draft, drafted, remove, with_readers


@pytest.fixture
def draft() -> Draft:
    return drafted(Random(3))  # noqa: S311 - a test's numbers


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
    draft.ends = draft.history().readers[-1].ends  # type: ignore[assignment]
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


def swap(draft: Draft, first: int, second: int, *, acks: bool) -> None:
    one, two = draft.acked(0, first), draft.acked(0, second)
    for log in draft.every_log():
        ranks = {read.value: rank for rank, read in enumerate(log[0])}
        for old, new in ((one, two), (two, one)):
            rank = ranks[old.value]
            log[0][rank] = log[0][rank]._replace(value=new.value)
    if acks:
        for send, other in ((one, two), (two, one)):
            draft.sends[draft.send(send.value)] = send._replace(offset=other.offset)


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
    ("damage", "expected"), MUTATIONS, ids=lambda x: getattr(x, "__name__", "")
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


@pytest.mark.parametrize("what", ["start", "end"])
def test_a_log_whose_start_or_end_goes_back_is_not_stable(draft: Draft, what: str) -> None:
    history = draft.history()
    low, high = dict.fromkeys(range(PARTITIONS), 0), dict.fromkeys(range(PARTITIONS), 5)
    series = [high, low] if what == "start" else [low, low]
    ends = [high, high] if what == "start" else [high, low]
    samples = [Sample(float(i), s, e) for i, (s, e) in enumerate(zip(series, ends, strict=True))]
    (first, *_) = found = violations(replace(history, samples=samples))
    assert {violation.invariant for violation in found} == {"I7"}
    assert first.what == f"partition 0: {what} of the log went back from 5 to 0"


def test_a_group_may_read_again_after_a_rebalance(draft: Draft) -> None:
    log = draft.logs["consumer-group"][0]
    log[60:60] = log[10:60]
    assert judge(draft.history()).state == "PASS"


def test_a_lost_record_is_named_with_who_had_read_it(draft: Draft) -> None:
    drop_at_the_end(draft)
    report = judge(draft.history())
    (lost,) = (x for x in report.violations if x.invariant == "I1")
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
    (found,) = violations(history)
    assert (found.invariant, found.records) == ("I1", (lost.value,))
