"""The desired state of a host as plain data: the options that modules get."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ...module_utils.formats import pem
from ..services.console.model import Console
from ..services.lag_exporter.model import LagExporter
from ..services.metrics.model import Metrics
from ..services.monitoring.model import Monitoring
from ..services.monitoring.packaged import Packaged
from ..services.spark import jobs as spark_jobs
from ..services.spark.jobs import Job
from ..services.spark.model import SparkHost
from . import ca_change, files, firewall, jvm_plugins
from .artifacts import HOMES
from .cluster import Cluster
from .host import SYSCTL_FILE, TMPFILES_FILE, HostSettings
from .service import restart_mark

State = dict[str, Any]
_ENABLED = "multi-user.target.wants"
_JARS = jvm_plugins.directory("spark")
_PACKAGES = f"{HOMES}/{spark_jobs.PACKAGES}-"


def of_service(cluster: Cluster, host: str, name: str) -> State:
    """Return the options of the module `service` for a service of a host, or for the host itself.

    Raises:
        NoServiceError: the host does not have the service.

    """
    if name == "host":
        return {"files": cluster.host_files(host)}
    return cluster.part(host, name).state


def authority_files(cluster: Cluster, host: str, names: Collection[str]) -> dict[str, Any]:
    """Return the files of a host that hold certificates of CAs, by their paths.

    `names` are those of the CAs' files among the secrets. Among them are files that jobs on Spark
    read, and those with certificates that are followed by their CA's.
    """
    certificates = ca_change.authorities(cluster.inventory.secrets)
    bodies = [body for name in names for body in pem.bodies(certificates[name])]
    file_sets = [part.files() for part in cluster.deployed(host).values()]
    if host in cluster.spark:
        file_sets.append(cluster.spark[host].drivers.authorities())
    return {
        path: entry
        for entries in file_sets
        for path, entry in entries.items()
        if any(body in str(entry.get("content", "")) for body in bodies)
    }


def digest(entries: Mapping[str, Any]) -> str:
    """Return a digest by which two sets of files can be compared without their content."""
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def of_job(spark: SparkHost, job: Job) -> State:
    """Return the options of the module `service` for a job on a Spark host."""
    return {
        "plugins": [plugin.unpacked for plugin in spark.drivers.jars(job)],
        "files": spark.drivers.files(job),
        "units": job.started,
        # Only a service runs on with older files: another one reads them at its next start.
        "restart_marks": [restart_mark(unit) for unit in job.services],
        "ready": dict.fromkeys(job.services, job.ready),
        "previous": job.previous,
    }


def of_former_jobs(spark: SparkHost, installed: Collection[str]) -> State:
    """Return the options of the module `service` that remove what jobs have left on a Spark host.

    `installed` are the names of the unit files of jobs that are there, and the paths of the files
    of their programs and of the directories of Python packages. What the inventory has stays, and
    so does what a job has written.
    """
    drivers = spark.drivers
    jobs = drivers.jobs_here
    configured = {file for job in jobs for file in job.unit_files}
    job_units = {job.unit for job in jobs}
    paths = {file for file in installed if file.startswith("/")}
    # What has run all the time is enabled; with another schedule it would run at each boot.
    enabled = {
        f"{_ENABLED}/{file}"
        for job in jobs
        if (file := f"{job.unit}.service") in installed and job.unit not in job.started
    }
    units = sorted({*installed} - paths - configured)
    modules = {f"{job.directory}/{name}" for job in jobs for name in job.files}
    prefixes = tuple(f"{job.directory}/" for job in jobs)
    packages = {
        unpacked.home for job in drivers.jobs if job.present and (unpacked := drivers.packages(job))
    }
    jars = {plugin.home for plugin in spark.plugins}
    former = dict.fromkeys(file.rpartition(".")[0] for file in units)
    gone = [
        Job(unit.removeprefix("spark-job-"), "", "") for unit in former if unit not in job_units
    ]
    users = {job.user for job in drivers.jobs if job.user} - {*drivers.logins.users}
    return {
        "state": "absent",
        "units": [*units, *sorted(enabled)],
        "removed": [
            *(
                path
                for job in gone
                for path in (
                    job.directory,
                    job.previous,
                    job.environment,
                    job.kafka_client,
                    job.registry_client,
                    job.registry_authority,
                )
            ),
            *(spark_jobs.login_file(user) for user in sorted(users)),
            # A module that its package has lost could still be imported.
            *sorted(path for path in paths - modules if path.startswith(prefixes)),
            # Directories in them are theirs, whatever their names are.
            *sorted(
                path
                for path in paths - packages
                if path.startswith(_PACKAGES) and str(Path(path).parent) == HOMES
            ),
            *sorted(path for path in paths - jars if str(Path(path).parent) == _JARS),
        ],
    }


def of_former_plugins(cluster: Cluster, host: str, product: str) -> State:
    """Return the options of the module `service` that remove former plugins of a service."""
    service = cluster.services(host)[product]
    return {**service.plugin_state, "restart_marks": service.marks, "remove_plugins": True}


def former_monitoring(cluster: Cluster, host: str) -> list[Packaged]:
    """Return the parts of monitoring that the inventory does not give to the host."""
    settings, parts = cluster.host(host), cluster.deployed(host)
    secrets = cluster.inventory.secrets
    possible: list[Packaged] = [
        Console(settings, secrets),
        LagExporter(settings, secrets),
        Monitoring(settings, secrets, {host: settings}),
        Metrics(settings, secrets, parts),
    ]
    return [part for part in possible if part.product not in parts]


def of_former_monitoring(cluster: Cluster, host: str, account_files: Collection[str]) -> State:
    """Return the options of the module `service` that remove former monitoring from a host.

    `account_files` are the paths of the account files (`account_file`) on the host.
    """
    gone = [part for part in former_monitoring(cluster, host) if part.account_file in account_files]
    removals = [part.removal for part in gone]
    lists = ("units", "masks", "removed")
    return {
        "state": "absent",
        **{key: [entry for removal in removals for entry in removal[key]] for key in lists},
    }


def removal(cluster: Cluster, host: str, name: str) -> State:
    """Return the options of the module `service` that remove a service from a host.

    Of the host itself that is the firewall.

    Raises:
        NoServiceError: the host does not have the service.

    """
    if name == "host":
        return {
            "state": "absent",
            "units": [firewall.NAME],
            "removed": [firewall.FILE, f"{firewall.DIRECTORY}/"],
        }
    return cluster.part(host, name).removal


def of_host(host: HostSettings, javas: Iterable[str], time_service: str) -> State:
    """Return what a host needs besides files: packages, and commands after each change.

    `javas` are the homes of Java that were found there, `time_service` is the one that runs.
    """
    facts = host.facts
    # A container shares its kernel and clock: what is set there belongs to its machine.
    has_own_kernel = facts is None or not facts.container
    missing = host.time_service if has_own_kernel and not time_service else {}
    load = [f"sysctl --quiet --load {SYSCTL_FILE}", f"systemd-tmpfiles --create {TMPFILES_FILE}"]
    units = [shlex.quote(unit) for unit in host.mount_units()]
    mount = files.render("mount.sh.j2", units=units).splitlines() if units else []
    return {
        "commands": [*(load if has_own_kernel else []), *mount],
        "time_package": missing.get("package", ""),
        "time_unit": missing.get("unit", ""),
        "java_package": "" if host.java.home in javas else host.java.package,
        "package_manager": host.family.package_manager,
    }


def of_packages(cluster: Cluster, host: str, programs: Collection[str]) -> State:
    """Return product -> the packages that it lacks; `programs` are those that are there."""
    parts = cluster.deployed(host).items()
    packaged = {name: part for name, part in parts if isinstance(part, Packaged)}
    return {"packages": {name: part.missing_packages(programs) for name, part in packaged.items()}}


def of_firewall(cluster: Cluster, host: str, *, has_nft: bool, is_there: bool) -> State:
    """Return what the firewall of a host needs besides files: a package, and commands.

    `has_nft` says whether nftables is installed, `is_there` whether a firewall of ours is.
    """
    is_configured = host in cluster.firewalls
    load = files.render("firewall.sh.j2", file=firewall.FILE, unit=firewall.NAME).splitlines()
    return {
        "firewall_package": firewall.PACKAGE if is_configured and not has_nft else "",
        "firewall_commands": load if is_configured else [],
        "firewall_leftover": is_there and not is_configured,
    }
