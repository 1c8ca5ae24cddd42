"""A Prometheus and a log server of the site, by the commands of the page about them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.host.prometheus_rest import Servers
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import Operator
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.recap import changed
from tests.support.wait import wait_for

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
PAGE = guide.EXISTING_MONITORING
WRITE, PROMETHEUS, LOGS = "3. Write the files", "4. Prometheus", "7. Logs"
PLACE = "/run/millrace-test-site"
UNIT, RECEIVER = "millrace-test-prometheus", "millrace-test-log-server"
PORT, LOG_PORT = 19090, 15140
SCRAPED_SECONDS, SHIPPED_SECONDS = 90, 120
READ = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=10).read().decode())"
RECEIVE = """
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            with open(sys.argv[2], "ab") as stream:
                stream.write(line)
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def operator(topology: Topology, hosts: dict[str, Host], tmp_path: Path) -> Operator:
    names = {"build/monitoring": str(tmp_path / "files"), "/etc/prometheus": PLACE}
    return Operator(topology, hosts, tmp_path, names)


@pytest.fixture
def host(topology: Topology, hosts: dict[str, Host]) -> Iterator[Host]:
    """A host that has the program of Prometheus, for one of the site."""
    if not topology.cluster.monitoring:
        pytest.skip("no monitoring here")
    found = hosts[next(iter(topology.cluster.monitoring))]
    yield found
    found.run(f"systemctl stop {UNIT}; rm -rf {PLACE}")


def put(host: Host, path: str, text: str) -> None:
    host.check_output("mkdir -p %s && printf %%s %s > %s", str(Path(path).parent), text, path)


def targets(host: Host) -> list[dict[str, Any]]:
    """Return what Prometheus of the site says about its targets, nothing before it answers."""
    done = host.run("python3 -c %s %s", READ, f"http://127.0.0.1:{PORT}/api/v1/targets")
    answer: list[dict[str, Any]] = (
        json.loads(done.stdout)["data"]["activeTargets"] if done.rc == 0 else []
    )
    return answer


def start(host: Host) -> None:
    host.check_output(
        f"systemctl stop {UNIT} 2> /dev/null; systemd-run --unit={UNIT} --collect "
        f"/usr/bin/prometheus --config.file={PLACE}/prometheus.yml "
        f"--storage.tsdb.path={PLACE}/data --web.listen-address=127.0.0.1:{PORT}"
    )


def test_a_prometheus_of_the_site_scrapes_every_exporter(
    operator: Operator, topology: Topology, host: Host, tmp_path: Path
) -> None:
    secrets = topology.cluster.inventory.secrets
    (check, write) = guide.commands(WRITE, PAGE)
    shown = operator.run(check)
    assert changed(shown) == 1
    assert secrets.texts["metrics_token"] not in shown
    assert not (tmp_path / "files").exists()
    assert changed(operator.run(write)) == 1
    assert changed(operator.run(write)) == 0

    for path in (tmp_path / "files").rglob("*"):
        if path.is_file() and path.suffix != ".json":
            put(host, f"{PLACE}/millrace/{path.relative_to(tmp_path / 'files')}", path.read_text())
    (configuration,) = guide.blocks(PROMETHEUS, "yaml", PAGE)
    assert yaml.safe_load(configuration)
    put(host, f"{PLACE}/prometheus.yml", configuration)
    (check,) = guide.commands(PROMETHEUS, PAGE)
    operator.run(check, next(iter(topology.cluster.monitoring)))
    start(host)
    expected = {
        (module, name)
        for name, exporters in topology.cluster.metrics.items()
        for module in exporters.modules
    }

    def all_up() -> bool:
        seen = {
            (target["labels"]["job"], target["labels"]["host"]): target["health"]
            for target in targets(host)
        }
        return seen.keys() == expected and {*seen.values()} == {"up"}

    wait_for(all_up, seconds=SCRAPED_SECONDS, what="all targets of the site's Prometheus")
    (authority,) = host.check_output(f"ls {PLACE}/millrace/ca-*.pem").split()
    put(host, authority, secrets.connect_authority)
    start(host)

    def refused() -> bool:
        errors = [target["lastError"] for target in targets(host)]
        return bool(errors) and all(
            "x509: certificate signed by unknown" in error for error in errors
        )

    wait_for(refused, seconds=SCRAPED_SECONDS, what="targets with another certificate are refused")


