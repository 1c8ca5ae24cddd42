"""The catalogue of faults under a stream, by their numbers in the design.

As in the catalogue of Kafka, each injects, proves that it happened and looks at what must be seen.
Whether each record is in the sink exactly once is judged at the end, over all of them.
"""

from __future__ import annotations

import re
import time

from tests.support.catalogue.entry import KILL, begin, catalogue, restarted
from tests.support.faults import Record
from tests.support.spark import DRIVER, active_master, application, master_state
from tests.support.stream import CHECKPOINT, SECONDS
from tests.support.streams import Streams
from tests.support.topology import ROOT
from tests.support.wait import wait_for

FAULTS, fault = catalogue(Streams)
MASTER, WORKER = "spark-master", "spark-worker"
EXPIRED = 10
"""How many records of each partition expire before the stream has read them."""


@fault(48, "kill -9 of a worker and its executors in mid-batch")
def worker_killed(site: Streams, record: Record) -> None:
    """Its tasks are done again elsewhere, in the same batch of the same application."""
    stream, hosts = site.stream, site.topology.group("spark_workers")
    before = {where: site.main_pid(where, WORKER) for where in hosts}
    failed, since = stream.failed_tasks(), len(stream.reports())
    # Enough for the next batch to be a full one, whose tasks take seconds.
    site.feed(6)
    with stream.switched("slow"):
        begun = stream.wait(since, step="begun", slow=True)
        where = wait_for(lambda: busy(site), seconds=30, what="an executor with a task")
        killed = time.monotonic()
        site.sh(where, f"systemctl kill --signal=KILL {WORKER}")
    record.node = where
    stream.wait(since, step="written", batch=begun["batch"])
    record.recovered(killed, SECONDS)
    pid = site.reborn(where, WORKER, before[where])
    lost = wait_for(
        lambda: stream.failed_tasks() - failed, seconds=10, what="a task that was lost with it"
    )
    assert site.flows() == begun["app"]
    record.proof = (
        f"process {before[where]} is gone, {pid} came; batch {begun['batch']} lost {lost} tasks"
    )


def busy(site: Streams) -> str | None:
    """A worker with an executor that has a task."""
    at_work = {
        str(one["hostPort"]).rpartition(":")[0]
        for one in site.stream.executors()
        if one["activeTasks"]
    }
    workers = site.topology.group("spark_workers")
    return next((one for one in workers if site.topology.spark(one)["host"] in at_work), None)


@fault(1, "kill -9 of a partition's leader under a stream")
def leader_killed(site: Streams, record: Record) -> None:
    """The stream reads on from the next leader; nobody starts it again."""
    node, app = site.led_by(), site.stream.app
    where = begin(site, record, node)
    before, since = site.pid(where), len(site.stream.reports())
    site.feed()
    site.stream.wait(since, step="begun")
    killed = time.monotonic()
    site.sh(where, KILL)
    after = site.elected(node)
    assert site.flows() == app
    record.recovered(killed, SECONDS)
    pid = restarted(site, where, before)
    record.proof = f"process {before} is gone, {pid} came; {after} leads after {node}"


@fault(32, "an executor out of memory")
def executor_out_of_memory(site: Streams, record: Record) -> None:
    """That application fails and says why; the worker and other applications notice nothing."""
    app, hosts = site.stream.app, site.topology.group("spark_workers")
    before = {where: site.main_pid(where, WORKER) for where in hosts}
    ran = site.stream.host.run(
        DRIVER + " timeout 120 runuser -u spark -- python3 -c %s",
        (ROOT / "tests/support/spark_oom.py").read_text(),
    )
    assert ran.rc == 1, ran.stderr[-3000:]
    assert re.search(r"OutOfMemoryError|exited with code 52", ran.stderr), ran.stderr[-3000:]
    greedy = ran.stdout.splitlines()[-1]
    # An executor ends itself with this code when its heap is full (SparkExitCode.OOM).
    ended = f"Executor {greedy}/[0-9]+ finished with state .*exitStatus 52"

    def lost() -> str | None:
        for where in hosts:
            said = site.hosts[where].run(
                f"journalctl --unit {WORKER} --output cat | grep -E -m 1 %s", ended
            )
            if said.stdout:
                record.node = where
                return str(said.stdout).strip()[:200]
        return None

    record.proof = wait_for(lost, seconds=20, what="a worker that tells of the executor's end")
    assert {where: site.main_pid(where, WORKER) for where in hosts} == before
    assert site.flows() == app
    site.forget(greedy)


