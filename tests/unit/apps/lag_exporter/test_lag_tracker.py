"""What is known of groups from one reading to the next."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import SHARE, Group

from apps.lag_exporter.tracker import Lag, Tracker
from tests.unit.apps.lag_exporter.lag_readings import FLIGHTS, PLANES, group, reading

KEEP = 120.0


def lags(tracker: Tracker, name: str = "app") -> dict[tuple[str, int], tuple[int, float]]:
    lags_by_place = tracker.groups[name].lags
    return {place: (lag.records, lag.seconds) for place, lag in lags_by_place.items()}


def test_a_group_that_stops_falls_behind_in_records_and_seconds() -> None:
    tracker = Tracker(KEEP)
    for now, end in ((0, 10), (15, 25), (30, 40)):
        tracker.update(now, reading(group(), ends={FLIGHTS: end}))
    assert lags(tracker) == {FLIGHTS: (30, 30)}
    tracker.update(45, reading(group(committed={FLIGHTS: 40}), ends={FLIGHTS: 40}))
    assert lags(tracker) == {FLIGHTS: (0, 0)}


def test_a_committed_offset_behind_the_end_is_no_negative_lag() -> None:
    tracker = Tracker(KEEP)
    tracker.update(0, reading(group(), ends={FLIGHTS: 4}))
    assert lags(tracker) == {FLIGHTS: (0, 0)}


def test_a_share_group_has_the_lag_that_brokers_count_and_the_age_of_so_many_records() -> None:
    """Its start offset stays behind: the record there has been done for long."""
    tracker = Tracker(KEEP)
    for now, end in ((0, 10), (15, 25), (30, 40)):
        shared = Group("app", "Stable", SHARE, 1, {FLIGHTS: 10}, {FLIGHTS: 5})
        tracker.update(now, reading(shared, ends={FLIGHTS: end}))
    assert lags(tracker) == {FLIGHTS: (5, 5)}
    done = Group("app", "Stable", SHARE, 1, {FLIGHTS: 10}, {FLIGHTS: 0})
    tracker.update(45, reading(done, ends={FLIGHTS: 40}))
    assert lags(tracker) == {FLIGHTS: (0, 0)}


def test_what_a_whole_reading_does_not_have_is_gone() -> None:
    tracker = Tracker(KEEP)
    both = group(committed={FLIGHTS: 10, PLANES: 1})
    tracker.update(0, reading(both, group("other"), ends={FLIGHTS: 10, PLANES: 2}))
    tracker.update(15, reading(both, ends={FLIGHTS: 10}))  # the topic planes was deleted
    assert [*tracker.groups] == ["app"]
    assert [*lags(tracker)] == [FLIGHTS]
    tracker.update(30, reading())
    assert not tracker.groups


def test_what_a_reading_with_problems_does_not_have_stays_for_a_while() -> None:
    tracker = Tracker(KEEP)
    both = group(committed={FLIGHTS: 10, PLANES: 1})
    tracker.update(0, reading(both, group("other"), ends={FLIGHTS: 12, PLANES: 2}))
    # The leader of planes is down, and so is the coordinator of the other group.
    tracker.update(15, reading(both, ends={FLIGHTS: 13}, problem="broker 2"))
    assert tracker.groups["app"].lags[PLANES] == Lag(1, 0, 0)
    assert tracker.groups["app"].lags[FLIGHTS].records == 3
    assert tracker.groups["other"].read_at == 0
    tracker.update(KEEP + 1, reading(both, ends={FLIGHTS: 13}, problem="broker 2"))
    assert [*tracker.groups] == ["app"]
    assert [*lags(tracker)] == [FLIGHTS]


def test_offsets_and_members_that_were_not_answered_stay_too() -> None:
    tracker = Tracker(KEEP)
    tracker.update(0, reading(group(members=3), ends={FLIGHTS: 12}))
    tracker.update(15, reading(group(members=None, committed=None), ends={}, problem="busy"))
    assert lags(tracker) == {FLIGHTS: (2, 0)}
    assert tracker.groups["app"].members == 3


def test_an_offset_that_was_deleted_is_gone_while_another_one_has_a_problem() -> None:
    tracker = Tracker(KEEP)
    both = group(committed={FLIGHTS: 10, PLANES: 1})
    tracker.update(0, reading(both, ends={FLIGHTS: 12, PLANES: 2}))
    tracker.update(15, reading(group(), ends={FLIGHTS: 12}, problem="broker 2"))
    assert [*lags(tracker)] == [FLIGHTS]


def test_nothing_is_served_for_ever_when_no_broker_answers() -> None:
    tracker = Tracker(KEEP)
    tracker.update(0, reading(group(), ends={FLIGHTS: 12}))
    for now in range(15, 121, 15):
        tracker.update(now, reading(problem="no broker"))
        assert lags(tracker) == {FLIGHTS: (2, 0)}
    tracker.update(135, reading(problem="no broker"))
    assert not tracker.groups


def test_histories_of_what_nobody_reads_are_dropped() -> None:
    tracker = Tracker(KEEP)
    for number in range(500):
        place = (f"topic-{number}", 0)
        tracker.update(number, reading(group(committed={place: 1}), ends={place: 5}))
    assert len(tracker._histories) == 1
