"""What argparse says of the arguments of a program, by how its text declares them.

The text is read and not run: the control node need not have what the program imports, which may do
anything before it reads its arguments. They are judged by argparse itself.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

_ELSEWHERE = {"parse_known_args", "parse_known_intermixed_args", "add_subparsers"}
_UNUSUAL = {"parents", "prefix_chars", "fromfile_prefix_chars", "allow_abbrev", None}
_PARSERS = {"ArgumentParser", "add_argument_group", "add_mutually_exclusive_group"}
_TYPES = {"int": int, "float": float}
_ENDING = {"help": "store_true", "version": "store_true"}  # without their output
_LONGEST, _MOST = 2**20, 100  # a text, and the words of an argument: argparse makes a list of them


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

    That is so unless it has one parser, in a variable of which only methods are called, which reads
    the arguments of the process, and names that are literals.
    """
    if len(text) > _LONGEST:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [(_name(node), node) for node in sorted(nodes, key=_place)]
    names = [name for name, _ in calls]
    parsers = [node for name, node in calls if name == "ArgumentParser"]
    if len(parsers) != 1 or "parse_args" not in names or not _ELSEWHERE.isdisjoint(names):
        return None
    readers = [node for name, node in calls if name == "parse_args"]
    if not all(_reads_all(reader, tree) for reader in readers):
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

    Their values are left out, which may be secrets.
    """
    try:
        parser.parse_args(words)
    except RefusedError as error:
        return _without_values(str(error), words)
    return ""


def _without_values(message: str, words: Sequence[str]) -> str:
    """Return a message with `…` for each value: a word that is no option, what follows its `=`."""
    values = {word.partition("=")[2] for word in words}
    values |= {word for word in words if not word.startswith("-")}
    values |= {repr(value)[1:-1] for value in values}
    longest_first = sorted(values - {""}, key=len, reverse=True)
    if not longest_first:
        return message
    # Values are whole words of it: the value `a` is not the letter of `argument` or of `--a`.
    return re.sub(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", "…", message)


def _place(node: ast.Call) -> tuple[int, int]:
    """Return where the function of a call ends: `add_argument` of a chain follows its group's."""
    return node.func.end_lineno or 0, node.func.end_col_offset or 0


def _name(call: ast.Call) -> str:
    """Return the name of what is called, without that of its object."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_shared(tree: ast.Module) -> bool:
    """Return whether arguments may be declared, or read, in a way that is not seen here.

    A parser is the value of a plain `name = ...`, and as a group it has its methods called only.
    """
    nodes = list(ast.walk(tree))
    targets = {
        node.value: node.targets[0]
        for node in nodes
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and _makes(node.value, _PARSERS)
    }
    names = {target.id for target in targets.values()}
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    methods = [function for function in calls if isinstance(function, ast.Attribute)]
    objects = [method.value for method in methods if not _makes(method.value, {"ArgumentParser"})]
    usual = {*targets, *targets.values(), *methods, *objects}
    return any(_is_parser(node, names) and node not in usual for node in nodes)


def _is_parser(node: ast.AST, names: Collection[str]) -> bool:
    """Return whether a part of a program is a parser, a group of one, or a method of either."""
    if isinstance(node, ast.Attribute):
        return node.attr == "add_argument"
    return _makes(node, _PARSERS) or (isinstance(node, ast.Name) and node.id in names)


def _makes(node: ast.AST, names: Collection[str]) -> bool:
    return isinstance(node, ast.Call) and _name(node) in names


def _reads_all(reader: ast.Call, tree: ast.Module) -> bool:
    """Return whether a call of `parse_args` takes the arguments of the process, and no others.

    It has no argument, or as in `main(argv=None)` a parameter for which the text gives nothing.
    """
    arguments = [*reader.args, *(word.value for word in reader.keywords)]
    if not arguments:
        return True
    name = getattr(arguments[0], "id", "")
    nodes = list(ast.walk(tree))
    functions = {
        node.name: node.args
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(argument, ast.arg) and argument.arg == name
            for argument in ast.walk(node.args)
        )
    }
    calls = [node for node in nodes if _makes(node, functions) and isinstance(node, ast.Call)]
    usual = {node.func for node in calls}
    usual |= {node.value for node in nodes if isinstance(node, ast.Attribute)}  # main.__doc__
    passed = [value for node in calls for value in (*node.args, *node.keywords)]
    defaults = [value for declaration in functions.values() for value in declaration.defaults]
    return (
        len(arguments) == 1
        and bool(functions)
        and all(isinstance(value, ast.Name) and value.id == name for value in passed)
        and all(isinstance(value, ast.Constant) and value.value is None for value in defaults)
        and not any(
            (node.id in functions and node not in usual)
            or (node.id == name and isinstance(node.ctx, ast.Store))
            for node in nodes
            if isinstance(node, ast.Name)
        )
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
    if isinstance(result.get("nargs"), int) and result["nargs"] > _MOST:
        message = "too many words"
        raise ValueError(message)
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
