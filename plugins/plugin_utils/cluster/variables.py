"""The variables of the roles, as their argument specs document them, and each host's values."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils.formats.key_table import nearest
from ...module_utils.formats.values import listing, mapping, sequence, yaml_type
from . import files, registry
from .inventory import HostVariables

ROLES = ("host", "java", "service", *registry.ENTRIES)
PREFIXES = (*(f"{role}_" for role in ROLES), "distribution_", "accepted_risks", "docs_url")

Option = Mapping[str, Any]


@dataclass(frozen=True)
class Invalid:
    """A variable whose value its argument spec refuses."""

    name: str
    message: str
    """What the spec says."""


@functools.cache
def documented() -> Mapping[str, Option]:
    """Return variable -> its argument spec, of the main entry point of every role."""
    specs: dict[str, Option] = {}
    for role in ROLES:
        document = files.parse_yaml(files.read(f"roles/{role}/meta/argument_specs.yml"))
        options = document["argument_specs"]["main"]["options"]
        # The roles that use the internal role provide its required options.
        specs |= {
            name: option
            for name, option in options.items()
            if role != "service" or not option.get("required")
        }
    return specs


@functools.cache
def parameters() -> Mapping[str, Option]:
    """Return what may be given to a playbook besides documented variables -> its argument spec."""
    document = files.parse_yaml(files.read("meta/parameters.yml"))
    specs: dict[str, Option] = dict(document["parameters"])
    for role in ROLES:
        document = files.parse_yaml(files.read(f"roles/{role}/meta/argument_specs.yml"))
        for entry in document["argument_specs"].values():
            specs |= entry.get("options", {})
    return {name: option for name, option in specs.items() if name not in documented()}


def defaults() -> dict[str, Any]:
    """Return variable -> default of every documented variable, None where there is none."""
    return {**_defaults(), **copy.deepcopy(_default_collections())}


@functools.cache
def _defaults() -> Mapping[str, Any]:
    return {name: option.get("default") for name, option in documented().items()}


@functools.cache
def _default_collections() -> Mapping[str, Any]:
    return {name: value for name, value in _defaults().items() if isinstance(value, (list, dict))}


def settings(host: HostVariables) -> tuple[dict[str, Any], list[Invalid]]:
    """Return every documented variable of a host, converted to its type, and what is invalid.

    A variable that is not set, has no value or is invalid has its default.
    """
    values, invalid = defaults(), []
    for name, option in documented().items():
        value = host.variables.get(name)
        if value is None:
            continue
        converted, errors = convert(name, value, option)
        invalid += [Invalid(name, error) for error in errors]
        if not errors:
            values[name] = converted
    return values, invalid


def convert(name: str, value: object, option: Option) -> tuple[Any, list[str]]:
    """Return a value converted as its argument spec says, and the spec's errors; secrets hidden."""
    errors: list[str]
    if wrong := _mismatch(name, value, option):
        return None, [wrong]
    try:
        result = ArgumentSpecValidator({name: _on_control_node(option)}).validate({name: value})
        repr(result.validated_parameters)  # a number of more digits than Python shows
        errors = result.error_messages
        if result.unsupported_parameters:
            near = _nearest(option, result.unsupported_parameters)
            errors = [f"{name} has an unknown key: {error.rstrip('.')}.{near}" for error in errors]
        converted = result.validated_parameters.get(name)
    except TypeError:  # the validator looks for the parts of whatever is there
        errors, converted = [f"{name} is a {yaml_type(value)} whose parts cannot be read"], None
    except (ValueError, OverflowError) as error:  # infinity, or more digits than Python reads
        errors, converted = [f"{name} cannot be converted: {error}"], None
    # A value of the wrong type also fails further checks, whose errors are redundant.
    other_type = (f"argument '{name}' is of type", f"Elements value for option '{name}' is of type")
    errors = [error for error in errors if error.startswith(other_type)] or errors
    if errors and option.get("no_log"):
        return None, [f"The value of {name} is refused; it is secret and not shown."]
    return converted, [
        error if error.endswith("?") else f"{error.rstrip('.')}." for error in errors
    ]


