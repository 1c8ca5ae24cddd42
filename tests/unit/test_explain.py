"""Where a property comes from and what a change would do; at the end, the real playbook."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.explain import (
    EFFECTS,
    Effect,
    answers,
    effects,
    explain,
    text,
)
from ansible_collections.millrace.streaming.plugins.module_utils.explain_report import report

from tests.support import guide
from tests.support.topology import ROOT
from tests.unit.inventory_draft import FACTORS, NODES, Draft

PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")
PROFILE = {"num.network.threads": 3, "compression.type": "producer"}


def draft(own: Mapping[str, Any] | None = None, **of_host: Mapping[str, Any]) -> Draft:
    """Three combined nodes with layers; `own` is kafka_config, the rest one host's own."""
    made = Draft()
    for number, name in enumerate(NODES, start=1):
        layers: dict[str, Mapping[str, Any]] = {
            "profile": PROFILE,
            "topology": FACTORS,
            "kafka_config": own or {},
            "kafka_host_config": of_host.get(name, {}),
            "owned": {"node.id": number, "process.roles": "broker,controller"},
        }
        config = {key: value for layer in layers.values() for key, value in layer.items()}
        own_config = {layer: layers[layer] for layer in ("kafka_config", "kafka_host_config")}
        for part, value in {
            "layers": layers,
            "config": config,
            "own_config": own_config,
            "mode": "kraft",
            "profile": "small",
            "profile_reasons": {"num.network.threads": "per listener"},
        }.items():
            made.kafka(part, value=value, on=(name,))
    return made


def effect(made: Draft, key: str, value: object, on: str = "k1") -> Effect:
    (found,) = effects(made.inventory(), {key: value})[on]
    return found


@pytest.mark.parametrize(
    ("value", "written"),
    [(True, "true"), ("True", "True"), ([1, "a"], "1,a"), (3, "3"), ("", ""), (None, None)],
)
def test_values_are_as_in_the_file(value: object, written: str | None) -> None:
    assert text(value) == written


def test_answer_names_layer_reason_overrides_default_and_update_mode() -> None:
    host = draft({"num.network.threads": 6}, k1={"num.network.threads": 8}).inventory().hosts["k1"]
    found = {one.key: one for one in answers(host)}
    assert list(found) == sorted({*PROFILE, *FACTORS, "node.id", "process.roles"})
    threads = found["num.network.threads"]
    assert (threads.value, threads.layer, threads.why) == ("8", "kafka_host_config", "")
    assert threads.overrides == (("kafka_config", "6"), ("profile", "3"))
    assert (threads.default, threads.update) == ("3", "cluster-wide")
    assert found["node.id"].why == "set by kafka_node_id"
    assert found["node.id"].default is None
    assert found["min.insync.replicas"].why == "follows from the number of brokers"


def test_answer_of_the_profile_gives_its_reason() -> None:
    found = {one.key: one for one in answers(draft().inventory().hosts["k1"])}
    assert found["num.network.threads"].why == "per listener"
    assert found["compression.type"].why == ""


