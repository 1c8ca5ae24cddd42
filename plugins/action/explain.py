"""Ansible action: explain Kafka's properties, what a change would do, and what listens."""

import json
from typing import Any

from ..plugin_utils.action import LocalAction
from ..plugin_utils.files import write
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.operations.explain import explain
from ..plugin_utils.operations.explain_report import report


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Explain all hosts."""
        changes = plain(args["change"])
        explanation = explain(self.cluster, args["key"], changes)
        write(args["path"], f"{json.dumps(explanation, indent=2)}\n", "the explanation")
        ports = args["ports"]
        text = report(
            explanation, properties=bool(args["key"]) or not (changes or ports), ports=ports
        )
        return {"changed": False, "lines": text.splitlines()}
