"""The catalogue of faults under the pipelines: each process that they need is killed at work.

Whether each result equals its batch answer is checked at the end, over all of them.
"""

from __future__ import annotations

from tests.support.faults.catalogue.entry import KILL, begin, catalogue, restarted
from tests.support.faults.catalogue.streams import MASTER, WORKER
from tests.support.faults.pipelines_target import UNIT, Pipelines
from tests.support.faults.target import Record
from tests.support.services.spark import active_master
from tests.support.wait import wait_for

FAULTS, fault = catalogue(Pipelines)


def kill_unit(target: Pipelines, record: Record, where: str, unit: str) -> None:
    """Kill all of a unit's processes; systemd starts it again."""
    record.node = where
    before, read = target.main_pid(where, unit), target.in_the_middle()
    target.sh(where, f"systemctl kill --signal=KILL {unit}")
    pid = target.restarted(where, unit, before)
    record.proof = f"process {before} is gone, {pid} came; read of {target.fed}: {read}"


def with_executor(target: Pipelines) -> tuple[str, str]:
    """A worker that has an executor of the pipelines, and that executor's process."""
    app = target.app

    def found() -> tuple[str, str] | None:
        for where in target.topology.group("spark_workers"):
            # Brackets, or the shell that runs this would find itself.
            ran = target.hosts[where].run("pgrep -f -- %s", f"[-]-app-id {app}")
            if ran.stdout.split():
                return where, ran.stdout.split()[0]
        return None

    return wait_for(found, seconds=60, what=f"an executor of {app}")


@fault(48, "kill -9 of the driver of the pipelines")
def driver_killed(target: Pipelines, record: Record) -> None:
    """Each query repeats the batch that it was at."""
    kill_unit(target, record, target.driver, UNIT)


@fault(48, "kill -9 of an executor of the pipelines")
def executor_killed(target: Pipelines, record: Record) -> None:
    """Its tasks are retried by another executor."""
    record.node, pid = with_executor(target)
    read = target.in_the_middle()
    target.sh(record.node, "kill -KILL %s", pid)
    gone = f"! kill -0 {pid} 2> /dev/null"
    wait_for(
        lambda: target.hosts[record.node].run(gone).succeeded, seconds=30, what=f"{pid} to end"
    )
    record.proof = f"executor {pid} is gone; read of {target.fed}: {read}"


@fault(48, "kill -9 of a worker under the pipelines")
def worker_killed(target: Pipelines, record: Record) -> None:
    """Its executors go with it."""
    where, _ = with_executor(target)
    kill_unit(target, record, where, WORKER)


@fault(48, "kill -9 of the Spark master under the pipelines")
def master_killed(target: Pipelines, record: Record) -> None:
    """Workers and applications are known to the next one."""
    kill_unit(target, record, active_master(target.topology), MASTER)


@fault(1, "kill -9 of a partition's leader under the pipelines")
def leader_killed(target: Pipelines, record: Record) -> None:
    """Of the events; it may lead partitions of the results too."""
    node = target.led_by()
    where = begin(target, record, node)
    before, read = target.pid(where), target.in_the_middle()
    target.sh(where, KILL)
    after, pid = target.elected(node), restarted(target, where, before)
    record.proof = (
        f"process {before} is gone, {pid} came; {after} leads after {node};"
        f" read of {target.fed}: {read}"
    )
