"""Which programs are judged by how they declare their arguments, and as argparse would do it."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.rules.job_arguments import (
    declared,
    refusal,
)

PROGRAM = """
import argparse

def main():
    parser = argparse.ArgumentParser(prog="clicks")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--top", type=int)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
"""
ARGV = (
    PROGRAM.replace("main()", "main(argv=None)")
    .replace("parse_args()", "parse_args(argv)")
    .replace('prog="clicks"', "description=main.__doc__")
)
SHORT = PROGRAM.replace('"--topic", ', '"-t", "--topic", ')
CHOICES = PROGRAM.replace("type=int", 'choices=["a", "b"]')
COMPUTED = PROGRAM.replace("type=int", "type=level, choices=[1, 2], default=limit()")
GROUPED = PROGRAM.replace(
    'parser.add_argument("--top",', 'parser.add_argument_group("more").add_argument("--top",'
)
NAMED = PROGRAM.replace(
    'parser.add_argument("--top",',
    'g = parser.add_argument_group("more")\n    g.add_argument("--top",',
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
        PROGRAM.replace("parse_args()", "parse_args(sys.argv[2:])"),
        PROGRAM.replace("parse_args()", "parse_args(args=WORDS)"),
        f"{ARGV}main(sys.argv[2:])\n",
        f"{ARGV}main(argv=WORDS)\n",
        f"{ARGV}run(main)\n",
        ARGV.replace("argv=None", "argv=WORDS"),
        ARGV.replace("    parser =", "    argv = sys.argv[2:]\n    parser ="),
        ARGV.replace("(argv)", "(argv, namespace)"),
        PROGRAM.replace("    arguments =", "    parser(1)\n    arguments ="),
        PROGRAM.replace("parser = ", "parser: argparse.ArgumentParser = "),
        PROGRAM.replace("parser", "self.parser"),
        PROGRAM.replace("parser = ", "parser = other = "),
        PROGRAM.replace('prog="clicks")', 'prog="clicks").common()'),
        PROGRAM.replace('prog="clicks")', 'prog="clicks") if sys.argv else None'),
        PROGRAM.replace("    arguments =", "    other = parser\n    arguments ="),
        PROGRAM.replace("    arguments =", "    all_of = [parser]\n    arguments ="),
        PROGRAM.replace("    arguments =", "    parser = common()\n    arguments ="),
        PROGRAM.replace("    arguments =", "    parser.error = print\n    arguments ="),
        PROGRAM.replace("    arguments =", "    with parser:\n        pass\n    arguments ="),
        PROGRAM.replace("    arguments =", "    add = parser.add_argument\n    arguments ="),
        PROGRAM.replace("    arguments =", "    add_common([*parser])\n    arguments ="),
        PROGRAM.replace(
            "    arguments =",
            "    add_common([parser.add_argument_group()])\n    arguments =",
        ),
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
        (NAMED, ["--topic=a", "--top=1"]),
        (f"{ARGV}main()\n", ["--topic=a", "--top=1"]),
    ],
)
def test_what_argparse_takes_is_good(program: str, words: list[str]) -> None:
    parser = declared(program)
    assert parser is not None
    assert refusal(parser, words) == ""


@pytest.mark.parametrize(
    ("program", "words", "named"),
    [
        (PROGRAM, ["--topic=a", "b"], "unrecognized arguments: …"),
        (PROGRAM, ["--topic", "a", "b"], "unrecognized arguments: …"),
        (PROGRAM, ["--to=a", "--topic=b"], "--to"),
        (PROGRAM, ["--top=3"], "--topic"),
        (PROGRAM, ["--topik=a"], "--topic"),
        (PROGRAM, ["--topic=a", "--from=b"], "--from"),
        (PROGRAM, ["--topic=a", "--top=three"], "--top"),
        (PROGRAM, ["--topic=a", "--top"], "--top"),
        (CHOICES, ["--topic=a", "--top=c"], "--top"),
        (FILES, ["--topic=a"], "files"),
        (GROUPED, ["--topic=a", "--top=b"], "--top"),
        (f"{ARGV}main()\n", ["--topic=a", "--top=b"], "--top"),
    ],
)
def test_what_argparse_refuses_is_named(program: str, words: list[str], named: str) -> None:
    parser = declared(program)
    assert parser is not None
    assert named in refusal(parser, words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--topic=a", "--password=s3cret"], "unrecognized arguments: --password=…"),
        (["--topic=a", "--password", "s3cret"], "unrecognized arguments: --password …"),
        (["--topic=a", "s3", "s3cret"], "unrecognized arguments: … …"),
        (["--topic=a", "user=s3cret"], "unrecognized arguments: …"),
        (["--topic", "a", "--top", "s3cret"], "argument --top: invalid int value: '…'"),
        (["--topic=top", "--top", "s3\\cret\n"], "argument --top: invalid int value: '…'"),
        (["--topic=a", "--verbose=s3cret"], "argument -v/--verbose: ignored explicit argument '…'"),
        (["--top=3"], "the following arguments are required: --topic"),
        (["--topic="], ""),
    ],
)
def test_values_may_be_secrets(words: list[str], expected: str) -> None:
    parser = declared(PROGRAM)
    assert parser is not None
    assert refusal(parser, words) == expected


@pytest.mark.parametrize(("number", "is_judged"), [("100", True), ("101", False), ("9" * 9, False)])
def test_an_argument_of_many_words_is_not_judged(number: str, is_judged: bool) -> None:
    text = PROGRAM.replace("type=int", f"nargs={number}")
    assert (declared(text) is not None) is is_judged


def test_a_long_text_is_not_judged() -> None:
    assert declared(f"{PROGRAM}#".ljust(2**20, "-")) is not None
    assert declared(f"{PROGRAM}#".ljust(2**20 + 1, "-")) is None


@pytest.mark.parametrize("error", [SyntaxError, ValueError, RecursionError, MemoryError])
def test_a_text_that_python_cannot_parse_is_not_judged(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(_: str) -> None:
        raise error

    monkeypatch.setattr("ast.parse", fail)
    assert declared(PROGRAM) is None


def test_help_and_a_version_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = PROGRAM.replace(
        "    arguments", '    parser.add_argument("-V", action="version")\n    arguments'
    )
    parser = declared(text)
    assert parser is not None
    assert refusal(parser, ["--topic=a", "-V", "--help"]) == ""
    assert capsys.readouterr() == ("", "")
