"""The verdict about a share group: what the producer has to find again, and how often."""

from __future__ import annotations

from collections import Counter

from tests.support.faults.verifiable import ShareVerdict, Verdict

ACKED = {(0, 0): "a", (0, 1): "b", (1, 0): "c"}


def verdict(**fields: object) -> Verdict:
    """Return the verdict of programs that agree, but for the fields."""
    shared = {
        "limit": 5,
        "deliveries": Counter(ACKED.keys()),
        "acknowledged": {*ACKED},
        "remaining": {0: 0, 1: 0},
        **fields,
    }
    return Verdict(ACKED, dict(ACKED), ShareVerdict(**shared))  # type: ignore[arg-type]  # for short


def test_each_record_that_is_acknowledged_is_enough() -> None:
    assert verdict().wrong == []
    again = verdict(deliveries=Counter(dict.fromkeys(ACKED, 5)))
    assert again.wrong == []


def test_a_record_that_is_not_acknowledged_is_named() -> None:
    shared = verdict(acknowledged={(0, 0), (1, 0)})
    (problem,) = shared.wrong
    assert problem.startswith("(0, 1) was not acknowledged by the share group")


def test_an_acknowledgement_without_an_answer_counts_once_nothing_is_left() -> None:
    """The broker may have taken it before it was killed."""
    without = {"acknowledged": {(0, 0), (1, 0)}, "unanswered": {(0, 1)}}
    assert verdict(**without).wrong == []
    assert len(verdict(**without, remaining={1: 0}).wrong) == 1
    assert len(verdict(**without, remaining=None).wrong) == 1
    assert verdict(**without, remaining={0: 1, 1: 0}).wrong[1:] == ["1 records of 0 are left"]


def test_more_deliveries_than_the_limit_are_named() -> None:
    often = Counter({**Counter(ACKED.keys()), (1, 0): 6})
    assert verdict(deliveries=often).wrong == ["(1, 0) was delivered 6 times"]


def test_what_the_other_programs_see_counts_beside_it() -> None:
    lost = Verdict(ACKED, {place: ACKED[place] for place in [(0, 0), (0, 1)]})
    assert lost.wrong == ["(1, 0) was acknowledged, and is not there"]