def _nearest(option: Option, unknown: Iterable[Sequence[str]]) -> str:
    """Return which keys were meant by unknown ones, each with the keys above it, if any is near."""
    meant: list[str] = []
    for _, *parents, key in unknown:
        options = option.get("options", {})
        for parent in parents:
            options = options.get(parent, {}).get("options", {})
        meant += filter(None, [nearest(str(key), list(options))])
    return f" Did you mean {listing(sorted({*meant}))}?" if meant else ""


def _mismatch(name: str, value: object, option: Option) -> str:
    """Return what is wrong with a value, or a part of it, that the validator would convert.

    Empty if nothing is.
    """
    if wrong := _type_mismatch(name, value, option) or _blanks(name, value, option):
        return wrong
    if isinstance(value, Mapping):
        options = option.get("options", {}).items()
        nested = [(f"{key} of {name}", value.get(key), spec) for key, spec in options]
    else:
        element = {key: option[key] for key in ("options", "no_log") if key in option}
        element["type"] = option.get("elements", "raw")
        nested = [(f"An entry of {name}", entry, element) for entry in sequence(value)]
        if element["type"] == "dict":
            nested = [(name, entry, element) for entry in sequence(value) if mapping(entry)]
    mismatches = (_mismatch(*arguments) for arguments in nested if arguments[1] is not None)
    return next(filter(None, mismatches), "")


def _type_mismatch(name: str, value: object, option: Option) -> str:
    kind = option.get("type", "str")
    if isinstance(value, bool) and kind == "int":  # which Python takes for 0 or 1
        return f"{name} is {value} (boolean), not a whole number."
    if isinstance(value, bool) and kind in ("str", "path"):
        words = "yes, on or true" if value else "no, off or false"
        return f"{name} is {value} (boolean), not text: YAML reads {words} so without quotes."
    if isinstance(value, (list, tuple, Mapping)) and kind in ("str", "path"):
        return f"{name} is a {yaml_type(value)}, not text."
    if isinstance(value, Mapping) and kind == "list":
        return (
            f"{name} is a mapping, not a list: in YAML each entry of a list begins with a hyphen."
        )
    if isinstance(value, str) and kind == "list":
        hidden = option.get("no_log") or name.endswith("_java_options")  # may have a password
        secret = "" if hidden else f" {value!r}"
        return f"{name} is one text{secret}, not a list."
    # The validator reads JSON, as it is given with -e, and also a=b.
    if isinstance(value, str) and kind == "dict" and not value.lstrip().startswith("{"):
        return f"{name} is one text, not a mapping: no | and no > may follow its name in YAML."
    return ""


def _blanks(name: str, value: object, option: Option) -> str:
    """Return which blanks a text of one line has around it, empty if none; a secret may have some.

    No use of a variable means them: they would become a part of a name, a path or an address.
    """
    if option.get("type", "str") not in ("str", "path") or option.get("no_log"):
        return ""
    if not isinstance(value, str) or not value.strip() or value == value.strip():
        return ""
    if "\n" in value.strip():
        return ""
    end = "ends" if value == value.lstrip() else "begins"
    kind = (
        "line break: a YAML block needs |- or >- to end without one"
        if value.rstrip(" \t")[-1:] == "\n"
        else "blank"
    )
    return f"{name} {end} with a {kind}."


def _on_control_node(option: Option) -> dict[str, Any]:
    """Return a spec that validates a single value.

    Defaults are resolved by the model, and paths by the host: nothing in it is expanded here.
    """
    spec = {key: value for key, value in option.items() if key not in ("default", "required")}
    for key in ("type", "elements"):
        if spec.get(key) == "path":
            spec[key] = "str"
    return spec
