"""The firewall of a host: a table of nftables of its own, from what listens and who connects."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils.formats.values import integer, sequence
from . import files
from .files import Entry
from .service import ADMINS, CLIENTS, NODES, Listening

NFTABLES, PACKAGE = "nftables", "nftables"
DIRECTORY = "/etc/nftables.d"
FILE = f"{DIRECTORY}/millrace.nft"
NAME = "millrace-firewall"
UNIT = f"/etc/systemd/system/{NAME}.service"
# Who connects -> the variable with their networks.
NETWORKS: Mapping[str, str] = {
    NODES: "host_firewall_nodes",
    CLIENTS: "host_firewall_clients",
    ADMINS: "host_firewall_admins",
}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Firewall:
    """What a host accepts.

    Hosts of the inventory may connect to every port: they are each other's clients, and look after
    each other.
    """

    callers: Mapping[int, frozenset[str]]
    """Port -> who connects. All that is not in it is left alone."""
    networks: Mapping[str, Sequence[Network]]
    """Who connects -> from where."""

    def accepts(self, caller: str, address: str) -> bool:
        """Return whether an address is one of those from which somebody connects."""
        source = ipaddress.ip_address(address)
        return any(
            source in network
            for network in self.networks[caller]
            if network.version == source.version
        )

    def admits_everybody(self, port: int) -> bool:
        """Return whether every address may connect to a port, as to any that has no rule."""
        callers = self.callers.get(port)
        networks = (
            network for caller in callers or () for network in self.networks.get(caller, ())
        )
        return callers is None or any(network.prefixlen == 0 for network in networks)

    def files(self) -> dict[str, Entry]:
        """Return the rules, and the unit that loads them at each boot."""
        return {
            DIRECTORY: files.directory(),
            FILE: files.text(self.rules()),
            UNIT: files.text(files.render("firewall.service.j2", file=FILE)),
        }

    def rules(self) -> str:
        """Return the rules as nftables reads them, which replace the former ones at once."""
        sets = {
            (caller, version): [str(network) for network in networks if network.version == version]
            for caller, networks in self.networks.items()
            for version in (4, 6)
        }
        ports = {
            caller: sorted(port for port, callers in self.callers.items() if caller in callers)
            for caller in (CLIENTS, ADMINS)
        }
        return files.render("firewall.nft.j2", sets=sets, ports=ports, every=sorted(self.callers))


def of_host(
    settings: Mapping[str, Any], listening: Iterable[Listening], nodes: Iterable[str]
) -> Firewall:
    """Return the firewall of a host by its variables, what listens there and the nodes' addresses.

    A port that is any free one cannot be governed.
    """
    callers: dict[int, frozenset[str]] = {}
    for endpoint in listening:
        if port := integer(endpoint.port):
            callers[port] = callers.get(port, frozenset()) | {*endpoint.callers}
    sources = {caller: sequence(settings[variable]) for caller, variable in NETWORKS.items()}
    sources[NODES] += nodes
    return Firewall(callers, {caller: _collapsed(texts) for caller, texts in sources.items()})


def network(text: object) -> Network | None:
    """Return an address or a network (CIDR), None for anything else."""
    try:
        return ipaddress.ip_network(str(text))
    except ValueError:
        return None


def _collapsed(texts: Iterable[object]) -> list[Network]:
    """Return networks in order, none within another: nftables refuses those in a set."""
    networks = [parsed for text in texts if (parsed := network(text))]
    version_4 = [parsed for parsed in networks if isinstance(parsed, ipaddress.IPv4Network)]
    version_6 = [parsed for parsed in networks if isinstance(parsed, ipaddress.IPv6Network)]
    return [*ipaddress.collapse_addresses(version_4), *ipaddress.collapse_addresses(version_6)]
