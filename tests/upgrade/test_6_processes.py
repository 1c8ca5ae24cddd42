"""Processes that start slowly, that crash, and whose Java is replaced while they run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from testinfra.host import Host

from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays, starts
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for
from tests.upgrade.conftest import Inventory
from tests.upgrade.test_3_configuration import RESTARTED, in_force, written

START_SECONDS, SLOW_SECONDS = 15, 20
RECOVERY_SECONDS = 900
SLOW, SLOW_UNIT, OUTLASTED = "/run/slow.sh", "slow", "/run/slow.outlasted"
# Of each second it lets a process that starts have a share alone, as a busy processor does, and at
# last notes whether it still starts. The process that it finds is left alone, so that its shutdown
# is not slow.
SLOWLY = """
last=$(systemctl show --property=MainPID --value kafka)
left={seconds}
while [ "$left" -gt 0 ]; do
  now=$(systemctl show --property=MainPID --value kafka)
  if [ "$now" = 0 ] || [ "$now" = "$last" ]; then sleep 0.05; continue; fi
  kill -STOP "$now"; sleep {stopped}; kill -CONT "$now"; sleep {runs}
  left=$((left - 1))
done
(exec 3<>/dev/tcp/{port}) 2>/dev/null || touch {outlasted}
"""
CRASHES = "/var/lib/millrace/crash/kafka"
BIG, BIG_RECORDS, BIG_BYTES = "millrace-recovery", 20_000, 100_000
"""Two gigabytes, of which each node has a replica."""
# Killed as it stops; what it has flushed is forgotten, as if it had been killed sooner after that.
UNCLEAN = """
last=$(systemctl show --property=MainPID --value kafka)
until systemctl show --property=ActiveState kafka | grep -q deactivating; do sleep 0.01; done
kill -KILL "$last"; rm -f {forgotten}
"""


@contextlib.contextmanager
def slowed(host: Host, address: str, stopped: float, runs: float, seconds: int) -> Iterator[None]:
    """A host on which the next process of Kafka gets little of the processor for some seconds."""
    share = {"stopped": stopped, "runs": runs, "seconds": seconds}
    script = SLOWLY.format(**share, port=address.replace(":", "/"), outlasted=OUTLASTED)
    host.check_output(f"rm -f {OUTLASTED}; printf %s > {SLOW}", script)
    host.check_output(f"systemd-run --unit={SLOW_UNIT} --collect bash {SLOW}")
    try:
        yield
    finally:
        host.check_output(
            f"systemctl stop {SLOW_UNIT}; systemctl kill --signal=CONT kafka; rm {SLOW}"
        )


def restarted(before: dict[str, int], hosts: dict[str, Host], topology: Topology) -> dict[str, int]:
    """Host -> how often it was started since."""
    after = starts(hosts, topology)
    return {name: after[name] - count for name, count in before.items() if after[name] != count}


def shown(plays: Plays, *arguments: str) -> str:
    """What health.yml shows, without the ends of its lines."""
    return " ".join(plays.succeed("health", *arguments).split())


def test_a_start_that_is_slow_is_waited_for_and_keeps_its_setting(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    """It takes longer than a process without progress may take."""
    skip_unless_full()
    before, former = starts(hosts, topology), in_force(topology, RESTARTED)
    slow = topology.group("kafka_brokers")[0]
    changed = {"kafka_host_config": {RESTARTED: 401}, "kafka_start_timeout": START_SECONDS}
    with (
        inventory.also(slow, **changed),
        slowed(hosts[slow], topology.bootstrap(slow), 0.9, 0.1, SLOW_SECONDS),
    ):
        output = plays.succeed("site")
    assert hosts[slow].run(f"rm {OUTLASTED}").succeeded, "the start was not slow enough"
    assert "s left without progress" in output
    assert in_force(topology, RESTARTED) == {*former, "401"}
    assert restarted(before, hosts, topology) == {slow: 1}
    plays.succeed("site")
    assert in_force(topology, RESTARTED) == former


def test_recovery_of_gigabytes_is_waited_for(
    plays: Plays, inventory: Inventory, topology: Topology, hosts: dict[str, Host]
) -> None:
    """A node is killed as it stops with a changed setting; then a slow processor recovers."""
    skip_unless_full()
    first = topology.group("kafka_brokers")[0]
    host, node = hosts[first], topology.cluster.kafka[first]
    shape = {"num_partitions": 12, "replication_factor": 3}
    with clients.admin(topology.connection) as admin:
        admin.create_topics(
            {BIG: {**shape, "configs": {"segment.bytes": "16777216"}}}, wait_for_metadata=True
        )
    with contextlib.closing(clients.producer(topology.connection)) as producer:
        for _ in range(BIG_RECORDS):
            producer.send(BIG, os.urandom(BIG_BYTES))
        producer.flush()
    forgotten = " ".join(f"{data}/recovery-point-offset-checkpoint" for data in node.data_dirs)
    host.check_output("printf %s > /run/unclean.sh", UNCLEAN.format(forgotten=forgotten))
    host.check_output("systemd-run --unit=unclean --collect bash /run/unclean.sh")
    brokers, address = topology.group("kafka_brokers"), topology.bootstrap(first)
    changed = {"kafka_host_config": {RESTARTED: 402}, "kafka_start_timeout": START_SECONDS}
    with inventory.also(*brokers, **changed):
        with slowed(host, address, 0.7, 0.3, RECOVERY_SECONDS):
            output = plays.refuse("site", seconds=1800)
        assert "recovered" in output, "the segments are shown"
        assert "previous files were restored" not in output
        assert "did not stop cleanly" in output, "the next nodes wait until somebody has seen why"
        assert all(f"{RESTARTED}=402" in written(hosts[name]) for name in brokers)
        plays.succeed("site", seconds=1800)
        assert in_force(topology, RESTARTED) == {"402"}
    plays.succeed("site", seconds=1800)
    with clients.admin(topology.connection) as admin:
        admin.delete_topics([BIG])


def test_a_crash_leaves_a_report_and_a_trace(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    where = topology.group("kafka_brokers")[-1]
    host = hosts[where]
    before = host.check_output("systemctl show --property=MainPID --value kafka")
    host.check_output("kill -SEGV %s", before)
    wait_for(
        lambda: (
            host.run(f"test -e {CRASHES}/hs_err_pid{before}.log && grep . {CRASHES}/kafka.ends").rc
            == 0
        ),
        seconds=60,
        what="the report of the crash",
    )
    assert "SIGSEGV" in host.check_output(f"head -n 5 {CRASHES}/hs_err_pid{before}.log")
    wait_for(lambda: plays.run("health")[0] == 0, seconds=120, what="a healthy cluster")
    output = shown(plays)
    assert f"{CRASHES}/hs_err_pid{before}.log" in output
    assert "kafka ended at" in output
    assert "ended at" not in shown(plays, "-e", "health_since=0")


def test_a_node_whose_java_was_replaced_is_named_and_restarted(
    plays: Plays, topology: Topology, hosts: dict[str, Host]
) -> None:
    before = starts(hosts, topology)
    where = topology.group("kafka_brokers")[1]
    java = hosts[where].check_output(
        "readlink /proc/$(systemctl show --property=MainPID --value kafka)/exe"
    )
    library = f"{java.removesuffix('/bin/java')}/lib/server/libjvm.so"
    # As a package does it.
    hosts[where].check_output(f"cp --archive {library} {library}.new && mv {library}.new {library}")
    assert library in shown(plays)
    plays.succeed("rolling_restart")
    assert restarted(before, hosts, topology) == {where: 1}
    assert library not in shown(plays)


@pytest.mark.parametrize("unit", ["kafka"])
def test_an_update_restarts_no_unit_behind_the_gate(
    unit: str, topology: Topology, hosts: dict[str, Host]
) -> None:
    """As needrestart reads its configuration, a program in Perl."""
    where = topology.group("kafka_brokers")[0]
    program = (
        "our %nrconf; do q(/etc/needrestart/conf.d/millrace-kafka.conf) or die; "
        "for my $re (keys %{$nrconf{override_rc}}) "
        "{ print $nrconf{override_rc}->{$re} if $ARGV[0] =~ /$re/ }"
    )
    output = hosts[where].check_output("perl -e %s %s", program, f"{unit}.service")
    assert output == "0"
    assert hosts[where].check_output("perl -e %s %s", program, "site-kafka.service") == ""