def test_a_node_exporter_of_the_site_is_used_and_stays_as_it_is(
    topology: Topology, hosts: dict[str, Host], plays: Plays, servers: Servers
) -> None:
    name, ours = topology.cluster.brokers[0].name, "millrace-node-exporter"
    host = hosts[name]
    unit = topology.cluster.metrics[name].host.family.monitoring["node_exporter"]["unit"]
    of_host = ("--limit", name)
    of_site = (*of_host, "-e", "metrics_node_exporter=site", "-e", "metrics_enabled=true")
    try:
        assert changed(plays.succeed("site", *of_site)) > 0
        assert host.run(f"systemctl cat {ours}").rc != 0
        host.check_output(f"systemctl enable --now {unit}")
        process = host.check_output(f"systemctl show -p MainPID {unit}")
        assert changed(plays.succeed("site", *of_site)) == 0
        assert host.check_output(f"systemctl show -p MainPID {unit}") == process

        def is_scraped() -> bool:
            found = servers.data("targets?state=active")["activeTargets"]
            return any(
                target["health"] == "up"
                for target in found
                if (target["labels"]["job"], target["labels"]["host"]) == ("node", name)
            )

        wait_for(is_scraped, seconds=SCRAPED_SECONDS, what="the node exporter of the site")
        refusal = plays.refuse("site", *of_host)
        assert "monitoring-site-units" in refusal
        assert "metrics_node_exporter to site, which uses it" in refusal
        assert host.check_output(f"systemctl show -p MainPID {unit}") == process
    finally:
        host.run(f"systemctl disable --now {unit}")
        plays.succeed("site", *of_host)
    host.check_output(f"systemctl is-active {ours}")
    assert changed(plays.succeed("site", *of_host)) == 0


@pytest.fixture
def shipping(topology: Topology, hosts: dict[str, Host]) -> Iterator[str]:
    """A broker with rsyslog, the example and a receiver; its name."""
    name = topology.cluster.brokers[0].name
    host = hosts[name]
    text = (ROOT / "examples/logs/millrace.conf").read_text()
    text = text.replace("logs.example.org", "127.0.0.1").replace('port="514"', f'port="{LOG_PORT}"')
    host.check_output("apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y rsyslog")
    put(host, "/etc/rsyslog.d/millrace.conf", text)
    command = "systemd-run --unit=%s --collect /usr/bin/python3 -c %s %s %s"
    host.check_output(f"mkdir -p {PLACE}")
    host.check_output(command, RECEIVER, RECEIVE, str(LOG_PORT), f"{PLACE}/logs")
    yield name
    host.run(f"systemctl stop {RECEIVER}")
    host.run("DEBIAN_FRONTEND=noninteractive apt-get purge -y rsyslog")
    host.run(f"rm -rf {PLACE} /etc/rsyslog.d/millrace.conf")


def test_the_journal_and_the_log_of_the_authorizer_reach_a_receiver(
    operator: Operator, hosts: dict[str, Host], shipping: str, admin: Any
) -> None:
    host, topic = hosts[shipping], f"millrace-shipped-{uuid.uuid4().hex[:8]}"
    (check,) = guide.commands(LOGS, PAGE)
    operator.run(check, shipping)
    host.check_output("systemctl restart rsyslog")
    # Every broker logs that it has a replica.
    copies = len(operator.topology.brokers)
    admin.create_topics({topic: {"num_partitions": 1, "replication_factor": copies}})
    try:
        host.check_output(
            "runuser -u kafka -- sh -c %s",
            f"echo '{topic} Denied' >> /var/log/kafka/authorizer.log",
        )

        def received() -> bool:
            lines = host.run(f"cat {PLACE}/logs").stdout.splitlines()
            of_topic = [line.split()[3] for line in lines if topic in line]
            return {"kafka.service", "kafka-authorizer"} <= {*of_topic}

        wait_for(received, seconds=SHIPPED_SECONDS, what="the messages at the receiver")
    finally:
        admin.delete_topics([topic])
