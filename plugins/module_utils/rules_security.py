"""The rules about who may do what."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Inventory,
    mapping,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import place

_PRINCIPAL_PER_COMMA = ",User:"


@rule(
    "super-users-missing",
    when="`authorizer.class.name` is set and `super.users` is not",
    why="Nobody could grant the first permission, and brokers could not talk to each other.",
    remedy="Set `super.users` to the principals of the brokers and of an administrator.",
)
def super_users_missing(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an authorizer that lets nobody in."""
    for host in inventory.kafka_hosts():
        config = mapping(host.kafka.get("config"))
        if config.get("authorizer.class.name") and not config.get("super.users"):
            where = place(host, "authorizer.class.name")
            fix = "Set super.users: User:admin;User:broker for example."
            yield Finding(where, "There is an authorizer and no super user.", fix, (host.name,))


@rule(
    "super-users-commas",
    when="the principals in `super.users` are separated by commas",
    why="The separator is ';', since a comma is a part of a certificate's name: Kafka would see "
    "one principal.",
    remedy="Separate them by semicolons.",
)
def super_users_commas(inventory: Inventory) -> Iterator[Finding]:
    """Refuse principals that Kafka would take for one; a YAML list is joined by commas too."""
    for host in inventory.kafka_hosts():
        written = mapping(host.kafka.get("config")).get("super.users")
        parts = [str(part) for part in written] if isinstance(written, list | tuple) else [written]
        text = ",".join(str(part).replace(" ", "") for part in parts)
        if _PRINCIPAL_PER_COMMA in text:
            what = f"super.users {text} is one principal: the separator is ';'."
            fix = f"Set super.users: {text.replace(_PRINCIPAL_PER_COMMA, ';User:')}."
            yield Finding(place(host, "super.users"), what, fix, (host.name,))
