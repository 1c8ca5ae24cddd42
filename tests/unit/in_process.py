"""Modules and actions of the collection, run in this process: Ansible itself takes seconds."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible import constants
from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.module_utils.common.parameters import PASS_VARS
from ansible.module_utils.testing import patch_module_args
from ansible.parsing.dataloader import DataLoader
from ansible.template import trust_as_template
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.millrace.streaming.plugins.plugin_utils import run
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)

from tests.support.lab.topology import ROOT

PLUGINS = "ansible_collections.millrace.streaming.plugins"
Answer = dict[str, Any]
Module = Callable[[str, Answer], Answer]


@cache
def routed_actions() -> Mapping[str, str]:
    """Return module -> the action that a task with it has, of those that meta/runtime.yml routes."""
    routes = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["plugin_routing"]["action"]
    return {name: route["redirect"].rpartition(".")[2] for name, route in routes.items()}


def plugin(folder: str, name: str) -> ModuleType:
    """Return a plugin of the collection."""
    word = name.rpartition(".")[2]
    if folder == "action":
        word = routed_actions().get(word, word)
    return import_module(f"{PLUGINS}.{folder}.{word}")


def call_module(
    name: str | ModuleType, args: Answer, *, check: bool = False, diff: bool = False
) -> Answer:
    """Return the result of a module, or of one by its name, as Ansible would get it."""
    module = plugin("modules", name) if isinstance(name, str) else name
    # A site may let results show the options, as cores before 2.20 always do.
    shown = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}
    options = {**args, **shown, "_ansible_check_mode": check, "_ansible_diff": diff}
    output = io.StringIO()
    stopped = contextlib.suppress(SystemExit)
    with patch_module_args(options), contextlib.redirect_stdout(output), stopped:
        module.main()
    result: Answer = json.loads(output.getvalue())
    return result


def no_module(name: str, args: Answer) -> Answer:
    """Stand for a host of which nothing is to be asked."""
    pytest.fail(f"{name} was called with {args}")


def transfer(source: str, target: str) -> None:
    """Copy a file of the control node to the host."""
    try:
        Path(target).write_bytes(Path(source).read_bytes())
    except OSError as error:
        raise AnsibleError(str(error)) from error


def trusted(value: object) -> object:
    """Return a value of a playbook, whose expressions Ansible works out."""
    return trust_as_template(value) if isinstance(value, str) else value


@dataclass
class AnsibleRun:
    """One run of Ansible with an inventory; tasks see what tasks before them left."""

    inventory: Path
    module: Module = no_module
    """Answers for modules on hosts."""
    calls: list[tuple[str, Answer]] = field(default_factory=list)
    """The names and options of modules on hosts."""
    tmpdir: str | None = "/nonexistent"
    """The temporary directory on hosts."""
    removed: list[str | None] = field(default_factory=list)
    """The temporary directories that were removed."""

    def __post_init__(self) -> None:
        """Read the inventory."""
        # The first reading loads Ansible's plugins; some of the inventory may be unreadable.
        with contextlib.suppress(AnsibleError):
            from_directory(self.inventory)
        loader = DataLoader()
        manager = InventoryManager(loader=loader, sources=[str(self.inventory)])
        self._manager = manager
        self._variables = VariableManager(loader=loader, inventory=manager)
        self.hostvars = HostVars(manager, self._variables, loader)

    def variables(self, host: str, play: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the variables of a task on a host, those of its play included."""
        variables_of_host = self._variables.get_vars(host=self._manager.get_host(host))
        written = {name: trusted(value) for name, value in (play or {}).items()}
        return {**variables_of_host, **written}

    def register(self, host: str, name: str, value: object) -> None:
        """Register a task's result."""
        self._variables.set_nonpersistent_facts(host, {name: value})

    def cluster(self, host: str) -> Cluster:
        """Return the cluster of the run, as a task on a host sees it."""
        return run.current(self.variables(host))

    def next_run(self) -> AnsibleRun:
        """Begin another run with the same inventory, for a test with the fixture local_tmp."""
        for path in Path(constants.DEFAULT_LOCAL_TMP).glob("millrace-*"):  # type: ignore[attr-defined]  # as in run.py
            path.unlink()
        return AnsibleRun(self.inventory, self.module)

    def task(
        self,
        action: str,
        host: str,
        /,
        *,
        check: bool = False,
        play: Mapping[str, Any] | None = None,
        **args: object,
    ) -> Answer:
        """Run a task with an action."""
        task = SimpleNamespace(
            args=args,
            action=f"millrace.streaming.{action}",
            check_mode=check,
            async_val=0,
            diff=False,
        )
        connection = SimpleNamespace(_shell=Shell(self.tmpdir))
        made: Any = plugin("action", action).ActionModule(task, connection, None, None, None, None)
        made._execute_module = self._execute_module
        made._transfer_file = transfer
        made._fixup_perms2 = lambda *_, **__: None
        made._remove_tmp_path = self.removed.append
        result: Answer = made.run(task_vars=self.variables(host, play))
        return result

    def _execute_module(
        self, module_name: str, module_args: Answer, task_vars: Mapping[str, Any]
    ) -> Answer:
        self.calls.append((module_name, copy.deepcopy(module_args)))
        return self.module(module_name, module_args)


@dataclass
class Shell:
    """What an action asks of a connection's shell."""

    tmpdir: str | None

    def join_path(self, *segments: str) -> str:
        return str(Path(*segments))
