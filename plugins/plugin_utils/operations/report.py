"""What a page shows of a cluster: the model, and what was read of hosts and services.

Pure: the caller reads. A host or a service that did not answer is in the snapshot with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ..cluster.cluster import Cluster
from ..cluster.entry import HealthCheck
from ..cluster.registry import GROUPS, HEALTH_CHECKS
from ..services.hdfs import HDFS_JOBS
from ..services.spark import JOBS

Result = Mapping[str, Any]
VERSION = 1
NO_HOST = "none of its hosts can be reached"
NOT_READ = "it was not read"
LEFT_OUT = "the run left it out (--limit)"
_LEFT_OUT: Result = {"msg": LEFT_OUT}
# What Ansible and the modules' options put beside what was found.
_OTHER = frozenset({"changed", "invocation", "failed", "msg", "seconds", "warnings", "lines"})


def is_reached(result: Result) -> bool:
    """Return whether a host has answered, by the result of a task on it."""
    return bool(result) and not result.get("unreachable")


def members(part: HealthCheck, cluster: Cluster) -> list[str]:
    """Return the hosts of a service."""
    return [host for group in part.groups for host in cluster.inventory.members(group)]


def reader(part: HealthCheck, cluster: Cluster, reached: Sequence[str]) -> str:
    """Return the host that reads a service, empty if none of its hosts was reached."""
    return next((host for host in members(part, cluster) if host in reached), "")


def snapshot(
    cluster: Cluster, hosts: Mapping[str, Result], parts: Mapping[str, Result], now: float
) -> dict[str, Any]:
    """Return what the page shows, as plain data.

    `hosts` is host -> result of the module report_host, `parts` host -> that of report_parts.
    """
    read: dict[str, Result] = {}
    for result in parts.values():
        read.update(result.get("parts") or {})
    found: dict[str, Any] = {
        part.name: _part(part, read.get(part.name), cluster, hosts)
        for part in HEALTH_CHECKS
        if members(part, cluster)
    }
    in_hdfs = found.pop(HDFS_JOBS, {})
    if not found.get(JOBS, {}).get("jobs") and not found.get(JOBS, {}).get("error"):
        found.pop(JOBS, None)
    elif "jobs" in found[JOBS]:
        if not any(one.streams for one in cluster.hdfs.values()):
            in_hdfs.pop("error", None)  # there is nothing to read
        found[JOBS] = _with_commits(found[JOBS], in_hdfs)
    return {
        "version": VERSION,
        "name": PurePath(cluster.inventory.directory).name or "cluster",
        "made": now,
        "hosts": [_host(cluster, name, hosts.get(name) or _LEFT_OUT) for name in cluster.hosts],
        "operations": _operations(hosts),
        "certificates": [
            {"host": name, **one}
            for name, result in hosts.items()
            for one in result.get("certificates") or ()
        ],
        **found,
    }


def problems(found: Mapping[str, Any]) -> list[str]:
    """Return what of a snapshot was not reached, and what is wrong with the rest."""
    wrong = [f"{one['name']}: {one['error']}" for one in found["hosts"] if one["error"]]
    for part in HEALTH_CHECKS:
        one = found.get(part.name, {})
        texts = [one["error"]] if one.get("error") else one.get("problems", [])
        wrong += [f"{part.name}: {text}" for text in texts]
    return wrong


def _part(
    part: HealthCheck, result: Result | None, cluster: Cluster, hosts: Mapping[str, Result]
) -> dict[str, Any]:
    if result is None:
        reached = [name for name, one in hosts.items() if is_reached(one)]
        if reader(part, cluster, reached):
            return {"error": NOT_READ}
        return {"error": NO_HOST if reader(part, cluster, list(hosts)) else LEFT_OUT}
    if part.answer not in result:
        return {"error": str(result.get("msg") or NOT_READ)}
    return {key: one for key, one in result.items() if key not in _OTHER}


def _with_commits(jobs: Mapping[str, Any], in_hdfs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the jobs with what HDFS says of those that have their checkpoint there."""
    commits = in_hdfs.get("jobs", {})
    unread = [str(in_hdfs["error"])] if "error" in in_hdfs else []
    return {
        **jobs,
        "jobs": {name: {**one, **commits.get(name, {})} for name, one in jobs["jobs"].items()},
        "problems": [*jobs.get("problems", ()), *in_hdfs.get("problems", ()), *unread],
    }


def _host(cluster: Cluster, name: str, result: Result) -> dict[str, Any]:
    own = cluster.hosts[name].settings
    error = "" if is_reached(result) else str(result.get("msg") or NOT_READ)
    if "units" not in result and not error:
        error = str(result.get("msg") or NOT_READ)
    node = cluster.kafka.get(name)
    return {
        "name": name,
        "address": str(own["ansible_host"] or name),
        "rack": str(node.config.get("broker.rack") or "") if node else "",
        "groups": [group for group in GROUPS if name in cluster.inventory.members(group)],
        "products": [
            {"title": one.title, "version": one.version} for one in cluster.services(name).values()
        ],
        "error": error,
        **{key: result.get(key) or [] for key in ("units", "pending", "disks")},
    }


def _operations(hosts: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return the records of operations, the newest first; the latest copy of each one counts."""
    found: dict[str, dict[str, Any]] = {}
    for name, result in hosts.items():
        record = result.get("operation")
        if not record or "id" not in record:
            continue
        known = found.get(record["id"])
        kept = [*(known["hosts"] if known else []), name]
        newer = known is None or record["age"] < known["age"]
        found[record["id"]] = {**(record if newer or known is None else known), "hosts": kept}
    return sorted(found.values(), key=lambda one: str(one.get("started")), reverse=True)
