"""Fixtures: Prometheus and Alertmanager, and a receiver of what they notify about."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    AUTHORITY_FILE,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    ALERTMANAGER,
    PROMETHEUS,
    Monitoring,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology

RECEIVER = "millrace-test-receiver"
RECEIVED, REFUSED = "/run/millrace-test-alerts.jsonl", "/run/millrace-test-refused"
# What a webhook of Alertmanager sends: a line for each request, with the time of its arrival. A
# request with an alert whose name the second file has is refused.
PROGRAM = """
import http.server, json, pathlib, sys, time
received, refused = map(pathlib.Path, sys.argv[2:])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        alerts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]
        names = refused.read_text().split() if refused.exists() else []
        taken = not any(one["labels"]["alertname"] in names for one in alerts)
        if taken:
            with received.open("a") as stream:
                stream.write(json.dumps({"at": time.time(), "alerts": alerts}) + "\\n")
        self.send_response(200 if taken else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def monitoring(topology: Topology) -> Monitoring:
    """The first host of the group monitoring."""
    instances = list(topology.cluster.monitoring.values())
    return instances[0] if instances else pytest.skip("no monitoring here")


@pytest.fixture(scope="module")
def monitoring_authority(topology: Topology, monitoring: Monitoring) -> str:
    """The certificate of the CA, empty where the servers are open."""
    if monitoring.is_open:
        return ""
    return str(Path(topology.cluster.inventory.secrets.directory) / AUTHORITY_FILE)


@pytest.fixture(scope="module")
def monitoring_addresses(topology: Topology, monitoring: Monitoring) -> dict[str, str]:
    """Where this machine reaches Prometheus and Alertmanager, `host:port`."""
    where = topology.addresses[monitoring.name]
    return {
        "prometheus": f"{where}:{monitoring.ports[PROMETHEUS]}",
        "alertmanager": f"{where}:{monitoring.ports[ALERTMANAGER]}",
    }


@pytest.fixture(scope="module")
def servers(
    monitoring: Monitoring, monitoring_authority: str, monitoring_addresses: dict[str, str]
) -> Servers:
    """Prometheus and Alertmanager, as the operator uses them."""
    credentials = {"authority": monitoring_authority, "login": monitoring.login}
    return Servers({**monitoring_addresses, **credentials})


@dataclass
class Notifications:
    """What the receiver has got since it was started."""

    host: Host

    def all(self) -> list[tuple[float, dict[str, Any]]]:
        """Each alert of each notification with the time of its arrival, in their order."""
        lines = self.host.run(f"cat {RECEIVED}").stdout.splitlines()
        received = map(json.loads, lines)
        return [
            (notification["at"], alert)
            for notification in received
            for alert in notification["alerts"]
        ]

    def reached(self, name: str, labels: Mapping[str, str], status: str, since: float) -> float:
        """Return when an alert with these labels first had a status after a moment, and has it.

        0 if its last notification has another one, or none has arrived.
        """
        statuses = [
            (at, alert["status"])
            for at, alert in self.all()
            if at > since
            and alert["labels"]["alertname"] == name
            and labels.items() <= alert["labels"].items()
        ]
        if not statuses or statuses[-1][1] != status:
            return 0.0
        return next(at for at, seen in statuses if seen == status)

    @contextlib.contextmanager
    def refused(self, name: str) -> Iterator[None]:
        """Refuse notifications about an alert during the block."""
        self.host.check_output("echo %s > %s", name, REFUSED)
        try:
            yield
        finally:
            self.host.check_output("rm %s", REFUSED)


@pytest.fixture(scope="module")
def notifications(hosts: dict[str, Host], monitoring: Monitoring) -> Iterator[Notifications]:
    """A receiver at the address that the inventory names."""
    host = hosts[monitoring.name]
    urls = [
        str(config["url"])
        for receiver in monitoring.receivers
        for config in receiver.get("webhook_configs", [])
    ]
    assert urls, "the inventory names no webhook: nobody would be notified"
    port = urls[0].rstrip("/").rpartition(":")[2]
    command = "systemd-run --unit=%s --collect /usr/bin/python3 -c %s %s %s %s"
    host.check_output(command, RECEIVER, PROGRAM, port, RECEIVED, REFUSED)
    yield Notifications(host)
    host.run(f"systemctl stop {RECEIVER}; rm -f {RECEIVED} {REFUSED}")
