"""The rules about settings in inventory files, or on the command line, without any effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...module_utils.formats.key_table import nearest
from ..cluster.cluster import Cluster
from ..cluster.inventory import FileFinding
from ..cluster.variables import PREFIXES, convert, documented, parameters
from .engine import Finding, Findings, rule
from .shared import LOCKED, VAULT_FIX

_SIMILAR = 0.8
_IN_JSON = {"list": '["a", "b"]', "dict": '{"key": "value"}'}


def _found(kind: str) -> Callable[[Cluster], Iterator[tuple[str, FileFinding]]]:
    def each(cluster: Cluster) -> Iterator[tuple[str, FileFinding]]:
        return (("", one) for one in cluster.inventory.file_findings if one.kind == kind)

    return each


@rule("key-duplicate", each=_found("twice"))
def _key_duplicate(one: FileFinding) -> Findings:
    """YAML keeps only the last one: what the others say is lost silently."""
    what = f"The key {one.name} is already on line {one.text}."
    yield Finding(what, "Merge both under one key, or delete one.", one.where)


@rule("inventory-key", each=_found("structure"))
def _inventory_key(one: FileFinding) -> Findings:
    """Ansible skips unknown keys of a group with a warning; all settings below them are lost."""
    yield Finding(f"A group has no key {one.name}.", f"Did you mean {one.text}?", one.where)


@rule("inventory-structure", each=_found("below"))
def _inventory_structure(one: FileFinding) -> Findings:
    """Ansible skips any other key of a group with a warning; all that is below it is lost."""
    what = f"{one.name} is not a key of a group, as which {one.text} has it."
    yield Finding(what, f"Put it below {one.value}: of {one.text}.", one.where)


@rule("inventory-level", each=_found("member"))
def _inventory_level(one: FileFinding) -> Findings:
    """Ansible makes a host or a group of this name, and what is below it is lost."""
    what = f"{one.name} is read as one of the {one.text}."
    yield Finding(what, "Indent it less: it is a key of the group.", one.where)


@rule("variables-level", each=_found("deep"))
def _variables_level(one: FileFinding) -> Findings:
    """Ansible makes one variable of this name, and sets none of those below it."""
    what = f"{one.name} is among variables, one level too deep."
    yield Finding(what, "Move what is below it one level up, and delete it.", one.where)


@rule("two-values", each=_found("two values"))
def _two_values(one: FileFinding) -> Findings:
    """A host has one value of a variable, whatever groups it is in: Ansible takes the last."""
    what = f"{one.name} has another value on line {one.text}."
    yield Finding(what, "Delete one of them; two machines need two names.", one.where)


@rule("vault-tag", each=_found("vault text"))
def _vault_tag(one: FileFinding) -> Findings:
    """Without the tag it is a text like any other, and nobody decrypts it."""
    what = f"{one.name} is an encrypted text without the tag !vault."
    yield Finding(what, f"Write {one.name}: {one.text} before it.", one.where)


@rule("file-encoding", each=_found("bytes"))
def _file_encoding(one: FileFinding) -> Findings:
    """Ansible replaces what is not UTF-8 by other signs."""
    fix = "Save it in UTF-8; one in Latin-1: iconv -f latin1 -t utf-8."
    yield Finding(f"{one.path}: {one.text}.", fix, one.where)


@rule("inventory-unread", each=_found("unread"))
def _inventory_unread(one: FileFinding) -> Findings:
    """Ansible skips it with a warning, and all hosts and variables in it are missing."""
    fix = VAULT_FIX if LOCKED in one.text.lower() else one.value
    yield Finding(f"{one.where} cannot be read: {one.text}.", fix, one.where)


@rule("group-cycle", each=_found("cycle"))
def _group_cycle(one: FileFinding) -> Findings:
    """No group can contain itself; Ansible reads nothing of such a file."""
    what = f"The group {one.name} has {one.text} among its children, which has {one.name}."
    fix = f"Delete {one.text} from the children of {one.name}, or the reverse."
    yield Finding(what, fix, one.where)


@rule("secrets-directory", each=_found("secrets"))
def _secrets_directory(one: FileFinding) -> Findings:
    """Without it nothing is known of the passwords and keys that the hosts have."""
    yield Finding(f"{one.text}.", f"Correct {one.name}, or its directory.", one.where)


@rule("yaml-number", each=_found("number"))
def _yaml_number(one: FileFinding) -> Findings:
    """YAML 1.1 reads a number that begins with 0 in base 8, and one with colons in base 60; where
    a text is needed, it gets the number without the signs that say nothing about its value.
    """
    what = f"YAML reads {one.text} as the number {one.value}."
    plain = one.text.lstrip("0")
    number = f" or {plain}" if plain.isdigit() else ""
    yield Finding(what, f'Write "{one.text}" in quotes{number}.', one.where)


@rule("group-file-hidden", each=_found("hidden"))
def _group_file_hidden(one: FileFinding) -> Findings:
    """Ansible reads the directory of this name, or else the first of the files .yml, .yaml and
    .json: the variables of the others are not set.
    """
    yield Finding(f"{one.text} hides it.", f"Move its variables into {one.text}.", one.where)


@rule("group-file-unused", each=_found("unused"))
def _group_file_unused(one: FileFinding) -> Findings:
    """Ansible reads only the files of groups that exist."""
    what = f"There is no group {one.name}."
    yield Finding(what, f"Did you mean {one.text}? Otherwise rename or delete it.", one.where)


@rule("variables-folder", each=_found("folder"))
def _variables_folder(one: FileFinding) -> Findings:
    """Ansible reads variables of groups and hosts only from group_vars and host_vars."""
    yield Finding(f"Nothing reads {one.name}.", f"Rename it to {one.text}.", one.where)


@rule("file-ending", each=_found("ending"))
def _file_ending(one: FileFinding) -> Findings:
    """Ansible reads variables only from files that end in .yml, .yaml or .json, or have no end."""
    yield Finding(f"Nothing reads {one.name}.", f"Rename it to {one.text}.", one.where)


@rule("file-link", each=_found("link"))
def _file_link(one: FileFinding) -> Findings:
    """Ansible skips a file that is not there without a word, and all variables in it are
    missing.
    """
    yield Finding(f"{one.path} is a link to {one.text}.", "Correct or delete the link.", one.where)


@rule("file-of-nobody", each=_found("nobody"), severity="warning")
def _file_of_nobody(one: FileFinding) -> Findings:
    """Ansible reads only the files of groups and hosts that exist."""
    what = f"There is no {one.text} {one.name}."
    yield Finding(what, "Rename it or delete it, unless another inventory has it.", one.where)


@rule("host-file-unused", each=_found("unused host"))
def _host_file_unused(one: FileFinding) -> Findings:
    """Ansible reads only the files of hosts by their names in the inventory."""
    what = f"There is no host {one.name}."
    yield Finding(what, f"Rename it to {one.text}, or delete it.", one.where)


def _given(cluster: Cluster) -> Iterator[tuple[str, str, Any]]:
    for name, value in cluster.inventory.parameters.items():
        # Variables of roles are checked as variables of every host.
        if name not in documented() and not name.startswith((*PREFIXES, "ansible_")):
            yield "", name, value


@rule("unknown-parameter", each=_given, where="-e")
def _unknown_parameter(name: str, _: Any) -> Findings:  # noqa: ANN401 - any value
    """Ansible accepts a variable of any name, and the run would ignore it."""
    known = [*parameters(), *documented()]
    near = "" if name in known else nearest(name, known, _SIMILAR)
    if near:
        fix = f"Did you mean {near}? Otherwise choose a less similar name."
        yield Finding(f"No playbook has a parameter {name}.", fix)


@rule("parameter-value", each=_given, where="-e")
def _parameter_value(name: str, value: Any) -> Findings:  # noqa: ANN401 - any value
    """The playbook would fail, or do something other than intended."""
    option = parameters().get(name)
    expression = isinstance(value, str) and "{{" in value
    if option and not expression and value not in (None, ""):
        _, errors = convert(name, value, option)
        kind = option.get("type", "str")
        for error in errors:
            fix = f"Set {name} to {'an' if kind == 'int' else 'a'} {kind}"
            if kind in _IN_JSON:
                fix += f""", in JSON: -e '{{"{name}": {_IN_JSON[kind]}}}'"""
            yield Finding(error, f"{fix}.")
