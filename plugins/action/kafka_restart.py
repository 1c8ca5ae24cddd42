"""The controller's half of a node's turn: shows what it waits for, and judges the deadlines."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ansible import context
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

MODULE = "millrace.streaming.kafka_restart"
POLL_SECONDS = 0.2
BUSY_SECONDS = 30.0
PR_SET_PDEATHSIG = 1  # prctl(2)
LIMITS = {"gate": 600.0, "stop": 330.0, "start": 120.0, "ready": 1800.0, "canary": 60.0}
DOES = {
    "gate": "waits at the gate",
    "stop": "stops",
    "reboot": "reboots",
    "start": "starts",
    "ready": "waits until it is in sync",
    "canary": "sends a record through it",
}
BUSY = "another run takes nodes of this cluster through their turns, and this one gave up waiting."
# What to do before the command that goes on from here.
AFTER_BUSY = "Wait until it is over"
LATER = "Nothing after this node was touched. Mend it"
WHAT_NOW = {
    "gate": "The node was not touched. Mend what is named",
    "stop": "It was asked to stop and still runs. Look at its journal",
}
# The controller's own options; all others are the module's.
OWN = ("limits", "resume", "events", "total", "done", "earlier")


class TurnError(Exception):
    """The turn ends here; the text says why."""

    def __init__(
        self, text: str, now: str = LATER, *, touched: bool = True, restored: Sequence[str] = ()
    ) -> None:
        """Say what to do now, whether the node was touched, and which files were put back."""
        super().__init__(text)
        self.now, self.touched, self.restored = now, touched, list(restored)


class ActionModule(ActionBase):
    """Call the module slice by slice until the turn is over or a deadline has passed.

    A turn that ends before is no failure of the task: `stopped` says why, and the role then puts
    the waiting nodes' files back before it fails.
    """

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Take the node through its turn."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        self._name = str(variables.get("inventory_hostname", ""))
        own = {name: self._task.args.get(name) for name in OWN}
        args = {name: value for name, value in self._task.args.items() if name not in OWN}
        if args.get("look") or args.get("restore"):
            return self._call(args, variables)
        limits = {**LIMITS, **{k: float(v) for k, v in (own["limits"] or {}).items()}}
        # What the first part said, of a turn in two parts with a reboot between them.
        earlier = own["earlier"] or {}
        begun = float(earlier.get("begun", time.time()))
        try:
            die_with_ansible()
            # A run that came in between may be at the gate until this node is back.
            patience = sum(limits.values()) if earlier else BUSY_SECONDS
            with self._alone(str(args.get("cluster_id") or args.get("bootstrap")), patience):
                result = self._turn(args, limits, variables, rebooted(earlier))
        except TurnError as error:
            goes_on = f"{error.now}; then go on with: {resume(str(own['resume']))}"
            stopped = f"{self._name}: {error}\n{goes_on}"
            return {"changed": error.touched, "stopped": stopped, "restored": error.restored}
        if result.get("failed") or result.get("deferred"):
            return result
        result["begun"] = begun
        if result["changed"] and result["phase"] == "done":
            self._tell(own, result, begun, time.time())
        return result

    @contextmanager
    def _alone(self, cluster: str, patience: float) -> Iterator[None]:
        """Hold the one lock that a cluster has on this controller; it goes with the process.

        Raises:
            TurnError: another run holds it for longer than `patience` seconds.

        """
        name = hashlib.sha256(cluster.encode()).hexdigest()[:16]
        deadline, told = time.monotonic() + patience, False
        with (Path(tempfile.gettempdir()) / f"millrace-roll-{name}.lock").open("a") as lock:
            while not _locked(lock):
                if time.monotonic() > deadline:
                    raise TurnError(BUSY, AFTER_BUSY, touched=False)
                if not told:
                    self._say("waits for another run that has a node of this cluster in its turn")
                    told = True
                time.sleep(POLL_SECONDS)
            yield

    def _call(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(
            module_name=MODULE, module_args=args, task_vars=variables
        )
        return result

    def _turn(
        self,
        args: dict[str, Any],
        limits: Mapping[str, float],
        variables: dict[str, Any],
        earlier: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the module's last answer, with the seconds of all its slices.

        `earlier` is the last answer of its first part, empty where it has only one.

        Raises:
            TurnError: a phase took too long, the process did not stay up, or the host was lost.

        """
        phase, since, refused = str(args.get("phase", "gate")), time.monotonic(), ""
        until = args.get("until", "done")
        seconds: dict[str, float] = dict(earlier.get("seconds", {}))
        degraded = list(earlier.get("degraded", ()))
        restored: list[str] = []
        while True:
            left = limits.get(phase, 1.0) - (time.monotonic() - since)
            part: dict[str, Any] = {"phase": phase, "give_up": phase == "start" and left < 0}
            part["slice"] = min(max(left, 0.1), float(args.get("slice", 10)))
            try:
                result = self._call({**args, **part}, variables)
            except AnsibleConnectionFailure as error:
                # An unreachable host would let the next one have its turn.
                text = f"{DOES[phase]}, and the host is not reached any more: {error}"
                raise TurnError(text, restored=restored) from error
            if result.get("failed") or "phase" not in result:
                text = f"{DOES.get(phase, phase)}: {result.get('msg', result)}"
                raise TurnError(text, touched=phase != "gate", restored=restored)
            for name, spent in result["seconds"].items():
                seconds[name] = seconds.get(name, 0.0) + spent
            degraded += result["degraded"]
            restored += result["restored"]
            if result["refused"]:
                if refused or not result["restored"]:
                    raise TurnError(_gave_up(result["refused"], bool(refused)), restored=restored)
                refused = str(result["refused"])
                self._say("does not start with its new files; they are put back, it starts again")
                since = time.monotonic()
            if result["phase"] != phase:
                phase, since = result["phase"], time.monotonic()
            result |= {"seconds": seconds, "degraded": degraded, "restored": restored}
            if phase in (until, "done") or result["deferred"]:
                break
            left = limits[phase] - (time.monotonic() - since)
            over = left < 0 and (phase != "start" or part["give_up"])
            if over or result["lasting"]:
                text = _too_long(phase, limits[phase] if over else 0, result["waiting"])
                now = WHAT_NOW.get(phase, LATER)
                raise TurnError(text, now, touched=phase != "gate", restored=restored)
            reasons = "; ".join(result["waiting"]) or "no answer yet"
            self._say(f"{DOES[phase]}, {max(left, 0):.0f} s left: {reasons}")
        if refused:
            raise TurnError(_put_back(refused, restored), restored=restored)
        if degraded and phase == "done":
            text = f"it serves again, but {'; '.join(degraded)}"
            raise TurnError(text, restored=restored)
        return result

    def _tell(
        self, own: dict[str, Any], result: dict[str, Any], begun: float, ended: float
    ) -> None:
        spent = result["seconds"]
        parts = ", ".join(f"{name} {spent[name]:.1f} s" for name in DOES if name in spent)
        total, done = int(own["total"] or 0), int(own["done"] or 0) + 1
        left = (total - done) * (ended - begun)
        place = f"node {done} of {total}, " if total else ""
        rest = f"; about {left:.0f} s to go" if left > 0 else ""
        self._say(f"{place}is back after {ended - begun:.1f} s ({parts}){rest}")
        if own["events"]:
            gate = spent.get("gate", 0.0)
            event = {
                "node": self._name,
                "phase": "restart",
                "start": round(begun + gate, 3),
                "end": round(ended, 3),
                **{f"{name}_seconds": value for name, value in spent.items()},
            }
            with Path(own["events"]).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(event) + "\n")

    def _say(self, text: str) -> None:
        self._display.display(f"  {self._name} {text}", color="cyan")


