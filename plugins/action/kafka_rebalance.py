"""Ansible action: move replicas slice by slice, and show how far that is."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.host.operation_file import QUIET_SECONDS
from ..plugin_utils import operation
from ..plugin_utils.action import Action
from ..plugin_utils.cluster import module_options
from ..plugin_utils.files import write, write_event
from ..plugin_utils.operation import die_with_ansible

SLICE_SECONDS = 20.0


class ActionModule(Action):
    """The control node's part: it keeps the waves, and rewrites the record of the operation.

    A module that runs when Ansible is killed ends with its slice. What Kafka moves then goes on
    below its throttle, and the next run adopts it.
    """

    OWN = frozenset({"host", "events", "json"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Plan, and move what the plan has."""
        begun = time.time()
        host = args["host"] or self.host
        options = module_options.of_module(self.name, self.cluster, host)
        explicit = {key: value for key, value in self._task.args.items() if key not in self.OWN}
        self._options = {**options, **explicit}
        if args["cancel"] or self._task.check_mode or args["plan_only"]:
            return self._written(self._slice({}))
        die_with_ansible()
        plan = self._written(self._until_planned())
        if plan.get("failed") or not plan.get("waves"):
            return self._ended(plan)
        for line in plan["lines"]:
            self._say(line)
        result = self._move(plan)
        if not result.get("failed") and args["events"]:
            event = {"node": host, "phase": self.name, "start": begun, "end": time.time()}
            write_event(args["events"], event)
        lines = [*plan["lines"], *result.get("lines", ())]
        return self._ended({**result, "plan": plan["plan"], "lines": lines})

    def _written(self, result: dict[str, Any]) -> dict[str, Any]:
        """Write the plan of a result into the file that the caller has asked for, and return it."""
        if "plan" in result:
            text = json.dumps(result["plan"], indent=2)
            write(self._task.args.get("json"), f"{text}\n", "the plan")
        return result

    def _until_planned(self) -> dict[str, Any]:
        """Return the plan, once reassignments of something else have ended that it waits for."""
        while True:
            result = self._slice({"plan_only": True})
            if result.get("failed") or not result.get("waiting"):
                return result
            self._say(result["lines"][0])

    def _move(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        self._record(plan=plan["lines"][:1], left=plan["lines"][:1])
        return self._follow({"waves": plan["waves"], "rate": plan["rate"]})

    def _follow(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Call the module slice by slice until all is done, and show and record each."""
        carried: dict[str, Any] = {}
        while True:
            result = self._slice({**options, "carried": carried})
            if result.get("failed"):
                return {**result, "changed": True}
            line = result["lines"][0]
            self._say(line)
            if result["progress"]["done"]:
                self._record(done=[line], left=[])
                return result
            self._record(left=[line])
            carried = result["carried"]

    def _record(self, **steps: list[str]) -> None:
        """Show in the record of the operation how far it is."""
        if operation.has_begun():
            operation.save({**operation.current(""), **steps})

    def _slice(
        self, options: Mapping[str, Any], quiet_seconds: float = QUIET_SECONDS
    ) -> dict[str, Any]:
        """Call the module for a slice, with the record that keeps the lock."""
        locked: dict[str, Any] = {}
        if operation.has_begun():
            locked = {"operation": {**operation.current(""), "quiet_seconds": quiet_seconds}}
        arguments = {"slice": SLICE_SECONDS, **self._options, **options, **locked}
        try:
            return self.call(arguments)
        except AnsibleConnectionFailure as error:
            return {
                "failed": True,
                "msg": f"host unreachable: {error}. What Kafka moves goes on below its throttle; "
                "run this again, which goes on too",
            }

    def _ended(self, result: dict[str, Any]) -> dict[str, Any]:
        if result.get("failed") and operation.has_begun():
            operation.save({**operation.current(""), "reason": str(result.get("msg", ""))})
        return {key: value for key, value in result.items() if key not in ("waves", "carried")}

    def _say(self, text: str) -> None:
        self._display.display(f"  {text}", color="cyan")
