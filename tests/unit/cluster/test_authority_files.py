"""Every file that holds a CA, on all hosts of all inventories: a change of the CA brings each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import ca_change
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import (
    authority_files,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.store import complete
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    CONFIG,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.logins import (
    KAFKA_AUTHORITY,
)

from tests.support.lab.topology import ROOT
from tests.unit.cluster import inventories

# Files that are read again without a restart of a service of site.yml, and by whom.
READ_AGAIN = {
    KAFKA_AUTHORITY: "jobs, which rotate_certificates.yml restarts, and sessions at their start",
    f"{CONFIG}/certificates/ca.pem": "Prometheus, whenever it connects after a change",
    f"{CONFIG}/certificates/web.pem": "Prometheus and Alertmanager, at each handshake",
}


def deployed(name: str, folder: Path) -> Cluster:
    """Return an inventory with real CAs and certificates."""
    cluster = inventories.read(name, folder)
    empty = Secrets(str(folder / "secrets"))
    made = complete(resolve(replace(cluster.inventory, secrets=empty)), None, store=True)
    return resolve(replace(cluster.inventory, secrets=made))


def bodies(cluster: Cluster) -> list[str]:
    """Return what only a file with the certificate of a CA holds: its first line."""
    authorities = ca_change.authorities(cluster.inventory.secrets)
    return [text.splitlines()[2] for text in authorities.values() if text]


def rendered(cluster: Cluster, host: str) -> Iterator[tuple[str, Any]]:
    """Yield all files of a host, those of jobs too, path and entry."""
    yield from inventories.all_entries(cluster, host).items()
    if host in cluster.spark:
        spark = cluster.spark[host]
        for job in spark.drivers.jobs_here:
            yield from spark.drivers.files(job).items()


@pytest.mark.parametrize("name", inventories.INVENTORIES)
def test_a_change_of_the_ca_brings_every_file_that_holds_one(name: str, tmp_path: Path) -> None:
    cluster = deployed(name, tmp_path)
    names, texts = [*ca_change.authorities(cluster.inventory.secrets)], bodies(cluster)
    number_of_files = 0
    for host in cluster.hosts:
        holding = {
            path: entry
            for path, entry in rendered(cluster, host)
            if any(text in str(entry.get("content", "")) for text in texts)
        }
        number_of_files += len(holding)
        assert holding == authority_files(cluster, host, names)
        of_site, jobs = inventories.all_entries(cluster, host), {}
        if host in cluster.spark:
            jobs = cluster.spark[host].drivers.authorities()
        assert holding.keys() <= of_site.keys() | jobs.keys(), "neither of two playbooks writes it"
        late = {path for path, entry in holding.items() if not entry.get("restart")}
        assert late <= READ_AGAIN.keys(), "who has read it is not restarted"
    assert bool(number_of_files) == bool(texts)


def test_the_playbook_brings_jobs_what_they_trust() -> None:
    """A job with a user of the registry reads a CA that site.yml does not write."""
    plays = yaml.safe_load((ROOT / "playbooks/rotate_certificates.yml").read_text())
    tasks = str([play.get("tasks") for play in plays])
    assert "{'product': 'spark', 'parts': ['authorities']}" in tasks
