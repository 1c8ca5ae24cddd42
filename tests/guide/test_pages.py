"""Pages about a cluster, made by the commands of their documents."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import re
import ssl
import subprocess
import uuid
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.model.console import PORT
from ansible_collections.millrace.streaming.plugins.module_utils.model.monitoring import (
    PROMETHEUS,
    Monitoring,
)

from tests.support.clients import guide
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.wait import wait_for

CONSOLE, MONITORING = ROOT / "docs/console.md", ROOT / "docs/monitoring.md"


def test_the_report_has_all_of_a_healthy_cluster(
    topology: Topology, plays: Plays, tmp_path: Path
) -> None:
    [command] = re.findall(r"playbooks/report\.yml (.*)\n", CONSOLE.read_text())[:1]
    output = plays.succeed("report", *command.replace("$PWD", str(tmp_path)).split())
    page = (tmp_path / "report.html").read_text()
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found, page[:2000]
    snapshot = json.loads(found[1])
    assert {one["name"] for one in snapshot["hosts"]} == set(topology.hosts)
    assert {one["id"] for one in snapshot["kafka"]["brokers"]} == set(topology.brokers)
    assert "unreachable=0" in output


def test_the_command_of_the_page_asks_prometheus(
    topology: Topology, monitoring: Monitoring, monitoring_authority: str, servers: Servers
) -> None:
    [command] = [one for one in guide.commands("Look", MONITORING) if one.startswith("curl")]
    address = f"{topology.addresses[monitoring.name]}:{monitoring.ports[PROMETHEUS]}"
    text = command.replace("ca.pem", monitoring_authority).replace("m1:9090", address)
    done = subprocess.run(  # noqa: S603 - the page's own command
        ["/bin/sh", "-ec", text.replace("--user admin", f"--user {monitoring.login}")],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    answer = json.loads(done.stdout)["data"]["result"]
    assert len(answer) == len(servers.data("query?query=up")["result"])


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
            answer = connection.getresponse()
            found = answer.read()
            self.cookie = (answer.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        if answer.getheader("Content-Encoding") == "gzip":
            found = gzip.decompress(found)
        return answer.status, json.loads(found)

    def sign_in(self, user: str, password: str) -> int:
        """Return the status of the answer."""
        return self.ask("/api/sign-in", {"user": user, "password": password})[0]


def test_the_console_shows_the_cluster_to_its_users(
    topology: Topology, admin: Any, monitoring: Monitoring, monitoring_authority: str
) -> None:
    """With a wrong password nothing; with that of a user of Kafka also records of a topic."""
    console = topology.cluster.consoles[monitoring.name]
    address = f"{topology.addresses[monitoring.name]}:{console.ports[PORT]}"
    browser = Browser(address, monitoring_authority)
    assert browser.ask("/api/snapshot")[0] == 401
    assert browser.sign_in("admin", "wrong-password") == 401
    assert browser.ask("/api/snapshot")[0] == 401
    password = topology.cluster.inventory.secrets.passwords["admin"]
    assert browser.sign_in("admin", password) == 200
    topic = f"browsed-{uuid.uuid4().hex[:8]}"
    admin.create_topics([topic], wait_for_metadata=True)
    try:
        with contextlib.closing(clients.producer(topology.connection)) as producer:
            producer.send(topic, b"<b>hello</b>", partition=0).get(30)
        code, found = browser.ask(f"/api/records?topic={topic}&partition=0&offset=0")
        assert code == 200, found
        assert "<b>hello</b>" in json.dumps(found)

        def is_shown() -> bool:
            kafka = browser.ask("/api/snapshot")[1]["kafka"]
            return topic in {one[0] for one in kafka.get("topics", [])}

        wait_for(is_shown, seconds=60, what="the new topic in the snapshot")
    finally:
        admin.delete_topics([topic])
    assert browser.ask("/api/sign-out", {})[0] == 200
    assert browser.ask("/api/snapshot")[0] == 401
