"""Faults of consumer groups."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients

from tests.support.faults.alerting.brokers import producing
from tests.support.faults.alerting.watched import AlertingFault, Labels, Watched, remove_topics
from tests.support.services.groups import commit
from tests.support.wait import wait_for

LAG_SECONDS, HOUR = 60, 3600
UNREAD = 'kafka_consumer_group_lag_records{{group="{}"}}'
EMPTY = 'kafka_consumer_group_state{{group="{}",state="Empty"}} 1 {}'
HISTORY = "/run/millrace-test-history"
CLOCK, AHEAD = "/run/millrace-test-clock.py", "/run/millrace-test-ahead"
# Only the exporter's own clock: its Kafka client would close connections that seem to be idle.
CLOCK_AHEAD = f"""
import pathlib, runpy, time, types
from apps.lag_exporter import exporter
ahead = pathlib.Path("{AHEAD}")
exporter.time = types.SimpleNamespace(
    time=time.time, monotonic=lambda: time.monotonic() + {26 * HOUR} * ahead.exists()
)
runpy.run_module("apps.lag_exporter", run_name="__main__", alter_sys=True)
"""
WRITE = "printf %%s %s > %s"


@contextlib.contextmanager
def group_topic(on: Watched, name: str) -> Iterator[None]:
    """A topic and the group of its name; both are removed."""
    on.create_topic(name, num_partitions=1, replication_factor=-1)
    try:
        yield
    finally:
        with on.admin() as admin:
            admin.delete_groups([name])
        remove_topics(on, name)


@contextlib.contextmanager
def group_stopped(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A group has read a record and reads no more; the producer goes on."""
    name = f"stopped-{on.suffix}"
    with group_topic(on, name), producing(on.topology, name, 0.2):
        consumer = clients.consumer(
            on.topology.connection, group_id=name, auto_offset_reset="earliest"
        )
        with contextlib.closing(consumer):
            consumer.subscribe([name])
            wait_for(lambda: consumer.poll(1000), seconds=60, what="a record")
            consumer.commit()
        yield {"ConsumerLagGrows": {"group": name, "topic": name}}


@contextlib.contextmanager
def group_abandoned(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A group has an unread record and no members; that a day passes is simulated."""
    name = f"abandoned-{on.suffix}"
    with group_topic(on, name), exporter_with_clock(on):
        with producing(on.topology, name, 0.2), on.admin() as admin:
            commit(admin, name, 0)
            wait_for(
                lambda: on.value(UNREAD.format(name)), seconds=LAG_SECONDS, what="an unread record"
            )
        empty_a_day_ago(on, name)
        on.sh(on.member("monitoring"), f"touch {AHEAD}")
        yield {"ConsumerGroupAbandoned": {"group": name}}


@contextlib.contextmanager
def exporter_with_clock(on: Watched) -> Iterator[None]:
    """The lag exporter, which has its history in memory, runs with a clock that a file moves.

    It is restarted before and after.
    """
    where = on.member("monitoring")
    exporter = on.topology.cluster.lag_exporters[where]
    drop_ins = f"/run/systemd/system/{exporter.service}.service.d"
    command = f"/usr/bin/python3 {CLOCK} {exporter.settings_file}"
    lines = f"[Service]\nExecStart=\nExecStart={command}\n"
    restart = f"systemctl daemon-reload; systemctl restart {exporter.service}"
    try:
        on.sh(where, WRITE, CLOCK_AHEAD, CLOCK)
        on.sh(where, f"mkdir -p {drop_ins}; {WRITE}", lines, f"{drop_ins}/clock.conf")
        on.sh(where, restart)
        yield
    finally:
        on.hosts[where].run(f"rm -rf {drop_ins} {CLOCK} {AHEAD}; {restart}")


def empty_a_day_ago(on: Watched, group: str) -> None:
    """Give Prometheus a block of samples in which a group was empty a day ago.

    Prometheus loads it within a minute and keeps it; no later group has that name.
    """
    where, now = on.member("monitoring"), int(time.time())
    servers = on.topology.cluster.monitoring[where]
    samples = [EMPTY.format(group, at) for at in range(now - 25 * HOUR, now - 23 * HOUR, 60)]
    text = "\n".join(["# TYPE kafka_consumer_group_state gauge", *samples, "# EOF", ""])
    on.sh(where, WRITE, text, HISTORY)
    on.sh(
        where,
        f"runuser -u {servers.user} -- promtool tsdb create-blocks-from openmetrics {HISTORY}"
        f" {servers.data_dir}/prometheus; rm {HISTORY}",
    )


GROUP_STOPPED = AlertingFault(
    "consumers of a group are stopped, the producer is not",
    group_stopped,
    ("ConsumerLagGrows",),
    needs=("kafka_brokers",),
    fires=300,
)
GROUP_ABANDONED = AlertingFault(
    "a group with an unread record has had no members for a day, which is simulated",
    group_abandoned,
    ("ConsumerGroupAbandoned",),
    needs=("kafka_brokers",),
    fires=300,
)
