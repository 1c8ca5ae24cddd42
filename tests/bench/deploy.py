"""Deployment of three Kafka nodes beside the raw-shell floor, in turn (ABBA) on fresh hosts.

Both start from booted hosts with Java and an artifact on the controller, and end with the first
acks=all record in a topic with three replicas. Floor: copy, unpack, write, format and start by
parallel SSH, without any check. Run by `./lab bench deploy [PAIRS]`; prints each figure, the median
ratio of the pairs and their range, and writes them to .lab/bench-deploy.json.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from kafka import KafkaAdminClient, KafkaProducer  # type: ignore[import-untyped] # no types
from kafka.errors import KafkaError  # type: ignore[import-untyped] # no types

from tests.support.topology import ROOT, Topology, describe

STATE = ROOT / ".lab/bench"
INVENTORY = STATE / "inventory"
LOG = ROOT / ".lab/log/bench.log"
DEADLINE = 180.0
JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
ENV = {**os.environ, "MILLRACE_LAB": "bench", "MILLRACE_STATE": str(STATE)}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def playbook(path: str) -> None:
    """Run a playbook into the log; raises CalledProcessError."""
    with LOG.open("a") as log:
        subprocess.run(  # noqa: S603 - our own playbooks
            [Path(sys.executable).parent / "ansible-playbook", "-i", INVENTORY, path],
            cwd=ROOT,
            env=ENV,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=True,
        )


def write_inventory() -> None:
    """The topology of `./lab up` without Spark."""
    INVENTORY.mkdir(parents=True, exist_ok=True)
    LOG.parent.mkdir(exist_ok=True)
    source = ROOT / "inventories/kraft_combined"
    hosts = yaml.safe_load((source / "hosts.yml").read_text())
    (INVENTORY / "hosts.yml").write_text(yaml.safe_dump({"kafka": hosts["kafka"]}))
    shutil.copytree(source / "group_vars", INVENTORY / "group_vars", dirs_exist_ok=True)


def fresh_hosts(number: int) -> Topology:
    playbook("molecule/shared/destroy.yml")
    playbook("molecule/shared/create.yml")
    playbook("playbooks/validate.yml")
    playbook("playbooks/artifacts.yml")
    return describe(INVENTORY, STATE / f"topology-{number}.json")


def first_record(topology: Topology, started: float) -> float:
    """Seconds from `started` until a record with acks=all is in a topic with three replicas."""
    bootstrap = list(topology.brokers.values())
    while time.monotonic() < started + DEADLINE:
        try:
            # A bare connection first: a client that tries in vain would take the brokers' cores.
            host, port = bootstrap[0].rsplit(":", 1)
            socket.create_connection((host, int(port)), timeout=1).close()
            admin = KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=2000)
            plan = {"num_partitions": 1, "replication_factor": 3}
            admin.create_topics({"first": plan}, wait_for_metadata=True)
            admin.close()
            producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", retries=20)
            producer.send("first", b"first").get(timeout=30)
            seconds = time.monotonic() - started
            producer.close()
        except (KafkaError, OSError):
            threading.Event().wait(0.1)
        else:
            return seconds
    message = f"no record within {DEADLINE:.0f} s; see {LOG}"
    raise TimeoutError(message)


def shell(topology: Topology, host: str, artifact: Path) -> None:
    """The floor's share of one host."""
    kafka = topology.kafka(host)
    files = kafka["files"]
    properties = shlex.quote(files["/etc/kafka/server.properties"]["content"])
    log4j = shlex.quote(files["/etc/kafka/log4j2.yaml"]["content"])
    options = yaml.safe_load((INVENTORY / "group_vars/all.yml").read_text())
    jvm = f"-Xms{kafka['heap']} -Xmx{kafka['heap']} {' '.join(options['kafka_java_options'])}"
    voters = ",".join(
        f"{topology.kafka(name)['node_id']}@{topology.addresses[name]}:9093:{'A' * 20}{number}A"
        for number, name in enumerate(topology.group("kafka_controllers"))
    )
    script = f"""set -e
mkdir -p /opt/kafka /var/lib/kafka/data /etc/kafka
tar -xf /tmp/kafka.tar -C /opt/kafka
printf %s {properties} > /etc/kafka/server.properties
printf %s {log4j} > /etc/kafka/log4j2.yaml
cd /
{JAVA} -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
  -cp '/opt/kafka/libs/*' kafka.tools.StorageTool \
  format -t 4L6g3nShT-eMCtK--X86sw -c /etc/kafka/server.properties --initial-controllers {voters}
setsid {JAVA} -server {jvm} -Dlog4j2.configurationFile=/etc/kafka/log4j2.yaml \
  -cp '/opt/kafka/libs/*' \
  kafka.Kafka /etc/kafka/server.properties > /var/log/kafka.log 2>&1 < /dev/null &
"""
    key = ["-i", str(STATE / "id_ed25519"), "-o", "StrictHostKeyChecking=no"]
    key += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
    address = f"lab@{topology.addresses[host]}"
    with LOG.open("a") as log:
        for command in (
            ["scp", *key, str(artifact), f"{address}:/tmp/kafka.tar"],
            ["ssh", *key, address, f"sudo sh -c {shlex.quote(script)}"],
        ):
            subprocess.run(command, check=True, stdout=log, stderr=log)  # noqa: S603 - fixed words


def floor(topology: Topology, artifact: Path) -> None:
    hosts = topology.group("kafka_brokers")
    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(lambda host: shell(topology, host, artifact), hosts))


def measure(kind: str, number: int, artifact: Path) -> float:
    """Deploy once on fresh hosts and return the seconds until the first record."""
    topology = fresh_hosts(number)
    started = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        record = pool.submit(first_record, topology, started)
        if kind == "floor":
            pool.submit(floor, topology, artifact).result()
        else:
            pool.submit(playbook, "playbooks/site.yml").result()
        seconds = record.result()
    say(f"{kind:9} {seconds:6.1f} s")
    return seconds


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    write_inventory()
    cache = Path(os.environ["MILLRACE_CACHE"]) / "artifacts"
    version = "4.3.1"
    checksum = (ROOT / f"artifacts/kafka/{version}/SHA256").read_text().strip()
    artifact = cache / f"kafka-{version}-{checksum[:12]}.tar"
    figures: list[dict[str, Any]] = []
    try:
        for pair in range(pairs):
            # A B, then B A: what the machine does meanwhile falls on both alike.
            order = ["floor", "millrace"] if pair % 2 == 0 else ["millrace", "floor"]
            figures.append({kind: measure(kind, 2 * pair, artifact) for kind in order})
    finally:
        playbook("molecule/shared/destroy.yml")
        shutil.rmtree(STATE)
    ratios = [pair["millrace"] / pair["floor"] for pair in figures]
    median = statistics.median(ratios)
    result = {"pairs": figures, "ratios": ratios, "median": median}
    (ROOT / ".lab/bench-deploy.json").write_text(json.dumps(result, indent=2) + "\n")
    say(
        f"ratio     {median:6.2f} (median of {pairs} pairs, {min(ratios):.2f} to {max(ratios):.2f})"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
