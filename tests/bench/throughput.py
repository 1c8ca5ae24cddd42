"""Throughput of clients by SASL_SSL against PLAINTEXT, on one cluster that has both listeners.

A running cluster that is being closed (`secure.yml`) has both. Kafka's own tool sends from a host
of the cluster, with acks=all; what brokers copy between themselves is the same in both cases.
"""

from __future__ import annotations

import re
import subprocess
from functools import partial

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import properties
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    AUTHORITY,
    OPEN,
    STANDARD,
    store,
)

from tests.bench.comparison import Measured, compare
from tests.bench.lab import INVENTORY, STATE, choose, fresh_hosts, playbook, three_nodes
from tests.bench.load import create_topic
from tests.support.lab.topology import Topology, describe

TOPIC, RECORDS, SIZE = "throughput", 400_000, 1_000
HOST = "k1"


def on_host(topology: Topology, script: str) -> str:
    """Return what a script of root prints on the host; it comes by standard input."""
    options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
    done = subprocess.run(
        [
            "ssh",
            "-i",
            str(STATE / "id_ed25519"),
            *(word for option in options for word in ("-o", option)),
            f"lab@{topology.addresses[HOST]}",
            "sudo bash -ls",
        ],
        input=script,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def configurations(open_cluster: Topology, topology: Topology) -> dict[str, str]:
    """Return the client properties of each kind, as the host needs them."""
    plain = {"bootstrap.servers": ",".join(open_cluster.brokers.values())}
    login = topology.cluster.brokers[0].clients.user_config("admin", AUTHORITY)
    return {
        OPEN: properties(plain),
        STANDARD: properties({**login, **store("truststore", AUTHORITY)}),
    }


def sent(topology: Topology, kind: str) -> Measured:
    """Send the records; returns the seconds and megabytes a second that Kafka's tool reports."""
    command = f"kafka-producer-perf-test.sh --topic {TOPIC} --num-records {RECORDS}"
    command += f" --record-size {SIZE} --throughput -1 --command-property acks=all"
    command += f" --command-config ~/{kind}.properties"
    last = on_host(topology, command).splitlines()[-1]
    match = re.search(r"([\d.]+) records/sec \(([\d.]+) MB/sec\)", last)
    assert match, last
    return {"seconds": RECORDS / float(match[1]), "mb_per_second": float(match[2])}


def main(pairs: int) -> None:
    """Compare the two on a cluster that is between open and closed."""
    with three_nodes():
        fresh_hosts()
        playbook("playbooks/site.yml")
        before = describe(INVENTORY)
        create_topic(before.connection, TOPIC)
        choose(kafka_security=STANDARD)
        playbook("playbooks/secure.yml")
        topology = describe(INVENTORY)
        for kind, text in configurations(before, topology).items():
            file = f"~/{kind}.properties"
            on_host(topology, f"umask 077; cat > {file} <<'END'\n{text}\nEND\n")
            sent(topology, kind)  # not measured: the first run of each warms the brokers
        kinds = {kind: partial(sent, topology, kind) for kind in (OPEN, STANDARD)}
        compare("throughput", kinds, pairs)
