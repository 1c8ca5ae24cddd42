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
    """An argument of a program."""

    names: tuple[str, ...]
    """Those of a positional one do not begin with `-`."""
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
    arguments = [_argument(node) for name, node in calls if name == "add_argument"]
    readable = [argument for argument in arguments if argument]
    return readable if len(readable) == len(arguments) else None


def _name(call: ast.Call) -> str:
    """Return the name of what is called, without that of its object."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_shared(tree: ast.Module) -> bool:
    """Return whether another function may declare arguments too."""
    parsers = {
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
    return any(
        isinstance(expression, ast.Name) and expression.id in parsers for expression in passed
    )


def _argument(call: ast.Call) -> Argument | None:
    names = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    keywords = {word.arg: word.value for word in call.keywords}
    literal = len(names) == len(call.args) and all(isinstance(name, str) for name in names)
    action = keywords.get("action", ast.Constant("store"))
    # An action that is a class may add names, as BooleanOptionalAction does.
    if not names or not literal or None in keywords or not isinstance(action, ast.Constant):
        return None
    required = keywords.get("required")
    return Argument(
        tuple(map(str, names)),
        isinstance(required, ast.Constant) and required.value is True,
        "nargs" in keywords,
    )


def problems(arguments: Sequence[Argument], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with arguments, and what to write, as argparse would refuse them."""
    options = [argument for argument in arguments if argument.is_option]
    option_names = ["--help", *(name for option in options for name in option.names)]
    no_others = all(argument.is_option and not argument.takes_several for argument in arguments)
    present: set[str] = set()
    before = ""
    for word in words:
        name = word.partition("=")[0]
        if name == "--":
            return
        if name.startswith("--"):
            # A beginning is enough, if it is that of one alone.
            matches = (
                [name]
                if name in option_names
                else [option_name for option_name in option_names if option_name.startswith(name)]
            )
            if len(matches) != 1:
                near = nearest(name, option_names)
                yield f"has no argument {name}", f"Write {near}." if near else f"Delete {name}."
                matches = [near]
            present.update(matches)
        elif name.startswith("-"):
            present.update((name, name[:2]))  # its value may follow without a blank
        elif no_others and not _may_have_value(before):
            yield f"has no place for the argument {word}", f"Delete {word}."
        before = word
    for option in options:
        if option.required and present.isdisjoint(option.names):
            yield (
                f"needs the argument {option.names[0]}",
                f"Add {option.names[0]}=... to arguments.",
            )


def _may_have_value(word: str) -> bool:
    """Return whether the next word may belong to this one."""
    return word.startswith("-") and "=" not in word
