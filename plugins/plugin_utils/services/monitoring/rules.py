"""The rules about exporters, Prometheus and Alertmanager."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from ....module_utils.formats.values import by_name, listing, mapping
from ...cluster.cluster import Cluster
from ...cluster.host import HostSettings
from ...rules.engine import Finding, Findings, host_rule, rule
from ...rules.inspection import InspectedHost
from ...rules.services import wrong_address
from ...rules.shared import one_value, parts, shared_values
from ..metrics.model import NODE_EXPORTER, SITE, Metrics
from . import GROUP, site_files
from .model import DATA, RECEIVERS, ROUTES, SIZE, Monitoring
from .packaged import Packaged

_DURATION = re.compile(r"(?=[0-9])([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?")
_SIZE = re.compile(r"(?P<number>[1-9][0-9]*)(?P<unit>[KMGTP])B")
_UNITS: Mapping[str, int] = {unit: 1024**power for power, unit in enumerate("KMGTP", start=1)}
_INTERVAL = "monitoring_scrape_interval"
_DURATIONS = {_INTERVAL: "15s", "monitoring_retention": "15d"}
_SECONDS = {"y": 31536000, "w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
LONGEST_INTERVAL = 30
"""Seconds; alerts look at no less than twice as long."""
_MIB = 1024 * 1024
_DISABLE = "set metrics_enabled to false"


def _packaged(cluster: Cluster) -> Iterator[tuple[str, Packaged]]:
    for packaged in (cluster.metrics, cluster.monitoring):
        yield from packaged.items()


_servers = parts("monitoring")
_notifying = parts("monitoring", RECEIVERS, ROUTES, "monitoring_route")


@rule("monitoring-address", each=_packaged)
def _monitoring_address(packaged: Packaged) -> Findings:
    """Prometheus connects to it as `address:port`, and its certificate is for it."""
    yield from wrong_address(packaged.settings, packaged.address_variable, packaged.address)


@rule("monitoring-security-differs")
def _monitoring_security_differs(cluster: Cluster) -> Findings:
    """Prometheus scrapes all exporters in one way, and each server notifies all others so, too."""
    yield from one_value(cluster, "for all hosts", cluster.metrics, "metrics_security")
    yield from one_value(cluster, "for all hosts", cluster.monitoring, "monitoring_security")


@rule("monitoring-duration", each=_servers)
def _monitoring_duration(server: Monitoring) -> Findings:
    """Prometheus would not start."""
    for variable, example in _DURATIONS.items():
        value = str(server.settings[variable])
        if not _DURATION.fullmatch(value) or not re.search("[1-9]", value):
            problem = f"{value!r} is no duration."
            yield Finding(
                problem, f"Set a number with a unit (s, m, h, d), as {example}.", variable
            )


@rule("monitoring-scrape-interval", each=_servers, where=_INTERVAL)
def _monitoring_scrape_interval(server: Monitoring) -> Findings:
    """Alerts compare two readings within a minute; with fewer in it they never fire."""
    value = str(server.settings[_INTERVAL])
    quantities = re.findall("([0-9]+)([ywdhms])", value) if _DURATION.fullmatch(value) else []
    if sum(int(number) * _SECONDS[unit] for number, unit in quantities) > LONGEST_INTERVAL:
        yield Finding(f"{value} is too long.", f"Set {LONGEST_INTERVAL}s or less.")


@rule("monitoring-size", each=_servers, where=SIZE)
def _monitoring_size(server: Monitoring) -> Findings:
    """Prometheus would not start."""
    value = str(server.settings[SIZE] or "")
    if value and not _SIZE.fullmatch(value):
        problem = f"{value!r} is no size."
        yield Finding(problem, "Set a whole number with MB, GB or TB, as 20GB.")


@rule("monitoring-receiver-name", each=_notifying, where=RECEIVERS)
def _monitoring_receiver_name(server: Monitoring) -> Findings:
    """Routes name a receiver by its name, and Alertmanager would not start."""
    names = {
        n: str(receiver.get("name") or "") for n, receiver in enumerate(server.receivers, start=1)
    }
    for number, name in names.items():
        if not name:
            yield Finding(f"Entry {number} has no name.", "Give it one.")
    for name, numbers in shared_values({n: name for n, name in names.items() if name}):
        problem = f"The entries {listing(numbers)} are all named {name}."
        yield Finding(problem, "Give each a name of its own.")


@rule("monitoring-unknown-receiver", each=_notifying)
def _monitoring_unknown_receiver(server: Monitoring) -> Findings:
    """Alertmanager would refuse its configuration."""
    names = [str(receiver.get("name") or "") for receiver in server.receivers]
    of_root = by_name(mapping(server.settings["monitoring_route"])).get("receiver")
    for name in dict.fromkeys(server.named_receivers):
        if name not in names:
            where = "monitoring_route[receiver]" if name == of_root else ROUTES
            configured = server.settings[RECEIVERS]
            choices = f"there are {listing(names)}" if configured else f"{RECEIVERS} is empty"
            problem = f"A route is for the receiver {name}, and {choices}."
            yield Finding(problem, f"Add {name} to {RECEIVERS}, or name another one.", where)


@rule("metrics-cluster-name", where="metrics_cluster")
def _metrics_cluster_name(cluster: Cluster) -> Findings:
    """It is a part of the names of files, and all series of the cluster have it as their label."""
    yield from one_value(cluster, "for all hosts", cluster.metrics, "metrics_cluster")
    names = (exporters.settings["metrics_cluster"] for exporters in cluster.metrics.values())
    for name in dict.fromkeys(filter(None, names)):
        if not site_files.is_name(name):
            problem = f"{name!r} has other characters than letters, digits, dots, - and _."
            yield Finding(problem, "Set a name such as kafka-prod.")


def _without_exporters(cluster: Cluster) -> Iterator[tuple[str, HostSettings]]:
    if cluster.monitoring:
        yield from cluster.hosts.items()


@rule("metrics-disabled", each=_without_exporters, where="metrics_enabled")
def _metrics_disabled(host: HostSettings) -> Findings:
    """Alerts about the host could never fire, and nobody would notice."""
    if host.settings["metrics_enabled"] is False:
        problem = f"It is false, and the group {GROUP} has hosts that collect metrics."
        yield Finding(problem, f"Delete metrics_enabled, or the hosts of the group {GROUP}.")


def _with_node_exporter_of_site(cluster: Cluster) -> Iterator[tuple[str, Cluster, Metrics]]:
    for name, exporters in cluster.metrics.items():
        if exporters.settings[NODE_EXPORTER] == SITE:
            yield name, cluster, exporters


@rule("metrics-site-port", each=_with_node_exporter_of_site, where="metrics_node_port")
def _metrics_site_port(cluster: Cluster, exporters: Metrics) -> Findings:
    """There the metrics of the system are asked for, and another server would answer or none."""
    port = exporters.settings["metrics_node_port"]
    variables = [name for name, taken in cluster.ports(exporters.name) if taken == port]
    if variables:
        problem = f"It is {port}, as {listing(variables)}."
        yield Finding(problem, "Set it to the port of the node exporter of the site, often 9100.")


@host_rule("monitoring-agent-missing", where=f"group {GROUP}")
def _monitoring_agent_missing(host: InspectedHost) -> Findings:
    """A node would be restarted with the agent that exports its metrics, and not start without it;
    only site.yml brings it.
    """
    exporters = host.cluster.metrics.get(host.name)
    agent = exporters.distribution if exporters else None
    upgrade = host.allow_version_change != "none"
    if upgrade and agent and host.inspection.software.homes.get(agent.home) is False:
        problem = f"{host.name} does not have {agent.product} {agent.version} yet."
        otherwise = f"delete the group {GROUP}" if host.cluster.monitoring else _DISABLE
        fix = f"Set kafka_version to what it was and run site.yml first, or {otherwise}."
        yield Finding(problem, fix)


@host_rule("monitoring-site-units", where="/etc/systemd/system")
def _monitoring_site_units(host: InspectedHost) -> Findings:
    """Millrace masks the units of the packages, which would be open to the network: what the site
    runs with them would not start again.
    """
    candidates = (host.cluster.metrics.get(host.name), host.cluster.monitoring.get(host.name))
    masked = {
        PurePosixPath(path).stem for packaged in candidates if packaged for path in packaged.masks()
    }
    # Other families have other names, which may be units of the site's own here.
    for name in (unit for unit in host.inspection.software.site_units if unit in masked):
        problem = f"The site has enabled {name}, or has written its unit."
        fix = f"Run `systemctl disable --now {name}` and delete /etc/systemd/system/{name}.service "
        exporters = host.cluster.metrics.get(host.name)
        otherwise = f"delete the group {GROUP}" if host.cluster.monitoring else _DISABLE
        if exporters and name == exporters.host.family.monitoring["node_exporter"]["unit"]:
            otherwise = f"set {NODE_EXPORTER} to {SITE}, which uses it"
        yield Finding(problem, f"{fix}if it is there, or {otherwise}.")


@host_rule("monitoring-without-room", where=SIZE)
def _monitoring_without_room(host: InspectedHost) -> Findings:
    """Prometheus fails when it can write no more, and alerts are missing just then."""
    server = host.cluster.monitoring.get(host.name)
    size = _SIZE.fullmatch(server.retention_size) if server else None
    for directory in host.inspection.disks.directories if server and size else ():
        needed = int(size["number"]) * _UNITS[size["unit"]] if size else 0
        # What is there already is part of what may be used.
        room = directory.size if directory.exists else directory.free
        if server and directory.path == server.data_dir and directory.size and room < needed:
            problem = (
                f"Metrics may use {server.retention_size}, and {directory.mount}, which holds "
            )
            problem += f"{directory.path}, has {room // _MIB} MiB"
            problem += " in all." if directory.exists else " free."
            fix = f"Set {SIZE} to {max(room // _MIB // 2, 1)}MB or less, or {DATA} to a directory "
            yield Finding(problem, f"{fix}on another disk.")
