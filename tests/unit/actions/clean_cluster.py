"""Runs of Ansible on an inventory of three nodes that no rule refuses."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from ansible.utils.display import Display
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import FILE

from tests.unit.in_process import AnsibleRun

NODES: dict[str, dict[str, Any]] = {
    f"k{number}": {"ansible_host": f"192.0.2.{number}", "kafka_node_id": number}
    for number in (1, 2, 3)
}
CLEAN: dict[str, Any] = {"kafka_security": "open", "host_memory_mb": 4096}


def written(place: Path, hosts: dict[str, dict[str, Any]], variables: dict[str, Any]) -> Path:
    """Write combined nodes, and a host of no group for each that is no `k...`."""
    nodes = dict.fromkeys(name for name in hosts if name.startswith("k"))
    groups: dict[str, Any] = {
        name: {"hosts": nodes} for name in ("kafka_controllers", "kafka_brokers")
    }
    if len(nodes) < len(hosts):
        groups["spark_history"] = {"hosts": {}}
    path = place / "inventory"
    path.mkdir()
    document = {"all": {"hosts": hosts, "children": groups, "vars": variables}}
    (path / "hosts.yml").write_text(yaml.safe_dump(document))
    return path


def clean(place: Path, **variables: Any) -> AnsibleRun:
    return AnsibleRun(written(place, NODES, {**CLEAN, **variables}))


def run_checks(ansible: AnsibleRun, **options: Any) -> dict[str, Any]:
    """Return the result, as with -v with all problems, and what the task showed as `shown`."""
    output = io.StringIO()
    display = Display()
    with patch.object(display, "verbosity", 1), contextlib.redirect_stdout(output):
        result = ansible.task("cluster", "k1", **options)
    return {**result, "shown": output.getvalue()}


def secret_files(ansible: AnsibleRun) -> dict[str, str]:
    """Return the content of each secret beside an inventory."""
    folder = ansible.inventory / ".secrets"
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", FILE)
    }
