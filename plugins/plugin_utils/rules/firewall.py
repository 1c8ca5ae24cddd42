"""The rules about the firewall of hosts."""

from __future__ import annotations

import ipaddress

from ...module_utils.formats.values import listing, sequence
from ..cluster.cluster import Cluster
from ..cluster.firewall import NETWORKS, NFTABLES, network
from ..cluster.host import HostSettings
from ..cluster.service import NODES
from ..cluster.variables import documented
from .engine import Finding, Findings, host_rule, rule
from .inspection import InspectedHost
from .shared import hosts

_VARIABLE, _NODES = "host_firewall", NETWORKS[NODES]


@rule("firewall-network", each=hosts)
def _firewall_network(settings: HostSettings) -> Findings:
    """A firewall compares addresses: it knows neither names, nor a network by one of its hosts."""
    for variable in NETWORKS.values():
        for one in map(str, sequence(settings.settings[variable])):
            if network(one) is None:
                what = f"{one} is neither an address nor a network."
                yield Finding(what, f"Write {_meant(one)}.", variable)


def _meant(text: str) -> str:
    """Return what somebody may have meant by a text that is no network."""
    try:
        return f"{ipaddress.ip_network(text, strict=False)}, or {text.partition('/')[0]} alone"
    except ValueError:
        return "an address, or a network such as 10.1.0.0/16"


@rule("firewall-off", each=hosts, severity="warning")
def _firewall_off(settings: HostSettings) -> Findings:
    """Without the firewall these networks are not compared, and everybody reaches every port."""
    if settings.settings[_VARIABLE] == NFTABLES:
        return
    for variable in NETWORKS.values():
        if settings.settings[variable] != documented()[variable].get("default"):
            what = f"{variable} is set, and {_VARIABLE} is none."
            yield Finding(what, f"Set {_VARIABLE}: {NFTABLES}, or delete {variable}.", variable)


@rule("firewall-address", where="ansible_host")
def _firewall_address(cluster: Cluster) -> Findings:
    """A firewall knows addresses alone, and would let nothing of such a host in."""
    for name in cluster.hosts:
        others = [other for other in cluster.firewalls if other != name]
        given = all(cluster.hosts[other].settings[_NODES] for other in others)
        if not given and not cluster.addresses(name):
            what = f"The control node finds no address of {listing(cluster.names(name), 'or')}."
            fix = f"Set ansible_host to an address, or add the addresses of the host to {_NODES}."
            yield Finding(what, fix, hosts=(name,))


@host_rule("firewall-refused", where=_VARIABLE)
def _firewall_refused(host: InspectedHost) -> Findings:
    """The rules would not be loaded, and the ports would stay open."""
    if host.found.refused_rules:
        what = f"nft cannot load the rules: {host.found.refused_rules.rstrip('.')}."
        fix = f"Set {_VARIABLE}: none, or give the host a kernel with nf_tables"
        more = "." if host.kernel_is_its_own else ", and the container the capability NET_ADMIN."
        yield Finding(what, fix + more)


@host_rule("firewall-source", where=_NODES)
def _firewall_source(host: InspectedHost) -> Findings:
    """The firewalls of the other hosts would drop its connections."""
    foreign = {
        source
        for other, wall in host.cluster.firewalls.items()
        if other != host.name
        for name in host.cluster.names(other)
        for source in host.found.sources.get(name, ())
        if not wall.accepts(NODES, source)
    }
    if foreign:
        found = listing(sorted(foreign))
        what = f"It connects to the others from {found}, which is not among its addresses in the "
        what += "inventory."
        yield Finding(what, f"Add {found} to {_NODES}.")
