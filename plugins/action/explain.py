"""Ansible action: explain the Kafka properties of the hosts, and what a change would do."""

from __future__ import annotations

import json
from typing import Any

from ..module_utils.operations.explain import explain
from ..module_utils.operations.explain_report import report
from ..plugin_utils.action import Action
from ..plugin_utils.files import write
from ..plugin_utils.inventory import plain


class ActionModule(Action):
    """The action; it runs only on the control node."""

    _requires_connection = False

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Explain all Kafka hosts."""
        changes = plain(args["change"])
        found = explain(self.cluster, args["key"], changes)
        write(args["path"], f"{json.dumps(found, indent=2)}\n", "the explanation")
        text = report(found, properties=bool(args["key"]) or not changes)
        return {"changed": False, "lines": text.splitlines()}
