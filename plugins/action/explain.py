"""Ansible action: explain the Kafka properties of the hosts, and what a change would do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils.operations.explain import explain
from ..module_utils.operations.explain_report import report
from ..plugin_utils import run
from ..plugin_utils.inventory import plain

OPTIONS = {
    "key": {"type": "str", "default": ""},
    "change": {"type": "dict", "default": {}},
    "path": {"type": "path"},
}


class ActionModule(ActionBase):
    """The action; it runs on the controller alone."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Explain all Kafka hosts.

        Raises:
            AnsibleActionFail: the file for the data cannot be written.

        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = ActionBase.validate_argument_spec(self, OPTIONS)
        changes = plain(arguments["change"])
        found = explain(run.current(task_vars or {}), arguments["key"], changes)
        if arguments["path"]:
            write(Path(arguments["path"]), found)
        text = report(found, properties=bool(arguments["key"]) or not changes)
        return {**result, "changed": False, "lines": text.splitlines()}


def write(path: Path, found: dict[str, Any]) -> None:
    """Write the explanation as data.

    Raises:
        AnsibleActionFail: the file cannot be written; names it and says why.

    """
    try:
        path.write_text(f"{json.dumps(found, indent=2)}\n", encoding="utf-8")
    except OSError as error:
        message = f"explain_json: {path} cannot be written ({error.strerror})"
        raise AnsibleActionFail(message) from error
