"""Whether a Spark standalone cluster is healthy, by what its masters report.

Pure: `master` reads a master's answer, `problems` checks all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Name here -> name in Spark's answers; memory is in MiB, the start in milliseconds.
_NODE = {
    "host": "host",
    "state": "state",
    "cores": "cores",
    "cores_used": "coresused",
    "memory": "memory",
    "memory_used": "memoryused",
}
_APPLICATION = {
    "id": "id",
    "name": "name",
    "state": "state",
    "cores": "cores",
    "started": "starttime",
}


@dataclass(frozen=True)
class Master:
    """A master."""

    address: str
    """That of its web interface."""
    status: str = ""
    """Spark's: ALIVE, STANDBY, RECOVERING, COMPLETING_RECOVERY; empty if it does not answer."""
    reason: str = ""
    """Why it does not answer."""
    workers: tuple[tuple[str, str], ...] = ()
    """Pairs of a worker's host and state."""
    nodes: tuple[Mapping[str, Any], ...] = ()
    """Describe workers to people."""
    applications: tuple[Mapping[str, Any], ...] = ()
    """Describe running applications to people."""

    @property
    def described(self) -> str:
        """Return the master and its status, or why there is none."""
        return f"{self.address} {self.status or f'does not answer: {self.reason}'}"

    def alive_workers(self) -> set[str]:
        """Return the hosts of the workers that it can use."""
        return {host for host, state in self.workers if state == "ALIVE"}


def master(address: str, response: Mapping[str, Any]) -> Master:
    """Read the answer of a master's `/json/`."""
    workers = [(str(worker["host"]), str(worker["state"])) for worker in response["workers"]]
    return Master(
        address,
        str(response["status"]),
        workers=tuple(workers),
        nodes=tuple(_named(worker, _NODE) for worker in response["workers"]),
        applications=tuple(
            _named(application, _APPLICATION) for application in response.get("activeapps", ())
        ),
    )


def _named(entry: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {key: entry[name] for key, name in names.items() if name in entry}


def active(masters: Iterable[Master]) -> Master | None:
    """Return the master that leads, None if there is not exactly one."""
    alive = [master for master in masters if master.status == "ALIVE"]
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
    alive = [master.address for master in masters if master.status == "ALIVE"]
    if len(alive) > 1:
        return [
            f"{len(alive)} masters are ALIVE ({', '.join(alive)}): each acts without the others;"
            " they need the group zookeeper, and the same ensemble"
        ]
    if leader is None:
        found_masters = ", ".join(master.described for master in masters)
        return [f"no master is ALIVE ({found_masters}): see the masters' journals, and ZooKeeper's"]
    messages = [
        f"master {master.described}; it could not take over"
        for master in masters
        if master.status not in ("ALIVE", "STANDBY")
    ]
    return messages + _worker_problems(leader, set(workers))


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
        "standby": [master.address for master in masters if master.status == "STANDBY"],
        "workers": sorted(leader.alive_workers()) if leader else [],
        "nodes": [*leader.nodes] if leader else [],
        "applications": [*leader.applications] if leader else [],
    }
