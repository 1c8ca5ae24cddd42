"""What the files of an inventory say and Ansible gives to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import (
    layout as inventory_layout,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.files import findings

GROUPS = ["all", "kafka", "kafka_brokers", "dc_east", "web"]
HOSTS = ["k1", "k2.example.org"]


def found(directory: Path) -> list[tuple[str, int, str, str]]:
    """What is found: kind, line, name and text of each."""
    problems = [
        *findings([str(directory)], HOSTS),
        *inventory_layout.findings([str(directory)], GROUPS, HOSTS),
    ]
    return [(problem.kind, problem.line, problem.name, problem.text) for problem in problems]


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        (
            "group_vars/all.yml",
            "kafka_config: {a: 1}\nkafka_heap: 1g\nkafka_config: {b: 2}\n",
            [("twice", 3, "kafka_config", "1")],
        ),
        (
            "host_vars/k1.yml",
            "kafka_config:\n  log.retention.hours: 1\n  log.retention.hours: 2\n",
            [("twice", 3, "log.retention.hours", "2")],
        ),
        (
            "hosts.yml",
            "kafka_brokers:\n  hosts:\n    k1: {x: 1}\n    k1: {y: 2}\n",
            [("twice", 4, "k1", "3")],
        ),
        ("hosts.yml", "kafka_brokers:\n  hosts: {k1: }\n  childern: {x: }\n", [("structure", 3)]),
        ("hosts.yml", "kafka_brokers:\n  hosts: {k1: {kafka_node_id: 0100}}\n", [("number", 2)]),
        ("group_vars/all.yml", "kafka_rack: 1:20\n", [("number", 1, "", "1:20")]),
        ("group_vars/all.yml", "kafka_config: {num.io.threads: 010}\n", [("number", 1)]),
        ("group_vars/all.yml", "spark_python_version: 3.10\n", [("number", 1, "", "3.10")]),
        ("group_vars/all.yml", "kafka_rack: 1_000\n", [("number", 1, "", "1_000")]),
        (
            "group_vars/all.yml",
            "kafka_users:\n  - name: a\n    grants:\n      - topic: 0x10\n",
            [("number", 4, "", "0x10")],
        ),
        ("group_vars/all.yml", "spark_python_version: 3.11\nhost_memory_mb: 6_144\n", []),
        ("group_vars/all.yml", "kafka_config: {log.cleaner.min.cleanable.ratio: 0.50}\n", []),
        ("group_vars/kafka_broker.yml", "a: 1\n", [("unused", 0, "kafka_broker", "kafka_brokers")]),
        ("host_vars/k2.yml", "a: 1\n", [("unused host", 0, "k2", "k2.example.org.yml")]),
        ("host_vars/k1.a.yml", "a: 1\n", [("unused host", 0, "k1.a", "k1.yml")]),
        ("group_vars/brokers.yml", "a: 1\n", [("unused", 0, "brokers", "kafka_brokers")]),
        # It may be another inventory's.
        ("host_vars/k3.yml", "a: 1\n", [("nobody", 0, "k3", "host")]),
        ("group_vars/spark_workers.yml", "a: 1\n", [("nobody", 0, "spark_workers", "group")]),
        ("group_vars/dc_west.yml", "a: 1\n", [("nobody", 0, "dc_west", "group")]),
        ("group_vars/web.toml", "a: 1\n", [("ending", 0, "web.toml", "web.yml")]),
        ("group_vars/kafka_brokers.ymal", "a: 1\n", [("ending", 0)]),
        ("group_vars/kafka/heap.ymal", "a: 1\n", [("ending", 0, "heap.ymal", "heap.yml")]),
        ("group_var/all.yml", "kafka_heap: 1g\n", [("folder", 0, "group_var", "group_vars")]),
        # What is written at another level than Ansible reads it.
        ("hosts.yml", "all:\n  kafka_brokers: {hosts: {k1: }}\n", [("below", 2)]),
        ("hosts.yml", "all:\n  kafka_heap: 1g\n", [("below", 2, "kafka_heap", "all")]),
        ("hosts.yml", "kafka_brokers:\n  hosts:\n    k1:\n    vars: {a: 1}\n", [("member", 4)]),
        ("hosts.yml", "all:\n  children:\n    hosts: {k1: }\n", [("member", 3)]),
        ("hosts.yml", "kafka_brokers:\n  vars:\n    vars: {kafka_heap: 1g}\n", [("deep", 3)]),
        ("hosts.yml", "kafka_brokers:\n  hosts: {k1: {vars: {a: 1}}}\n", [("deep", 2)]),
        ("group_vars/all.yml", "vars:\n  kafka_heap: 1g\n", [("deep", 1)]),
        # Two values, of which Ansible takes one.
        (
            "hosts.yml",
            "zookeeper: {hosts: {k1: {ansible_host: a}}}\n"
            "kafka_brokers: {hosts: {k1: {ansible_host: b}}}\n",
            [("two values", 2, "ansible_host of k1", "1")],
        ),
        (
            "hosts.ini",
            "[zookeeper]\nk1 ansible_host=a\n[kafka_brokers]\nk1 ansible_host=b\n",
            [("two values", 4)],
        ),
        ("group_vars/all.yml", "kafka_rack: |\n  $ANSIBLE_VAULT;1.1\n  61\n", [("vault text", 1)]),
        # What is legal, or is none of Millrace's.
        ("hosts.yml", "kafka_brokers: {hosts: {k1: {a: 1}}}\nzookeeper: {hosts: {k1: }}\n", []),
        ("hosts.yml", "web: {hosts: {w1: }, note: {a: 1}}\n", []),
        ("hosts.yml", "plugin: amazon.aws.aws_ec2\nall: {kafka: 1}\n", []),
        ("group_vars/README.md", "a\n", []),
        ("group_vars/kafka/notes.txt", "a\n", []),
        ("group_vars/kafka_brokers", "a: 1\n", []),
        ("host_vars/k2.example.org.yml", "a: 1\n", []),
        ("group_vars/all.yml", "kafka_config: {<<: {a: 1}, <<: {b: 2}, a: 2}\n", []),
        ("group_vars/all.yml", "kafka_node_id: 100\nkafka_rack: '1:20'\n", []),
        ("group_vars/all.yml", "spark_config: {x: !vault 'secret'}\n", []),
        ("group_vars/web.yml", "nginx_user: a\nnginx_user: b\nfile_mode: 0644\n", []),
        ("hosts.yml", "kafka_brokers:\n  vars: {backup_mode: 0640}\n", []),
        ("hosts.yml", "web:\n  hosts: {w1: {host: a}}\n", []),
        ("group_vars/kafka.yml", "$ANSIBLE_VAULT;1.1;AES256\n6163\n", []),
        ("group_vars/all.yml", "kafka_config: [\n", []),
        ("group_vars/all.yml", "", []),
        ("hosts.ini", "[kafka_brokers]\nk1 kafka_node_id=0100\n", []),
    ],
)
def test_what_is_lost_is_found(
    tmp_path: Path, file: str, content: str, expected: list[tuple[object, ...]]
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    seen = found(tmp_path)
    assert [
        problem[: len(fields)] for problem, fields in zip(seen, expected, strict=True)
    ] == expected


@pytest.mark.parametrize(("group", "hidden"), [("kafka_brokers", True), ("backup", False)])
def test_a_directory_hides_the_file_of_its_name(tmp_path: Path, group: str, hidden: bool) -> None:
    (tmp_path / "group_vars" / group).mkdir(parents=True)
    (tmp_path / f"group_vars/{group}.yml").write_text("a: 1\n")
    kinds = [problem[0] for problem in found(tmp_path)]
    assert kinds == (["hidden"] if hidden else ["nobody", "nobody"])


@pytest.mark.parametrize("name", ["group_vars/kafka", "host_vars/k1"])
def test_of_two_files_of_a_name_one_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir()
    for end in (".yml", ".yaml"):
        (tmp_path / f"{name}{end}").write_text("a: 1\n")
    (hidden,) = inventory_layout.findings([str(tmp_path)], GROUPS, HOSTS)
    assert (hidden.kind, Path(hidden.path).suffix) == ("hidden", ".yaml")
    assert Path(hidden.text).suffix == ".yml"


def test_hosts_on_the_command_line_are_no_file() -> None:
    hosts = ",".join(f"kafka-{number:03}.example.org" for number in range(50))
    assert inventory_layout.findings([hosts, "nowhere/hosts.yml"], GROUPS, HOSTS) == []
    assert findings([hosts, "nowhere/hosts.yml"], HOSTS) == []


def test_one_file_may_be_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "east.yml").write_text("kafka_brokers:\n  hosts:\n    k1:\n    k1:\n")
    (tmp_path / "west.yml").write_text("kafka_brokers:\n  hosts:\n    k2:\n    k2:\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/kafka.yml").write_text("kafka_heap: 1g\nkafka_heap: 2g\n")
    problems = findings([str(tmp_path / "east.yml")], HOSTS)
    assert [(Path(problem.path).name, problem.name) for problem in problems] == [
        ("east.yml", "k1"),
        ("kafka.yml", "kafka_heap"),
    ]


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/kafka.yml").symlink_to("../common/kafka.yml")
    assert [problem[0] for problem in found(tmp_path)] == ["link"]
