"""Which programs are judged by how they declare their arguments, and as argparse would do it."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.rules.job_arguments import (
    declared,
    problems,
)

PROGRAM = """
import argparse

def main(argv=None):
    parser = argparse.ArgumentParser(prog="clicks")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--top", type=int)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args(argv)
"""
SHORT = PROGRAM.replace('"--topic", ', '"-t", "--topic", ')
FILES = PROGRAM.replace('"--top", type', '"files", nargs="+", type')


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nprint(sys.argv)\n",
        "def main(:\n",
        PROGRAM.replace("parse_args", "parse_known_args"),
        PROGRAM.replace('"--topic", ', "NAME, "),
        PROGRAM.replace("required=True", "**OPTIONS"),
        PROGRAM.replace('"store_true"', "argparse.BooleanOptionalAction"),
        PROGRAM.replace('prog="clicks"', "parents=[common]"),
        PROGRAM.replace("    arguments =", "    add_common(parser)\n    arguments ="),
        PROGRAM.replace("    arguments = parser", "    return parser\n\ndef other():\n    parser"),
        PROGRAM.replace("    arguments =", "    parser.add_subparsers()\n    arguments ="),
    ],
)
def test_a_program_whose_arguments_are_elsewhere_is_not_judged(text: str) -> None:
    assert text != PROGRAM
    assert declared(text) is None


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (PROGRAM, ["--topic=a", "--top=3", "-v"]),
        (PROGRAM, ["--topic", "a", "--verb"]),
        (PROGRAM, ["--topic=a", "--", "--other"]),
        (SHORT, ["-t", "a"]),
        (SHORT, ["-ta"]),
        (FILES, ["--topic=a", "one", "two"]),
    ],
)
def test_what_argparse_takes_is_good(program: str, words: list[str]) -> None:
    arguments = declared(program)
    assert arguments is not None
    assert list(problems(arguments, words)) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--topic=a", "b"], "b"),
        (["--topic", "a", "b"], "b"),
        (["--to=a", "--topic=b"], "--to"),
        (["--top=3"], "--topic"),
        (["--topik=a"], "--topik"),
        (["--topic=a", "--from=b"], "--from"),
    ],
)
def test_what_argparse_refuses_is_named_once(words: list[str], named: str) -> None:
    [(message, _)] = problems(declared(PROGRAM) or [], words)
    assert message.split()[-1] == named
