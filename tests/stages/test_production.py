"""`inventories/vms_kafka` on containers: eleven hosts, the CA of a site, firewalls, three teams."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab import production, tls
from tests.support.lab.lab import leftovers, on_host, succeed
from tests.support.lab.topology import ROOT, describe
from tests.support.recap import changed

pytestmark = [
    pytest.mark.usefixtures("fetched_ahead"),
    pytest.mark.skipif(not FULL, reason=PART_OF_FULL),
]
NAME, TOPOLOGY = "test-production", "vms_kafka"
INVENTORY = ROOT / f".lab/{NAME}/inventory"
CLIENTS = 9095


@dataclass(frozen=True)
class Site:
    """A lab whose containers are the machines of the example."""

    authority: Path
    """Certificate of the site's CA."""
    env: dict[str, str]

    def run(self, *arguments: str, seconds: float) -> str:
        """Run a playbook, which has to succeed; its output."""
        return succeed("run", *arguments, seconds=seconds, env=self.env)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Fresh hosts, and a CA; nothing is deployed yet."""
    folder = tmp_path_factory.mktemp("authority")
    authority = tls.authority(folder)
    key = (folder / "ca.key").read_text()
    site = Site(authority, {"LAB_NAME": NAME, "LAB_TOPOLOGY": TOPOLOGY, production.KEY: key})
    succeed("down", seconds=120, env=site.env)
    try:
        example = from_directory(ROOT / "inventories" / TOPOLOGY)
        source = production.on_containers(example, authority.read_text())
        INVENTORY.mkdir(parents=True)
        (INVENTORY / "lab.yml").write_text(yaml.safe_dump(source))
        site.run("validate", seconds=120)
        site.run("../molecule/shared/create", seconds=900)
        yield site
    finally:
        succeed("down", seconds=120, env=site.env)
    assert not leftovers(NAME)


def test_the_example_is_deployed(site: Site) -> None:
    """As each scenario is: a check of fresh hosts, and a second run that changes nothing."""
    site.run("site", "--check", seconds=900)
    site.run("site", seconds=2400)
    assert changed(site.run("site", seconds=900)) == 0
    site.run("health", seconds=300)


def test_its_topics_and_grants_are_applied(site: Site) -> None:
    assert "orders.paid" in site.run("resources", "--diff", seconds=300)
    assert changed(site.run("resources", seconds=300)) == 0


def test_it_serves(site: Site) -> None:
    output = site.run("smoke", seconds=1800)
    passed = re.search(r"=+ (\d+) passed", output)
    assert passed, output[-3000:]
    assert int(passed[1]) >= 9


def test_clients_see_certificates_of_the_site(site: Site) -> None:
    known = describe(INVENTORY)
    context = ssl.create_default_context(cafile=str(site.authority))
    brokers = known.group("kafka_brokers")
    assert len(brokers) == 5
    for address in (known.addresses[host] for host in brokers):
        with (
            socket.create_connection((address, CLIENTS), timeout=10) as connection,
            context.wrap_socket(connection, server_hostname=address) as encrypted,
        ):
            assert encrypted.getpeercert()


def test_every_host_has_its_firewall(site: Site) -> None:
    for host in describe(INVENTORY).hosts:
        assert "millrace" in on_host(host, "nft list tables", site.env)
