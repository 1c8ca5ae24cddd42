"""Deployment of a closed cluster beside that of an open one, both by Millrace."""

from __future__ import annotations

from tests.bench.comparison import Measured, compare
from tests.bench.deploy import deployed
from tests.bench.lab import choose, playbook, three_nodes


def of(choice: str) -> Measured:
    """Deploy with a choice of `kafka_security`; the seconds until the first record."""
    choose(kafka_security=choice)
    return deployed(lambda _: playbook("playbooks/site.yml"))


def main(pairs: int) -> None:
    with three_nodes():
        compare("security", {"open": lambda: of("open"), "standard": lambda: of("standard")}, pairs)
