"""Ansible action: have every distribution of the cluster on the controller, checked."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils import artifacts, run


class ActionModule(ActionBase):
    """The action; it runs on the controller alone, in check mode too."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Pack what is missing, and check everything.

        Raises:
            AnsibleActionFail: one cannot be packed, or is not what is recorded.

        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        ActionBase.validate_argument_spec(self, {})
        wanted = artifacts.wanted(run.current(task_vars or {}))
        packed = artifacts.have(wanted, self._display.display)
        return {**result, "changed": bool(packed), "packed": packed}
