"""Deployment of three Kafka nodes against a raw-shell baseline, alternating on fresh hosts.

Both start from booted hosts with Java and an artifact on the controller, and end with the first
acks=all record in a topic with three replicas. Baseline: copy, unpack, write, format and start by
parallel SSH, without any check. Run by `./lab bench deploy [PAIRS]`; prints each figure, the median
ratio of the pairs and their range, and writes them to .lab/bench-deploy.json.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import connect
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

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


def fresh_hosts() -> Topology:
    playbook("molecule/shared/destroy.yml")
    playbook("molecule/shared/create.yml")
    playbook("playbooks/validate.yml")
    playbook("playbooks/artifacts.yml")
    return describe(INVENTORY)


def first_record(topology: Topology, started: float) -> float:
    """Seconds from `started` until a record with acks=all is in a topic with three replicas."""
    connection = topology.connection
    while time.monotonic() < started + DEADLINE:
        try:
            # A bare connection first: a client that tries in vain would take the brokers' cores.
            connect(connection.bootstrap[0])
            with clients.admin(connection, request_timeout_ms=2000) as admin:
                plan = {"num_partitions": 1, "replication_factor": 3}
                admin.create_topics({"first": plan}, wait_for_metadata=True)
            producer = clients.producer(connection, acks="all", retries=20)
            producer.send("first", b"first").get(timeout=30)
            seconds = time.monotonic() - started
            producer.close()
        except (errors.KafkaError, OSError):
            threading.Event().wait(0.1)
        else:
            return seconds
    message = f"no record within {DEADLINE:.0f} s; see {LOG}"
    raise TimeoutError(message)


def shell(topology: Topology, host: str) -> None:
    """The baseline's share of one host."""
    node = topology.cluster.kafka[host]
    files = node.files()
    properties = shlex.quote(files["/etc/kafka/server.properties"]["content"])
    log4j = shlex.quote(files["/etc/kafka/log4j2.yaml"]["content"])
    jvm = f"-Xms{node.heap} -Xmx{node.heap} {' '.join(node.settings['kafka_java_options'])}"
    voters = ",".join(
        f"{voter.id}@{address}:{'A' * 20}{number}A"
        for number, (voter, address) in enumerate(
            zip(node.voters, node.quorum_addresses, strict=True)
        )
    )
    script = f"""set -e
mkdir -p /opt/kafka {" ".join(node.data_dirs)} /etc/kafka
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
            ["scp", *key, str(node.distribution.tarball), f"{address}:/tmp/kafka.tar"],
            ["ssh", *key, address, f"sudo sh -c {shlex.quote(script)}"],
        ):
            subprocess.run(command, check=True, stdout=log, stderr=log)  # noqa: S603 - fixed words


def baseline(topology: Topology) -> None:
    hosts = topology.group("kafka_brokers")
    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(lambda host: shell(topology, host), hosts))


def measure(kind: str) -> float:
    """Deploy once on fresh hosts and return the seconds until the first record."""
    topology = fresh_hosts()
    started = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        record = pool.submit(first_record, topology, started)
        if kind == "baseline":
            pool.submit(baseline, topology).result()
        else:
            pool.submit(playbook, "playbooks/site.yml").result()
        seconds = record.result()
    say(f"{kind:9} {seconds:6.1f} s")
    return seconds


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    write_inventory()
    figures: list[dict[str, Any]] = []
    try:
        for pair in range(pairs):
            # A B, then B A: what the machine does meanwhile falls on both alike.
            order = ["baseline", "millrace"] if pair % 2 == 0 else ["millrace", "baseline"]
            figures.append({kind: measure(kind) for kind in order})
    finally:
        playbook("molecule/shared/destroy.yml")
        shutil.rmtree(STATE)
    ratios = [pair["millrace"] / pair["baseline"] for pair in figures]
    median = statistics.median(ratios)
    result = {"pairs": figures, "ratios": ratios, "median": median}
    (ROOT / ".lab/bench-deploy.json").write_text(json.dumps(result, indent=2) + "\n")
    say(
        f"ratio     {median:6.2f} (median of {pairs} pairs, {min(ratios):.2f} to {max(ratios):.2f})"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
