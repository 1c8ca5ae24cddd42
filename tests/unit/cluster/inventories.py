"""The inventories of this repository as models, and what they write on hosts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_service
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)

from tests.support.lab.topology import ROOT
from tests.unit.cluster.small import with_secrets

INVENTORIES = sorted(path.name for path in (ROOT / "inventories").iterdir() if path.is_dir())


def read(name: str, folder: Path) -> Cluster:
    """Resolve a copy of an inventory: a lookup may write a secret beside it.

    What Millrace makes, certificates and passwords, stands there by its name.
    """
    inventory = shutil.copytree(
        ROOT / "inventories" / name, folder / name, ignore=shutil.ignore_patterns(".secrets")
    )
    return with_secrets(resolve(from_directory(inventory)))


def all_entries(cluster: Cluster, host: str) -> dict[str, Any]:
    """Return what Millrace writes on a host, path -> entry."""
    services = ["host", *cluster.deployed(host)]
    states = [of_service(cluster, host, service)["files"] for service in services]
    return {path: entry for files in states for path, entry in files.items()}
