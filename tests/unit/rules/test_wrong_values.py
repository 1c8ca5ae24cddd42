"""Whatever stands in place of a value, an inventory is refused with problems, never by a crash."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Inventory
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.variables import documented
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    Problem,
    check_cluster,
)

from tests.support.faults.target import FULL
from tests.unit.cluster.inventories import INVENTORIES, read

WRONG: dict[str, object] = {
    "text": "text",
    "null": None,
    "number": 7,
    "bool": True,
    "list": ["a", None],
    "mapping": {"k": {"a": 1}},
    "list of lists": [[{}]],
}
Path_ = tuple[str | int, ...]


def places(value: object, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the way to a value and to each value in it."""
    yield path
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from places(entry, (*path, key))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from places(entry, (*path, number))


def put(value: Any, path: Path_, wrong: object) -> Any:
    """Return a value with another one somewhere in it; unchanged where there is no such place."""
    if not path:
        return wrong
    changed = copy.copy(value)
    try:
        changed[path[0]] = put(changed[path[0]], path[1:], wrong)
    except (LookupError, TypeError):
        return value
    return changed


@cache
def inventories() -> dict[str, Inventory]:
    with TemporaryDirectory() as folder:
        return {name: read(name, Path(folder)).inventory for name in INVENTORIES}


@cache
def new_places() -> dict[str, dict[str, list[Path_]]]:
    """Return inventory -> variable -> its places, of those that no inventory before has.

    Entries of a list are alike.
    """
    seen: set[tuple[str, Path_]] = set()
    by_inventory: dict[str, dict[str, list[Path_]]] = {}
    for name, inventory in inventories().items():
        for host in inventory.hosts.values():
            for variable, value in host.variables.items():
                for path in places(value):
                    kind = tuple(0 if isinstance(step, int) else step for step in path)
                    if (variable, kind) not in seen:
                        seen.add((variable, kind))
                        by_inventory.setdefault(name, {}).setdefault(variable, []).append(path)
    return by_inventory


def changed(inventory: Inventory, change: dict[str, Path_], wrong: object) -> Inventory:
    hosts = {
        name: replace(
            host,
            variables={
                variable: put(value, change[variable], wrong) if variable in change else value
                for variable, value in host.variables.items()
            },
        )
        for name, host in inventory.hosts.items()
    }
    return replace(inventory, hosts=hosts)


def check(inventory: Inventory) -> list[Problem]:
    problems = check_cluster(RULES, resolve(inventory))
    assert [problem for problem in problems if not problem.where] == []
    return problems


@pytest.mark.parametrize("name", INVENTORIES)
def test_a_wrong_value_anywhere_is_no_crash(name: str) -> None:
    """One place of each variable at a time, and all of them in the end."""
    # Which other types there are makes a difference at a whole variable alone.
    kinds = ("text", "null", "number", "list", "mapping")
    variables = new_places().get(name, {})
    for turn, paths in enumerate(zip_longest(*variables.values())):
        change = {
            variable: path
            for variable, path in zip(variables, paths, strict=True)
            if path is not None
        }
        all_kinds = FULL or turn == 0  # the first place of a variable is the whole of it
        for wrong in map(WRONG.get, kinds if all_kinds else (kinds[turn % len(kinds)],)):
            check(changed(inventories()[name], change, wrong))


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_value_of_any_variable_is_read_and_no_crash(kind: str, tmp_path: Path) -> None:
    """From a file: how a value is written is looked at too."""
    groups = {name: {"hosts": {"k1": None}} for name in inventories()["full"].groups}
    variables = dict.fromkeys(documented(), WRONG[kind])
    document = {**groups, "all": {"hosts": {"k1": None}, "vars": variables}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(document))
    problems = check(from_directory(tmp_path))
    assert problems


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_entry_of_secrets_is_named(kind: str) -> None:
    inventory = inventories()["connect"]
    hosts = {
        name: replace(host, variables={**host.variables, "connect_secrets": {"x": WRONG[kind]}})
        for name, host in inventory.hosts.items()
    }
    problems = check(replace(inventory, hosts=hosts))
    if kind != "mapping":
        assert "connect-secret-file" in [problem.rule for problem in problems]