def test_part_of_a_key_finds_what_nobody_sets_too() -> None:
    host = draft({"log.retention.ms": 5}).inventory().hosts["k1"]
    found = {one.key: one for one in answers(host, "log.retention")}
    assert (found["log.retention.ms"].value, found["log.retention.ms"].layer) == (
        "5",
        "kafka_config",
    )
    hours = found["log.retention.hours"]
    assert (hours.value, hours.layer) == ("168", "Kafka's default")
    assert all("log.retention" in key for key in found)
    assert answers(host, "no.such") == []


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
    told = json.dumps(explain(draft({key: value}).inventory(), changes={key: value}))
    assert shown in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("key", "value", "kind", "why", "written"),
    [
        ("num.network.threads", 3, "nothing", "the same value, now from profile", False),
        ("num.network.threads", "3", "nothing", "the same value, now from profile", False),
        ("num.partitions", 1, "nothing", "Kafka's default is the same", True),
        ("auto.create.topics.enable", "True", "nothing", "Kafka's default is the same", True),
        ("log.cleanup.policy", ["delete"], "nothing", "Kafka's default is the same", True),
        ("num.io.threads", 16, "dynamic", "update mode cluster-wide", True),
        (
            "ssl.keystore.location",
            "/k",
            "restart",
            "update mode per-broker, but Millrace restarts for it",
            True,
        ),
        ("queued.max.requests", 5, "restart", "update mode read-only", True),
        ("rsm.config.bucket", "b", "restart", "a plug-in reads it", True),
        ("node.id", 7, "refused", "set kafka_node_id instead. [owned-key]", False),
        ("num.partition", 7, "refused", "Did you mean num.partitions?", False),
        ("zookeeper.connect", "z1", "refused", "was removed in Kafka 4.0", False),
        ("num.io.threads", 0, "refused", "an int, [1,...]. [key-value]", False),
        ("min.insync.replicas", 3, "refused", "Set min.insync.replicas: 2. [min-isr]", False),
    ],
)
def test_effect(key: str, value: object, kind: str, why: str, written: bool) -> None:
    found = effect(draft(), key, value)
    assert (found.kind, found.written) == (kind, written)
    assert why in found.why
    assert found.kind in EFFECTS


def test_a_warning_of_the_rules_does_not_refuse() -> None:
    found = effect(draft(), "log.cleaner.enable", "false")
    assert found.kind == "restart"
    (note,) = found.notes
    assert note.startswith("log.cleaner.enable is deprecated since Kafka 4.1")
    told = report(explain(draft().inventory(), changes={"log.cleaner.enable": "false"}))
    assert f"restart, update mode read-only. Warning: {note}" in told


def test_effect_tells_from_what_to_what() -> None:
    found = effect(draft(), "num.network.threads", 6)
    assert (found.before, found.after) == ("3", "6")
    found = effect(draft(), "log.retention.ms", 1000)
    assert (found.before, found.after) == (None, "1000")


def test_a_stronger_layer_leaves_the_change_without_effect_there() -> None:
    made = draft(k2={"num.io.threads": 12})
    overridden = effect(made, "num.io.threads", 16, on="k2")
    assert overridden.kind == "nothing"
    assert overridden.why == "kafka_host_config sets it on this host"
    assert (overridden.before, overridden.after, overridden.written) == ("12", "12", False)
    assert effect(made, "num.io.threads", 16, on="k1").kind == "dynamic"
    # The rules judge every layer, so an illegal value is refused even there.
    assert effect(made, "num.io.threads", "x", on="k2").kind == "refused"


def test_keys_are_judged_together_and_each_gets_its_own_problems() -> None:
    apart = effect(draft(), "default.replication.factor", 2)
    assert apart.kind == "refused"
    assert "min.insync.replicas 2 >= default.replication.factor 2" in apart.why
    together = {"default.replication.factor": 2, "min.insync.replicas": 1, "num.io.threads": 0}
    found = {one.key: one.kind for one in effects(draft().inventory(), together)["k1"]}
    assert found == {
        "default.replication.factor": "restart",
        "min.insync.replicas": "dynamic",
        "num.io.threads": "refused",
    }


def test_a_problem_that_stood_before_is_not_the_changes() -> None:
    made = draft({"num.partition": 1})
    assert effect(made, "num.io.threads", 16).kind == "dynamic"
    assert effect(made, "num.partition", 1).kind == "refused"


def test_a_version_without_a_table_is_still_explained() -> None:
    made = draft().kafka("version", value="9.9.9")
    found = effect(made, "num.io.threads", 16)
    assert (found.kind, found.why) == ("restart", "there is no key table of this Kafka version")
    assert answers(made.inventory().hosts["k1"])[0].update == ""


