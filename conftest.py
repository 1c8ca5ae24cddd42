"""Options of every test run, and the fixtures of the tests of a cluster."""

from __future__ import annotations

import pytest
from ansible.plugins.loader import init_plugin_loader

# Before the first import of the collection: Ansible takes no package that Python has found itself.
init_plugin_loader()

pytest_plugins = [
    "tests.support.services.cluster",
    "tests.support.services.connect",
    "tests.support.services.registry",
    "tests.support.services.monitoring",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Return which cluster, where the facts go, and how much of the flights was published."""
    parser.addoption("--inventory", help="inventory of the cluster that is tested")
    parser.addoption("--second", help="inventory of a cluster that follows that one")
    parser.addoption("--facts", help="JSON file for what the cluster tests measured")
    parser.addoption("--flights-topic", default="flights", help="base name of the flights topics")
    parser.addoption("--flights-corrupt", type=int, default=0, help="records damaged on purpose")
    parser.addoption("--flights-limit", type=int, help="records published; default: all")
