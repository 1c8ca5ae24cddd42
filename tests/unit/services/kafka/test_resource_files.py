"""Files of resources as people and attackers write them: each mistake at its line, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
    files,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources.entries import (
    Entry,
    ResourceFiles,
    Team,
)

SECRET = "hunter2-hunter2"
PLATFORM = """
teams:
  orders: {prefixes: [orders.]}
  payments: {prefixes: [payments.], quotas: true}
"""


def read(directory: Path, text: str | bytes, platform: str = PLATFORM) -> ResourceFiles:
    """Return what the file of the team orders describes."""
    (directory / "platform.yml").write_text(platform, encoding="utf-8")
    content = text if isinstance(text, bytes) else text.encode()
    (directory / "orders.yml").write_bytes(content)
    return files.read(str(directory))


def lines(resources: ResourceFiles) -> list[str]:
    """Return the file and line of each problem."""
    return [Path(problem.where).name for problem in resources.problems]


def texts(resources: ResourceFiles) -> str:
    """Return the messages."""
    return "\n".join(f"{problem.problem} {problem.fix}" for problem in resources.problems)


def entry(resources: ResourceFiles) -> Entry:
    """Return the only entry of files without problems."""
    assert not resources.problems, texts(resources)
    [entry] = resources.entries
    return entry


def test_no_directory_describes_nothing() -> None:
    assert files.read("") == ResourceFiles()


def test_a_missing_directory_is_a_problem(tmp_path: Path) -> None:
    [problem] = files.read(str(tmp_path / "missing")).problems
    assert problem.where == str(tmp_path / "missing")


def test_entries_have_their_team_and_their_line(tmp_path: Path) -> None:
    topic = entry(read(tmp_path, "# ours\ntopics:\n  - name: orders.x\n    partitions: 3\n"))
    assert topic.kind == "topics"
    assert topic.values["partitions"] == 3
    assert topic.where == f"{tmp_path / 'orders.yml'}:3"
    assert topic.team == Team("orders", ("orders.",))
    assert topic.owner == "orders"


def test_a_text_at_which_a_broker_ends_the_connection_is_a_problem(tmp_path: Path) -> None:
    text = "groups:\n  - name: orders.{}\n    config: {{a: b}}\n"
    assert not read(tmp_path, text.format("x" * (files.LONGEST - 7))).problems
    for long in ("x" * files.LONGEST, "é" * (files.LONGEST // 2)):
        resources = read(tmp_path, text.format(long))
        assert lines(resources) == ["orders.yml:2"]
        assert "32767 bytes" in texts(resources)


def test_the_platform_file_has_entries_of_any_owner(tmp_path: Path) -> None:
    platform = f"{PLATFORM}topics:\n  - {{name: a, owner: payments}}\n  - name: b\n"
    resources = read(tmp_path, "topics: []", platform)
    assert [entry.owner for entry in resources.entries] == ["payments", "platform"]
    assert [entry.team for entry in resources.entries] == [None, None]
    assert resources.teams["payments"].may_set_quotas


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "orders.yml"),
        ("# nothing\n", "orders.yml"),
        (b"topics:\n  - name: \xff\xfe", "orders.yml"),
        ("- name: orders.x", "orders.yml:1"),
        ("orders.x", "orders.yml:1"),
        ("topics:\n  - name: [orders.x\n", "orders.yml:3"),
        ("topics:\n\t- name: orders.x\n", "orders.yml:2"),
        ("topics: []\n---\ntopics: []\n", "orders.yml:2"),
        ("topics:\n  - name: orders.\x07\n", "orders.yml"),
        ("topics: []\ntopics: []\n", "orders.yml:2"),
        ("topics:\n  - name: orders.x\n    name: orders.y\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    config:\n      a: 1\n      a: 2\n", "orders.yml:5"),
        ("topics:\n  - name: orders.x\n    config: {1: x}\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    config: {yes: x}\n", "orders.yml:3"),
        ("topics:\n  - orders.x\n", "orders.yml:2"),
        ("topics:\n", "orders.yml:1"),
        ("topics: {name: orders.x}\n", "orders.yml:1"),
        ("? [a, b]\n: 1\n", "orders.yml:1"),
        ("groups:\n  - name: orders.x\n    config: {a: off}\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    partitions: 010\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    partitions: 0x10\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    config: {retention.ms: 1:30}\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    config: {retention.ms: 0755}\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    description: 1.10\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    description: 2026-01-31\n", "orders.yml:3"),
        ("topics:\n  - name: '{{ orders }}'\n", "orders.yml:2"),
        ("topics:\n  - name: orders.x\n    description: '{% if a %}'\n", "orders.yml:3"),
        ("topics:\n  - name: orders.x\n    config: &a {a: 1}\n  - config: *a\n", "orders.yml:4"),
        ("topics:\n  - !!python/object/apply:os.system [id]\n", "orders.yml:2"),
        ("topics:\n  - name: !!int orders\n", "orders.yml:2"),
        ("topics:\n  - name: !vault orders\n", "orders.yml:2"),
        ("topics:\n  - name:\n", "orders.yml:2"),
        ("topics:\n  - partitions: 3\n", "orders.yml:2"),
        ("topics:\n  - {name: orders.x, partitions: many}\n", "orders.yml:2"),
        ("topics:\n  - {name: orders.x, partitions: .inf}\n", "orders.yml:2"),
        (f"topics:\n  - {{name: orders.x, partitions: {'9' * 5000}}}\n", "orders.yml:2"),
        ("topics:\n  - {name: orders.x, state: gone}\n", "orders.yml:2"),
        ("topics:\n  - {name: orders.x, confirm: [everything]}\n", "orders.yml:2"),
        ("grants:\n  - {user: a, operations: read, topic: orders.x}\n", "orders.yml:2"),
        ("users:\n  - {name: orders.x, grants: [[]]}\n", "orders.yml:2"),
    ],
)
def test_a_mistake_is_a_problem_at_its_line(tmp_path: Path, text: str | bytes, line: str) -> None:
    resources = read(tmp_path, text)
    assert {*lines(resources)} == {line}, texts(resources)


def test_a_key_that_is_a_list_is_a_problem(tmp_path: Path) -> None:
    resources = read(tmp_path, "topics:\n  - name: orders.x\n    config: {[a]: x}\n")
    assert "orders.yml:3" in lines(resources)
    assert resources.entries == ()


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "Yes", "NO"])
def test_words_that_yaml_reads_as_booleans_are_refused(tmp_path: Path, word: str) -> None:
    resources = read(tmp_path, f"topics:\n  - name: orders.x\n    config: {{a: {word}}}\n")
    assert lines(resources) == ["orders.yml:3"]
    assert word in texts(resources)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("'off'", "off"),
        ("0", 0),
        ("-1", -1),
        ("0.50", 0.5),
        ("604_800_000", 604_800_000),
        ("'0755'", "0755"),
        ("[compact, delete]", ["compact", "delete"]),
    ],
)
def test_values_of_properties_are_what_they_look_like(
    tmp_path: Path, text: str, value: object
) -> None:
    topic = entry(read(tmp_path, f"topics:\n  - name: orders.x\n    config: {{a: {text}}}\n"))
    assert topic.values["config"] == {"a": value}


def test_an_unknown_key_has_the_nearest_and_the_rest_is_checked(tmp_path: Path) -> None:
    resources = read(
        tmp_path, "topic: []\ntopics:\n  - {name: payments.x, partition: 3, replication: 3}\n"
    )
    assert lines(resources) == ["orders.yml:1", "orders.yml:3"]
    assert "topics" in texts(resources)
    assert "partitions" in texts(resources)
    assert [entry.name for entry in resources.entries] == ["payments.x"]


def test_values_of_other_types_make_no_entry(tmp_path: Path) -> None:
    resources = read(tmp_path, "topics:\n  - {name: orders.x, replication: many}\n")
    assert resources.entries == ()


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
        "topics: " + "[" * 100_000,
        "topics: " + "{a: " * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        "topics:\n  - " + "[" * 20 + "]" * 20,
    ],
    ids=["aliases", "lists", "mappings", "dashes", "keys", "closed"],
)
def test_nesting_and_aliases_end_no_process(tmp_path: Path, text: str) -> None:
    resources = read(tmp_path, text)
    assert len(resources.problems) == 1
    assert resources.entries == ()


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    resources = read(tmp_path, "#" * (files.LARGEST + 1))
    assert lines(resources) == ["orders.yml"]


@pytest.mark.parametrize("name", ["orders.yml", "platform.yml"])
def test_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    read(tmp_path, "topics: []")
    secret = tmp_path / "secret"
    secret.write_text(f"topics: {SECRET}", encoding="utf-8")
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to(secret)
    resources = files.read(str(tmp_path))
    assert name in lines(resources)
    assert SECRET not in texts(resources)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    read(tmp_path, "topics: []")
    (tmp_path / "payments.yml").mkdir()
    assert lines(files.read(str(tmp_path))) == ["payments.yml"]


def test_a_team_has_one_file(tmp_path: Path) -> None:
    read(tmp_path, "topics: []")
    (tmp_path / "orders.yaml").write_text("topics: []", encoding="utf-8")
    assert lines(files.read(str(tmp_path))) == ["orders.yml"]


def test_a_file_is_of_a_team_of_the_platform(tmp_path: Path) -> None:
    (tmp_path / "orders.yml").write_text("topics:\n  - name: orders.x\n", encoding="utf-8")
    resources = files.read(str(tmp_path))
    assert lines(resources) == ["orders.yml"]
    assert [entry.team for entry in resources.entries] == [Team("orders")]


@pytest.mark.parametrize(
    "teams",
    [
        "[orders]",
        "orders",
        "{orders: orders.}",
        "{orders: {}}",
        "{orders: {prefixes: []}}",
        "{orders: {prefixes: orders.}}",
        "{orders: {prefixes: ['']}}",
        "{orders: {prefixes: [orders]}}",
        "{orders: {prefixes: [orders.], quotas: yes}}",
        "{orders: {prefixes: [orders.], quota: true}}",
        "{orders: {prefixes: [orders.]}, orders: {prefixes: [o.]}}",
        "{orders: {prefixes: [orders.]}, platform: {prefixes: [p.]}}",
        "{orders: {prefixes: [orders.]}, [a]: {prefixes: [p.]}}",
    ],
)
def test_mistakes_of_the_platform_file_are_problems(tmp_path: Path, teams: str) -> None:
    resources = read(tmp_path, "topics: []", f"teams: {teams}\n")
    assert "platform.yml:1" in lines(resources), texts(resources)


@pytest.mark.parametrize(
    "text",
    [
        f"password: {SECRET}",
        f"password: [{SECRET}]",
        f"password: {{{SECRET}: 1}}",
        f"pasword: {SECRET}",
        f"password: *{SECRET}",
        f"password: !{SECRET} x",
        f"password: {SECRET}\n    password: {SECRET}",
        f"password: '{SECRET}",
        f"password: '{{{{ {SECRET} }}}}'",
        f"password: {SECRET}\n    state: gone",
        f"password: {SECRET}\n    grants: none",
    ],
)
def test_no_message_shows_a_password(tmp_path: Path, text: str) -> None:
    resources = read(tmp_path, f"users:\n  - name: orders.x\n    {text}\n")
    assert resources.problems
    assert SECRET not in texts(resources)


@pytest.mark.parametrize("number", ["0777123456", "1:30:30", "1_2_3_4_5_6_7"])
def test_no_message_shows_a_password_that_is_a_number(tmp_path: Path, number: str) -> None:
    resources = read(tmp_path, f"users:\n  - name: orders.x\n    password: {number}\n")
    assert resources.problems
    assert number not in texts(resources)


def test_a_long_name_is_no_long_message(tmp_path: Path) -> None:
    resources = read(tmp_path, f"topics:\n  - name: {'a' * 100_000}\n    partition: 1\n")
    assert resources.problems
    assert len(texts(resources)) < 2000
