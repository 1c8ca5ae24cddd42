"""What is wrong with the arguments of a program, by how it declares them with argparse.

The text is read and not run: the control node need not have what the program imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .....module_utils.formats.key_table import nearest

_ELSEWHERE = {"parse_known_args", "parse_known_intermixed_args", "add_subparsers"}
_UNUSUAL = {"parents", "prefix_chars", "fromfile_prefix_chars", "allow_abbrev", None}
_PARSERS = {"ArgumentParser", "add_argument_group", "add_mutually_exclusive_group"}


@dataclass(frozen=True)
class Argument:
    """An argument of a program; one whose names do not begin with `-` is positional."""

    names: tuple[str, ...]
    required: bool
    takes_several: bool

    @property
    def is_option(self) -> bool:
        """Whether it is given by its name."""
        return self.names[0].startswith("-")


def declared(text: str) -> list[Argument] | None:
    """Return the arguments of a program; None if they cannot be read from its text.

    That is so unless it has one parser, not passed to a function, and names that are literals.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    calls = [(_name(node), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [name for name, _ in calls]
    parsers = [node for name, node in calls if name == "ArgumentParser"]
    if len(parsers) != 1 or "parse_args" not in names or not _ELSEWHERE.isdisjoint(names):
        return None
    if not _UNUSUAL.isdisjoint(word.arg for word in parsers[0].keywords) or _is_shared(tree):
        return None
    found = [_argument(node) for name, node in calls if name == "add_argument"]
    known = [one for one in found if one]
    return known if len(known) == len(found) else None


def _name(call: ast.Call) -> str:
    """Return the name of what is called, without that of its object."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_shared(tree: ast.Module) -> bool:
    """Return whether another function may declare arguments too."""
    own = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _name(node.value) in _PARSERS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    passed: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            passed += [*node.args, *(word.value for word in node.keywords)]
        elif isinstance(node, ast.Return):
            passed.append(node.value)
    return any(isinstance(one, ast.Name) and one.id in own for one in passed)


def _argument(call: ast.Call) -> Argument | None:
    names = [one.value for one in call.args if isinstance(one, ast.Constant)]
    given = {word.arg: word.value for word in call.keywords}
    literal = len(names) == len(call.args) and all(isinstance(name, str) for name in names)
    action = given.get("action", ast.Constant("store"))
    # An action that is a class may add names, as BooleanOptionalAction does.
    if not names or not literal or None in given or not isinstance(action, ast.Constant):
        return None
    required = given.get("required")
    return Argument(
        tuple(map(str, names)),
        isinstance(required, ast.Constant) and required.value is True,
        "nargs" in given,
    )


def problems(known: Sequence[Argument], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with arguments, and what to write, as argparse would refuse them."""
    options = [one for one in known if one.is_option]
    every = ["--help", *(name for one in options for name in one.names)]
    no_others = all(one.is_option and not one.takes_several for one in known)
    given: set[str] = set()
    before = ""
    for word in words:
        name = word.partition("=")[0]
        if name == "--":
            return
        if name.startswith("--"):
            # A beginning is enough, if it is that of one alone.
            matches = [name] if name in every else [one for one in every if one.startswith(name)]
            if len(matches) != 1:
                near = nearest(name, every)
                yield f"has no argument {name}", f"Write {near}." if near else f"Delete {name}."
                matches = [near]
            given.update(matches)
        elif name.startswith("-"):
            given.update((name, name[:2]))  # its value may follow without a blank
        elif no_others and not _may_have_value(before):
            yield f"has no place for the argument {word}", f"Delete {word}."
        before = word
    for one in options:
        if one.required and given.isdisjoint(one.names):
            yield f"needs the argument {one.names[0]}", f"Add {one.names[0]}=... to arguments."


def _may_have_value(word: str) -> bool:
    """Return whether the next word may belong to this one."""
    return word.startswith("-") and "=" not in word
