"""The rules about inventories and hosts, by subject.

A new rule is one function with `@rule`, `@host_rule` or `@hosts_rule` in the module of its subject,
an entry of docs/errors.md, and in tests/unit/rules/ a case that it refuses and one that it lets
pass.
"""

from __future__ import annotations

from importlib import import_module

from .engine import REGISTERED, Rule

# From what the inventory is to what a property is: the order of the problems.
_SUBJECTS = (
    *("groups", "connection", "files", "variables", "versions", "policy", "services"),
    *("jvm", "system"),
    *("firewall", "directories", "disks", "storage", "nodes", "quorum", "listeners"),
    *("stores", "certificates", "replication", "keys", "contradictions"),
    *("security", "principals", "clear_text", "sasl", "users", "protection"),
    *("zookeeper", "connect", "connectors", "mirrors", "schema_registry", "postgresql"),
    *("hdfs", "spark", "spark_jobs", "monitoring", "lag_exporter", "console"),
)
_NAMES = [import_module(f".{one}", __name__).__name__ for one in _SUBJECTS]
RULES: tuple[Rule, ...] = tuple(one for name in _NAMES for one in REGISTERED if one.module == name)
