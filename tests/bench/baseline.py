"""The baseline: three Kafka nodes by raw shell over SSH, without any check."""

from __future__ import annotations

import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens

from tests.bench.lab import LOG, STATE
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
KEY = ["-i", str(STATE / "id_ed25519"), "-o", "StrictHostKeyChecking=no"]
KEY += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]


def deploy(topology: Topology) -> None:
    """Copy, unpack, write, format and start on all hosts at once; raises CalledProcessError."""
    hosts = topology.group("kafka_brokers")
    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(lambda host: _deploy(topology, host), hosts))


def roll(topology: Topology, line: str) -> None:
    """Add a line to each node's properties and restart the node, one after the other.

    The next one follows as soon as the listener is back. Raises CalledProcessError.
    """
    for host in topology.group("kafka_brokers"):
        script = f"""set -e
echo {shlex.quote(line)} >> /etc/kafka/server.properties
pid=$(pgrep -x java)
kill $pid
while kill -0 $pid 2> /dev/null; do sleep 0.1; done
{_start(topology, host)}
"""
        ssh(topology, host, script)
        answers = partial(listens, topology.bootstrap(host))
        wait_for(answers, seconds=60, what=f"{host} listens")


def _deploy(topology: Topology, host: str) -> None:
    node = topology.cluster.kafka[host]
    files = node.files()
    properties = shlex.quote(files["/etc/kafka/server.properties"]["content"])
    log4j = shlex.quote(files["/etc/kafka/log4j2.yaml"]["content"])
    voters = ",".join(
        f"{voter.id}@{address}:{'A' * 20}{number}A"
        for number, (voter, address) in enumerate(
            zip(node.voters, node.quorum.addresses, strict=True)
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
{_start(topology, host)}
"""
    tarball = str(node.distribution.tarball)
    _run("scp", *KEY, tarball, f"lab@{topology.addresses[host]}:/tmp/kafka.tar")
    ssh(topology, host, script)


def _start(topology: Topology, host: str) -> str:
    node = topology.cluster.kafka[host]
    jvm = f"-Xms{node.heap} -Xmx{node.heap} {' '.join(node.settings['kafka_java_options'])}"
    return f"""setsid {JAVA} -server {jvm} -Dlog4j2.configurationFile=/etc/kafka/log4j2.yaml \
  -cp '/opt/kafka/libs/*' \
  kafka.Kafka /etc/kafka/server.properties >> /var/log/kafka.log 2>&1 < /dev/null &"""


def ssh(topology: Topology, host: str, script: str) -> str:
    """Run a script as root on a host; returns its output, raises CalledProcessError."""
    command = f"sudo sh -c {shlex.quote(script)}"
    return _run("ssh", *KEY, f"lab@{topology.addresses[host]}", command)


def _run(*command: str) -> str:
    with LOG.open("a") as log:
        done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=log)
    return done.stdout
