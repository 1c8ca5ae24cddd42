"""The rules about the inventory's variables, as the roles' argument specs know them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.millrace.streaming.plugins.module_utils.key_table import nearest
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    LAYERS,
    Finding,
    Inventory,
    listing,
    rule,
    yaml_type,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_versions import version

_REPORTED_ELSEWHERE = ("kafka_node_id", "zookeeper_id")


@rule(
    "unknown-variable",
    when="a variable has the prefix of a role (`kafka_`, `spark_`, ...) and no role has it",
    why="Ansible ignores an unknown variable without a word.",
    remedy="Correct the name; the message names the nearest documented variable.",
)
def unknown_variable(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a variable that no role documents."""
    known = sorted({name for spec in inventory.specs.values() for name in spec})
    for host in inventory.hosts.values():
        for name in sorted(set(host.variables) - set(known)):
            near = nearest(name, known)
            fix = f"Did you mean {near}? Else delete it." if near else "Delete it."
            yield Finding(name, f"No role has a variable {name}.", fix, (host.name,))


@rule(
    "variable-value",
    when="a variable's value is not what the role's argument spec says",
    why="The role would fail with it, or do something else than meant.",
    remedy="Set a value of the type, or among the choices, that the message names.",
)
def variable_value(inventory: Inventory) -> Iterator[Finding]:
    """Refuse what the roles' argument specs refuse, for all hosts before the first role runs."""
    options = {name: option for spec in inventory.specs.values() for name, option in spec.items()}
    for host in inventory.hosts.values():
        for name, value in sorted(host.variables.items()):
            if name in options and name not in _REPORTED_ELSEWHERE:
                for error in spec_errors(name, value, options[name]):
                    yield Finding(name, error, _wanted(name, options[name]), (host.name,))


def spec_errors(name: str, value: object, option: Mapping[str, Any]) -> list[str]:
    """Return what the argument spec of one variable says against a value, secrets not shown.

    Raises nothing: the default is left out, since it may be an expression of the role.
    """
    spec = {key: part for key, part in option.items() if key not in ("default", "required")}
    errors: list[str]
    try:
        errors = ArgumentSpecValidator({name: spec}).validate({name: value}).error_messages
    except TypeError:  # the validator looks for the parts of whatever is there
        errors = [f"{name} is a {yaml_type(value)} whose parts cannot be read"]
    # A value of another type fails further checks, which would say the same again.
    errors = [one for one in errors if one.startswith(f"argument '{name}' is of type")] or errors
    if errors and option.get("no_log"):
        return [f"The value of {name} is refused; it is secret and not shown."]
    return [f"{error.rstrip('.')}." for error in errors]


def _wanted(name: str, option: Mapping[str, Any]) -> str:
    kind = option.get("type", "str")
    of = f" of {option['elements']}" if "elements" in option else ""
    fix = f"Set {name} to {'an' if kind == 'int' else 'a'} {kind}{of}"
    if "choices" in option:
        fix += f": {listing(option['choices'], 'or')}"
    if option.get("default") not in (None, "", {}, []) and "{{" not in str(option["default"]):
        fix += f"; the default is {option['default']!r}"
    return f"{fix}."


@rule(
    "not-describable",
    when="a role's own expressions fail on the variables, and no other rule says why",
    why="What cannot be worked out here cannot be installed there.",
    remedy="Correct the variable that the message is about.",
)
def not_describable(inventory: Inventory) -> Iterator[Finding]:
    """Refuse what no rule could judge."""
    checks = (variable_value, version)
    explained = {name for check in checks for found in check(inventory) for name in found.hosts}
    for host in inventory.hosts.values():
        for role in LAYERS:
            failure = host.failure(role)
            if failure and host.name not in explained:
                what = f"The {role} role cannot work out what it would do: {failure}"
                fix = f"Correct the {role}_ variable that the message is about."
                yield Finding(f"{role}_ variables", what, fix, (host.name,))