def rebooted(earlier: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the first part of a turn said, with the seconds since its end as its reboot."""
    if not earlier:
        return earlier
    seconds: Mapping[str, float] = earlier["seconds"]
    since = time.time() - float(earlier["begun"]) - sum(seconds.values())
    return {**earlier, "seconds": {**seconds, "reboot": round(since, 3)}}


def die_with_ansible() -> None:
    """Let this worker end when Ansible is killed: it would wait for ever, and hold the lock."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def resume(playbook: str) -> str:
    """Return the command that goes on from here, with the inventory and the limit of this one."""
    words = ["ansible-playbook"]
    for source in context.CLIARGS.get("inventory") or ():
        words += ["-i", source]
    if context.CLIARGS.get("subset"):
        words += ["--limit", context.CLIARGS["subset"]]
    return " ".join([*words, f"playbooks/{playbook}.yml"])


def _too_long(phase: str, limit: float, waiting: list[str]) -> str:
    reasons = "\n- ".join(waiting or ["no answer"])
    if not limit:
        return f"it {DOES[phase]}, and no waiting would open it:\n- {reasons}"
    return f"it {DOES[phase]} for more than {limit:.0f} s:\n- {reasons}"


def _gave_up(why: str, again: bool) -> str:
    how = "does not start with its former files either" if again else "does not start"
    return f"it {how}: {why}\nIt is left as it is."


def _put_back(why: str, restored: list[str]) -> str:
    return (
        f"it did not start with its new files: {why}\n"
        f"They were put back ({', '.join(restored)}) and it serves again as before; what was "
        "changed online stays so until site.yml runs."
    )
