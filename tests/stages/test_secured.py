"""A cluster as the production inventory secures it: all that runs on an open one runs on it.

It is the topology of `./lab up` with the certificates and the access control of
inventories/vms_example, from an authority of the test's own.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from tests.support.lab import tls
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.topology import ROOT, Topology, describe
from tests.support.wait import wait_for

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-secured"
LAB = {"LAB_TOPOLOGY": "kraft_combined", "LAB_NAME": NAME}
STATE = ROOT / ".lab" / NAME
INVENTORY = STATE / "inventory"
SECURE = ROOT / "inventories/vms_example/group_vars/kafka.yml"
OPERATOR = "operator"
"""The clients of this machine and the jobs of Spark; it may do everything."""
ON_SPARK = "/etc/spark/tls"
TOPIC = {"num_partitions": 1, "replication_factor": 3}
FEW = ("-e", json.dumps({"flights_limit": 20_000, "smoke_arguments": ["-m", "not job"]}))
"""Fewer flights than the stage `lab` publishes: here it matters that they come through at all."""


def lab(*arguments: str, seconds: float) -> str:
    return succeed(*arguments, seconds=seconds, env=LAB)


def stores(authority: str, certificate: str | None) -> dict[str, str]:
    """The client properties of PEM files."""
    paths = {"truststore": authority, **({"keystore": certificate} if certificate else {})}
    return {
        f"ssl.{store}.{what}": value
        for store, path in paths.items()
        for what, value in (("type", "PEM"), ("location", path))
    }


def choose(folder: Path, topology: Topology) -> None:
    """Write the production inventory's variables over those of the topology's groups."""
    secure = yaml.safe_load(SECURE.read_text())
    opened = yaml.safe_load((ROOT / "inventories/kraft_combined/group_vars/all.yml").read_text())
    config = {**opened["kafka_config"], **secure["kafka_config"]}
    config["super.users"] += f";User:{OPERATOR}"
    local = stores(str(folder / "ca.pem"), str(folder / f"{OPERATOR}.pem"))
    jobs = stores(f"{ON_SPARK}/ca.pem", f"{ON_SPARK}/node.pem")
    variables = {
        **{name: secure[name] for name in ("kafka_listeners", "kafka_controller_listener")},
        "kafka_security": "standard",
        "kafka_config": config,
        "kafka_local_client_config": local,
        "spark_kafka_client_config": jobs,
    }
    hosts = {"all": {"hosts": dict.fromkeys(topology.addresses, variables)}}
    (INVENTORY / "secured.yml").write_text(yaml.safe_dump(hosts))


def install_certificates(folder: Path, topology: Topology) -> None:
    """Put the files there by the commands that the inventory shows, as on a new host."""
    shown = [line.removeprefix("#   ") for line in SECURE.read_text().splitlines()]
    commands = [line for line in shown if line.startswith(("useradd", "install"))]
    assert len(commands) == 4
    operator = tls.issue(folder, OPERATOR)
    for host, address in topology.addresses.items():
        node = tls.issue(folder, host, f"DNS:{host}", f"IP:{address}")
        script = ["set -eu; cd $(mktemp -d)", *written({"ca.pem": folder / "ca.pem"})]
        for product, certificate in (("kafka", node), ("spark", operator)):
            script += written({"node.pem": certificate})
            script += [command.replace("kafka", product) for command in commands]
        lab("ssh", host, f"sudo sh -c {shlex.quote(chr(10).join(script))}", seconds=30)


def written(files: dict[str, Path]) -> list[str]:
    """The commands that write copies of files."""
    return [f"echo {shlex.quote(path.read_text())} > {name}" for name, path in files.items()]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tls.authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module", autouse=True)
def topology(authority: Path) -> Iterator[Topology]:
    """The platform on hosts with certificates, its flights and smoke passed."""
    lab("down", seconds=120)
    lab("run", "../molecule/shared/create", seconds=600)
    opened = describe(INVENTORY)
    install_certificates(authority.parent, opened)
    choose(authority.parent, opened)
    lab("run", "site", seconds=600)
    lab("run", "flights", *FEW, seconds=300)
    lab("run", "smoke", *FEW, seconds=300)
    yield describe(INVENTORY)
    lab("down", seconds=120)
    assert not leftovers(NAME)


def client(topology: Topology, authority: Path, certificate: Path | None) -> Any:
    """A client on this machine."""
    files = stores(str(authority), str(certificate) if certificate else None)
    servers = ",".join(topology.brokers.values())
    connection = Connection.of({"bootstrap.servers": servers, "security.protocol": "SSL", **files})
    return clients.admin(connection, bootstrap_timeout_ms=3000, request_timeout_ms=3000)


def run_tool(name: str, words: str) -> str:
    """Run one of Kafka's tools with the node's certificate, which root may read."""
    where = "--bootstrap-server $KAFKA_BOOTSTRAP --command-config $KAFKA_CLIENT_CONFIG"
    return lab("ssh", "k1", f"sudo bash -lc '{name} {where} {words}'", seconds=60)


def test_the_flights_came_through() -> None:
    facts = json.loads((STATE / "smoke.json").read_text())
    assert facts["flights"]["verdict"] == "equal"


def test_a_second_run_changes_nothing() -> None:
    assert "changed=0 " in lab("run", "site", seconds=300).partition("PLAY RECAP")[2]


def test_a_client_without_permission_is_refused(topology: Topology, authority: Path) -> None:
    """A certificate of the authority is let in, and does what was granted to its name."""
    operator = client(topology, authority, authority.parent / f"{OPERATOR}.pem")
    operator.create_topics({"orders": TOPIC})
    operator.close()
    assert "orders" in run_tool("kafka-topics.sh", "--list").split()
    billing = client(topology, authority, tls.issue(authority.parent, "billing"))
    with pytest.raises(errors.TopicAuthorizationFailedError):
        billing.create_topics({"theirs": TOPIC})
    assert "orders" not in billing.list_topics()
    grant = "--add --allow-principal User:billing --consumer --topic orders --group billing"
    run_tool("kafka-acls.sh", grant)
    wait_for(lambda: "orders" in billing.list_topics(), seconds=10, what="billing sees orders")
    billing.close()
    with pytest.raises(errors.KafkaError):
        client(topology, authority, None)


def test_a_roll_loses_nothing() -> None:
    """The gate and the ledger read and write with certificates too."""
    lab("run", "rolling_restart", "-e", "rolling_restart_all=true", "-e", "prove=true", seconds=600)
    proof = json.loads((STATE / "prove/report.json").read_text())
    assert proof["verdict"] == "PASS", proof
    assert {one["node"] for one in proof["changes"]} == {"k1", "k2", "k3"}
    record = json.loads(lab("ssh", "k1", "cat /var/lib/millrace/operation.json", seconds=30))
    assert (record["state"], record["left"]) == ("finished", [])
    lab("run", "health", seconds=60)


def test_teardown_leaves_what_it_did_not_bring() -> None:
    lab("run", "teardown", "-e", "teardown_confirm=true", seconds=120)
    found = lab("ssh", "k1", "ls /etc/kafka/tls /etc/spark/tls", seconds=30)
    assert found.split().count("node.pem") == 2, found
