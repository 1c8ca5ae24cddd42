"""The prose linter finds what its word list and the length of sentences forbid, and only in prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import prose

LONG = f"It has {', '.join(f'item{number}' for number in range(40))}."


def found(name: str, text: str) -> list[tuple[int, str]]:
    """Return the line and the check of each problem in a file."""
    return [
        (problem.line, problem.check)
        for problem in prose.problems(Path(name), text, prose.configure())
    ]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("page.md", "# Title\n\nShort.\nThe way\nback.\n", 4),
        ("page.md", "| a | b |\n|---|---|\n| short | the way back |\n", 3),
        ("rules.yml", "rule:\n  when: short.\n  fix: >-\n    the way back.\n", 3),
        ("tasks.yml", "- name: Way back\n  debug:\n", 1),
        ("module.py", 'TEXT = "It is short"\nraise ValueError(f"{TEXT} is on the way back")\n', 2),
        ("rules.py", '@rule("x")\ndef _x(cluster):\n    """It is the way back."""\n', 2),
        ("module.py", 'DOCUMENTATION = """\ndescription:\n  - The way back.\n"""\n', 3),
    ],
)
def test_a_word_of_ours_is_found_at_its_line(name: str, text: str, line: int) -> None:
    assert found(name, text) == [(line, "millrace.words")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "Run `the way back`.\n\n```sh\nthe way back\n```\n"),
        ("page.md", "[Failback](page.md#the-way-back) is short.\n"),
        ("tasks.yml", "- name: Short\n  when: \"{{ 'the way back' in names }}\"\n"),
        ("module.py", 'def f():\n    """Return the way back."""\n'),
    ],
)
def test_code_addresses_and_docstrings_are_no_prose(name: str, text: str) -> None:
    assert not found(name, text)


def test_a_long_sentence_is_found_and_its_halves_are_not() -> None:
    assert found("page.md", f"Short.\n\n{LONG}\n") == [(3, "millrace.sentences")]
    assert not found("page.md", LONG.replace("item20,", "item20. Then") + "\n")
