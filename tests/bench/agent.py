"""Brokers with the agent that shows their metrics, read every 15 s, beside brokers without it.

Kafka's own tool sends from a host of the cluster with acks=all, at a steady rate.
"""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import yaml

from tests.bench import baseline, cpu
from tests.bench.comparison import Measured, in_turn, ratios, save, show, spread
from tests.bench.lab import INVENTORY, fresh_hosts, playbook, three_nodes
from tests.bench.load import create_topic
from tests.support.lab.topology import Topology

TOPIC, HOST, WATCHER = "agent", "k1", "m1"
RATE, SECONDS, SIZE = 1_000, 60, 500
"""Records a second, for how long, and their bytes."""
PAIRS = 2


def of(topology: Topology, *, watched: bool) -> Measured:
    """Deploy with or without the group `monitoring`, and measure under load.

    Returns the latency of a record in seconds (median, 99th percentile), and how much of a core
    each broker needs.
    """
    path = INVENTORY / "hosts.yml"
    hosts = yaml.safe_load(path.read_text())
    group = "monitoring" if watched else "unused"  # one that is not Millrace's is ignored
    watcher = next(of_group for name, of_group in hosts.items() if name != "kafka")
    hosts = {"kafka": hosts["kafka"], group: watcher}
    path.write_text(yaml.safe_dump(hosts))
    playbook("playbooks/site.yml")
    _send(topology)  # not measured: JVMs that have just started compile
    before = _used(topology)
    line = _send(topology)
    match = re.search(r"([\d.]+) ms 50th, [\d.]+ ms 95th, ([\d.]+) ms 99th", line)
    assert match, line
    used = (_used(topology) - before) / SECONDS / len(topology.brokers)
    return {"median": float(match[1]) / 1000, "p99": float(match[2]) / 1000, "cores": used}


def _send(topology: Topology) -> str:
    """Send for `SECONDS`; returns the last line of the tool."""
    command = f"kafka-producer-perf-test.sh --topic {TOPIC} --num-records {RATE * SECONDS}"
    command += f" --record-size {SIZE} --throughput {RATE} --command-property acks=all"
    command += f" --bootstrap-server {','.join(topology.brokers.values())}"
    return baseline.ssh(topology, HOST, f"bash -lc {command!r}").splitlines()[-1]


def _used(topology: Topology) -> float:
    """Seconds of processor that the brokers have used since each has started."""
    script = f"python3 -c {shlex.quote(Path(cpu.__file__).read_text())} kafka"
    hosts = topology.group("kafka_brokers")
    return sum(float(baseline.ssh(topology, host, script)) for host in hosts)


def main(pairs: int) -> None:
    """Compare on one cluster, whose brokers are restarted with and without the agent."""
    with three_nodes():
        path = INVENTORY / "hosts.yml"
        hosts = yaml.safe_load(path.read_text())
        watcher = {"hosts": {WATCHER: {"monitoring_retention_size": "1GB"}}}
        path.write_text(yaml.safe_dump({**hosts, "monitoring": watcher}))
        topology = fresh_hosts()
        playbook("playbooks/site.yml")
        create_topic(topology.connection, TOPIC)
        kinds = {
            "without": partial(of, topology, watched=False),
            "with": partial(of, topology, watched=True),
        }
        rounds = in_turn("agent", kinds, pairs)
    p99 = spread(ratios(rounds, "with", "without", "p99"))
    extra_cores = spread([pair["with"]["cores"] - pair["without"]["cores"] for pair in rounds])
    save("agent", {"rounds": rounds, "p99": p99, "more_cores": extra_cores})
    show("agent: ratio of p99", p99)
    show("agent: more cores a broker", extra_cores)
