"""The catalogue of faults under a stream.

As in the catalogue of Kafka, each injects, proves that it happened and checks its effects. Whether
each record is in the sink exactly once is checked at the end, over all of them.
"""

from __future__ import annotations

import re
import time

from tests.support.faults.catalogue.entry import KILL, begin, catalogue, restarted
from tests.support.faults.stream_driver import CHECKPOINT, SECONDS
from tests.support.faults.stream_target import Streams
from tests.support.faults.target import Record
from tests.support.lab.topology import ROOT
from tests.support.services.spark import DRIVER, active_master, application, master_state
from tests.support.wait import wait_for

FAULTS, fault = catalogue(Streams)
MASTER, WORKER = "spark-master", "spark-worker"
EXPIRED = 10
"""How many records of each partition expire before the stream has read them."""


@fault(48, "kill -9 of a worker and its executors in mid-batch")
def worker_killed(target: Streams, record: Record) -> None:
    """Its tasks are retried on another worker, in the same batch of the same application."""
    stream, hosts = target.stream, target.topology.group("spark_workers")
    before = {where: target.main_pid(where, WORKER) for where in hosts}
    failed, since = stream.failed_tasks(), len(stream.reports())
    # Enough for the next batch to be a full one, whose tasks take seconds.
    target.feed(6)
    with stream.switched("slow"):
        begun = stream.wait(since, step="begun", slow=True)
        where = wait_for(lambda: busy(target), seconds=30, what="an executor with a task")
        killed = time.monotonic()
        target.sh(where, f"systemctl kill --signal=KILL {WORKER}")
    record.node = where
    stream.wait(since, step="written", batch=begun["batch"])
    record.recovered(killed, SECONDS)
    pid = target.restarted(where, WORKER, before[where])
    lost = wait_for(
        lambda: stream.failed_tasks() - failed, seconds=10, what="a task that was lost with it"
    )
    assert target.flows() == begun["app"]
    record.proof = (
        f"process {before[where]} is gone, {pid} came; batch {begun['batch']} lost {lost} tasks"
    )


def busy(target: Streams) -> str | None:
    """A worker with an executor that has a task."""
    at_work = {
        str(executor["hostPort"]).rpartition(":")[0]
        for executor in target.stream.executors()
        if executor["activeTasks"]
    }
    workers = target.topology.group("spark_workers")
    return next(
        (worker for worker in workers if target.topology.cluster.spark[worker].address in at_work),
        None,
    )


@fault(1, "kill -9 of a partition's leader under a stream")
def leader_killed(target: Streams, record: Record) -> None:
    """The stream reads on from the next leader; nobody starts it again."""
    node, app = target.led_by(), target.stream.app
    where = begin(target, record, node)
    before, since = target.pid(where), len(target.stream.reports())
    target.feed()
    target.stream.wait(since, step="begun")
    killed = time.monotonic()
    target.sh(where, KILL)
    after = target.elected(node)
    assert target.flows() == app
    record.recovered(killed, SECONDS)
    pid = restarted(target, where, before)
    record.proof = f"process {before} is gone, {pid} came; {after} leads after {node}"


@fault(32, "an executor out of memory")
def executor_out_of_memory(target: Streams, record: Record) -> None:
    """That application fails and names the cause; the worker and other applications run on."""
    app, hosts = target.stream.app, target.topology.group("spark_workers")
    before = {where: target.main_pid(where, WORKER) for where in hosts}
    ran = target.stream.host.run(
        DRIVER + " timeout 120 runuser -u spark -- python3 -c %s",
        (ROOT / "tests/support/services/jobs/oom.py").read_text(),
    )
    assert ran.rc == 1, ran.stderr[-3000:]
    assert re.search(r"OutOfMemoryError|exited with code 52", ran.stderr), ran.stderr[-3000:]
    greedy = ran.stdout.splitlines()[-1]
    # An executor ends itself with this code when its heap is full (SparkExitCode.OOM).
    ended = f"Executor {greedy}/[0-9]+ finished with state .*exitStatus 52"

    def lost() -> str | None:
        for where in hosts:
            result = target.hosts[where].run(
                f"journalctl --unit {WORKER} --output cat | grep -E -m 1 %s", ended
            )
            if result.stdout:
                record.node = where
                return str(result.stdout).strip()[:200]
        return None

    record.proof = wait_for(lost, seconds=20, what="a worker that reports the executor's end")
    assert {where: target.main_pid(where, WORKER) for where in hosts} == before
    assert target.flows() == app
    target.forget(greedy)


