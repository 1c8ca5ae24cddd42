"""Which programs are judged by how they declare their arguments, and as argparse would do it."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.rules.job_arguments import (
    declared,
    refusal,
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
CHOICES = PROGRAM.replace("type=int", 'choices=["a", "b"]')
COMPUTED = PROGRAM.replace("type=int", "type=level, choices=[1, 2], default=limit()")
GROUPED = PROGRAM.replace(
    'parser.add_argument("--top",', 'parser.add_argument_group("more").add_argument("--top",'
)
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
        (SHORT, ["-t", "a"]),
        (SHORT, ["-ta"]),
        (FILES, ["--topic=a", "1", "2"]),
        (CHOICES, ["--topic=a", "--top=b"]),
        (COMPUTED, ["--topic=a", "--top=1"]),
        (GROUPED, ["--topic=a", "--top=1"]),
    ],
)
def test_what_argparse_takes_is_good(program: str, words: list[str]) -> None:
    parser = declared(program)
    assert parser is not None
    assert refusal(parser, words) == ""


@pytest.mark.parametrize(
    ("program", "words", "named"),
    [
        (PROGRAM, ["--topic=a", "b"], "b"),
        (PROGRAM, ["--topic", "a", "b"], "b"),
        (PROGRAM, ["--to=a", "--topic=b"], "--to"),
        (PROGRAM, ["--top=3"], "--topic"),
        (PROGRAM, ["--topik=a"], "--topic"),
        (PROGRAM, ["--topic=a", "--from=b"], "--from"),
        (PROGRAM, ["--topic=a", "--top=three"], "--top"),
        (PROGRAM, ["--topic=a", "--top"], "--top"),
        (CHOICES, ["--topic=a", "--top=c"], "--top"),
        (FILES, ["--topic=a"], "files"),
        (GROUPED, ["--topic=a", "--top=b"], "--top"),
    ],
)
def test_what_argparse_refuses_is_named(program: str, words: list[str], named: str) -> None:
    parser = declared(program)
    assert parser is not None
    assert named in refusal(parser, words)


def test_the_value_of_an_argument_that_is_not_known_may_be_a_secret() -> None:
    parser = declared(PROGRAM)
    assert parser is not None
    message = refusal(parser, ["--topic=a", "--password=hunter2"])
    assert "--password" in message
    assert "hunter2" not in message


def test_help_and_a_version_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = PROGRAM.replace(
        "    arguments", '    parser.add_argument("-V", action="version")\n    arguments'
    )
    parser = declared(text)
    assert parser is not None
    assert refusal(parser, ["--topic=a", "-V", "--help"]) == ""
    assert capsys.readouterr() == ("", "")
