"""Spark from Kafka to Kafka: on the cluster, beside `local[*]` and a process without Spark.

`jobs.yml` deploys the job of `stream_job.py` twice, on the cluster and with `local[*]` on the host
of its driver; `plain_consumer.py` does the same on this machine. All three run and wait, so that no
start is measured: in each round each of them reads the same topic from its beginning to its end,
and the processor seconds of its own processes are counted, in the cluster those of the driver and
of the workers with their executors; never those of brokers.

Then the cluster's state stores, and its latencies at rates that a producer keeps.
"""

from __future__ import annotations

import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from confluent_kafka import TopicPartition

from flights.source import Message, messages
from tests.bench import baseline, cpu, plain_consumer
from tests.bench.comparison import Measured, in_turn, ratios, save, show, spread
from tests.bench.lab import INVENTORY, LOG, STATE, fresh_hosts, playbook, with_spark
from tests.bench.pace import Trial, highest, pace, settled
from tests.support.lab.topology import ROOT, Topology, describe, environment, write_client_config
from tests.support.wait import wait_for

SOURCE, PACED, SINK = "bench.flights", "bench.paced", "bench.results"
PARTITIONS = 6  # as the flights have
RECORDS, BATCHES = 120_000, 2
"""Of the backlog, and its micro-batches: large ones, so that their number matters little."""
STATE_BATCHES, STATE_ROUNDS = 4, 4
"""With state: each micro-batch commits it."""
MANY_BATCHES, MANY_ROUNDS = 1, 1
"""With 200 partitions, since a micro-batch takes many seconds then."""
ONE_RATE = 1_000.0
SECONDS, TRIAL_SECONDS = 25.0, 15.0
"""How long records come at the one rate, and in a trial of the search."""
SETTLE_SECONDS = 4.0
TRIALS = 4
DRAIN_SECONDS = 60.0
INTERVAL = 1
"""Seconds between micro-batches, as the flights stream has."""
ANSWER_SECONDS = 240
_STORE = "spark.sql.streaming.stateStore"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state"
STATE_KEYS = (
    f"{_STORE}.providerClass",
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled",
    "spark.sql.shuffle.partitions",
)
STATES: Mapping[str, Mapping[str, str]] = {
    "memory": {f"{_STORE}.providerClass": f"{_PROVIDER}.HDFSBackedStateStoreProvider"},
    "rocksdb": {},
    "rocksdb, snapshots": {f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "false"},
}
"""What differs from the profile."""
MANY: Mapping[str, Mapping[str, str]] = {
    "4 partitions": {},
    "200 partitions": {"spark.sql.shuffle.partitions": "200"},
}
PAIRS = 5
Answer = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where the same work is done: what answers a request, and its processor seconds so far."""

    ask: Callable[[Mapping[str, Any]], Answer]
    cpu: Callable[[], float]


def job(name: str, *arguments: str) -> dict[str, object]:
    """One of `spark_jobs`: the measured job, with the least that it needs."""
    folder = f"/srv/shared/spark/{name}"
    return {
        "name": name,
        "source": str(ROOT / "tests/bench/stream_job.py"),
        "arguments": [
            f"--client-config=/etc/spark/job-{name}-kafka.properties",
            f"--checkpoint={folder}/checkpoint",
            f"--requests={folder}/requests",
            *arguments,
        ],
        "cores": 2,
        "kafka_user": name,
        "grants": [
            *({"topic": topic, "operations": ["read"]} for topic in (SOURCE, PACED)),
            {"topic": SINK, "operations": ["write"]},
        ],
        "topics": [SOURCE, PACED, SINK],
    }


JOBS = (job("bench-cluster"), job("bench-local", "--master=local[*]"))


def spark_place(topology: Topology, name: str, workers: Sequence[str]) -> Place:
    """A job on the first master; its executors are children of the workers."""
    master, unit = topology.group("spark_masters")[0], f"spark-job-{name}"
    folder, numbers = f"/srv/shared/spark/{name}/requests", count()
    units = [(master, unit), *((worker, "spark-worker") for worker in workers)]
    source = shlex.quote(Path(cpu.__file__).read_text())

    def ask(request: Mapping[str, Any]) -> Answer:
        path = f"{folder}/{next(numbers)}"
        script = f"""set -e
