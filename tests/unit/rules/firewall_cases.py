"""Wrong inventories and legal variations: the firewall."""

from __future__ import annotations

from tests.unit.rules.draft import NODES, Case, Change, Draft, Legal

ADDRESSES = {name: f"10.0.0.{number}" for number, name in enumerate(NODES, 1)}


def walled(draft: Draft) -> Draft:
    """Give the hosts a firewall, and addresses."""
    for name, address in ADDRESSES.items():
        draft.reached_at(name, address)
    return draft.variable("host_firewall", "nftables")


def networks(variable: str, *values: str) -> Change:
    return lambda d: walled(d).variable(variable, [*values])


def nameless(draft: Draft, name: str) -> Draft:
    """Leave a host with a name that the control node does not know."""
    walled(draft)
    del draft.connections[name]
    return draft


REFUSED: list[Case] = [
    *(
        (
            "firewall-network",
            network,
            networks(f"host_firewall_{role}", network),
            (network, *phrases),
        )
        for role, network, phrases in (
            ("clients", "apps.example.org", ("host_firewall_clients", "such as")),
            ("admins", "10.1.2.3/16", ("10.1.0.0/16", "10.1.2.3 alone")),
            ("nodes", "2001:db8::1/64", ("2001:db8::/64",)),
            ("nodes", "10.1", ("such as",)),
        )
    ),
    *(
        (
            "firewall-off",
            role,
            lambda d, role=role: d.variable(f"host_firewall_{role}", ["10.1.0.0/16"]),
            (f"host_firewall_{role} is set", "host_firewall: nftables"),
        )
        for role in ("nodes", "clients", "admins")
    ),
    (
        "firewall-address",
        "a name alone",
        lambda d: nameless(d, "k2"),
        ("k2", "ansible_host", "host_firewall_nodes"),
    ),
]

LEGAL: list[Legal] = [
    *(
        ("firewall-network", network, networks("host_firewall_clients", network))
        for network in ("10.1.0.0/16", "10.1.2.3", "::/0", "2001:db8::1")
    ),
    ("firewall-network", "nobody", networks("host_firewall_clients")),
    ("firewall-off", "no firewall, and no networks", lambda _: None),
    ("firewall-off", "a firewall", networks("host_firewall_admins", "10.1.0.0/16")),
    (
        "firewall-off",
        "the defaults, written",
        lambda d: d.variable("host_firewall_clients", ["0.0.0.0/0", "::/0"]),
    ),
    ("firewall-address", "addresses", lambda d: walled(d)),
    (
        "firewall-address",
        "a service's address",
        lambda d: nameless(d, "k2").variable("kafka_advertised_host", "10.0.0.2", on=("k2",)),
    ),
    (
        "firewall-address",
        "a network of nodes",
        lambda d: nameless(d, "k2").variable("host_firewall_nodes", ["10.0.0.0/24"]),
    ),
]
