"""Pages about a cluster, made by the commands of their documents."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from ansible_collections.millrace.streaming.plugins.module_utils.model.monitoring import (
    PROMETHEUS,
    Monitoring,
)

from tests.support.clients import guide
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology

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