@fault(48, "kill -9 of the driver between the table's commit and the checkpoint's")
def driver_killed(target: Streams, record: Record) -> None:
    """The batch runs a second time, and Delta knows it by the query's id and the batch's."""
    stream = target.stream
    record.node = target.topology.group("spark_masters")[0]
    since = len(stream.reports())
    with stream.switched("hold"):
        target.feed()
        batch = stream.wait(since, step="held")["batch"]
        first = stream.wait(since, step="written", batch=batch)
        assert stream.newest("offsets") == batch
        assert stream.newest("commits") == batch - 1
        pid, killed = stream.state()["MainPID"], time.monotonic()
        stream.kill()
    again = stream.wait(target.start(), step="written", batch=batch)
    record.recovered(killed, SECONDS)
    assert again["app"] != first["app"]
    assert again["versions"] == first["versions"], "the table took the batch twice"
    assert target.flows() == again["app"]
    record.proof = (
        f"process {pid} is gone; batch {batch} ran in {first['app']} and again in {again['app']},"
        f" the table stayed at {again['versions']} versions"
    )


@fault(48, "kill -9 of the Spark master")
def master_killed(target: Streams, record: Record) -> None:
    """Systemd restarts it and its workers register again; it recovers their applications."""
    where = record.node = active_master(target.topology)
    before, app = target.main_pid(where, MASTER), target.stream.app
    killed = time.monotonic()
    target.sh(where, f"systemctl kill --signal=KILL {MASTER}")
    pid = target.restarted(where, MASTER, before)
    wait_for(
        lambda: not target.workers_missing(), seconds=SECONDS, what="a master with its workers"
    )
    record.recovered(killed, SECONDS)
    state = application(master_state(target.topology, active_master(target.topology)), app)
    record.proof = f"process {before} is gone, {pid} came; to it {app} is {state}"
    assert state == "RUNNING"
    assert target.flows() == app


@fault(49, "the newest file of a checkpoint is cut off")
def checkpoint_cut(target: Streams, record: Record) -> None:
    """The query refuses a file of `commits` or `offsets` that it cannot read.

    It never falls back to an older one by itself (`HDFSMetadataLog.getLatest`). Without the
    damaged commit it takes the batch for one that has not ended: Delta drops the repetition.
    """
    stream = target.stream
    record.node = "the checkpoint"
    target.drain()
    batch, versions, since = stream.newest("commits"), stream.versions(), len(stream.reports())
    assert stream.newest("offsets") == batch
    damaged = [stream.cut("commits"), stream.cut("offsets")]
    stream.forget_commit()
    stream.start(*damaged, CHECKPOINT)
    errors = {name: stream.wait(since, step="failed", checkpoint=name)["error"] for name in damaged}
    again = stream.wait(since, step="written", batch=batch)
    steps = {
        report["step"] for report in stream.reports()[since:] if report["checkpoint"] in damaged
    }
    assert steps == {"failed"}, "a batch ran on what is damaged"
    assert again["versions"] == versions, "the table took the batch twice"
    assert target.flows() == again["app"]
    record.proof = "; ".join(f"{name}: {text[:200]}" for name, text in errors.items())


@fault(49, "records expired before the stream has read them")
def records_expired(target: Streams, record: Record) -> None:
    """With failOnDataLoss, Spark's default, the query and its unit fail, and the sink stays."""
    stream = target.stream
    record.node = "the topic"
    target.drain()
    target.over = True
    goes_on, versions, commit = stream.processed(), stream.versions(), stream.newest("commits")
    target.feed()
    target.expire({partition: offset + EXPIRED for partition, offset in goes_on.items()})
    since = len(stream.reports())
    stream.start(CHECKPOINT)
    error = stream.wait(since, step="failed")["error"]
    assert re.search(r"KAFKA_DATA_LOSS|failOnDataLoss", error), error
    wait_for(
        lambda: stream.state()["ActiveState"] == "failed", seconds=30, what="a unit that failed"
    )
    assert stream.state()["ExecMainStatus"] == "1"
    assert (stream.versions(), stream.newest("commits")) == (versions, commit)
    record.proof = f"at {goes_on}, of which {EXPIRED} more are gone: {error[:300]}"
