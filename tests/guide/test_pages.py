"""Pages about a cluster, made by the commands of their documents."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import re
import ssl
import subprocess
import urllib.parse
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.model import PORT
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    PROMETHEUS,
    Monitoring,
)

from tests.support.clients import guide
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.wait import wait_for, wait_for_none

CONSOLE, MONITORING = ROOT / "docs/operate/console.md", ROOT / "docs/deploy/monitoring.md"


def test_the_report_has_all_of_a_healthy_cluster(
    topology: Topology, plays: Plays, tmp_path: Path
) -> None:
    [command] = re.findall(r"playbooks/report\.yml (.*)\n", CONSOLE.read_text())[:1]
    output = plays.succeed("report", *command.replace("$PWD", str(tmp_path)).split())
    page = (tmp_path / "report.html").read_text()
    match = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert match, page[:2000]
    snapshot = json.loads(match[1])
    assert {host["name"] for host in snapshot["hosts"]} == set(topology.hosts)
    assert {broker["id"] for broker in snapshot["kafka"]["brokers"]} == set(topology.brokers)
    assert "unreachable=0" in output


def test_the_command_of_the_page_asks_prometheus(
    topology: Topology, monitoring: Monitoring, monitoring_authority: str, servers: Servers
) -> None:
    [command] = [line for line in guide.commands("Look", MONITORING) if line.startswith("curl")]
    address = f"{topology.addresses[monitoring.name]}:{monitoring.ports[PROMETHEUS]}"
    text = command.replace("ca.pem", monitoring_authority).replace("m1:9090", address)
    done = subprocess.run(
        ["/bin/sh", "-ec", text.replace("--user admin", f"--user {monitoring.login}")],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    series = json.loads(done.stdout)["data"]["result"]
    assert len(series) == len(servers.data("query?query=up")["result"])


class Browser:
    """What a browser does at the console of a host."""

    def __init__(self, address: str, authority: str) -> None:
        self.address, self.cookie = address, ""
        self.context = ssl.create_default_context(cafile=authority)

    def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        """Return status and answer; a body is sent as JSON."""
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPSConnection(host, int(port), timeout=30, context=self.context)
        with contextlib.closing(connection):
            headers = {"Cookie": self.cookie, "Content-Type": "application/json"}
            method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            content = response.read()
            self.cookie = (response.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        if response.getheader("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return response.status, json.loads(content)

    def sign_in(self, user: str, password: str) -> int:
        """Return the status of the answer."""
        return self.ask("/api/sign-in", {"user": user, "password": password})[0]


@pytest.fixture(scope="module")
def console(
    topology: Topology, monitoring: Monitoring, monitoring_authority: str
) -> Iterator[Browser]:
    """A browser in which the user admin of Kafka has signed in."""
    ports = topology.cluster.consoles[monitoring.name].ports
    address = f"{topology.addresses[monitoring.name]}:{ports[PORT]}"
    browser = Browser(address, monitoring_authority)
    password = topology.cluster.inventory.secrets.passwords["admin"]
    assert browser.ask("/api/snapshot")[0] == 401
    assert browser.sign_in("admin", "wrong-password") == 401
    assert browser.ask("/api/snapshot")[0] == 401
    assert browser.sign_in("admin", password) == 200
    yield browser
    assert browser.ask("/api/sign-out", {})[0] == 200
    assert browser.ask("/api/snapshot")[0] == 401


@pytest.fixture
def browsed_topic(topology: Topology, admin: Any) -> Iterator[str]:
    """A new topic."""
    topic = f"browsed-{uuid.uuid4().hex[:8]}"
    admin.create_topics([topic], wait_for_metadata=True)
    yield topic
    admin.delete_topics([topic])


def write(topology: Topology, topic: str, value: bytes) -> None:
    with contextlib.closing(clients.producer(topology.connection)) as producer:
        producer.send(topic, value, partition=0).get(30)


def test_the_console_shows_a_new_topic_and_its_records(
    topology: Topology, console: Browser, browsed_topic: str
) -> None:
    write(topology, browsed_topic, b"<b>hello</b>")
    code, response = console.ask(f"/api/records?topic={browsed_topic}&partition=0&offset=0")
    assert code == 200, response
    assert "<b>hello</b>" in json.dumps(response)

    def is_shown() -> bool:
        kafka = console.ask("/api/snapshot")[1]["kafka"]
        return browsed_topic in {row[0] for row in kafka.get("topics", [])}

    wait_for(is_shown, seconds=60, what="the new topic in the snapshot")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_the_console_reads_every_compression_with_what_its_host_has(
    topology: Topology, console: Browser, browsed_topic: str, codec: str
) -> None:
    with contextlib.closing(
        clients.producer(topology.connection, compression_type=codec)
    ) as producer:
        producer.send(browsed_topic, b"hello " * 500, partition=0).get(30)
    code, response = console.ask(f"/api/records?topic={browsed_topic}&partition=0&offset=0")
    assert (code, response["problem"]) == (200, "")
    [record] = response["records"]
    assert record["value"]["text"].startswith("hello hello")


AVRO = {"type": "record", "name": "Plane", "fields": [{"name": "seats", "type": "int"}]}
PROTOBUF = 'syntax = "proto3"; message Plane { int32 seats = 1; }'


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({"schema": json.dumps(AVRO)}, b"\x54"),
        ({"schema": PROTOBUF, "schemaType": "PROTOBUF"}, b"\0\x08\x2a"),
    ],
    ids=["avro", "protobuf"],
)
def test_the_console_decodes_records_with_their_schema(
    *,
    topology: Topology,
    console: Browser,
    browsed_topic: str,
    registry: Registry,
    schema: dict[str, str],
    data: bytes,
) -> None:
    subject = f"{CONFLUENT}/subjects/{browsed_topic}-value"
    number = registry.call("POST", f"{subject}/versions", schema)["id"]
    try:
        write(topology, browsed_topic, b"\0" + number.to_bytes(4, "big") + data)

        def value() -> Any:
            code, response = console.ask(f"/api/records?topic={browsed_topic}&partition=0&offset=0")
            assert code == 200, response
            return response["records"][0]["value"]

        # Another instance has a new schema a moment later.
        wait_for(lambda: "undecoded" not in value(), seconds=30, what=f"{value()} decoded")
        assert json.loads(value()["text"]) == {"seats": 42}
    finally:
        registry.call("DELETE", subject)


def test_the_console_shows_what_prometheus_has_of_all_parts(
    topology: Topology, console: Browser
) -> None:
    cluster = topology.cluster

    def missing() -> list[str]:
        snapshot = console.ask("/api/snapshot")[1]
        sections = {
            name: section for name, section in snapshot.items() if isinstance(section, dict)
        }
        errors = [
            f"{name}: {section['error']}"
            for name, section in sections.items()
            if section.get("error")
        ]
        errors += [
            f"{host['name']}: {host['error']}" for host in snapshot["hosts"] if host["error"]
        ]
        configured = {
            "certificates": topology.closed,
            "connect": cluster.connect,
            "registry": cluster.schema_registry,
            "spark": cluster.spark,
        }
        errors += [
            f"{name} is not there"
            for name, value in configured.items()
            if value and name not in snapshot
        ]
        if cluster.connect and not snapshot.get("connect", {}).get("workers"):
            errors.append("no worker of Kafka Connect")
        if cluster.spark and not snapshot.get("spark", {}).get("active"):
            errors.append("no master of Spark")
        if topology.closed and not snapshot["certificates"]:
            errors.append("no certificate")
        return errors

    wait_for_none(missing, seconds=60, what="all parts in the snapshot")


def test_the_console_draws_what_dashboards_show(console: Browser) -> None:
    query = urllib.parse.urlencode({"view": "broker", "panel": "Heap", "seconds": 900})

    def chart() -> Any:
        code, response = console.ask(f"/api/chart?{query}")
        assert code == 200, response
        return response.get("svg")

    assert str(wait_for(chart, seconds=60, what="a chart")).startswith("<svg")
    assert console.ask("/api/chart?view=broker&panel=nothing&seconds=900")[0] == 404
