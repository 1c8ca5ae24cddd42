"""Ansible action: refuse a wrong inventory before any host is touched, every problem at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.vault import VaultHelper
from ansible.plugins.action import ActionBase
from ansible_collections.millrace.streaming.plugins.module_utils.inventory_rules import (
    Host,
    Inventory,
    Problem,
    errors,
    judge,
    report,
    warnings,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules import LAYERS
from ansible_collections.millrace.streaming.plugins.module_utils.verdict import as_json, as_junit

CONNECTION = ("ansible_host", "ansible_port")
DESCRIPTION = re.compile(r"__(\w+)_described")
ROLE_VARIABLE = re.compile(r"(kafka|spark|host|java|distribution|zookeeper)_")


def plain(value: Any) -> Any:  # noqa: ANN401 - any variable
    """Return a copy in plain containers; Ansible's own are filled in when they are read."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(part) for part in value]
    return value


def variables(hostvars: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the named variables of a host that have a value outside the roles.

    One that refers to a role's default has none here; the role's description shows its effect.
    """
    found = {}
    for name in names:
        try:
            found[name] = plain(hostvars[name])
        except AnsibleError:
            continue
    return found


def protected(raw: Mapping[str, Any]) -> frozenset[str]:
    """Return the places of values that come from a vault or an expression.

    `raw` are a host's variables as they are written, before any expression is worked out. A place
    is `variable[key]`, or the variable alone where the whole of it is an expression.
    """
    places = set()
    for layer in (layer for layers in LAYERS.values() for layer in layers):
        config = raw.get(layer)
        if isinstance(config, Mapping):
            places |= {f"{layer}[{key}]" for key, value in config.items() if _is_hidden(value)}
        elif config is not None:
            places.add(layer)
    return frozenset(places)


def _is_hidden(value: object) -> bool:
    # An encrypted value is no str, and would be decrypted by being made one.
    if VaultHelper.get_ciphertext(value, with_tags=False):
        return True
    return isinstance(value, str) and "{{" in value


def read_host(name: str, hostvars: Mapping[str, Any], raw: Mapping[str, Any]) -> Host:
    """Return a host as the rules see it."""
    described = {
        found[1]: plain(hostvars[variable])
        for variable in hostvars
        if (found := DESCRIPTION.fullmatch(variable))
    }
    own = sorted(variable for variable in hostvars if ROLE_VARIABLE.match(variable))
    connection = variables(hostvars, (one for one in CONNECTION if one in hostvars))
    return Host(name, described, variables(hostvars, own), connection, protected(raw))


def read_specs(paths: Mapping[str, str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return role -> variable -> argument spec, of all entry points of each role.

    Raises:
        AnsibleError: a file that cannot be read or is no argument spec; names role and file.

    """
    specs: dict[str, dict[str, dict[str, Any]]] = {}
    for role, path in paths.items():
        try:
            text = Path(path).read_text(encoding="utf-8")
            points = yaml.safe_load(text)["argument_specs"].values()
            specs[role] = {
                name: option
                for point in points
                for name, option in (point.get("options") or {}).items()
            }
        except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
            message = f"role {role}: {path} is no argument spec: {error}"
            raise AnsibleError(message) from error
    return specs


class ActionModule(ActionBase):
    """The action; it runs on the controller alone."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Judge the inventory of this run."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = ActionBase.validate_argument_spec(
            self,
            {
                "specs": {"type": "dict", "required": True},
                "json": {"type": "path"},
                "junit": {"type": "path"},
            },
        )
        known = task_vars or {}
        hostvars = known["hostvars"]
        groups = {str(group): list(hosts) for group, hosts in known["groups"].items()}
        hosts = {
            str(name): read_host(str(name), hostvars[name], hostvars.raw_get(name))
            for name in hostvars
        }
        inventory = Inventory(groups, hosts, read_specs(arguments["specs"]))
        problems = judge(inventory)
        write(arguments["json"], as_json(problems, len(hosts)))
        write(arguments["junit"], as_junit(problems))
        return {**result, **outcome(inventory, problems)}


def write(path: str | None, text: str) -> None:
    """Write a file that the caller asked for, its name relative to the caller's directory.

    Raises:
        AnsibleError: a file that cannot be written; names it.

    """
    if not path:
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"the verdict cannot be written: {error}"
        raise AnsibleError(message) from error


def outcome(inventory: Inventory, problems: list[Problem]) -> dict[str, Any]:
    """Return what the task gives back: all problems, and a failure if there is an error."""
    refused, shown = errors(problems), warnings(problems)
    told = [f"{one.what} [{one.rule}] {one.where}: {one.why} {one.fix}" for one in shown]
    unseen = [host.name for host in inventory.placed() if not host.description]
    if unseen:
        told.append(
            f"{', '.join(unseen)}: outside this run (--limit?), so only groups, node ids and "
            "variables were judged there. Run without --limit to judge everything."
        )
    result: dict[str, Any] = {
        "changed": False,
        "problems": [problem.as_dict() for problem in refused],
        "notes": [problem.as_dict() for problem in shown],
    }
    if told:
        result["warnings"] = told
    if refused:
        result |= {"failed": True, "msg": report(refused)}
    return result
