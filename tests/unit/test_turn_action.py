"""The controller's half of a turn: what it makes of the module's answers, slice by slice."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.millrace.streaming.plugins.action.kafka_restart import (
    LATER,
    LIMITS,
    WHAT_NOW,
    ActionModule,
    TurnError,
    rebooted,
)

Answer = dict[str, Any] | Exception


def answer(phase: str, **found: object) -> dict[str, Any]:
    """What the module says at the end of a slice."""
    empty = {
        "waiting": [],
        "degraded": [],
        "restored": [],
        "refused": "",
        "deferred": False,
        "lasting": False,
    }
    return {"phase": phase, "seconds": {}, "changed": phase == "done", **empty, **found}


class Turn(ActionModule):
    """The action with answers in place of a host."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers, self._name = iter(answers), "k1"
        self.asked: list[dict[str, Any]] = []
        self.said: list[str] = []
        display: Any = SimpleNamespace(display=lambda text, **_: self.said.append(text))
        self._display = display

    def _call(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        del variables
        self.asked.append(args)
        found = next(self._answers)
        if isinstance(found, Exception):
            raise found
        return found

    def take(self, **limits: float) -> dict[str, Any]:
        return self._turn({}, {**LIMITS, **limits}, {}, {})

    def ends(self, **limits: float) -> TurnError:
        with pytest.raises(TurnError) as found:
            self.take(**limits)
        return found.value


def test_each_slice_goes_on_where_the_last_one_ended() -> None:
    turn = Turn(
        [
            answer("gate", waiting=["orders-0"], seconds={"gate": 1.0}),
            answer("start", seconds={"gate": 0.5, "stop": 2.0, "start": 1.0}),
            answer("done", seconds={"start": 3.0, "ready": 1.0, "canary": 0.5}),
        ]
    )
    result = turn.take()
    assert [part["phase"] for part in turn.asked] == ["gate", "gate", "start"]
    assert result["seconds"] == {"gate": 1.5, "stop": 2, "start": 4, "ready": 1, "canary": 0.5}
    assert "orders-0" in turn.said[0]


def test_a_shut_gate_leaves_the_node_untouched() -> None:
    error = Turn([answer("gate", waiting=["orders-0 {1}"])]).ends(gate=-1)
    assert not error.touched
    assert error.now == WHAT_NOW["gate"]
    assert "- orders-0 {1}" in str(error)


def test_nobody_waits_for_what_lasts() -> None:
    error = Turn([answer("gate", waiting=["lonely-0"], lasting=True)]).ends()
    assert not error.touched
    assert error.now == WHAT_NOW["gate"]
    assert "no waiting would open it:\n- lonely-0" in str(error)


@pytest.mark.parametrize(("phase", "now"), [("stop", WHAT_NOW["stop"]), ("ready", LATER)])
def test_a_phase_that_takes_too_long_ends_the_turn(phase: str, now: str) -> None:
    error = Turn([answer(phase, waiting=["something"])]).ends(**{phase: -1})
    assert error.touched
    assert error.now == now
    assert "something" in str(error)


def test_a_start_that_hangs_is_given_up_by_the_host_that_knows_how() -> None:
    turn = Turn([answer("start"), answer("start", refused="it did not start in time")])
    error = turn.ends(start=-1)
    assert [part["give_up"] for part in turn.asked] == [False, True]
    assert "does not start: it did not start in time" in str(error)


def test_what_was_put_back_is_told_once_the_node_serves_again() -> None:
    turn = Turn([answer("start", refused="no such class", restored=["/etc/a"]), answer("done")])
    error = turn.ends()
    assert error.restored == ["/etc/a"]
    assert "no such class" in str(error)
    assert "serves again as before" in str(error)


def test_former_files_that_do_not_start_either_end_the_turn() -> None:
    refused = answer("start", refused="no such class", restored=["/etc/a"])
    error = Turn([refused, answer("start", refused="no disk")]).ends()
    assert "former files either: no disk" in str(error)
    assert error.restored == ["/etc/a"]


def test_a_lost_host_stops_the_roll() -> None:
    error = Turn([answer("stop"), AnsibleConnectionFailure("no route")]).ends()
    assert "the host is not reached any more: no route" in str(error)
    assert error.touched


@pytest.mark.parametrize(("phase", "touched"), [("gate", False), ("ready", True)])
def test_a_module_that_fails_stops_the_roll(phase: str, touched: bool) -> None:
    first = [] if phase == "gate" else [answer(phase)]
    error = Turn([*first, {"failed": True, "msg": "broken"}]).ends()
    assert "broken" in str(error)
    assert error.touched == touched


def test_a_killed_broker_serves_again_and_still_stops_the_roll() -> None:
    error = Turn([answer("start", degraded=["it was killed"]), answer("done")]).ends()
    assert "it serves again, but it was killed" in str(error)


def test_what_the_first_part_of_a_turn_found_is_told_after_the_second() -> None:
    first = Turn([answer("start", degraded=["it was killed"])])._turn(
        {"until": "start"}, LIMITS, {}, {}
    )
    assert first["phase"] == "start"
    with pytest.raises(TurnError, match="it serves again, but it was killed"):
        Turn([answer("done")])._turn({"phase": "start"}, LIMITS, {}, first)


def test_what_lies_between_two_parts_of_a_turn_is_its_reboot() -> None:
    first = {"begun": time.time() - 60, "seconds": {"gate": 1.0, "stop": 9.0}, "degraded": []}
    last = Turn([answer("done", seconds={"start": 3.0})])._turn(
        {"phase": "start"}, LIMITS, {}, rebooted(first)
    )
    assert last["seconds"] == {
        "gate": 1,
        "stop": 9,
        "reboot": pytest.approx(50, abs=5),
        "start": 3,
    }
    assert rebooted({}) == {}


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, other = Turn([]), Turn([])
    with one._alone("a", 0), other._alone("b", 0):
        assert not other.said
    with (
        one._alone("a", 0),
        pytest.raises(TurnError, match="another run takes nodes"),
        other._alone("a", 0.3),
    ):
        pytest.fail("two at a time")
    assert len(other.said) == 1, "it tells that it waits, once"
    with other._alone("a", 0):
        pass
