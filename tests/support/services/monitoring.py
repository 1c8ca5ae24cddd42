"""Fixtures: Prometheus and Alertmanager, and a receiver of what they notify about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.model.monitoring import (
    ALERTMANAGER,
    PROMETHEUS,
    Monitoring,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.security import (
    AUTHORITY_FILE,
)
from testinfra.host import Host

from tests.support.lab.topology import Topology

RECEIVER, RECEIVED = "millrace-test-receiver", "/run/millrace-test-alerts.jsonl"
# What a webhook of Alertmanager sends, a line for each request.
PROGRAM = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[2], "ab") as stream:
            stream.write(body.replace(b"\\n", b" ") + b"\\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def monitoring(topology: Topology) -> Monitoring:
    """The first host of the group monitoring."""
    found = list(topology.cluster.monitoring.values())
    return found[0] if found else pytest.skip("no monitoring here")


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
    given = {"authority": monitoring_authority, "login": monitoring.login}
    return Servers({**monitoring_addresses, **given})


@dataclass
class Notifications:
    """What the receiver has got since it was started."""

    host: Host

    def all(self) -> list[dict[str, Any]]:
        """Each alert of each notification, in the order of their arrival."""
        lines = self.host.run(f"cat {RECEIVED}").stdout.splitlines()
        return [alert for line in lines for alert in json.loads(line)["alerts"]]

    def last(self, name: str, labels: Mapping[str, str]) -> str:
        """Return the last status of an alert that has these labels, empty if none has arrived."""
        found = [
            one["status"]
            for one in self.all()
            if one["labels"]["alertname"] == name and labels.items() <= one["labels"].items()
        ]
        return found[-1] if found else ""


@pytest.fixture(scope="module")
def notifications(hosts: dict[str, Host], monitoring: Monitoring) -> Iterator[Notifications]:
    """A receiver at the address that the inventory names."""
    host = hosts[monitoring.name]
    urls = [
        str(one["url"])
        for receiver in monitoring.receivers
        for one in receiver.get("webhook_configs", [])
    ]
    assert urls, "the inventory names no webhook: nobody would be notified"
    port = urls[0].rstrip("/").rpartition(":")[2]
    command = "systemd-run --unit=%s --collect /usr/bin/python3 -c %s %s %s"
    host.check_output(command, RECEIVER, PROGRAM, port, RECEIVED)
    yield Notifications(host)
    host.run(f"systemctl stop {RECEIVER}; rm -f {RECEIVED}")
