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
        return (
            ("", finding) for finding in cluster.inventory.file_findings if finding.kind == kind
        )

    return each


@rule("key-duplicate", each=_found("twice"))
def _key_duplicate(finding: FileFinding) -> Findings:
    """YAML keeps only the last one: what the others say is lost silently."""
    problem = f"The key {finding.name} is already on line {finding.text}."
    yield Finding(problem, "Merge both under one key, or delete one.", finding.where)


@rule("inventory-key", each=_found("structure"))
def _inventory_key(finding: FileFinding) -> Findings:
    """Ansible skips unknown keys of a group with a warning; all settings below them are lost."""
    yield Finding(
        f"A group has no key {finding.name}.", f"Did you mean {finding.text}?", finding.where
    )


@rule("inventory-structure", each=_found("below"))
def _inventory_structure(finding: FileFinding) -> Findings:
    """Ansible skips any other key of a group with a warning; all that is below it is lost."""
    problem = f"{finding.name} is not a key of a group, as which {finding.text} has it."
    yield Finding(problem, f"Put it below {finding.value}: of {finding.text}.", finding.where)


@rule("inventory-level", each=_found("member"))
def _inventory_level(finding: FileFinding) -> Findings:
    """Ansible makes a host or a group of this name, and what is below it is lost."""
    problem = f"{finding.name} is read as one of the {finding.text}."
    yield Finding(problem, "Indent it less: it is a key of the group.", finding.where)


@rule("variables-level", each=_found("deep"))
def _variables_level(finding: FileFinding) -> Findings:
    """Ansible makes one variable of this name, and sets none of those below it."""
    problem = f"{finding.name} is among variables, one level too deep."
    yield Finding(problem, "Move what is below it one level up, and delete it.", finding.where)


@rule("two-values", each=_found("two values"))
def _two_values(finding: FileFinding) -> Findings:
    """A host has one value of a variable, whatever groups it is in: Ansible takes the last."""
    problem = f"{finding.name} has another value on line {finding.text}."
    yield Finding(problem, "Delete one of them; two machines need two names.", finding.where)


@rule("vault-tag", each=_found("vault text"))
def _vault_tag(finding: FileFinding) -> Findings:
    """Without the tag it is a text like any other, and nobody decrypts it."""
    problem = f"{finding.name} is an encrypted text without the tag !vault."
    yield Finding(problem, f"Write {finding.name}: {finding.text} before it.", finding.where)


@rule("file-encoding", each=_found("bytes"))
def _file_encoding(finding: FileFinding) -> Findings:
    """Ansible replaces what is not UTF-8 by other signs."""
    fix = "Save it in UTF-8; one in Latin-1: iconv -f latin1 -t utf-8."
    yield Finding(f"{finding.path}: {finding.text}.", fix, finding.where)


@rule("inventory-unread", each=_found("unread"))
def _inventory_unread(finding: FileFinding) -> Findings:
    """Ansible skips it with a warning, and all hosts and variables in it are missing."""
    fix = VAULT_FIX if LOCKED in finding.text.lower() else finding.value
    yield Finding(f"{finding.where} cannot be read: {finding.text}.", fix, finding.where)


@rule("group-cycle", each=_found("cycle"))
def _group_cycle(finding: FileFinding) -> Findings:
    """No group can contain itself; Ansible reads nothing of such a file."""
    problem = (
        f"The group {finding.name} has {finding.text} among its children, which has {finding.name}."
    )
    fix = f"Delete {finding.text} from the children of {finding.name}, or the reverse."
    yield Finding(problem, fix, finding.where)


@rule("secrets-directory", each=_found("secrets"))
def _secrets_directory(finding: FileFinding) -> Findings:
    """Without it nothing is known of the passwords and keys that the hosts have."""
    fix = finding.value or f"Correct {finding.name}, or its directory"
    yield Finding(f"{finding.text}.", f"{fix}.", finding.where)