def test_report_groups_hosts_with_equal_answers_in_aligned_columns() -> None:
    found = explain(draft(k2={"num.network.threads": 8}).inventory())
    lines = report(found).splitlines()
    assert lines[0] == "k1, k2, k3: Kafka 4.3.1, broker and controller, profile small"
    sections = [line for line in lines if line.startswith("On ")]
    assert sections == ["On k1, k2, k3:", "On k1, k3:", "On k1:", "On k2:", "On k3:"]
    assert (
        "  num.network.threads  kafka_host_config  cluster-wide  "
        "8 (over profile: 3; Kafka's default: 3)"
    ) in lines
    top = lines[lines.index("On k1, k2, k3:") + 1 : lines.index("On k1, k3:") - 1]
    assert top[0].index("value") == top[1].index("producer")


def test_report_of_changes_counts_the_restarts() -> None:
    made = draft(k2={"queued.max.requests": 9})
    changes = {"queued.max.requests": 5, "num.io.threads": 16}
    lines = report(explain(made.inventory(), changes=changes), properties=False).splitlines()
    assert "  queued.max.requests: restart on 2 hosts, nothing on 1 host" in lines
    assert "    k1, k3: 500 -> 5: restart, update mode read-only" in lines
    assert "    k2: 9 -> 9: nothing, kafka_host_config sets it on this host" in lines
    assert "  num.io.threads: dynamic on 3 hosts" in lines
    assert lines[-2] == "Kafka needs a restart of 2 hosts: k1, k3."
    assert lines[-1].endswith("server.properties changes on 3 hosts: k1, k2, k3.")


def test_report_of_a_refused_change() -> None:
    lines = report(explain(draft().inventory(), changes={"node.id": 7})).splitlines()
    assert (
        "    k1, k2, k3: refused, node.id is written by Millrace alone. "
        "Remove it; set kafka_node_id instead. [owned-key]"
    ) in lines
    assert lines[-1].startswith("The rules refuse the inventory")


def test_hosts_that_cannot_be_described_or_were_left_out_are_named() -> None:
    made = draft().description("k2", kafka={"error": "kafka_heap is undefined"})
    made.descriptions["k3"] = {}
    found = explain(made.inventory(), changes={"num.io.threads": 16})
    assert found["changes"]["num.io.threads"]["dynamic"] == ["k1"]
    told = report(found)
    assert "k2: cannot be explained: kafka_heap is undefined" in told
    assert "Outside this run (--limit?), so not explained: k3." in told


def test_report_says_when_nothing_matches() -> None:
    told = report(explain(draft().inventory(), contains="no.such"))
    assert "No property of these hosts has such a key." in told


# What each command of the guide has to tell, by the words that mark it.
GUIDE = {
    "explain.yml": "k1, k2, k3: Kafka 4.3.1, broker and controller, profile small\n",
    "--limit k1": "Outside this run (--limit?), so not explained: k2, k3.",
    "explain_key=log.retention": "log.retention.hours              Kafka's default  read-only",
    "explain_json=explained.json": "min.insync.replicas                               topology",
    "explain_change": "The rules refuse the inventory with these changes",
}


def mark(words: list[str]) -> str:
    """What tells a command of the guide from the others."""
    return next(known for known in reversed(GUIDE) if known in " ".join(words))


def play(words: list[str], place: Path) -> str:
    """Run a command of the guide from `place`, on hosts that do not answer."""
    options = [word.replace("inventories/<yours>", "inventories/kraft_combined") for word in words]
    paths = [str(ROOT / word) if (ROOT / word).exists() else word for word in options[1:]]
    done = subprocess.run(  # noqa: S603 - our own guide's words
        [PLAYBOOK, *paths],
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
        timeout=60,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_commands_of_the_guide_tell_what_it_says(tmp_path: Path) -> None:
    told = {}
    for line in guide.commands("Explain a property"):
        words = shlex.split(line)
        told[mark(words)] = play(words, tmp_path)
    assert told.keys() == GUIDE.keys()
    for known, expected in GUIDE.items():
        assert expected in told[known]

    changes = told["explain_change"]
    assert "log.retention.ms: dynamic on 3 hosts" in changes
    assert "queued.max.requests: restart on 3 hosts" in changes
    assert "node.id: refused on 3 hosts" in changes
    found = json.loads((tmp_path / "explained.json").read_text())
    assert found["hosts"]["k3"]["properties"]["min.insync.replicas"]["layer"] == "topology"
