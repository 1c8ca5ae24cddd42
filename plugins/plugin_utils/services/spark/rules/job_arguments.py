"""What argparse says of the arguments of a program, by how its text declares them.

The text is read and not run: the control node need not have what the program imports, which may do
anything before it reads its arguments. They are judged by argparse itself.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from typing import Any, NoReturn

_ELSEWHERE = {"parse_known_args", "parse_known_intermixed_args", "add_subparsers"}
_UNUSUAL = {"parents", "prefix_chars", "fromfile_prefix_chars", "allow_abbrev", None}
_PARSERS = {"ArgumentParser", "add_argument_group", "add_mutually_exclusive_group"}
_TYPES = {"int": int, "float": float}
_ENDING = {"help": "store_true", "version": "store_true"}  # without their output


class RefusedError(Exception):
    """argparse refuses arguments; the text is its message."""


class Parser(argparse.ArgumentParser):
    """A parser with the arguments of a program, which does not end the process."""

    names: tuple[str, ...] = ()
    """The longest name of each argument."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print before it ends the program."""
        raise RefusedError(message)


def declared(text: str) -> Parser | None:
    """Return a parser with the arguments of a program; None if its text does not have them.

    That is so unless it has one parser, not passed to a function, and names that are literals.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [(_name(node), node) for node in sorted(nodes, key=_place)]
    names = [name for name, _ in calls]
    parsers = [node for name, node in calls if name == "ArgumentParser"]
    if len(parsers) != 1 or "parse_args" not in names or not _ELSEWHERE.isdisjoint(names):
        return None
    if not _UNUSUAL.isdisjoint(word.arg for word in parsers[0].keywords) or _is_shared(tree):
        return None
    parser = Parser(add_help=False, usage="", conflict_handler="resolve")
    try:
        parser.add_argument("-h", "--help", action="store_true")
        for name, node in calls:
            if name == "add_argument":
                aliases = _names(node)
                parser.add_argument(*aliases, **_keywords(node))
                parser.names += (max(aliases, key=len),)
    except (ValueError, TypeError, argparse.ArgumentError):
        return None
    return parser


def refusal(parser: Parser, words: Sequence[str]) -> str:
    """Return why argparse refuses the arguments of a program, empty if it takes them.

    Of an argument that it does not know its value is left out, which may be a secret.
    """
    try:
        parser.parse_args(words)
    except RefusedError as error:
        message = str(error)
        for word in words:
            message = message.replace(word, word.partition("=")[0])
        return message
    return ""


def _place(node: ast.Call) -> tuple[int, int]:
    """Return where the function of a call ends: `add_argument` of a chain follows its group's."""
    return node.func.end_lineno or 0, node.func.end_col_offset or 0


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


def _names(call: ast.Call) -> list[str]:
    """Return the names of an argument.

    Raises:
        ValueError: they are no literals.

    """
    names = [ast.literal_eval(argument) for argument in call.args]
    if not names or not all(isinstance(name, str) for name in names):
        message = "an argument without a name"
        raise ValueError(message)
    return names


def _keywords(call: ast.Call) -> dict[str, Any]:
    """Return what an argument is declared with, but for what only the program can compute.

    Raises:
        ValueError: which words it takes depends on that.

    """
    keywords = {word.arg: word.value for word in call.keywords}
    if None in keywords:
        message = "keywords of a dictionary"
        raise ValueError(message)
    result: dict[str, Any] = {
        key: ast.literal_eval(keywords[key]) for key in ("action", "nargs") if key in keywords
    }
    if result.get("action") in _ENDING:
        result["action"] = _ENDING[result["action"]]
    kind = keywords.get("type")
    if isinstance(kind, ast.Name) and kind.id in _TYPES:
        result["type"] = _TYPES[kind.id]
    # Choices are compared with what another type makes of a word.
    readable = ("required", "default", *(("choices",) if kind is None or "type" in result else ()))
    for key in readable:
        if isinstance(keywords.get(key), (ast.Constant, ast.List, ast.Tuple)):
            result[key] = ast.literal_eval(keywords[key])
    return result
