"""Throughput of clients by SASL_SSL against PLAINTEXT, on one cluster that has both listeners.

A running cluster that is being closed (`secure.yml`) has both. Kafka's own tool sends from a host
of the cluster, with acks=all; what brokers copy between themselves is the same in both cases.
"""

from __future__ import annotations

import re
import subprocess

from ansible_collections.millrace.streaming.plugins.module_utils.model.files import properties
from ansible_collections.millrace.streaming.plugins.module_utils.model.security import (
    AUTHORITY,
    OPEN,
    STANDARD,
    store,
)

from tests.bench.comparison import Measured, compare
from tests.bench.lab import ENV, INVENTORY, fresh_hosts, playbook, secure, three_nodes
from tests.bench.load import create_topic
from tests.support.lab.topology import ROOT, Topology, describe

TOPIC, RECORDS, SIZE = "throughput", 400_000, 1_000
HOST = "k1"


def on_host(script: str, text: str = "") -> str:
    """Return what a script of root prints on the host; `text` is its standard input."""
    done = subprocess.run(  # noqa: S603 - our own command
        ["./lab", "ssh", HOST, f"sudo bash -lc '{script}'"],
        cwd=ROOT,
        env={**ENV, "LAB_NAME": "bench"},
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def configurations(open_cluster: Topology, topology: Topology) -> dict[str, str]:
    """Return the client properties of each kind, as the host needs them."""
    plain = {"bootstrap.servers": ",".join(open_cluster.brokers.values())}
    login = topology.cluster.brokers[0].user_client_config("admin", AUTHORITY)
    return {
        OPEN: properties(plain),
        STANDARD: properties({**login, **store("truststore", AUTHORITY)}),
    }


def sent(kind: str) -> Measured:
    """Send the records; returns the seconds and megabytes a second that Kafka's tool reports."""
    command = f"kafka-producer-perf-test.sh --topic {TOPIC} --num-records {RECORDS}"
    command += f" --record-size {SIZE} --throughput -1 --command-property acks=all"
    last = on_host(f"{command} --command-config /root/{kind}.properties").splitlines()[-1]
    found = re.search(r"([\d.]+) records/sec \(([\d.]+) MB/sec\)", last)
    assert found, last
    return {"seconds": RECORDS / float(found[1]), "mb_per_second": float(found[2])}


def main(pairs: int) -> None:
    """Compare the two on a cluster that is between open and closed."""
    with three_nodes():
        fresh_hosts()
        playbook("playbooks/site.yml")
        before = describe(INVENTORY)
        create_topic(before.connection, TOPIC)
        secure(STANDARD)
        playbook("playbooks/secure.yml")
        for kind, text in configurations(before, describe(INVENTORY)).items():
            on_host(f"umask 077; cat > /root/{kind}.properties", text)
            sent(kind)  # not measured: the first run of each warms the brokers
        kinds = {kind: lambda kind=kind: sent(kind) for kind in (OPEN, STANDARD)}
        compare("throughput", kinds, pairs)
