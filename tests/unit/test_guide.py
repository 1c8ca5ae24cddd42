"""The commands that tests/cluster/test_clients.py runs are the guide's, all of them."""

from __future__ import annotations

import pytest

from tests.support import clients, guide


def test_each_step_is_one_command_of_the_guide_and_none_is_left_out() -> None:
    found = clients.steps()
    assert {step: len(lines) for step, lines in found.items()} == dict.fromkeys(clients.STEPS, 1)
    taken = [line for lines in found.values() for line in lines]
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
