"""A roll: the same action on one Kafka node after the other, and the phases of each node.

Pure; the control node passes in functions: one that calls the module `kafka_restart` on the
node's host, one for each step that it does itself, and a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.host.start_signs import LEAST_BYTES

CANARY_SECONDS = 60.0
"""How long the canary may take; an inventory limits the other phases."""
PHASE_TEXTS = {
    "gate": "waiting at the gate",
    "write_files": "writing the files of its version",
    "stop": "stopping",
    "reboot": "rebooting",
    "start": "starting",
    "ready": "waiting until it is in sync",
    "canary": "sending a test record through it",
}


@dataclass(frozen=True)
class Phases:
    """Phases of the module `kafka_restart`, from one until before another."""

    first: str
    until: str
    forced: bool = False


# What each action does to a node, in order; a name is a step of the control node.
ACTIONS: Mapping[str, Sequence[Phases | str]] = {
    "restart": (Phases("gate", "done"),),
    "upgrade": (Phases("gate", "stop", forced=True), "write_files", Phases("gate", "done")),
    "reboot": (Phases("gate", "start", forced=True), "reboot", Phases("start", "done")),
}
_LATER = "No later node was changed. Fix the cause"
_WHAT_NOW = {
    "gate": "The node was not stopped. Fix the problems listed above",
    "stop": "It was asked to stop and still runs. See its journal",
    "start": "Its process and its new files were left as they are, and no later node was changed. "
    "See its journal: either it still gets there, or the inventory has to be corrected",
}


class HostUnreachableError(Exception):
    """The node's host cannot be reached any more."""


class StoppedError(Exception):
    """The roll ends at this node; the text says why, `now` what to do."""

    def __init__(self, text: str, now: str = _LATER, *, touched: bool = True) -> None:
        """Keep the reason, what to do now, and whether the node was touched."""
        super().__init__(text)
        self.now, self.touched = now, touched


@dataclass
class StartProgress:
    """What a starting process has done so far, by the signs of the slices."""

    lines: set[int] = field(default_factory=set)
    read: float = 0

    def advance(self, signs: Mapping[str, Any]) -> bool:
        """Take the signs of a slice, and return whether they show progress."""
        lines, data = {*signs.get("lines", ())} - self.lines, float(signs.get("read", 0))
        grown = data >= self.read + LEAST_BYTES
        self.lines |= lines
        self.read = data if grown else min(self.read, data)
        return bool(lines) or grown or bool(signs.get("preparing"))


Call = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Step = Callable[[], str | None]


