"""Where a property comes from, and what a change would do on each host."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.explain import (
    EFFECTS,
    answers,
    effects,
    explain,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.explain_report import (
    report,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.profiles import (
    PROFILES,
)

from tests.unit.rules.draft import Draft


def draft(shared: Mapping[str, Any] | None = None, **of_host: Mapping[str, Any]) -> Draft:
    """Three combined nodes of the profile small; `shared` is kafka_config, the rest one host's."""
    made = Draft().variable("kafka_profile", "small").variable("kafka_config", dict(shared or {}))
    for host, config in of_host.items():
        made.variable("kafka_host_config", dict(config), on=(host,))
    return made


def answered(made: Draft, host: str = "k1", contains: str = "") -> dict[str, SimpleNamespace]:
    entries = answers(made.cluster().kafka[host], contains)
    return {key: SimpleNamespace(**entry) for key, entry in entries.items()}


def effect(made: Draft, key: str, value: object, on: str = "k1") -> SimpleNamespace:
    return SimpleNamespace(**effects(made.cluster(), {key: value})[on][key])


def test_answer_names_layer_reason_overrides_default_and_update_mode() -> None:
    made = draft({"num.network.threads": 6}, k1={"num.network.threads": 8})
    answers_by_key = answered(made)
    assert list(answers_by_key) == sorted(made.cluster().kafka["k1"].config)
    threads = answers_by_key["num.network.threads"]
    assert (threads.value, threads.layer, threads.why) == ("8", "kafka_host_config", "")
    assert threads.overrides == [
        {"layer": "kafka_config", "value": "6"},
        {"layer": "profile", "value": "3"},
    ]
    assert (threads.default, threads.update) == ("3", "cluster-wide")
    assert "kafka_node_id" in answers_by_key["node.id"].why
    assert answers_by_key["node.id"].default is None
    assert answers_by_key["min.insync.replicas"].layer == "topology"
    assert answers_by_key["min.insync.replicas"].why


def test_answer_of_the_profile_gives_its_reason() -> None:
    answers_by_key = answered(draft())
    for key, setting in PROFILES["small"].settings.items():
        assert (answers_by_key[key].layer, answers_by_key[key].why) == ("profile", setting.why)


def test_part_of_a_key_finds_what_nobody_sets_too() -> None:
    made = draft({"log.retention.ms": 5})
    answers_by_key = answered(made, contains="log.retention")
    assert (answers_by_key["log.retention.ms"].value, answers_by_key["log.retention.ms"].layer) == (
        "5",
        "kafka_config",
    )
    hours = answers_by_key["log.retention.hours"]
    assert (hours.value, hours.layer) == ("168", "Kafka's default")
    assert all("log.retention" in key for key in answers_by_key)
    assert answered(made, contains="no.such") == {}


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("ssl.keystore.password", "hunter2", "(hidden)"),
        ("listener.name.client.ssl.key.password", "hunter2", "(hidden)"),
        ("ssl.keystore.password", "${file:/etc/kafka/secrets:keystore}", "${file:/etc/kafka/"),
        ("rsm.config.s3.secret.key", "hunter2", "(hidden)"),
        ("ssl.keystore.location", "/etc/kafka/keystore", "/etc/kafka/keystore"),
        ("log.cleaner.threads", 2, "2"),
    ],
)
def test_secrets_are_hidden(key: str, value: object, shown: str) -> None:
    document = explain(draft({key: value}).cluster(), changes={key: value})
    for text in (json.dumps(document), report(document)):
        assert shown in text
        assert "hunter2" not in text


# What a change does


@pytest.mark.parametrize(
    ("key", "value", "kind", "why", "written"),
    [
        ("num.network.threads", 3, "nothing", "profile", False),
        ("num.network.threads", "3", "nothing", "profile", False),
        # A read-only key that is new in the file is a reason for a restart, whatever its value.
        ("num.partitions", 1, "restart", "read-only", True),
        ("delete.topic.enable", "True", "restart", "read-only", True),
        ("log.cleanup.policy", ["delete"], "nothing", "default", True),
        ("auto.create.topics.enable", "True", "restart", "read-only", True),
        ("num.io.threads", 16, "dynamic", "cluster-wide", True),
        ("ssl.keystore.location", "/k", "restart", "per-broker", True),
        ("queued.max.requests", 5, "restart", "read-only", True),
        ("rsm.config.bucket", "b", "restart", "plug-in", True),
        ("node.id", 7, "refused", "[owned-key]", False),
        ("zookeeper.connect", "z1", "refused", "[owned-key]", False),
        ("num.partition", 7, "refused", "num.partitions", False),
        ("zookeeper.session.timeout.ms", 1, "refused", "Kafka 4.0", False),
        ("num.io.threads", 0, "refused", "[key-value]", False),
        ("min.insync.replicas", 3, "refused", "[min-isr]", False),
    ],
)
def test_effect(key: str, value: object, kind: str, why: str, written: bool) -> None:
    outcome = effect(draft(), key, value)
    assert (outcome.kind, outcome.written) == (kind, written)
    assert why in outcome.why
    assert outcome.kind in EFFECTS


def test_a_controller_alone_takes_every_key_at_its_start() -> None:
    made = draft().controllers("k3")
    made.groups["kafka_brokers"].remove("k3")
    cluster = made.cluster()
    outcomes = effects(cluster, {"num.io.threads": 16})
    kinds = {host: outcome["num.io.threads"]["kind"] for host, outcome in outcomes.items()}
    assert kinds == {"k1": "dynamic", "k2": "dynamic", "k3": "restart"}
    assert "controller" in outcomes["k3"]["num.io.threads"]["why"]


