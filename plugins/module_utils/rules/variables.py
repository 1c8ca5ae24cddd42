"""The rules about variables: whether a role documents them, and whether they have a legal value."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.key_table import nearest
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.model.variables import (
    RENAMED,
    Option,
    documented,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule

_IDS = ("kafka_node_id", "zookeeper_id")  # have rules of their own, which name a free id


@rule(
    "unknown-variable",
    when="a variable has the prefix of a role (`kafka_`, `spark_`, ...) and no role has it",
    why="Ansible ignores an unknown variable silently.",
    remedy="Correct the name; the message names the nearest documented variable.",
)
def _unknown_variable(cluster: Cluster) -> Iterator[Finding]:
    known = sorted(documented())
    for host in cluster.inventory.hosts.values():
        for name in sorted({*host.variables, *host.unresolved} - {*known}):
            what = f"No role has a variable {name}."
            near = nearest(name, known)
            fix = f"Did you mean {near}? Else delete it." if near else "Delete it."
            if name in RENAMED:
                what = f"The variable {name} has a new name."
                fix = f"Set {RENAMED[name]} instead."
            yield Finding(name, what, fix, (host.name,))


@rule(
    "unresolved-variable",
    when="the expression of a variable cannot be resolved",
    why="Everything that depends on it would be wrong; the other rules judge its default instead.",
    remedy="Correct the expression; the message names the reason and the file.",
)
def _unresolved_variable(cluster: Cluster) -> Iterator[Finding]:
    for host in cluster.inventory.hosts.values():
        for name, reason in host.unresolved.items():
            what = f"{name} cannot be resolved: {reason}."
            yield Finding(name, what, f"Correct the expression of {name}.", (host.name,))


@rule(
    "variable-value",
    when="a variable's value is not what the role's argument spec says",
    why="The role would fail with it, or do something else than intended.",
    remedy="Set a value of the type, or among the choices, that the message names.",
)
def _variable_value(cluster: Cluster) -> Iterator[Finding]:
    options = documented()
    for host, invalid in cluster.invalid.items():
        for one in invalid:
            if one.name not in _IDS:
                fix = _wanted(one.name, options[one.name])
                yield Finding(one.name, one.message, fix, (host,))


def _wanted(name: str, option: Option) -> str:
    kind = option.get("type", "str")
    of = f" of {option['elements']}" if "elements" in option else ""
    fix = f"Set {name} to {'an' if kind == 'int' else 'a'} {kind}{of}"
    if "choices" in option:
        fix += f": {listing(option['choices'], 'or')}"
    if option.get("default") not in (None, "", {}, []):
        fix += f"; the default is {option['default']!r}"
    return f"{fix}."
