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
    """What a host accepts: `callers` is port -> who connects, `networks` who -> from where.

    All that is not in `callers` is left alone. Hosts of the inventory may connect to every port:
    they are each other's clients, and look after each other.
    """

    callers: Mapping[int, frozenset[str]]
    networks: Mapping[str, Sequence[Network]]

    def accepts(self, who: str, address: str) -> bool:
        """Return whether an address is one of those from which somebody connects."""
        found = ipaddress.ip_address(address)
        return any(found in one for one in self.networks[who] if one.version == found.version)

    def admits_everybody(self, port: int) -> bool:
        """Return whether every address may connect to a port, as to any that has no rule."""
        callers = self.callers.get(port)
        networks = (one for who in callers or () for one in self.networks.get(who, ()))
        return callers is None or any(one.prefixlen == 0 for one in networks)

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
            (who, version): [str(one) for one in found if one.version == version]
            for who, found in self.networks.items()
            for version in (4, 6)
        }
        ports = {
            who: sorted(port for port, found in self.callers.items() if who in found)
            for who in (CLIENTS, ADMINS)
        }
        return files.render("firewall.nft.j2", sets=sets, ports=ports, every=sorted(self.callers))


def of_host(
    settings: Mapping[str, Any], listening: Iterable[Listening], nodes: Iterable[str]
) -> Firewall:
    """Return the firewall of a host by its variables, what listens there and the nodes' addresses.

    A port that is any free one cannot be governed.
    """
    callers: dict[int, frozenset[str]] = {}
    for one in listening:
        if port := integer(one.port):
            callers[port] = callers.get(port, frozenset()) | {*one.callers}
    given = {who: sequence(settings[variable]) for who, variable in NETWORKS.items()}
    given[NODES] += nodes
    return Firewall(callers, {who: _collapsed(found) for who, found in given.items()})


def network(text: object) -> Network | None:
    """Return an address or a network (CIDR), None for anything else."""
    try:
        return ipaddress.ip_network(str(text))
    except ValueError:
        return None


def _collapsed(texts: Iterable[object]) -> list[Network]:
    """Return networks in order, none within another: nftables refuses those in a set."""
    found = [one for text in texts if (one := network(text))]
    version_4 = [one for one in found if isinstance(one, ipaddress.IPv4Network)]
    version_6 = [one for one in found if isinstance(one, ipaddress.IPv6Network)]
    return [*ipaddress.collapse_addresses(version_4), *ipaddress.collapse_addresses(version_6)]
