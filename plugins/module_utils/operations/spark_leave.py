"""Reasons why a Spark standalone cluster cannot do without the master or the worker of a host.

Pure: the answers are those of `/json/` of the masters and of the worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import spark_health
from .leaving import last
from .spark_health import Master

_IN_USE = {
    "cores": ("cores", "cores_used", ""),
    "memory": ("memory", "memory_used", " MiB"),
}
"""What executors need -> what a worker has of it, what of that is in use, and its unit."""
_SHOWN = 5


def worker_problems(masters: Sequence[Master], worker: str) -> list[str]:
    """Return why a worker, by the host as which it registers, cannot leave; empty if it can.

    One that is decommissioned already, or is not registered, holds nothing any more.
    """
    leader = spark_health.active(masters)
    if leader is None:
        statuses = ", ".join(master.described for master in masters)
        return [f"no master is ALIVE that could start executors elsewhere ({statuses})"]
    alive = [node for node in leader.nodes if node["state"] == "ALIVE"]
    remaining = [node for node in alive if node["host"] != worker]
    if len(alive) == len(remaining):
        return []
    if not remaining:
        return [last("Spark worker that is alive", worker)]
    problems = []
    for resource, (total, used, unit) in _IN_USE.items():
        needed = sum(int(node[used]) for node in alive)
        available = sum(int(node[total]) for node in remaining)
        if needed > available:
            problems.append(
                f"running applications hold {needed}{unit} of {resource}, and the workers but {worker} "
                f"have {available}{unit}: add a worker, or end an application, first"
            )
    return problems


def master_problems(masters: Sequence[Master], master: str, drivers: Sequence[str]) -> list[str]:
    """Return why a master, by the address of its web interface, cannot leave.

    `drivers` are the jobs whose drivers run beside it.
    """
    remaining = [candidate for candidate in masters if candidate.address != master]
    if not remaining:
        return [last("Spark master", master)]
    problems = []
    if not any(candidate.status in ("ALIVE", "STANDBY") for candidate in remaining):
        statuses = ", ".join(candidate.described for candidate in remaining)
        problems.append(f"no other master could take over from {master}: {statuses}")
    if drivers:
        shown = ", ".join(drivers[:_SHOWN]) + (" …" if len(drivers) > _SHOWN else "")
        problems.append(
            f"the drivers of jobs run beside the first master, {master}: {shown}. Set state: absent "
            "for them in spark_jobs, and run jobs.yml; after it has left, without state, again"
        )
    return problems


def remaining_problems(
    masters: Sequence[Master], workers: Iterable[str], master: str, worker: str
) -> list[str]:
    """Return what is wrong with the cluster without a master and a worker, empty for none."""
    stay = [candidate for candidate in masters if candidate.address != master]
    return spark_health.problems(stay, {*workers} - {worker})


def executors(response: Mapping[str, Any]) -> list[str]:
    """Return the executors that run on a worker, by its `/json/`, with their applications.

    Raises:
        LookupError, TypeError: it is not an answer of a worker.

    """
    return [
        f"{executor['id']} of {executor['appdesc']['name']} ({executor['appid']})"
        for executor in response["executors"]
    ]
