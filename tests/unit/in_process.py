"""Modules and actions of the collection, run in this process: Ansible itself takes seconds."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants
from ansible.inventory.manager import InventoryManager
from ansible.module_utils.testing import patch_module_args
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils import run
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import from_directory

PLUGINS = "ansible_collections.millrace.streaming.plugins"
Answer = dict[str, Any]
Module = Callable[[str, Answer], Answer]


def call_module(name: str, args: Answer, *, check: bool = False, diff: bool = False) -> Answer:
    """Return a module's result as Ansible would get it."""
    module = import_module(f"{PLUGINS}.modules.{name.rpartition('.')[2]}")
    options = {**args, "_ansible_check_mode": check, "_ansible_diff": diff}
    output = io.StringIO()
    with patch_module_args(options), contextlib.redirect_stdout(output):
        with contextlib.suppress(SystemExit):
            module.main()
    result: Answer = json.loads(output.getvalue())
    return result


def no_module(name: str, args: Answer) -> Answer:
    """Stand for a host of which nothing is to be asked."""
    pytest.fail(f"{name} was called with {args}")


@dataclass
class AnsibleRun:
    """One run of Ansible with an inventory; tasks see what tasks before them left.

    `module` answers for modules on hosts, `calls` are their names and options.
    """

    inventory: Path
    module: Module = no_module
    calls: list[tuple[str, Answer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the inventory."""
        # The first reading loads Ansible's plugins.
        from_directory(self.inventory)
        loader = DataLoader()
        manager = InventoryManager(loader=loader, sources=[str(self.inventory)])
        self._manager = manager
        self._variables = VariableManager(loader=loader, inventory=manager)
        self.hostvars = HostVars(manager, self._variables, loader)

    def variables(self, host: str, play: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the variables of a task on a host, those of its play included."""
        found = self._variables.get_vars(host=self._manager.get_host(host))
        return {**found, **(play or {})}

    def register(self, host: str, name: str, value: object) -> None:
        """Register a task's result."""
        self._variables.set_nonpersistent_facts(host, {name: value})

    def cluster(self, host: str) -> Cluster:
        """Return the cluster of the run, as a task on a host sees it."""
        return run.current(self.variables(host))

    def task(
        self,
        action: str,
        host: str,
        *,
        plugin: str = "",
        check: bool = False,
        play: Mapping[str, Any] | None = None,
        **args: object,
    ) -> Answer:
        """Run a task with an action; `plugin` is its plugin where that has another name."""
        task = SimpleNamespace(
            args=args,
            action=f"millrace.streaming.{action}",
            check_mode=check,
            async_val=0,
            diff=False,
        )
        connection = SimpleNamespace(_shell=Shell())
        make: Any = import_module(f"{PLUGINS}.action.{plugin or action}").ActionModule
        made = make(task, connection, None, None, None, None)
        made._execute_module = self._execute_module
        made._transfer_file = lambda source, target: Path(target).write_bytes(
            Path(source).read_bytes()
        )
        made._fixup_perms2 = made._remove_tmp_path = lambda *_, **__: None
        answer: Answer = made.run(task_vars=self.variables(host, play))
        return answer

    def _execute_module(
        self, module_name: str, module_args: Answer, task_vars: Mapping[str, Any]
    ) -> Answer:
        self.calls.append((module_name, module_args))
        return self.module(module_name, module_args)


@dataclass
class Shell:
    """What an action asks of a connection's shell."""

    tmpdir: str | None = "/nonexistent"

    def join_path(self, *parts: str) -> str:
        return str(Path(*parts))


@pytest.fixture
def local_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory in which a run of Ansible keeps its state, one for each test."""
    place = tmp_path / "ansible-local"
    place.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(place))
    yield place
