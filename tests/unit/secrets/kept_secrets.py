"""A cluster with the secrets of a directory, and what that holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import FILE
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security

from tests.unit.cluster.small import kafka


def closed(directory: Path, brokers: int = 1, **variables: Any) -> Cluster:
    """Return a closed cluster with a controller of its own, and what its directory holds."""
    settings = {"kafka_security": security.STANDARD, **variables}
    deployment = kafka(brokers, 1, **settings)
    return resolve(replace(deployment.inventory, secrets=secrets.read(directory)))


def stored(directory: Path) -> dict[str, str]:
    """Return each secret file's content, without the generations of the directory."""
    return {
        str(path.relative_to(directory)): path.read_text()
        for path in directory.rglob("*")
        if path.is_file() and path.name not in (".lock", ".gitignore", FILE)
    }
