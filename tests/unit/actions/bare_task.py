"""One task with an action of the collection over a cluster, without a run of Ansible around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils import run
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster

from tests.unit.in_process import Answer, Module, no_module


@dataclass
class Tasks:
    """Tasks over one cluster."""

    monkeypatch: pytest.MonkeyPatch
    cluster: Cluster
    module: Module = no_module
    """Answers for modules on hosts."""
    calls: list[tuple[str, Answer]] = field(default_factory=list)
    """The names and options of modules on hosts."""

    def run(
        self,
        action: ModuleType,
        args: Mapping[str, Any],
        variables: Mapping[str, Any] | None = None,
        *,
        check: bool = False,
    ) -> Answer:
        """Run a task and return its result."""
        self.monkeypatch.setattr(run, "current", lambda _: self.cluster)
        name = action.__name__.rpartition(".")[2]
        task = SimpleNamespace(args=dict(args), action=name, check_mode=check, async_val=0)
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/nonexistent"))
        made = action.ActionModule(task, connection, None, None, None, None)
        made._execute_module = self._execute_module
        result: Answer = made.run(task_vars=dict(variables or {}))
        return result

    def _execute_module(
        self, module_name: str, module_args: Answer, task_vars: Mapping[str, Any]
    ) -> Answer:
        del task_vars
        name = module_name.rpartition(".")[2]
        self.calls.append((name, module_args))
        return self.module(name, module_args)
