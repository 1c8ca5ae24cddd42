"""One node in a roll: how the control node handles the module's results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.start_signs import LEAST_BYTES
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.roll import (
    HostUnreachableError,
    NodeRoll,
    StoppedError,
)

from tests.unit.operations.slices import answer

Answer = dict[str, Any] | Exception
LIMITS = {"gate": 600.0, "stop": 330.0, "start": 120.0, "ready": 1800.0}


class Roll:
    """A roll with answers in place of a host; each call of the module takes `seconds`."""

    def __init__(
        self,
        answers: Iterable[Answer],
        action: str = "restart",
        failing: Mapping[str, str] | None = None,
        seconds: float = 1,
        **limits: float,
    ) -> None:
        self._answers, self._failing = iter(answers), failing or {}
        self._now, self._seconds = 0.0, seconds
        self.calls: list[Mapping[str, Any]] = []
        self.did: list[str] = []
        self.shown: list[str] = []
        self.node = NodeRoll(
            action,
            self._call,
            {name: self._step(name) for name in ("write_files", "reboot")},
            {**LIMITS, **limits},
            self.shown.append,
            clock=lambda: self._now,
        )

    def _call(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        self.calls.append(options)
        self.did.append(f"{options['phase']}-{options['until']}")
        self._now += self._seconds
        result = next(self._answers)
        if isinstance(result, Exception):
            raise result
        return result

    def _step(self, name: str) -> Any:
        def step() -> str | None:
            self.did.append(name)
            self._now += 50
            return self._failing.get(name)

        return step

    def stops(self) -> StoppedError:
        with pytest.raises(StoppedError) as raised:
            self.node.run()
        return raised.value


def test_each_slice_goes_on_where_the_last_one_ended() -> None:
    roll = Roll(
        [
            answer("gate", waiting=["orders-0"], seconds={"gate": 1.0}),
            answer("start", seconds={"gate": 0.5, "stop": 2.0, "start": 1.0}),
            answer("done", seconds={"start": 3.0, "ready": 1.0, "canary": 0.5}),
        ]
    )
    roll.node.run()
    assert [call["phase"] for call in roll.calls] == ["gate", "gate", "start"]
    spent = {"gate": 1.5, "stop": 2, "start": 4, "ready": 1, "canary": 0.5}
    assert (roll.node.seconds, roll.node.changed) == (spent, True)
    assert "orders-0" in roll.shown[0]


def test_each_slice_is_told_of_a_failed_directory_that_an_earlier_one_saw() -> None:
    seen = answer("stop", waiting=["it stops"], had_failed_directory=True)
    roll = Roll([seen, answer("done")])
    roll.node.run()
    assert [call["had_failed_directory"] for call in roll.calls] == [False, True]


def test_a_node_that_needs_nothing_is_not_changed() -> None:
    roll = Roll([answer("done", changed=False)])
    roll.node.run()
    assert not roll.node.changed


def test_a_shut_gate_leaves_the_node_untouched() -> None:
    roll = Roll([answer("gate", waiting=["orders-0 {1}"])] * 2, gate=1.5)
    error = roll.stops()
    assert not error.touched
    assert "orders-0 {1}" in str(error)
    assert not roll.node.changed


def test_what_no_waiting_ends_is_not_waited_for() -> None:
    error = Roll([answer("gate", waiting=["lonely-0"], non_retriable=True)]).stops()
    assert not error.touched
    assert "lonely-0" in str(error)


@pytest.mark.parametrize("ends", [True, False])
def test_only_a_deadline_that_has_passed_is_named(ends: bool) -> None:
    """What no waiting ends was not waited for."""
    answers = [answer("gate", waiting=["lonely-0"], non_retriable=not ends)] * 2
    assert ("timed out after" in str(Roll(answers, gate=1.5).stops())) is ends


def test_time_that_is_left_is_shown_and_never_below_nothing() -> None:
    answers = [*[answer("start", waiting=["port 9092"])] * 2, answer("done")]
    roll = Roll(answers, seconds=3, start=1.0)
    roll.node.run()
    shown = [line.partition(" s left")[0] for line in roll.shown if "port 9092" in line]
    assert [line.rpartition(" ")[2] for line in shown] == ["1", "0"]


def test_the_second_failed_start_says_that_both_failed() -> None:
    once = Roll([answer("start", start_failed="no disk")]).stops()
    failed = answer("start", start_failed="no class", restored=["/etc/a"])
    twice = Roll([failed, answer("start", start_failed="no disk")]).stops()
    assert "either" not in str(once)
    assert "either" in str(twice)


def test_a_slice_has_a_moment_at_least() -> None:
    """At the deadline the host is asked once more, and not for a negative time."""
    roll = Roll([answer("start"), answer("start"), answer("done")], seconds=1, start=1.5)
    roll.node.run()
    assert roll.calls[-1]["slice"] == 0.5
    late = Roll([answer("start"), answer("start"), answer("done")], seconds=2, start=1.5)
    late.node.run()
    assert late.calls[-1]["slice"] == 0.1


@pytest.mark.parametrize("phase", ["stop", "ready", "canary"])
def test_a_phase_that_takes_too_long_stops_the_roll(phase: str) -> None:
    limits: Any = {phase: 5.5}
    roll = Roll([answer(phase, waiting=["something"])] * 10, **limits)
    error = roll.stops()
    assert error.touched
    assert "something" in str(error)
    # The first answer begins the phase.
    assert len(roll.calls) == 1 + 6


def test_each_phase_has_its_own_deadline() -> None:
    phases = ("gate", "gate", "stop", "stop", "start", "start", "ready", "ready", "done")
    roll = Roll(map(answer, phases), gate=2.5, stop=2.5, start=2.5, ready=2.5)
    roll.node.run()


def test_a_slice_is_no_longer_than_what_is_left() -> None:
    roll = Roll([answer("gate"), answer("done")], seconds=8, gate=24)
    roll.node.run()
    assert [call["slice"] for call in roll.calls] == [20, 16]


def progress(**signs: object) -> Answer:
    return answer("start", waiting=["port 9092"], signs={"read": 0, "lines": [], **signs})


@pytest.mark.parametrize(
    "slices",
    [
        [progress(read=number * LEAST_BYTES) for number in range(500)],
        [progress(lines=[number]) for number in range(500)],
        [progress(preparing=True)] * 500,
    ],
    ids=["it reads data", "it logs what it did not log before", "systemd limits this"],
)
def test_a_start_has_no_deadline_as_long_as_its_process_makes_progress(
    slices: list[Answer],
) -> None:
    roll = Roll([*slices, answer("ready"), answer("done")], seconds=20, start=15.0)
    roll.node.run()
    assert len(roll.calls) == 502


@pytest.mark.parametrize(
    "slices",
    [
        [progress(read=10 * LEAST_BYTES)],
        [progress(lines=[1, 2]), progress(lines=[2]), progress(lines=[1])],
        [progress(read=number * LEAST_BYTES // 50) for number in range(40)],
    ],
    ids=["nothing at all", "the same lines again", "hardly anything"],
)
def test_a_start_without_progress_ends_the_roll_and_leaves_the_process(
    slices: list[Answer],
) -> None:
    roll = Roll([*slices, *slices[-1:] * 40], start=9.5)
    error = roll.stops()
    assert error.touched
    assert "port 9092" in str(error)
    assert roll.node.restored == []
    assert len(roll.calls) < 35


def test_a_process_that_started_anew_is_compared_with_itself() -> None:
    """Less was read than by the one before it, whose lines it logs once more."""
    failed = answer("start", start_failed="no class", restored=["/etc/a"])
    first = progress(read=90 * LEAST_BYTES, lines=[1])
    again = [progress(read=number * LEAST_BYTES, lines=[1]) for number in range(30)]
    roll = Roll([first, failed, *again, answer("done")], start=1.5)
    assert "no class" in str(roll.stops())
    assert roll.node.restored == ["/etc/a"]


def test_the_host_is_asked_whether_a_process_without_progress_said_why() -> None:
    """It has the previous files, with which the node may start."""
    roll = Roll(
        [answer("start"), answer("start"), answer("start", start_failed="too late")], start=0.5
    )
    error = roll.stops()
    assert [call["start_timed_out"] for call in roll.calls] == [False, False, True]
    assert "too late" in str(error)
    assert error.touched


def test_a_node_whose_former_files_were_put_back_serves_again_and_stops_the_roll() -> None:
    failed = answer("start", start_failed="no such class", restored=["/etc/a"])
    roll = Roll([failed, answer("start"), answer("done")])
    error = roll.stops()
    assert roll.node.restored == ["/etc/a"]
    assert "no such class" in str(error)
    assert "/etc/a" in str(error)
    assert [call["phase"] for call in roll.calls] == ["gate", "start", "start"]


def test_a_start_with_the_former_files_has_its_time_anew() -> None:
    failed = answer("start", start_failed="too late", restored=["/etc/a"])
    answers = [answer("start"), failed, answer("start"), answer("start"), answer("done")]
    roll = Roll(answers, start=2.5)
    assert roll.stops()
    assert not [call for call in roll.calls if call["start_timed_out"]]


def test_former_files_that_do_not_start_either_stop_the_roll() -> None:
    failed = answer("start", start_failed="no such class", restored=["/etc/a"])
    roll = Roll([failed, answer("start", start_failed="no disk")])
    assert "no disk" in str(roll.stops())
    assert roll.node.restored == ["/etc/a"]


@pytest.mark.parametrize(("phase", "touched"), [("gate", False), ("ready", True)])
def test_a_host_that_is_lost_stops_the_roll(phase: str, touched: bool) -> None:
    first = [] if phase == "gate" else [answer(phase)]
    error = Roll([*first, HostUnreachableError("no route")]).stops()
    assert "no route" in str(error)
    assert error.touched is touched


@pytest.mark.parametrize(("phase", "touched"), [("gate", False), ("ready", True)])
@pytest.mark.parametrize("broken", [{"failed": True, "msg": "broken"}, {"msg": "broken"}])
def test_a_module_that_fails_stops_the_roll(
    phase: str, touched: bool, broken: dict[str, Any]
) -> None:
    first = [] if phase == "gate" else [answer(phase)]
    error = Roll([*first, broken]).stops()
    assert "broken" in str(error)
    assert error.touched is touched


def test_a_killed_broker_serves_again_and_still_stops_the_roll() -> None:
    error = Roll([answer("start", degraded=["it was killed"]), answer("done")]).stops()
    assert "it was killed" in str(error)


def test_an_active_controller_is_left_for_the_end() -> None:
    roll = Roll([answer("gate", deferred=True)], "upgrade")
    roll.node.run()
    assert roll.node.deferred
    assert roll.did == ["gate-stop"]


# An upgrade


def test_an_upgrade_writes_the_files_between_two_gates() -> None:
    """Files that wait for a restart for hours would be read by a node that crashes."""
    roll = Roll([answer("gate"), answer("stop"), answer("gate"), answer("done")], "upgrade")
    roll.node.run()
    assert roll.did == ["gate-stop", "gate-stop", "write_files", "gate-done", "gate-done"]
    assert [call["forced"] for call in roll.calls] == [True, True, False, False]
    assert roll.node.seconds == {"write_files": 50}
    assert roll.node.changed


def test_files_that_cannot_be_written_stop_the_roll() -> None:
    roll = Roll([answer("stop")], "upgrade", failing={"write_files": "no space left"})
    assert "no space left" in str(roll.stops())
    assert roll.did == ["gate-stop", "write_files"]


def test_a_gate_that_shuts_after_the_files_were_written_leaves_the_node_changed() -> None:
    roll = Roll([answer("stop"), *[answer("gate", waiting=["orders-0"])] * 3], "upgrade", gate=1.5)
    assert roll.stops().touched


# A reboot


def test_a_reboot_lies_between_the_stop_and_what_follows_the_start() -> None:
    roll = Roll(
        [
            answer("start", seconds={"gate": 1.0, "stop": 9.0}, changed=True),
            answer("done", seconds={"start": 3.0}),
        ],
        "reboot",
    )
    roll.node.run()
    assert roll.did == ["gate-start", "reboot", "start-done"]
    assert [call["forced"] for call in roll.calls] == [True, False]
    assert roll.node.seconds == {"gate": 1, "stop": 9, "reboot": 50, "start": 3}


def test_a_host_that_does_not_come_back_stops_the_roll() -> None:
    error = Roll([answer("start")], "reboot", failing={"reboot": "no answer"}).stops()
    assert "no answer" in str(error)
    assert error.touched


def test_a_broker_that_was_killed_before_its_reboot_stops_the_roll_after_it() -> None:
    roll = Roll([answer("start", degraded=["it was killed"]), answer("done")], "reboot")
    assert "it was killed" in str(roll.stops())
    assert roll.did == ["gate-start", "reboot", "start-done"]
