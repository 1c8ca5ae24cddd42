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
        for entry in map(str, sequence(settings.settings[variable])):
            if network(entry) is None:
                problem = f"{entry} is neither an address nor a network."
                yield Finding(problem, f"Write {_meant(entry)}.", variable)


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
            problem = f"{variable} is set, and {_VARIABLE} is none."
            yield Finding(problem, f"Set {_VARIABLE}: {NFTABLES}, or delete {variable}.", variable)


@rule("firewall-address", where="ansible_host")
def _firewall_address(cluster: Cluster) -> Findings:
    """A firewall knows addresses alone, and would let nothing of such a host in."""
    for name in cluster.hosts:
        peers = [peer for peer in cluster.firewalls if peer != name]
        configured = all(cluster.hosts[peer].settings[_NODES] for peer in peers)
        if not configured and not cluster.addresses(name):
            problem = f"The control node finds no address of {listing(cluster.names(name), 'or')}."
            fix = f"Set ansible_host to an address, or add the addresses of the host to {_NODES}."
            yield Finding(problem, fix, hosts=(name,))


@host_rule("firewall-refused", where=_VARIABLE)
def _firewall_refused(host: InspectedHost) -> Findings:
    """The rules would not be loaded, and the ports would stay open."""
    refused = host.inspection.network.refused_rules
    if refused:
        problem = f"nft cannot load the rules: {refused.rstrip('.')}."
        fix = f"Set {_VARIABLE}: none, or give the host a kernel with nf_tables"
        ending = "." if host.kernel_is_its_own else ", and the container the capability NET_ADMIN."
        yield Finding(problem, fix + ending)


@host_rule("firewall-source", where=_NODES)
def _firewall_source(host: InspectedHost) -> Findings:
    """The firewalls of the other hosts would drop its connections."""
    foreign = {
        source
        for peer, wall in host.cluster.firewalls.items()
        if peer != host.name
        for name in host.cluster.names(peer)
        for source in host.inspection.network.sources.get(name, ())
        if not wall.accepts(NODES, source)
    }
    if foreign:
        sources = listing(sorted(foreign))
        problem = (
            f"It connects to the others from {sources}, which is not among its addresses in the "
        )
        problem += "inventory."
        yield Finding(problem, f"Add {sources} to {_NODES}.")
