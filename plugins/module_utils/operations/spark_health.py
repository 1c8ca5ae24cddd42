"""Whether a Spark standalone cluster is healthy, by what its masters report.

Pure: `master` reads a master's answer, `problems` checks all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Name here -> name in Spark's answers; memory is in MiB, the start in milliseconds.
_NODE = {
    **{"host": "host", "state": "state", "cores": "cores", "cores_used": "coresused"},
    **{"memory": "memory", "memory_used": "memoryused"},
}
_APPLICATION = {
    **{"id": "id", "name": "name", "state": "state", "cores": "cores", "started": "starttime"},
}


@dataclass(frozen=True)
class Master:
    """A master by the address of its web interface.

    `status` is Spark's (ALIVE, STANDBY, RECOVERING, COMPLETING_RECOVERY), or empty if the
    master does not answer, with the `reason`. `workers` are pairs of a worker's host and state;
    `nodes` and `applications` describe workers and running applications to people.
    """

    address: str
    status: str = ""
    reason: str = ""
    workers: tuple[tuple[str, str], ...] = ()
    nodes: tuple[Mapping[str, Any], ...] = ()
    applications: tuple[Mapping[str, Any], ...] = ()

    @property
    def described(self) -> str:
        """Return the master and its status, or why there is none."""
        return f"{self.address} {self.status or f'does not answer: {self.reason}'}"

    def alive_workers(self) -> set[str]:
        """Return the hosts of the workers that it can use."""
        return {host for host, state in self.workers if state == "ALIVE"}


def master(address: str, answer: Mapping[str, Any]) -> Master:
    """Read the answer of a master's `/json/`."""
    workers = [(str(one["host"]), str(one["state"])) for one in answer["workers"]]
    return Master(
        address,
        str(answer["status"]),
        workers=tuple(workers),
        nodes=tuple(_named(one, _NODE) for one in answer["workers"]),
        applications=tuple(_named(one, _APPLICATION) for one in answer.get("activeapps", ())),
    )


def _named(answer: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {own: answer[name] for own, name in names.items() if name in answer}


def active(masters: Iterable[Master]) -> Master | None:
    """Return the master that leads, None if there is not exactly one."""
    alive = [one for one in masters if one.status == "ALIVE"]
    return alive[0] if len(alive) == 1 else None


def silent(addresses: Iterable[str]) -> list[str]:
    """Return what is wrong with servers that accept no connection, by their `host:port`."""
    return [
        f"the catalog of tables does not listen on {address}: see journalctl -u spark-metastore"
        for address in addresses
    ]


def problems(masters: Sequence[Master], workers: Iterable[str]) -> list[str]:
    """Return everything that is wrong: one master leads, the others stand by, `workers` serve."""
    leader = active(masters)
    alive = [one.address for one in masters if one.status == "ALIVE"]
    if len(alive) > 1:
        return [
            f"{len(alive)} masters are ALIVE ({', '.join(alive)}): each acts without the others;"
            " they need the group zookeeper, and the same ensemble"
        ]
    if leader is None:
        found_masters = ", ".join(one.described for one in masters)
        return [f"no master is ALIVE ({found_masters}): see the masters' journals, and ZooKeeper's"]
    found = [
        f"master {one.described}; it could not take over"
        for one in masters
        if one.status not in ("ALIVE", "STANDBY")
    ]
    return found + _worker_problems(leader, set(workers))


def _worker_problems(leader: Master, expected: set[str]) -> list[str]:
    states = dict(leader.workers)
    alive = leader.alive_workers()
    missing = [
        f"worker {host} is {states.get(host, 'not registered')} at the master {leader.address}"
        for host in sorted(expected - alive)
    ]
    unexpected = [
        f"worker {host} is registered at {leader.address} but not expected"
        for host in sorted(alive - expected)
    ]
    return missing + unexpected


def facts(masters: Sequence[Master]) -> dict[str, Any]:
    """Return what there is, as plain data: the leading master, the others, the workers alive."""
    leader = active(masters)
    return {
        "active": leader.address if leader else "",
        "standby": [one.address for one in masters if one.status == "STANDBY"],
        "workers": sorted(leader.alive_workers()) if leader else [],
        "nodes": [*leader.nodes] if leader else [],
        "applications": [*leader.applications] if leader else [],
    }
