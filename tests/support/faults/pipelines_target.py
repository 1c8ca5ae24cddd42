"""The pipelines of the flights, all in one driver, and what they are fed between the faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from testinfra.host import Host

from flights.kafka_log import create_topics
from flights.producer import Publisher, partition_of, publish
from flights.schemas import RESULTS, PipelineTopics, Topics
from flights.source import Message, events, messages
from tests.support.faults.ledger_run import RUNS
from tests.support.faults.stream_driver import next_offsets
from tests.support.faults.stream_target import SparkTarget
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.spark import active_master, master_state
from tests.support.wait import wait_for

UNIT = "spark-failover-pipelines"
SLICE = 6000
"""Events that are still to be read when a fault begins."""
BATCH = 1000
CORRUPT = 12
SECONDS = 300.0
"""Within which all pipelines have read a slice, in spite of a fault."""
# Its failure is a restart, as of a job, and the faults are more than a job may have in 10 minutes.
START = (
    "systemctl reset-failed %s 2> /dev/null;"
    " systemd-run --quiet --unit=%s --uid=spark --gid=spark --working-directory=/"
    " --property=EnvironmentFile=%s --property=KillMode=mixed --property=TimeoutStopSec=60"
    " --property=Restart=on-failure --property=RestartSec=1 --property=StartLimitIntervalSec=0"
    " /usr/bin/python3 -m flights.pipelines "
)


WEATHER = (
    'awk -F, \'NR == 1 || ($2 >= "{since}" && $2 < "{until}")\' {source} > {folder}/.next'
    " && chmod 644 {folder}/.next && mv {folder}/.next {folder}/{number}.csv"
)
"""Copies the rows of some hours into a file of their own, which is there whole or not at all."""


@dataclass(kw_only=True)
class Pipelines(SparkTarget):
    """All of `RESULTS` from the topic `topic` to Kafka."""

    driver: str
    folder_there: str
    """Shared by the hosts."""
    events: Sequence[Message]
    publisher: Publisher
    weather: str
    fed: int = 0
    weather_until: str = ""

    def start(self, job: str) -> None:
        """Start the driver with the package and the user of the stream `job`."""
        words = [
            *RESULTS,
            f"--client-config=/etc/spark/job-{job}-kafka.properties",
            f"--topic={self.topic}",
            f"--weather={self.folder_there}/weather",
            f"--checkpoint={self.folder_there}/checkpoint",
            f"--progress={self.folder_there}/progress",
            f"--max-per-trigger={BATCH}",
        ]
        self.sh(self.driver, START + " ".join(words), UNIT, UNIT, f"/etc/spark/job-{job}")

    def stop(self) -> None:
        """End it, and forget what it wrote on the hosts."""
        self.hosts[self.driver].run("systemctl stop %s; systemctl reset-failed %s", UNIT, UNIT)
        self.hosts[self.driver].run("rm -rf %s", self.folder_there)

    def feed(self) -> None:
        """Publish the next slice, and before it the weather up to a day after it.

        Of two streams the slower one decides the watermark, and after a restart one that has no new
        rows would hold it where it is.
        """
        todo = range(self.fed, min(self.fed + SLICE, len(self.events)))
        *_, last = events(todo.stop)
        until = (datetime.fromisoformat(str(last["event_time"])) + timedelta(days=1)).isoformat()
        folder, since = f"{self.folder_there}/weather", self.weather_until
        command = WEATHER.format(
            since=since, until=until, source=self.weather, folder=folder, number=self.fed
        )
        self.sh(self.driver, command)
        self.weather_until = until
        assigned = [partition_of(event.key, self.partitions) for event in self.events]
        publish(self.publisher, self.events, assigned, todo)
        self.fed += len(todo)

    @property
    def partitions(self) -> int:
        """Of the topic of events."""
        return Topics(self.topic).layout()[self.topic][0]

    def read(self) -> dict[str, int]:
        """How many events each pipeline has read, by its newest commit."""
        # In one command, or the first ones have read more while the others are asked about.
        listing = self.sh(
            self.driver,
            'cd %s/checkpoint 2> /dev/null && for name in * ; do echo "= $name";'
            " batch=$(ls $name/commits 2> /dev/null | sort -n | tail -n 1);"
            ' if [ -n "$batch" ]; then cat $name/offsets/$batch; echo; fi; done; true',
            self.folder_there,
        )
        counts = dict.fromkeys(RESULTS, 0)
        for entry in f"\n{listing}".split("\n= ")[1:]:
            name, _, text = entry.partition("\n")
            if text:
                counts[name] = sum(next_offsets(text, self.topic).values())
        return counts

    def in_the_middle(self) -> dict[str, int]:
        """Feed a slice, and wait until the first batch of it is done: none can have read it all."""
        before = self.fed
        self.feed()

        def begun() -> dict[str, int] | None:
            counts = self.read()
            return counts if max(counts.values()) > before else None

        counts = wait_for(begun, seconds=SECONDS, what=f"more than {before} events read")
        assert max(counts.values()) < self.fed, f"{counts} of {self.fed}: nothing is left to do"
        return counts

    def drained(self) -> None:
        """Wait until each pipeline has read all that it was fed."""
        last: dict[str, int] = {}

        def all_read() -> bool:
            last.update(self.read())
            return set(last.values()) == {self.fed}

        wait_for(all_read, seconds=SECONDS, what=f"{self.fed} events read by each pipeline")

    @property
    def app(self) -> str:
        """The application as the master knows it."""

        def known() -> str | None:
            apps = master_state(self.topology, active_master(self.topology))["activeapps"]
            return next((app["id"] for app in apps if app["name"].startswith(self.topic)), None)

        return wait_for(known, seconds=60, what=f"an application {self.topic}")

    def wait_for_acks(self, count: int = 0, seconds: float = SECONDS) -> None:
        """The pipelines are the load: they have to read on."""
        del count, seconds
        self.drained()


@contextmanager
def pipelines(
    topology: Topology, hosts: dict[str, Host], plays: Plays, job: str, slices: int
) -> Iterator[Pipelines]:
    """The pipelines run during the block, with topics of their own; `job` is the flights stream."""
    driver, topic = topology.group("spark_masters")[0], f"{job}-faults"
    shared, folder = topology.cluster.spark[driver].shared_dir, RUNS / topology.name
    folder.mkdir(parents=True, exist_ok=True)
    plans: list[Topics | PipelineTopics] = [
        Topics(topic),
        *(PipelineTopics(topic, name) for name in RESULTS),
    ]
    with ExitStack() as after:
        after.callback(delete, topology, [name for plan in plans for name in plan.layout()])
        for plan in plans:
            create_topics(topology.connection, plan)
        publisher = Publisher(topic, topology.connection)
        after.callback(publisher.close)
        target = Pipelines(
            topology,
            hosts,
            plays,
            folder,
            topic=topic,
            driver=driver,
            folder_there=f"{shared}/{topic}",
            events=messages(slices * SLICE, CORRUPT),
            publisher=publisher,
            weather=f"{shared}/{job}/weather.csv",
        )
        after.callback(target.heal)
        target.stop()
        after.callback(target.stop)
        for place in (target.folder_there, f"{target.folder_there}/weather"):
            target.sh(driver, "install --directory --owner spark --group spark %s", place)
        target.feed()
        target.start(job)
        target.drained()
        yield target


def delete(topology: Topology, topics: Sequence[str]) -> None:
    """Delete topics that are there."""
    with clients.admin(topology.connection) as admin:
        admin.delete_topics(sorted({*topics} & {*admin.list_topics()}))
