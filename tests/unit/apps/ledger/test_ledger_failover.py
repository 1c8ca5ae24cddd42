"""What the ledger says of a group that moves to another cluster."""

from __future__ import annotations

import pytest

from apps.ledger.failover import Failover, judge
from apps.ledger.history import History, Read, Reader, Run, Send, value_of

RUN = Run("r", "t", 1, 100, 1_700_000_000.0, 0.0)


def value(seq: int) -> str:
    return value_of("r", "p1", 0, seq)


def reads(*seqs: int) -> list[Read]:
    """Records of one partition in this order, whose offsets have gaps as those of transactions."""
    return [Read(0, 2 * place, value(seq)) for place, seq in enumerate(seqs)]


def history(sent: int, read: int) -> History:
    """A run whose last record was not acknowledged, and whose group has read some."""
    sends = [Send(value(n), "p1", 0, n, float(n), "ok", n + 0.5, n) for n in range(sent)]
    sends.append(Send(value(sent), "p1", 0, sent, float(sent)))
    return History(RUN, sends, [Reader("consumer-group", "group", reads(*range(read)))])


def test_a_group_goes_on_where_it_was() -> None:
    failover = judge(history(10, 6), reads(*range(10)), reads(*range(6, 10)))
    assert failover == Failover(10, 10, 6, 4, 0, 0, 0, 0, 0, 0)
    assert not failover.wrong()


def test_what_was_not_copied_is_lost_and_what_is_read_twice_is_repeated() -> None:
    failover = judge(history(10, 6), reads(*range(8)), reads(*range(4, 8)))
    assert (failover.lost, failover.repeated, failover.unread) == (2, 2, 0)
    assert not failover.wrong()


def test_a_record_without_an_answer_may_have_been_copied() -> None:
    assert not judge(history(10, 6), reads(*range(11)), reads(*range(6, 11))).wrong()


def test_what_the_group_was_given_twice_here_is_repeated_too() -> None:
    assert judge(history(3, 1), reads(0, 1, 2), reads(1, 2, 2)).repeated == 1


def test_the_group_may_have_read_elsewhere_before() -> None:
    failover = judge(history(3, 0), reads(0, 1, 2), reads(2), before={value(0), value(1)})
    assert (failover.unread, failover.repeated) == (0, 0)


@pytest.mark.parametrize(
    ("copy", "after", "name"),
    [
        (reads(*range(10)), reads(*range(7, 10)), "unread"),
        (reads(*range(10), 9), reads(*range(6, 10)), "copied_twice"),
        (reads(*range(7), 8, 7, 9), reads(*range(6, 10)), "reordered"),
        (reads(*range(12)), reads(*range(6, 12)), "unknown"),
    ],
)
def test_what_must_not_happen_is_named(copy: list[Read], after: list[Read], name: str) -> None:
    wrong = judge(history(10, 6), copy, after).wrong()
    assert [problem for problem in wrong if name in problem]
