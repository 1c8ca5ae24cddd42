"""The packages of the system that the hosts of an inventory need, for a mirror or a closed network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .cluster import firewall
from .cluster.cluster import Cluster
from .cluster.host import HostSettings
from .cluster.systems import Family
from .services.monitoring.packaged import Packaged

BY_HAND = "by hand"
"""In the place of a role: Millrace needs the package, and does not install it."""
_ALL_HOSTS = ("python3", "sudo")
_HEADER = """\
# Packages that the hosts of this inventory need on {name}. The columns, separated by tabs:
# package, role of Millrace that installs it (or "{by_hand}"), releases of the system, hosts.
"""


@dataclass(frozen=True, order=True)
class Package:
    """A package and who installs it."""

    name: str
    role: str
    releases: str = "all"
    """The releases of the system, as its family names them, with commas."""


def of_family(cluster: Cluster, family: Family) -> Mapping[Package, list[str]]:
    """Return the packages of a family of systems, and the hosts that need each.

    No host was inspected: each counts as one of that family that has none of them.
    """
    hosts: dict[Package, list[str]] = {}
    for name, host in cluster.hosts.items():
        for package in dict.fromkeys(_of_host(cluster, host, family)):
            hosts.setdefault(package, []).append(name)
        for package in dict.fromkeys(_of_services(cluster, name, family)):
            hosts.setdefault(package, []).append(name)
    return dict(sorted(hosts.items()))


def render(cluster: Cluster, family: Family) -> str:
    """Return the list of a family of systems, a line for each package."""
    lines = [
        "\t".join([package.name, package.role, package.releases, ", ".join(sorted(hosts))])
        for package, hosts in of_family(cluster, family).items()
    ]
    return _HEADER.format(name=family.name, by_hand=BY_HAND) + "".join(
        f"{line}\n" for line in lines
    )


def _of_host(cluster: Cluster, host: HostSettings, family: Family) -> Iterator[Package]:
    for name in _ALL_HOSTS:
        yield Package(name, BY_HAND)
    service = host.settings["host_time_service"]
    time_package = family.time_service["package"] if service is None else service
    if time_package:
        yield Package(time_package, "host")
    if host.name in cluster.firewalls:
        yield Package(firewall.PACKAGE, "host")
    if cluster.services(host.name):
        yield from _java(host, family)


def _java(host: HostSettings, family: Family) -> Iterator[Package]:
    """Yield the package of Java; the release's own one differs between releases."""
    package = host.settings["java_package"]
    if package:
        yield Package(package, "java")
    elif not host.settings["java_home"]:
        for version in sorted({*family.java_releases.values()}):
            releases = [name for name, of in family.java_releases.items() if of == version]
            yield Package(family.package_of_java(version), "java", ", ".join(sorted(releases)))


def _of_services(cluster: Cluster, host: str, family: Family) -> Iterator[Package]:
    for name, part in cluster.deployed(host).items():
        if isinstance(part, Packaged):
            for program in part.own_programs:
                yield Package(family.monitoring[program]["package"], name)
    worker = cluster.connect.get(host)
    if worker and worker.is_secured:
        yield Package("openssl", BY_HAND)
    # The role that runs it is for one family alone.
    if host in cluster.databases and family.package_manager == "apt":
        yield Package("postgresql", "postgresql")
