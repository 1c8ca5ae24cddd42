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
from ..cluster.service import Service, restart_mark
from ..cluster.service_stores import of_kafka, stores
from ..services.hdfs import HDFS_JOBS
from ..services.monitoring.packaged import Packaged
from ..services.spark import JOBS

Result = Mapping[str, Any]
VERSION = 1
NO_HOST = "none of its hosts can be reached"
NOT_READ = "it was not read"
KAFKA = "kafka"
LEFT_OUT = "the run left it out (--limit)"
_LEFT_OUT: Result = {"msg": LEFT_OUT}
# What Ansible and the modules' options put beside what was found.
_OTHER = frozenset({"changed", "invocation", "failed", "msg", "seconds", "warnings", "lines"})


def host_options(cluster: Cluster, host: str) -> dict[str, Any]:
    """Return the options of the module report_host: what there is on a host."""
    units = [
        unit
        for part in cluster.deployed(host).values()
        if isinstance(part, (Service, Packaged))
        for unit in part.units
    ]
    marks = {unit: restart_mark(unit) for unit in units}
    all_stores = [*of_kafka(cluster, host), *stores(cluster, host)]
    directories = [directory.path for directory in cluster.directories(host)]
    return {
        "units": list(marks),
        "marks": marks,
        "directories": list(dict.fromkeys(directories)),
        "stores": [store for store in all_stores if store["trusted"]],
    }


def is_reached(result: Result) -> bool:
    """Return whether a host has answered, by the result of a task on it."""
    return bool(result) and not result.get("unreachable")


def members(check: HealthCheck, cluster: Cluster) -> list[str]:
    """Return the hosts of a service."""
    return [host for group in check.groups for host in cluster.inventory.members(group)]


def reader(check: HealthCheck, cluster: Cluster, reached: Sequence[str]) -> str:
    """Return the host that reads a service, empty if none of its hosts was reached."""
    return next((host for host in members(check, cluster) if host in reached), "")


def snapshot(
    cluster: Cluster, hosts: Mapping[str, Result], part_results: Mapping[str, Result], now: float
) -> dict[str, Any]:
    """Return what the page shows, as plain data.

    `hosts` is host -> result of the module report_host, `part_results` host -> that of
    report_parts.
    """
    read: dict[str, Result] = {}
    for result in part_results.values():
        read.update(result.get("parts") or {})
    sections: dict[str, Any] = {
        check.name: _part(check, read.get(check.name), cluster, hosts)
        for check in HEALTH_CHECKS
        if members(check, cluster)
    }
    in_hdfs = sections.pop(HDFS_JOBS, {})
    if not sections.get(JOBS, {}).get("jobs") and not sections.get(JOBS, {}).get("error"):
        sections.pop(JOBS, None)
    elif "jobs" in sections[JOBS]:
        if not any(host.streams for host in cluster.hdfs.values()):
            in_hdfs.pop("error", None)  # there is nothing to read
        sections[JOBS] = _with_commits(sections[JOBS], in_hdfs)
    # The console reads sizes by themselves: a broker that hangs keeps only them waiting.
    sizes = sections.get(KAFKA, {}).pop("sizes", None)
    return {
        "version": VERSION,
        "name": PurePath(cluster.inventory.directory).name or "cluster",
        "made": now,
        "hosts": [_host(cluster, name, hosts.get(name) or _LEFT_OUT) for name in cluster.hosts],
        "operations": _operations(hosts),
        "certificates": [
            {"host": name, **certificate}
            for name, result in hosts.items()
            for certificate in result.get("certificates") or ()
        ],
        **sections,
        **({"sizes": sizes} if sizes else {}),
    }


def problems(page: Mapping[str, Any]) -> list[str]:
    """Return what of a snapshot was not reached, and what is wrong with the rest."""
    wrong = [f"{host['name']}: {host['error']}" for host in page["hosts"] if host["error"]]
    for check in HEALTH_CHECKS:
        section = page.get(check.name, {})
        texts = [section["error"]] if section.get("error") else section.get("problems", [])
        wrong += [f"{check.name}: {text}" for text in texts]
    return wrong


def _part(
    check: HealthCheck, result: Result | None, cluster: Cluster, hosts: Mapping[str, Result]
) -> dict[str, Any]:
    if result is None:
        reached = [name for name, host_result in hosts.items() if is_reached(host_result)]
        if reader(check, cluster, reached):
            return {"error": NOT_READ}
        return {"error": NO_HOST if reader(check, cluster, list(hosts)) else LEFT_OUT}
    if check.answer not in result:
        return {"error": str(result.get("msg") or NOT_READ)}
    return {key: value for key, value in result.items() if key not in _OTHER}


def _with_commits(jobs: Mapping[str, Any], in_hdfs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the jobs with what HDFS says of those that have their checkpoint there."""
    commits = in_hdfs.get("jobs", {})
    unread = [str(in_hdfs["error"])] if "error" in in_hdfs else []
    return {
        **jobs,
        "jobs": {name: {**job, **commits.get(name, {})} for name, job in jobs["jobs"].items()},
        "problems": [*jobs.get("problems", ()), *in_hdfs.get("problems", ()), *unread],
    }


def _host(cluster: Cluster, name: str, result: Result) -> dict[str, Any]:
    settings = cluster.hosts[name].settings
    error = "" if is_reached(result) else str(result.get("msg") or NOT_READ)
    if "units" not in result and not error:
        error = str(result.get("msg") or NOT_READ)
    node = cluster.kafka.get(name)
    return {
        "name": name,
        "address": str(settings["ansible_host"] or name),
        "rack": str(node.config.get("broker.rack") or "") if node else "",
        "groups": [group for group in GROUPS if name in cluster.inventory.members(group)],
        "products": [
            {"title": service.title, "version": service.version}
            for service in cluster.services(name).values()
        ],
        "error": error,
        **{key: result.get(key) or [] for key in ("units", "pending", "disks")},
    }


def _operations(hosts: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return the records of operations, the newest first; the latest copy of each one counts."""
    records: dict[str, dict[str, Any]] = {}
    for name, result in hosts.items():
        record = result.get("operation")
        if not record or "id" not in record:
            continue
        earlier = records.get(record["id"])
        holders = [*(earlier["hosts"] if earlier else []), name]
        newer = earlier is None or record["age"] < earlier["age"]
        records[record["id"]] = {
            **(record if newer or earlier is None else earlier),
            "hosts": holders,
        }
    return sorted(records.values(), key=lambda record: str(record.get("started")), reverse=True)