@rule("secrets-sealed", each=_found("sealed"), severity="warning")
def _secrets_sealed(finding: FileFinding) -> Findings:
    """What depends on certificates and passwords is not checked. A run that makes or needs them ends
    before a host is changed.
    """
    yield Finding(f"{finding.text}.", f"{finding.value}.", finding.where)


@rule("yaml-number", each=_found("number"))
def _yaml_number(finding: FileFinding) -> Findings:
    """YAML 1.1 reads a number that begins with 0 in base 8, and one with colons in base 60. Where
    a text is needed, it gets the number without the signs that say nothing about its value.
    """
    problem = f"YAML reads {finding.text} as the number {finding.value}."
    plain = finding.text.lstrip("0")
    number = f" or {plain}" if plain.isdigit() else ""
    yield Finding(problem, f'Write "{finding.text}" in quotes{number}.', finding.where)


@rule("group-file-hidden", each=_found("hidden"))
def _group_file_hidden(finding: FileFinding) -> Findings:
    """Ansible reads the directory of this name, or else the first of the files .yml, .yaml and
    .json: the variables of the others are not set.
    """
    yield Finding(
        f"{finding.text} hides it.", f"Move its variables into {finding.text}.", finding.where
    )


@rule("group-file-unused", each=_found("unused"))
def _group_file_unused(finding: FileFinding) -> Findings:
    """Ansible reads only the files of groups that exist."""
    problem = f"There is no group {finding.name}."
    yield Finding(
        problem, f"Did you mean {finding.text}? Otherwise rename or delete it.", finding.where
    )


@rule("variables-folder", each=_found("folder"))
def _variables_folder(finding: FileFinding) -> Findings:
    """Ansible reads variables of groups and hosts only from group_vars and host_vars."""
    yield Finding(f"Nothing reads {finding.name}.", f"Rename it to {finding.text}.", finding.where)


@rule("file-ending", each=_found("ending"))
def _file_ending(finding: FileFinding) -> Findings:
    """Ansible reads variables only from files that end in .yml, .yaml or .json, or have no end."""
    yield Finding(f"Nothing reads {finding.name}.", f"Rename it to {finding.text}.", finding.where)


@rule("file-link", each=_found("link"))
def _file_link(finding: FileFinding) -> Findings:
    """Ansible skips a file that is not there without a word, and all variables in it are
    missing.
    """
    yield Finding(
        f"{finding.path} is a link to {finding.text}.", "Correct or delete the link.", finding.where
    )


@rule("file-of-nobody", each=_found("nobody"), severity="warning")
def _file_of_nobody(finding: FileFinding) -> Findings:
    """Ansible reads only the files of groups and hosts that exist."""
    problem = f"There is no {finding.text} {finding.name}."
    yield Finding(
        problem, "Rename it or delete it, unless another inventory has it.", finding.where
    )


@rule("host-file-unused", each=_found("unused host"))
def _host_file_unused(finding: FileFinding) -> Findings:
    """Ansible reads only the files of hosts by their names in the inventory."""
    problem = f"There is no host {finding.name}."
    yield Finding(problem, f"Rename it to {finding.text}, or delete it.", finding.where)


def _given(cluster: Cluster) -> Iterator[tuple[str, str, Any]]:
    for name, value in cluster.inventory.parameters.items():
        # Variables of roles are checked as variables of every host.
        if name not in documented() and not name.startswith((*PREFIXES, "ansible_")):
            yield "", name, value


@rule("unknown-parameter", each=_given, where="-e")
def _unknown_parameter(name: str, _: Any) -> Findings:
    """Ansible accepts a variable of any name, and the run would ignore it."""
    names = [*parameters(), *documented()]
    near = "" if name in names else nearest(name, names, _SIMILAR)
    if near:
        fix = f"Did you mean {near}? Otherwise choose a less similar name."
        yield Finding(f"No playbook has a parameter {name}.", fix)


@rule("parameter-value", each=_given, where="-e")
def _parameter_value(name: str, value: Any) -> Findings:
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
