"""What a support bundle is made of."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import zlib

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import report, support
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.redaction import (
    Redaction,
)

from tests.unit.cluster import small

SECRET = "a-long-canary"
KAFKA = {
    "error": "",
    "topics": [["flights", [[1, [1, 2], [1]]], 1]],
    "groups": [{"id": "g", "state": "Stable", "lags": {"flights": [7]}}],
    "quorum": {"leader": 1, "epoch": 3, "voters": [{"id": 1, "lag": 0}], "observers": []},
}


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("24h", 86400), (" 7 d ", 604800)])
def test_a_window_is_a_duration(text: str, seconds: int) -> None:
    assert support.window_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "24", "0h", "31d", "-1h", "yesterday", "1h30m", "1.5h"])
def test_another_window_is_refused_with_what_to_set(text: str) -> None:
    with pytest.raises(ValueError, match=r"support_window is .*set a number with m, h or d"):
        support.window_seconds(text)


def test_the_files_of_a_host_without_those_with_secrets() -> None:
    cluster = small.with_secrets(
        small.kafka(1, 1, kafka_security="standard", kafka_users=[{"name": "alice"}])
    )
    (host, *_) = cluster.kafka
    paths = support.readable_files(cluster, host)
    assert "/etc/systemd/system/kafka.service" in paths
    contents = {**cluster.kafka[host].files()}
    assert not [path for path in paths if contents.get(path, {}).get("secret")]
    options = support.host_options(cluster, host, 60)
    assert options["units"] == ["kafka"]
    assert options["logs"]
    assert "event_logs" not in options


def test_the_events_of_spark_are_read_on_a_host_with_its_history() -> None:
    cluster = small.cluster(
        {"spark_masters": ["m"], "spark_workers": ["w"], "spark_history": ["h"]}
    )
    having = [
        host for host in cluster.hosts if "event_logs" in support.host_options(cluster, host, 60)
    ]
    assert having == ["h"]


def test_the_size_of_a_host_follows_from_their_number() -> None:
    hosts = [f"w{number}" for number in range(100)]
    cluster = small.cluster({"spark_masters": ["m"], "spark_workers": hosts})
    total = support.host_options(cluster, "w1", 60)["total"]
    assert total * len(cluster.hosts) <= support.ALL_BYTES


def test_a_bundle_has_no_secret_in_texts_names_and_notes() -> None:
    bundle = support.Bundle(Redaction([SECRET]))
    bundle.add(f"hosts/{SECRET}/x.txt", f"x {SECRET} password=other", f"not read: {SECRET}")
    bundle.add(f"hosts/{SECRET}/x.txt", "another")
    bundle.add("hosts/k1/../../etc/x y", "z")
    bundle.add("hosts/k1/empty", "", "not read: why")
    bundle.add_json("a.json", {"password": "other", SECRET: [SECRET]})
    assert SECRET not in f"{bundle.files}{bundle.notes}"
    assert "other" not in f"{bundle.files.values()}".replace("another", "")
    assert [*bundle.files] == [
        "hosts/_secret_/x.txt",
        "hosts/_secret_/x-2.txt",
        "hosts/k1/etc/x_y",
        "a.json",
    ]
    assert bundle.notes["hosts/k1/empty"] == "not read: why"


def test_what_kafka_says_of_itself_is_as_its_tools_write_it() -> None:
    texts = support.descriptions({"kafka": KAFKA})
    assert "Topic: flights\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n" in texts["topics"]
    assert "Group: g\tState: Stable\tTopic: flights\tLag: 7\n" in texts["groups-and-lag"]
    assert "LeaderId: 1\tLeaderEpoch: 3" in texts["quorum"]
    assert not support.descriptions({"kafka": {"error": "no broker answers"}})


def test_properties_have_their_layers_and_secrets_are_hidden() -> None:
    cluster = small.cluster(
        {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"], "kafka_connect": ["c1"]},
        {"k1": {"kafka_node_id": 1}},
        connect_config={"offset.flush.interval.ms": 5000, "ssl.key.password": SECRET},
    )
    text = support.layers(cluster)["connect"]
    assert "offset.flush.interval.ms = 5000    (connect_config)" in text
    assert SECRET not in text


def test_the_index_leads_to_all_files_and_says_what_is_missing() -> None:
    cluster = small.cluster(
        {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"]}, {"k1": {"kafka_node_id": 1}}
    )
    bundle = support.Bundle(Redaction([SECRET]))
    snapshot = report.snapshot(cluster, {"k1": {"unreachable": True, "msg": SECRET}}, {}, 0)
    support.add_cluster(bundle, cluster, snapshot, "<script>")
    bundle.add("hosts/k1/journal/kafka.txt", "<b>", "cut: the end of it")
    head = support.Head("<prod>", 0, "24h", {"Millrace": "1"})
    page = support.index(bundle, head, snapshot, [f"k1: {SECRET}"], {"k1": [*bundle.files][-1:]})
    assert 'href="hosts/k1/journal/kafka.txt"' in page
    assert 'href="configuration/kafka.txt"' in page
    assert "cut: the end of it" in page
    assert "&lt;prod&gt;" in page
    assert SECRET not in page
    assert "<script" not in page


def test_only_the_owner_reads_the_files_of_an_archive() -> None:
    content = support.archive("support", {"index.html": "x", "a/b.txt": "ü"}, 1e9)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = archive.getmembers()
        assert [member.name for member in members] == ["support/index.html", "support/a/b.txt"]
        assert {member.mode for member in members} == {0o600}


@pytest.mark.parametrize(
    "pieces",
    [
        "no",
        base64.b64encode(b"x").decode(),
        base64.b64encode(zlib.compress(b"[1]")).decode(),
        base64.b64encode(zlib.compress(b" " * 50_000_000)).decode(),
    ],
    ids=["no Base64", "not compressed", "no list of texts", "50 MB"],
)
def test_a_wrong_answer_of_a_host_is_named(pieces: str) -> None:
    [(_, text, note)] = support.unpacked({"pieces": pieces})
    assert not text
    assert "not read" in note


def test_a_secret_that_is_a_common_word_breaks_no_file() -> None:
    bundle = support.Bundle(Redaction(["kafka", "name", "12345678"]))
    bundle.add_json("a.json", {"kafka": {"size": 12345678}, "x": "kafka"})
    assert json.loads(bundle.files["a.json"]) == {"kafka": {"size": 12345678}, "x": "(secret)"}
