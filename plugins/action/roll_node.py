"""Ansible action: take one Kafka node through its part of a roll, and show what it waits for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.host.operation_file import QUIET_SECONDS
from ..plugin_utils import ansible_internals, operation
from ..plugin_utils.action import Action
from ..plugin_utils.cluster import desired, module_options
from ..plugin_utils.files import write_event
from ..plugin_utils.operation import die_with_ansible
from ..plugin_utils.operations.roll import PHASE_TEXTS, HostUnreachableError, NodeRoll, StoppedError
from ..plugin_utils.services.kafka.module_options import limits, peers


class OtherStoppedError(Exception):
    """Another node of the set went wrong, and this one was not stopped yet."""


def _joined(*reasons: str) -> str:
    return "\n".join(filter(None, reasons))


class ActionModule(Action):
    """The control node's part of a node's restart; the task runs on the node's host.

    A failed restart does not fail the task: `stopped` says why, and the following tasks restore
    the previous files on nodes that wait, before they fail.
    """

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Take the node through its action, unless it is done."""
        self._args, self._node = args, str(args["node"])
        self._together = args["together"] or [self._node]
        record = operation.current("")
        stopped = record["reason"] and len(self._together) == 1
        if self._node not in record["left"] or stopped or self._task.check_mode:
            return {"changed": False, "skipped": True}
        die_with_ansible()
        self._options = self._model_options()
        self._limits = limits(self.cluster.kafka[self._node])
        if len(self._together) > 1:
            # The partition of the canary may need others of the set.
            self._limits = {**self._limits, "canary": self._limits["ready"]}
        begun = time.time()
        roll = NodeRoll(
            self._args["action"],
            self._restart,
            {"write_files": self._write_files, "reboot": self._reboot},
            self._limits,
            self._say,
            self._args["slice"],
        )
        operation.change(lambda current: {"node": self._in_work(current)})
        try:
            roll.run()
        except OtherStoppedError:
            text = f"{self._node}: it was not stopped, since another node of its set went wrong."
            return self._stopped(roll, text, touched=roll.changed)
        except StoppedError as error:
            reason = f"{self._node}: {error}"
            operation.change(lambda current: {"reason": _joined(current["reason"], reason)})
            command = operation.resume_command(self._args["resume"])
            text = f"{reason}\n{error.now}; then resume with: {command}"
            return self._stopped(roll, text, touched=error.touched)
        if roll.deferred:
            return {"changed": False, "deferred": True}
        record = operation.change(self._done)
        if roll.changed:
            self._report(record, roll, begun)
        return {"changed": roll.changed, "seconds": roll.seconds}

    def _model_options(self) -> dict[str, Any]:
        """Return the module's options; it waits for no connection to others of the set."""
        options = module_options.of_module("kafka_restart", self.cluster, self._node)
        others = [self.cluster.kafka[name].id for name in self._together if name != self._node]
        if not others:
            return options
        reached = peers(self.cluster.kafka[self._node], others)
        return {**options, "others": others, "node": {**options["node"], "peers": reached}}

    def _in_work(self, record: Mapping[str, Any]) -> str:
        return ", ".join(name for name in self._together if name in record["left"])

    def _done(self, record: Mapping[str, Any]) -> dict[str, Any]:
        left = [name for name in record["left"] if name != self._node]
        done = [*record["done"], self._node]
        return {"node": self._in_work({"left": left}), "done": done, "left": left}

    def _stopped(self, roll: NodeRoll, text: str, *, touched: bool) -> dict[str, Any]:
        """Return the result of a node at which the roll stops.

        Each node of a set restores its own files, but one that was not stopped waits like those
        that come later.
        """
        left = operation.current("")["left"]
        waiting = [name for name in left if name not in self._together]
        if len(self._together) > 1 and "stop" not in roll.seconds:
            waiting.append(self._node)
        return {
            "changed": touched,
            "stopped": text,
            "restored": roll.restored,
            "waiting_nodes": waiting,
        }

    def _restart(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the module on the node's host."""
        ids = {name: node.id for name, node in self.cluster.kafka.items()}
        record = operation.current("")
        if record["reason"] and options["phase"] == "gate":
            raise OtherStoppedError
        arguments = {
            **self._options,
            "remaining": [ids[name] for name in record["left"]],
            "controller_last": self._args["controller_last"],
            "operation": {**record, "quiet_seconds": self._quiet(record, options)},
            **options,
        }
        try:
            return self.call(arguments, "kafka_restart")
        except AnsibleConnectionFailure as error:
            # Ansible would go on with the next node after an unreachable host.
            raise HostUnreachableError(str(error)) from error

    def _quiet(self, record: Mapping[str, Any], options: Mapping[str, Any]) -> float:
        """Return for how many seconds this run may go without writing its record from this call."""
        rebooting = self._args["action"] == "reboot" and options["phase"] in ("gate", "stop")
        # What follows the last node waits as long as a start may take.
        waits = {"reboot": rebooting, "start": {*record["left"]} <= {*self._together}}
        return QUIET_SECONDS + sum(float(self._limits[name]) for name, due in waits.items() if due)

    def _write_files(self) -> str | None:
        """Yield the node the files of its version; the distribution is unpacked already."""
        service = desired.of_service(self.cluster, self._node, "kafka")
        options = {key: service[key] for key in ("files", "restart_marks", "previous")}
        try:
            result = self.call(options, "service")
        except AnsibleConnectionFailure as error:
            return f"host unreachable: {error}"
        return str(result.get("msg", result)) if result.get("failed") else None

    def _reboot(self) -> str | None:
        """Reboot the host, which starts the node by itself."""
        arguments = {
            "reboot_timeout": self._limits["reboot"],
            # Until systemd has finished the start job. Whether the node started is checked
            # afterwards, where its previous files can be restored.
            "test_command": 'test -z "$(systemctl show --property=Job --value kafka)"',
            "msg": "Millrace reboots this host",
        }
        result = self._other_action("ansible.builtin.reboot", arguments)
        if result.get("changed"):
            return None
        why = str(result.get("msg", ""))
        if result.get("rebooted", result.get("unreachable", False)):
            return f"it did not come back: {why} See its console"
        self._execute_module(
            module_name="ansible.builtin.systemd_service",
            module_args={"name": "kafka", "state": "started"},
            task_vars=self.variables,
        )
        return f"it was not rebooted, and its node was started again: {why}"

    def _other_action(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return ansible_internals.run_action(self, name, arguments, self.variables)
        except AnsibleConnectionFailure as error:
            return {"unreachable": True, "msg": str(error)}

    def _report(self, record: Mapping[str, Any], roll: NodeRoll, begun: float) -> None:
        """Report that the node is back, and record the restart for the ledger."""
        ended = time.time()
        phases = ", ".join(
            f"{name} {roll.seconds[name]:.1f} s" for name in PHASE_TEXTS if name in roll.seconds
        )
        done, total = len(record["done"]), len(record["plan"])
        remaining = (total - done) / len(self._together) * (ended - begun)
        to_go = f"; about {remaining:.0f} s left" if done < total else ""
        self._say(f"node {done} of {total} restarted in {ended - begun:.1f} s ({phases}){to_go}")
        if self._args["events"]:
            event = {
                "node": self._node,
                "phase": "restart",
                "start": round(begun + roll.seconds.get("gate", 0.0), 3),
                "end": round(ended, 3),
                **{f"{name}_seconds": value for name, value in roll.seconds.items()},
            }
            write_event(self._args["events"], event)

    def _say(self, text: str) -> None:
        self._display.display(f"  {self._node}: {text}", color="cyan")
