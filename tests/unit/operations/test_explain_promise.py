"""What explain.yml promises of a change is what site.yml then does on each host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host import files, restart
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.configs import Setting
from ansible_collections.millrace.streaming.plugins.module_utils.operations import dynamic_config
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import cluster as model
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_service
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.module_options import (
    of_module,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.explain import explain

from tests.unit.cluster.inventories import INVENTORIES, read
from tests.unit.module_runner import OWN

CHANGES: Mapping[str, Any] = {
    # cluster-wide and per-broker, of which listeners, keys and secrets are left to a restart
    "num.io.threads": 11,
    "max.connections": 4321,
    "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384",
    # read-only, once with the value that is Kafka's default
    "queued.max.requests": 333,
    "num.partitions": 1,
    # of controllers
    "controller.quorum.election.timeout.ms": 1777,
    # in no table
    "rsm.config.bucket": "logs",
    # already so, where the profile sets it
    "compression.type": "producer",
}


def changed(cluster: Cluster, key: str) -> Cluster:
    """Resolve the inventory with one more key in kafka_config, as an operator writes it."""
    hosts = {}
    for name, host in cluster.inventory.hosts.items():
        config = {**(host.variables.get("kafka_config") or {}), key: CHANGES[key]}
        hosts[name] = replace(host, variables={**host.variables, "kafka_config": config})
    return model.resolve(replace(cluster.inventory, hosts=hosts))


class Host:
    """A host in a directory; its node runs with the files that are there at first."""

    def __init__(self, root: Path, cluster: Cluster, name: str) -> None:
        """Write the files."""
        self.root, self.name = root, name
        self.mark = root / "run" / "restart-pending"
        self.mark.parent.mkdir(parents=True)
        files.make(self._changes(cluster))
        self.started_with = self._properties(cluster)

    def deploy(self, cluster: Cluster, key: str) -> str:
        """Do what site.yml does; return what becomes of the running node."""
        restart.make(self._changes(cluster), [self.mark], None, {})
        if self.mark.exists():
            return "restart"
        node = cluster.kafka[self.name]
        if not node.is_broker:
            return "nothing"
        options = of_module("kafka_dynamic_config", cluster, self.name)
        plan = dynamic_config.plan(options["keys"], self._properties(cluster), self._broker(node))
        return "dynamic" if key in plan.keys else "nothing"

    def _changes(self, cluster: Cluster) -> list[files.Change]:
        state = of_service(cluster, self.name, "kafka")["files"]
        desired = {f"{self.root}{path}": {**entry, **OWN} for path, entry in state.items()}
        for path in desired:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        entries = files.entries_of(desired)
        return files.plan(entries, files.Host(entries).read)

    def _properties(self, cluster: Cluster) -> dict[str, str]:
        path = of_module("kafka_dynamic_config", cluster, self.name)["path"]
        return parse_properties(Path(f"{self.root}{path}").read_text())

    def _broker(self, node: Any) -> dict[str, Setting]:
        """Return the keys as a broker has them that was started with the first files."""
        settings = {}
        for key in CHANGES:
            entry = node.table.get(key, {})
            static, default = self.started_with.get(key), entry.get("default")
            value = default if static is None else static
            settings[key] = Setting(entry.get("type") or "", value, None, value, static, default)
        return settings


def unlike(cluster: Cluster) -> list[str]:
    """Return a host of each kind: a broker, a controller, one that is both."""
    return list({node.roles: name for name, node in cluster.kafka.items()}.values())


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_explain_promises_what_site_does(inventory: str, tmp_path: Path) -> None:
    cluster = read(inventory, tmp_path)
    promised = explain(cluster, changes=CHANGES)["hosts"]
    for key in CHANGES:
        after = changed(cluster, key)
        for name in unlike(cluster):
            effect = promised[name]["changes"][key]
            if effect["kind"] != "refused":
                done = Host(tmp_path / key / name, cluster, name).deploy(after, key)
                assert (name, key, done) == (name, key, effect["kind"])
    if cluster.kafka:
        kinds = {
            key: {host["changes"][key]["kind"] for host in promised.values()} for key in CHANGES
        }
        assert "dynamic" in kinds["num.io.threads"]
        assert kinds["queued.max.requests"] == {"restart"}
        alone = [name for name, node in cluster.kafka.items() if not node.is_broker]
        assert {promised[name]["changes"]["num.io.threads"]["kind"] for name in alone} <= {
            "restart"
        }