def test_a_warning_of_the_rules_does_not_refuse() -> None:
    outcome = effect(draft(), "log.cleaner.enable", "false")
    assert outcome.kind == "restart"
    (note,) = outcome.notes
    assert "[deprecated-key]" in note
    assert note in report(explain(draft().cluster(), changes={"log.cleaner.enable": "false"}))


def test_effect_says_from_what_to_what() -> None:
    outcome = effect(draft(), "num.network.threads", 6)
    assert (outcome.before, outcome.after) == ("3", "6")
    outcome = effect(draft(), "log.retention.ms", 1000)
    assert (outcome.before, outcome.after) == (None, "1000")


def test_a_stronger_layer_leaves_the_change_without_effect_there() -> None:
    made = draft(k2={"num.io.threads": 12})
    overridden = effect(made, "num.io.threads", 16, on="k2")
    assert overridden.kind == "nothing"
    assert "kafka_host_config" in overridden.why
    assert (overridden.before, overridden.after, overridden.written) == ("12", "12", False)
    assert effect(made, "num.io.threads", 16, on="k1").kind == "dynamic"
    # The rules check every layer, so an illegal value is refused even there.
    assert effect(made, "num.io.threads", "x", on="k2").kind == "refused"


def test_keys_are_judged_together_and_each_gets_its_own_problems() -> None:
    apart = effect(draft(), "default.replication.factor", 2)
    assert apart.kind == "refused"
    assert "min.insync.replicas" in apart.why
    together = {"default.replication.factor": 2, "min.insync.replicas": 1, "num.io.threads": 0}
    kinds = {
        key: outcome["kind"] for key, outcome in effects(draft().cluster(), together)["k1"].items()
    }
    assert kinds == {
        "default.replication.factor": "restart",
        "min.insync.replicas": "dynamic",
        "num.io.threads": "refused",
    }


def test_a_problem_that_stood_before_is_not_the_changes() -> None:
    made = draft({"num.partition": 1})
    assert effect(made, "num.io.threads", 16).kind == "dynamic"
    assert effect(made, "num.partition", 1).kind == "refused"


def test_a_version_without_a_table_is_still_explained() -> None:
    made = draft().variable("kafka_version", "9.9.9")
    assert effect(made, "num.io.threads", 16).kind == "restart"
    assert {answer_entry.update for answer_entry in answered(made).values()} == {""}


# The report


def section(text: str, hosts: str) -> list[list[str]]:
    """Return the rows that a report has for some hosts, as cells."""
    lines = text.split(f"On {hosts}:\n")[1].split("\n\n")[0].splitlines()
    return [re.split(r"  +", line.strip()) for line in lines]


def test_report_groups_hosts_with_equal_answers_in_aligned_columns() -> None:
    text = report(explain(draft(k2={"num.network.threads": 8}).cluster()))
    ((key, layer, update, value),) = (
        row for row in section(text, "k2") if row[0] == "num.network.threads"
    )
    assert (layer, update) == ("kafka_host_config", "cluster-wide")
    assert value.startswith("8 ")
    assert [row for row in section(text, "k1, k3") if row[:2] == [key, "profile"]]
    assert [row for row in section(text, "k1, k2, k3") if row[0] == "compression.type"]
    lines = text.split("On k1, k2, k3:\n")[1].splitlines()
    assert lines[0].index("value") == lines[1].index(section(text, "k1, k2, k3")[1][3])


def test_report_of_changes_names_what_needs_a_restart() -> None:
    made = draft(k2={"queued.max.requests": 9})
    changes = {"queued.max.requests": 5, "num.io.threads": 16}
    document = explain(made.cluster(), changes=changes)
    assert document["changes"]["queued.max.requests"]["restart"] == ["k1", "k3"]
    assert document["changes"]["queued.max.requests"]["nothing"] == ["k2"]
    lines = report(document, properties=False).splitlines()
    (of_two,) = (line for line in lines if line.strip().startswith("k1, k3: "))
    assert "500 -> 5: restart" in of_two
    assert [line for line in lines if line.strip().startswith("k2: 9 -> 9: nothing")]
    assert [line for line in lines if "restart" in line and line.endswith("k1, k3.")]
    assert [line for line in lines if "server.properties" in line and "k1, k2, k3" in line]
    assert "compression.type" not in "".join(lines)


def test_report_of_a_refused_change_names_no_restart() -> None:
    text = report(explain(draft().cluster(), changes={"node.id": 7, "queued.max.requests": 5}))
    assert [line for line in text.splitlines() if "k1, k2, k3: refused" in line]
    assert "[owned-key]" in text
    assert "needs a restart" not in text.splitlines()[-1]


def test_a_variable_that_has_no_value_is_named_and_the_rest_explained() -> None:
    made = draft({"num.io.threads": 9}).unresolvable("kafka_heap", "'x' is undefined", on=("k2",))
    text = report(explain(made.cluster()))
    assert [line for line in text.splitlines() if "k2" in line and "'x' is undefined" in line]
    assert [row for row in section(text, "k1, k2, k3") if row[0] == "num.io.threads"]


def test_report_says_when_nothing_matches() -> None:
    document = explain(draft().cluster(), contains="no.such")
    assert {len(host["properties"]) for host in document["hosts"].values()} == {0}
    assert report(document).splitlines()[-1] != report(explain(draft().cluster())).splitlines()[-1]
