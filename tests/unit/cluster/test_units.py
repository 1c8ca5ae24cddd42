"""How far systemd confines the services of every inventory, by systemd's own measure.

The same is asked on running hosts by tests/cluster/test_hosts.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import removal
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import firewall
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import Service
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.packaged import (
    Packaged,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql import (
    model as postgresql,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark import blocks
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.jobs import Job

from tests.support.lab.topology import ROOT
from tests.unit.cluster.inventories import INVENTORIES, all_entries, read
from tests.unit.cluster.systemd_analyze import exposures, needs_systemd

MOST_EXPOSED = 3.0
"""Of 10, which is a service that is not confined at all."""


def unit_files(cluster: Cluster, job: Job) -> dict[str, str]:
    """Return every different service of an inventory, `host/unit` to its text; one per text."""
    names_by_text: dict[str, str] = {}
    for host in cluster.hosts:
        entries = all_entries(cluster, host)
        if host in cluster.spark:
            entries |= cluster.spark[host].drivers.files(job)
        for path, entry in entries.items():
            if path.endswith(".service") and "content" in entry:
                names_by_text.setdefault(entry["content"], f"{host}/{Path(path).name}")
    return {name: text for text, name in names_by_text.items()}


@pytest.mark.parametrize("name", INVENTORIES)
def test_a_removal_knows_every_unit_by_how_its_file_begins(name: str, tmp_path: Path) -> None:
    job = Job("flights", "flights.stream", str(ROOT / "spark/flights"), schedule="daily")
    cluster = read(name, tmp_path)
    texts: dict[str, str] = {}
    for host in cluster.hosts:
        entries = all_entries(cluster, host)
        if host in cluster.spark:
            entries |= cluster.spark[host].drivers.files(job)
        units = {
            path: entry for path, entry in entries.items() if Path(path).parent == removal.UNITS
        }
        texts |= {path: entry["content"] for path, entry in units.items() if "content" in entry}
    assert texts
    assert not [path for path, text in texts.items() if not text.startswith(removal.WRITTEN)]


@needs_systemd
@pytest.mark.parametrize("name", INVENTORIES)
def test_services_are_confined_and_systemd_knows_every_setting(name: str, tmp_path: Path) -> None:
    job = Job("flights", "flights.stream", str(ROOT / "spark/flights"))
    cluster = read(name, tmp_path)
    texts = unit_files(cluster, job)
    deployed = [service for host in cluster.hosts for service in cluster.deployed(host).values()]
    services = [service for service in deployed if isinstance(service, (Service, Packaged))]
    jobs = {job.unit, blocks.REMOVAL} if cluster.spark else set()
    jobs |= {firewall.NAME} if cluster.firewalls else set()
    jobs |= {postgresql.UNIT} if cluster.databases else set()
    assert {Path(name).stem for name in texts} == {
        unit for service in services for unit in service.units
    } | jobs
    confined = {name: text for name, text in texts.items() if firewall.NAME not in name}
    ratings, messages = exposures(tmp_path, confined)
    assert not messages
    assert not {name: exposure for name, exposure in ratings.items() if exposure > MOST_EXPOSED}


@needs_systemd
def test_a_unit_that_is_not_confined_is_found(tmp_path: Path) -> None:
    text = (ROOT / "tests/unit/golden/reference/etc/systemd/system/zookeeper.service").read_text()
    open_text = re.sub(r"(?m)^(Protect|Private|Restrict|System|Capability|NoNew).*\n", "", text)
    wrong = text.replace("ProtectClock=", "ProtectClocks=")
    ratings, messages = exposures(tmp_path, {"z1/a.service": open_text, "z1/b.service": wrong})
    assert ratings["z1/a.service"] > MOST_EXPOSED >= ratings["z1/b.service"]
    assert "ProtectClocks" in messages