trap '[ $? = 0 ] || journalctl --unit {unit} --lines 60 --output cat --no-pager >&2' EXIT
n=0
until [ -d {folder} ]; do n=$((n + 1)); [ $n -lt 300 ]; sleep 0.2; done
echo {shlex.quote(json.dumps(request))} > {path}.asked
chown --reference={folder} {path}.asked
mv {path}.asked {path}.json
n=0
until [ -e {path}.answer ]; do n=$((n + 1)); [ $n -lt {5 * ANSWER_SECONDS} ]; sleep 0.2; done
cat {path}.answer
"""
        return checked(json.loads(baseline.ssh(topology, master, script)))

    def seconds() -> float:
        with ThreadPoolExecutor(len(units)) as pool:
            return sum(pool.map(one, units))

    def one(where: tuple[str, str]) -> float:
        host, its_unit = where
        return float(baseline.ssh(topology, host, f"python3 -c {source} {its_unit}"))

    return Place(ask, seconds)


@contextmanager
def plain_place(client: Path) -> Iterator[Place]:
    """The process without Spark, on this machine."""
    with LOG.open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.plain_consumer", str(client)],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdin
    assert process.stdout
    questions, answers = process.stdin, process.stdout

    def ask(request: Mapping[str, Any]) -> Answer:
        questions.write(json.dumps(request) + "\n")
        questions.flush()
        return checked(json.loads(answers.readline() or '{"error": "it has ended"}'))

    try:
        yield Place(ask, lambda: cpu.seconds(process.pid))
    finally:
        process.kill()
        process.communicate()


def checked(answer: Answer) -> Answer:
    """Return an answer that is no error."""
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


class Bench:
    """The measurements, at whatever places."""

    def __init__(self, connection: Connection, events: Sequence[Message]) -> None:
        self._events = events
        self._writer = plain_consumer.producer(connection)
        self._reader = plain_consumer.consumer(connection, "bench-reader")
        self._sent = 0

    def fill(self) -> None:
        """Send the backlog."""
        for event in self._events:
            plain_consumer.send(self._writer, SOURCE, event.key, event.value)
        plain_consumer.flush(self._writer)

    def results(self) -> int:
        """How many results there are."""
        return sum(plain_consumer.ends(self._reader, SINK).values())

    def backlog(
        self, place: Place, query: str, batches: int = BATCHES, **options: object
    ) -> Measured:
        """Handle the backlog once; its figures. Raises AssertionError if a record is missing."""
        request = {"query": query, "source": SOURCE, "sink": SINK, **options}
        batch = -(-len(self._events) // batches)
        before, used = self.results(), place.cpu()
        answer = place.ask({"batch": batch, **request})
        used = place.cpu() - used
        assert answer["rows"] == len(self._events), answer
        written = self.results() - before
        assert written == answer["rows"] if query == "rows" else written, (written, answer)
        return {
            "rows_per_cpu_second": answer["rows"] / used,
            "cpu": used,
            "rows_per_second": answer["rows"] / answer["seconds"],
            **{key: float(answer[key]) for key in ("seconds", "state_mb") if key in answer},
        }

    def paced(self, place: Place, rate: float, seconds: float) -> Trial:
        """Send records at a rate to the query that goes on, and wait for their results."""
        before = plain_consumer.ends(self._reader, SINK)
        used, begun = place.cpu(), time.monotonic()
        sent = pace(self._writer, PACED, self._events, rate, seconds)
        plain_consumer.flush(self._writer)
        took = time.monotonic() - begun
        caught_up = self._wait(sum(before.values()) + sent)
        cores = (place.cpu() - used) / (time.monotonic() - begun)
        samples = settled(self._latencies(before, sent), SETTLE_SECONDS)
        trial = Trial(rate, sent / took, samples, cores, caught_up)
        show("stream: paced", trial.figures())
        return trial

    def _wait(self, total: int) -> bool:
        """Wait until so many results are there; returns whether that took less than a trial."""
        begun = time.monotonic()
        wait_for(lambda: self.results() >= total, seconds=DRAIN_SECONDS, what=f"{total} results")
        return time.monotonic() - begun < TRIAL_SECONDS

    def _latencies(self, begin: Mapping[int, int], number: int) -> list[tuple[int, int]]:
        reader, samples = self._reader, list[tuple[int, int]]()
        reader.assign(
            [TopicPartition(SINK, partition, offset) for partition, offset in begin.items()]
        )
        deadline = time.monotonic() + DRAIN_SECONDS
        while len(samples) < number:
            assert time.monotonic() < deadline, f"{len(samples)} of {number} results can be read"
            for record in reader.consume(min(1_000, number - len(samples)), 1.0):
                assert not record.error(), record.error()
                sent = json.loads(record.value())["sent"]
                samples.append((sent, record.timestamp()[1] - sent))
        reader.unassign()
        return samples


def create_topics(connection: Connection) -> None:
    """Create the three topics; the broker sets the time of a result."""
    plan: dict[str, Any] = {"num_partitions": PARTITIONS, "replication_factor": -1}
    plans = dict.fromkeys((SOURCE, PACED), plan)
    plans[SINK] = {**plan, "configs": {"message.timestamp.type": "LogAppendTime"}}
    with clients.admin(connection) as admin:
        admin.create_topics(plans, wait_for_metadata=True)


def rows(bench: Bench, places: Mapping[str, Place], rounds: int) -> dict[str, Any]:
    """Rows a processor second of each place; the cluster twice, which shows the noise."""
    kinds = {
        name: partial(bench.backlog, place, "rows")
        for name, place in {**places, "cluster again": places["cluster"]}.items()
    }
    measured = in_turn("stream", kinds, rounds + 1)
    steady = measured[1:]  # the first warms all of them up
    spreads = {
        f"cluster / {kind}": spread(ratios(steady, "cluster", kind, "rows_per_cpu_second"))
        for kind in kinds
        if kind != "cluster"
    }
    for name, figures in spreads.items():
        show(f"stream: {name}", figures)
    return {"rounds": measured, "ratios": spreads}


def states(
    handle: Callable[..., Measured], kinds: Mapping[str, Mapping[str, str]], rounds: int
) -> dict[str, Any]:
    """Rows a processor second with properties of the state; of several rounds without the first."""
    runs = {name: partial(handle, conf=dict(conf)) for name, conf in kinds.items()}
    measured = in_turn("stream", runs, rounds)
    baseline_, *compared = kinds
    spreads = {
        f"{kind} / {baseline_}": spread(
            ratios(measured[1:] or measured, kind, baseline_, "rows_per_cpu_second")
        )
        for kind in compared
    }
    for name, figures in spreads.items():
        show(f"stream: {name}", figures)
    return {"rounds": measured, "ratios": spreads}


def latencies(bench: Bench, place: Place, most: float) -> dict[str, Any]:
    """At 1,000 records a second, with and without an interval, and at the highest rate found."""
    stream = {"query": "rows", "source": PACED, "sink": SINK, "checkpoint": "paced"}
    trials = list[Trial]()

    def at(rate: float) -> bool:
        trials.append(bench.paced(place, rate, TRIAL_SECONDS))
        return trials[-1].holds

    place.ask({**stream, "seconds": INTERVAL})
    with_interval = bench.paced(place, ONE_RATE, SECONDS)
    rate = highest(ONE_RATE, most, TRIALS, at) if with_interval.holds else 0.0
    place.ask({"stop": True})
    place.ask({**stream, "seconds": 0})
    without = bench.paced(place, ONE_RATE, SECONDS)
    place.ask({"stop": True})
    by_name = {"1,000 records/s": with_interval, "no interval": without}
    if with_interval.holds:
        best = next((trial for trial in trials if trial.rate == rate), with_interval)
        by_name["highest rate"] = best
    for name, trial in by_name.items():
        show(f"stream: {name}", trial.figures())
    return {
        **{name: trial.figures() for name, trial in by_name.items()},
        "trials": [trial.figures() for trial in trials],
    }


def measure(
    bench: Bench, places: Mapping[str, Place], rounds: int, profile: Answer
) -> dict[str, Any]:
    """All measurements, in order."""
    cluster = places["cluster"]
    results = {"rows": rows(bench, places, rounds)}
    save("stream", results)
    most = statistics.median(
        figures["cluster"]["rows_per_second"] for figures in results["rows"]["rounds"][1:]
    )
    results["latency"] = latencies(bench, cluster, most)
    save("stream", results)
    counting = partial(bench.backlog, cluster, "counts")
    for name, kinds, batches, number in (
        ("state", STATES, STATE_BATCHES, STATE_ROUNDS),
        ("partitions", MANY, MANY_BATCHES, MANY_ROUNDS),
    ):
        full = {kind: {**profile, **conf} for kind, conf in kinds.items()}
        results[name] = states(partial(counting, batches), full, number)
    save("stream", results)
    return results


def main(pairs: int) -> None:
    """Deploy, measure and remove; `pairs` are the rounds that count."""
    with with_spark(JOBS):
        _deploy_and_measure(pairs)


def _deploy_and_measure(pairs: int) -> None:
    """Do all that needs the hosts; its clients are closed at the end, before the hosts go."""
    fresh_hosts()
    playbook("playbooks/site.yml")
    topology = describe(INVENTORY)
    create_topics(topology.connection)
    bench = Bench(topology.connection, messages(RECORDS))
    bench.fill()
    playbook("playbooks/jobs.yml")
    config = topology.cluster.spark[topology.group("spark_masters")[0]].config
    profile = {key: str(config[key]).lower() for key in STATE_KEYS[1:]}
    profile[STATE_KEYS[0]] = config[STATE_KEYS[0]]
    workers = topology.group("spark_workers")
    client = write_client_config(topology.connection, STATE / "client.properties")
    with plain_place(client) as plain:
        places = {
            "plain": plain,
            "local[*]": spark_place(topology, "bench-local", ()),
            "cluster": spark_place(topology, "bench-cluster", workers),
        }
        measure(bench, places, pairs, profile)
