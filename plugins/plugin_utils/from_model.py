"""The controller's half of modules that operate a service: options from the cluster's model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils.model import module_options
from ..module_utils.model.cluster import NoServiceError
from . import run
from .events import write_event


class ActionModule(ActionBase):
    """Call the module with what the model says of the host and its cluster.

    Options of the task win. `events` is a file of the controller that gets each change with its
    time, which the ledger reads.
    """

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task.

        Raises:
            AnsibleActionFail: the host does not have the service.

        """
        super().run(tmp, task_vars)
        args = dict(self._task.args)
        events = args.pop("events", "")
        options = {**self._from_model(task_vars or {}), **args}
        begun = time.time()
        answer: dict[str, Any] = self._execute_module(
            module_name=self._task.action, module_args=options, task_vars=task_vars
        )
        if events and answer.get("changed") and not self._task.check_mode:
            host, phase = (task_vars or {})["inventory_hostname"], self._name
            write_event(events, {"node": host, "phase": phase, "start": begun, "end": time.time()})
        return answer

    @property
    def _name(self) -> str:
        return str(self._task.action).rpartition(".")[2]

    def _from_model(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        host = str(variables["inventory_hostname"])
        try:
            return module_options.of_module(self._name, run.current(variables), host)
        except NoServiceError as error:
            raise AnsibleActionFail(str(error)) from error
