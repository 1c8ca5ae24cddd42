"""Wrong inventories and legal variations: what operators write about the console."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Draft, Legal

HASH = f"scrypt:16384:8:5:{'A' * 22}==:{'B' * 43}="


def with_users(draft: Draft, *users: tuple[str, str]) -> Draft:
    """Watch the cluster from a host of its own, with users of the console."""
    entries = [{"name": name, "hash": password_hash} for name, password_hash in users]
    return draft.monitoring().variable("console_users", entries, on=("m1",))


REFUSED: list[Case] = [
    (
        "console-user",
        "a password for a hash",
        lambda d: with_users(d, ("anna", "secret")),
        ("anna", "console_users"),
    ),
    (
        "console-user",
        "twice",
        lambda d: with_users(d, ("anna", HASH), ("anna", HASH)),
        ("anna 2 times",),
    ),
    (
        "variable-range",
        "no interval",
        lambda d: with_users(d).variable("console_interval", 0, on=("m1",)),
        ("console_interval",),
    ),
    (
        "port-conflict",
        "the port of Prometheus",
        lambda d: with_users(d).variable("console_port", 9090, on=("m1",)),
        ("console_port", "9090"),
    ),
]
LEGAL: list[Legal] = [
    ("console-user", "two users", lambda d: with_users(d, ("anna", HASH), ("berta", HASH))),
]