@fault(48, "kill -9 of the driver between the table's commit and the checkpoint's")
def driver_killed(site: Streams, record: Record) -> None:
    """The batch runs a second time, and Delta knows it by the query's id and the batch's."""
    stream = site.stream
    record.node = site.topology.group("spark_masters")[0]
    since = len(stream.reports())
    with stream.switched("hold"):
        site.feed()
        batch = stream.wait(since, step="held")["batch"]
        first = stream.wait(since, step="written", batch=batch)
        assert stream.newest("offsets") == batch
        assert stream.newest("commits") == batch - 1
        pid, killed = stream.state()["MainPID"], time.monotonic()
        stream.kill()
    again = stream.wait(site.start(), step="written", batch=batch)
    record.recovered(killed, SECONDS)
    assert again["app"] != first["app"]
    assert again["versions"] == first["versions"], "the table took the batch twice"
    assert site.flows() == again["app"]
    record.proof = (
        f"process {pid} is gone; batch {batch} ran in {first['app']} and again in {again['app']},"
        f" the table stayed at {again['versions']} versions"
    )


@fault(48, "kill -9 of the Spark master")
def master_killed(site: Streams, record: Record) -> None:
    """Systemd brings it back, and its workers come; whether applications live is recovery's.

    With `spark.deploy.recoveryMode` the new one knows them. Without, Spark's default, it knows
    none: it has the workers end the executors that they report (`WorkerLatestState`), and a driver
    that lost its master only waits for one that knows it. So its operator has to start it again.
    """
    where = record.node = active_master(site.topology)
    before, app = site.main_pid(where, MASTER), site.stream.app
    killed = time.monotonic()
    site.sh(where, f"systemctl kill --signal=KILL {MASTER}")
    pid = site.reborn(where, MASTER, before)
    wait_for(lambda: not site.workers_missing(), seconds=SECONDS, what="a master with its workers")
    record.recovered(killed, SECONDS)
    known = application(master_state(site.topology, active_master(site.topology)), app)
    record.proof = f"process {before} is gone, {pid} came; it says that {app} is {known}"
    if "spark.deploy.recoveryMode" in site.topology.spark(where)["config"]:
        assert known == "RUNNING"
        assert site.flows() == app
        return
    assert known is None
    wait_for(lambda: not site.stream.executors(), seconds=SECONDS, what="the executors' end")
    site.stream.stop()
    # Jobs of somebody else are in the same state.
    for host in site.hosts.values():
        host.run("systemctl try-restart --no-block 'spark-job-*.service'")
    site.start()
    assert site.flows() != app


@fault(49, "the newest file of a checkpoint is cut off")
def checkpoint_cut(site: Streams, record: Record) -> None:
    """The query refuses a file of `commits` or `offsets` that it cannot read.

    Never does it go back to an older one by itself (`HDFSMetadataLog.getLatest`). Without the
    damaged commit it takes the batch for one that has not ended: Delta drops the repetition.
    """
    stream = site.stream
    record.node = "the checkpoint"
    site.drain()
    batch, versions, since = stream.newest("commits"), stream.versions(), len(stream.reports())
    assert stream.newest("offsets") == batch
    damaged = [stream.cut("commits"), stream.cut("offsets")]
    stream.forget_commit()
    stream.start(*damaged, CHECKPOINT)
    errors = {name: stream.wait(since, step="failed", checkpoint=name)["error"] for name in damaged}
    again = stream.wait(since, step="written", batch=batch)
    steps = {one["step"] for one in stream.reports()[since:] if one["checkpoint"] in damaged}
    assert steps == {"failed"}, "a batch ran on what is damaged"
    assert again["versions"] == versions, "the table took the batch twice"
    assert site.flows() == again["app"]
    record.proof = "; ".join(f"{name}: {text[:200]}" for name, text in errors.items())


@fault(49, "records expired before the stream has read them")
def records_expired(site: Streams, record: Record) -> None:
    """With failOnDataLoss, Spark's default, the query and its unit fail, and the sink stays."""
    stream = site.stream
    record.node = "the topic"
    site.drain()
    site.over = True
    goes_on, versions, commit = stream.processed(), stream.versions(), stream.newest("commits")
    site.feed()
    site.expire({partition: offset + EXPIRED for partition, offset in goes_on.items()})
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
