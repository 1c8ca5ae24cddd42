"""Ansible action: explain the Kafka properties of the hosts, and what a change would do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.operations.explain import explain
from ..module_utils.operations.explain_report import report
from ..plugin_utils.action import Action
from ..plugin_utils.inventory import plain


class ActionModule(Action):
    """The action; it runs on the controller alone."""

    _requires_connection = False

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Explain all Kafka hosts."""
        changes = plain(args["change"])
        found = explain(self.cluster, args["key"], changes)
        if path := args["path"]:
            try:
                Path(path).write_text(f"{json.dumps(found, indent=2)}\n", encoding="utf-8")
            except OSError as error:
                message = f"explain_json: {path} cannot be written ({error.strerror})"
                raise AnsibleActionFail(message) from error
        text = report(found, properties=bool(args["key"]) or not changes)
        return {"changed": False, "lines": text.splitlines()}
