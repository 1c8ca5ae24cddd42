"""Ansible action: choose the phase in which a running cluster gets its wanted listeners."""

import dataclasses
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..plugin_utils import run
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import transition
from ..plugin_utils.cluster.transition import Transition
from ..plugin_utils.operations import security_change
from ..plugin_utils.operations.security_change import ImpossibleError, Running
from ..plugin_utils.secrets import store as secrets
from ..plugin_utils.services.kafka.listeners import ADDED, ENDED, FORMER, MOVED, Listeners
from ..plugin_utils.services.kafka.node import KafkaNode

NOW = {
    FORMER: "The wanted listeners are removed; nodes and clients use {former}.",
    ADDED: "{wanted} are added beside {former}, which nodes and clients use as before.",
    MOVED: "Nodes talk to each other by the wanted listeners; {former} stay open for clients.",
    ENDED: "The nodes have the listeners of the inventory alone.",
}
NEXT = {
    FORMER: "Set kafka_security: open, and kafka_listeners to what they were.",
    ADDED: "Run this playbook again to move the traffic between nodes.",
    MOVED: "Move the clients to {clients} (clients.yml writes their files), then run this playbook "
    "again: it closes {former} once nobody is connected there.",
    ENDED: "Nothing is left to do.",
}


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Enter the next phase, or record that all nodes are in the current one."""
        node = next(iter(self.cluster.kafka.values()))
        self.refuse_part(self.cluster.kafka)
        if not args["complete"]:
            if node.settings["kafka_security"] != "standard":
                message = "set kafka_security: standard first: this playbook secures a cluster"
                raise AnsibleActionFail(message)
            change = self._next(node, args)
            return self._enter(node, change, NOW)
        record = node.listeners.change_record
        ended = security_change.completed(record) if record else None
        return {**self._enter(node, ended, NEXT, shown=record), "changed": False}

    def _next(self, node: KafkaNode, args: dict[str, Any]) -> Transition | None:
        try:
            if args["back"]:
                return security_change.back(node.listeners.change_record)
            return security_change.forward(
                node.listeners.change_record,
                {name: _running(result) for name, result in args["running"].items()},
                node.listeners.configured,
                disconnect=args["disconnect"],
            )
        except ImpossibleError as error:
            message = f"{error}. Nothing was changed."
            raise AnsibleActionFail(message) from error

    def _enter(
        self,
        node: KafkaNode,
        change: Transition | None,
        sentences: dict[str, str],
        shown: Transition | None = None,
    ) -> dict[str, Any]:
        """Keep the record, let the run see it, and return what it means.

        `shown` is the record whose phase the lines describe, if it is another one.
        """
        is_new = change is not None and change != node.listeners.change_record
        if change and is_new:
            if self._task.check_mode:
                texts = {**node.secrets.texts, transition.SECURITY: change.text()}
                stored = dataclasses.replace(node.secrets, texts=texts)
            else:
                stored = secrets.keep(
                    Path(node.secrets.directory),
                    transition.SECURITY,
                    change.text(),
                    node.secrets.cipher,
                )
            self.cluster = run.renew(self.variables, {}, secrets=stored)
            run.validated(self.variables).unlink(missing_ok=True)
        current = shown or change
        phase = current.phase if current else ENDED
        return {
            "changed": is_new,
            "phase": phase,
            "lines": [_line(sentences[phase], node, current)],
        }


def _running(answer: dict[str, Any]) -> Running:
    peers = {int(port): addresses for port, addresses in answer["peers"].items()}
    return Running(Listeners.from_data(answer["listeners"]), peers)


def _line(text: str, node: KafkaNode, change: Transition | None) -> str:
    desired = node.listeners.configured
    former = Listeners.from_data(change.data) if change else desired
    names = {
        name: listing(
            dict.fromkeys(
                listener.name for listener in (*listeners.brokers, *listeners.controllers)
            )
        )
        for name, listeners in (("wanted", desired), ("former", former))
    }
    return text.format(**names, clients=desired.brokers[0].name)