@dataclass
class NodeRoll:
    """One node in a roll, taken through the phases of an action."""

    action: str
    call: Call
    """Runs the module with options and returns its result."""
    steps: Mapping[str, Step]
    """What the control node does itself; each returns why it failed, if it did."""
    limits: Mapping[str, float]
    say: Callable[[str], None]
    """Shows a line to the operator."""
    slice_seconds: float = 20.0
    clock: Callable[[], float] = time.monotonic
    seconds: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    changed: bool = False
    deferred: bool = False
    had_failed_directory: bool = field(default=False, init=False)

    def run(self) -> None:
        """Take the node through its action, or until it is `deferred` to the end of the roll.

        Raises:
            StoppedError: it went wrong; what was put back is in `restored`.

        """
        for stage in ACTIONS[self.action]:
            if isinstance(stage, Phases):
                self._phases(stage)
            else:
                self._step(stage)
            if self.deferred:
                return
        if self.degraded:
            text = f"it serves again, but {'; '.join(self.degraded)}"
            raise StoppedError(text)

    def _step(self, name: str) -> None:
        begun = self.clock()
        why = self.steps[name]()
        self.seconds[name] = self.clock() - begun
        if why:
            raise StoppedError(why)
        self.changed = True

    def _phases(self, phases: Phases) -> None:
        """Call the module slice by slice until the last phase is over or a deadline has passed.

        A start has no deadline as long as its process makes progress.
        """
        phase, since, failed, started = phases.first, self.clock(), "", StartProgress()
        while True:
            remaining = self._limit(phase) - (self.clock() - since)
            timed_out = phase == "start" and remaining < 0
            result = self._call(phases, phase, remaining, timed_out)
            if result["start_failed"]:
                if failed or not result["restored"]:
                    raise StoppedError(_does_not_start(result["start_failed"], bool(failed)))
                failed = str(result["start_failed"])
                self.say("did not start with its new files: the previous ones are restored")
                since, started = self.clock(), StartProgress()
            if result["phase"] != phase:
                phase, since = result["phase"], self.clock()
            if result["deferred"]:
                self.deferred = True
                return
            if phase in (phases.until, "done"):
                break
            if phase == "start" and started.advance(result["signs"]):
                since, timed_out = self.clock(), False
            remaining = self._limit(phase) - (self.clock() - since)
            over = remaining < 0 and (phase != "start" or timed_out)
            if over or result["non_retriable"]:
                text = _too_long(phase, self._limit(phase) if over else 0, result["waiting"])
                raise StoppedError(text, _WHAT_NOW.get(phase, _LATER), touched=self._touched(phase))
            reasons = "; ".join(result["waiting"]) or "no answer yet"
            self.say(f"{PHASE_TEXTS[phase]}, {_time_left(phase, remaining)}: {reasons}")
        if failed:
            raise StoppedError(_restored_message(failed, self.restored))

    def _call(
        self, phases: Phases, phase: str, remaining: float, timed_out: bool
    ) -> Mapping[str, Any]:
        options = {
            "phase": phase,
            "until": phases.until,
            "forced": phases.forced,
            "start_timed_out": timed_out,
            "had_failed_directory": self.had_failed_directory,
            "slice": min(max(remaining, 0.1), self.slice_seconds),
        }
        try:
            result = self.call(options)
        except HostUnreachableError as error:
            text = f"host unreachable while {PHASE_TEXTS[phase]}: {error}"
            raise StoppedError(text, touched=self._touched(phase)) from error
        if result.get("failed") or "phase" not in result:
            doing = PHASE_TEXTS.get(phase, phase)
            text = f"failed while {doing}: {result.get('msg', result)}"
            raise StoppedError(text, touched=self._touched(phase))
        for name, spent in result["seconds"].items():
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
        self.degraded += result["degraded"]
        self.had_failed_directory = result["had_failed_directory"]
        self.restored += result["restored"]
        self.changed = self.changed or bool(result["changed"])
        return result

    def _touched(self, phase: str) -> bool:
        """Return whether the node is not as it was: at the gate it may have new files already."""
        return self.changed or phase != "gate"

    def _limit(self, phase: str) -> float:
        return float(self.limits.get(phase, CANARY_SECONDS))


def _time_left(phase: str, remaining: float) -> str:
    without = " without progress" if phase == "start" else ""
    return f"{max(remaining, 0):.0f} s left{without}"


def _too_long(phase: str, limit: float, waiting: Sequence[str]) -> str:
    reasons = "\n- ".join(waiting or ["no answer"])
    if not limit:
        return f"cannot continue while {PHASE_TEXTS[phase]}; waiting will not help:\n- {reasons}"
    without = " without progress" if phase == "start" else ""
    return f"timed out after {limit:.0f} s{without} while {PHASE_TEXTS[phase]}:\n- {reasons}"


def _does_not_start(why: str, again: bool) -> str:
    how = "does not start with its previous files either" if again else "does not start"
    return f"it {how}: {why}\nIt is left as it is."


def _restored_message(why: str, restored: Sequence[str]) -> str:
    return (
        f"it did not start with its new files: {why}\n"
        f"The previous files were restored ({', '.join(restored)}) and the node is healthy again; "
        "dynamic configuration changes remain until site.yml runs."
    )
