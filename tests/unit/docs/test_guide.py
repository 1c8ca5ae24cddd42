"""What the guide and the page on operations tell a reader to type and to expect is true.

The commands that tests/guide/test_clients.py runs are the guide's, all of them.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats import versions
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate_texts import (
    TEXTS,
)

from tests.support.clients import guide
from tests.support.clients import guide_steps as clients
from tests.support.lab.topology import ROOT
from tests.unit.docs.documents import commands
from tests.unit.tree import load

PAGES = (guide.GUIDE, guide.OPERATIONS)
PLAYED = [
    pytest.param(words, id=" ".join(words[3:]))
    for page in PAGES
    for words in commands(page.read_text())
    if words[0] == "ansible-playbook"
]
OPERATED = {
    word.removeprefix("playbooks/").removesuffix(".yml")
    for words in commands(guide.OPERATIONS.read_text())
    for word in words
    if word.startswith("playbooks/")
}


def test_each_step_is_one_command_of_the_guide_and_none_is_left_out() -> None:
    lines_by_step = clients.steps()
    assert {step: len(lines) for step, lines in lines_by_step.items()} == dict.fromkeys(
        clients.STEPS, 1
    )
    taken = [line for lines in lines_by_step.values() for line in lines]
    assert sorted(taken) == sorted(guide.commands(clients.SECTION))


def test_the_example_names_what_the_test_replaces() -> None:
    text = "\n".join(guide.commands(clients.SECTION))
    assert f"--topic {clients.TOPIC} " in text
    assert f"--group {clients.GROUP} " in text
    assert f"--to-datetime {clients.TIME} " in text
    (snippet,) = guide.blocks(clients.SECTION, "python")
    assert f'"{clients.BOOTSTRAP}"' in snippet
    assert f'"{clients.TOPIC}"' in snippet


@pytest.mark.parametrize(
    ("version", "command", "expected"),
    [
        ("4.3.1", "kafka-console-producer.sh --command-config c", "--command-config c"),
        ("4.2.1", "kafka-console-consumer.sh --command-config c", "--command-config c"),
        ("4.1.2", "kafka-console-consumer.sh --command-config c", "--consumer.config c"),
        ("3.9.2", "seq 1 | kafka-console-producer.sh --command-config c", "--producer.config c"),
        ("3.9.2", "kafka-topics.sh --command-config c", "--command-config c"),
    ],
)
def test_older_tools_name_the_option_otherwise(version: str, command: str, expected: str) -> None:
    assert clients.as_of(version, command).endswith(f".sh {expected}")


def test_a_section_ends_where_the_next_begins() -> None:
    assert "## Teardown" not in guide.section(clients.SECTION)
    assert "### Move a group's offsets" in guide.section(clients.SECTION)
    with pytest.raises(AssertionError, match="no section Nothing"):
        guide.section("Nothing")


def test_every_program_for_clients_is_in_a_command_of_a_page() -> None:
    pages = (guide.CLIENTS.read_text(), guide.IMAGES.read_text())
    shown = [word for page in pages for words in commands(page) for word in words]
    programs = {f"examples/clients/{path.name}" for path in ROOT.glob("examples/clients/*.py")}
    assert programs
    assert not programs - {*shown}


@cache
def read_by_plays() -> set[str]:
    """Every word that a playbook or a role reads."""
    files = [*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/**/*.yml")]
    return {word for path in files for word in re.findall(r"\w+", path.read_text())}


@pytest.mark.parametrize("words", PLAYED)
def test_each_variable_of_a_command_is_read(words: list[str]) -> None:
    variables = dict(guide.extra_variables(words))
    assert not variables.keys() - read_by_plays()
    assert variables.get("finalize_confirm") in (None, versions.KAFKA.default)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("play.yml --limit k1", {}),
        ("play.yml -e prove=true -e soak_seconds=3", {"prove": "true", "soak_seconds": "3"}),
        ('play.yml -e \'{"one": {"two": 3}}\' --check', {"one": {"two": 3}}),
    ],
)
def test_variables_of_a_command(text: str, expected: dict[str, Any]) -> None:
    assert dict(guide.extra_variables(shlex.split(text))) == expected
    assert not {"no_such_variable"} & read_by_plays()


@pytest.mark.parametrize("name", sorted(OPERATED - {"explain"}))
def test_each_operation_is_run_on_a_live_cluster(name: str) -> None:
    tests = "".join(
        path.read_text()
        for where in ("upgrade", "machines")
        for path in ROOT.glob(f"tests/{where}/*.py")
    )
    assert f'"{name}"' in tests


def test_verbs_are_playbooks_with_a_command() -> None:
    verbs = re.findall(r"^\| `(\w+)\.yml` \|", guide.OPERATIONS.read_text(), flags=re.M)
    assert set(verbs) == OPERATED - {"explain"}


def test_every_predicate_of_the_gate_is_explained_once() -> None:
    rows = guide.rows("Is the cluster healthy", guide.OPERATIONS)
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(named) == sorted(TEXTS)


def test_variables_of_the_gate_have_their_defaults() -> None:
    defaults: dict[str, Any] = load(ROOT / "roles/kafka/defaults/main.yml")
    shown = {
        name: value
        for row in guide.rows("Variables of the gate", guide.OPERATIONS)
        for name, value in zip(re.findall(r"\w+", row[0]), row[1].split(", "), strict=True)
    }
    assert shown
    assert shown == {name: shown_as(defaults[name]) for name in shown}


def shown_as(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
