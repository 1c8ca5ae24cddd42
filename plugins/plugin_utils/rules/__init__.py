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
    ".groups",
    ".connection",
    ".files",
    ".variables",
    ".versions",
    ".policy",
    ".services",
    ".jvm",
    ".system",
    ".firewall",
    ".directories",
    ".disks",
    "..services.kafka.rules.storage",
    "..services.kafka.rules.nodes",
    "..services.kafka.rules.quorum",
    "..services.kafka.rules.listeners",
    "..services.kafka.rules.stores",
    "..services.kafka.rules.certificates",
    "..services.kafka.rules.replication",
    "..services.kafka.rules.keys",
    "..services.kafka.rules.contradictions",
    "..services.kafka.rules.security",
    "..services.kafka.rules.principals",
    ".clear_text",
    "..services.kafka.rules.sasl",
    "..services.kafka.rules.users",
    ".protection",
    "..services.zookeeper.rules",
    "..services.connect.rules.workers",
    "..services.connect.rules.connectors",
    "..services.connect.rules.mirrors",
    "..services.schema_registry.rules",
    "..services.postgresql.rules",
    "..services.hdfs.rules",
    "..services.spark.rules.hosts",
    "..services.spark.rules.jobs",
    "..services.monitoring.rules",
    "..services.lag_exporter.rules",
    "..services.console.rules",
)
_NAMES = [import_module(subject, __name__).__name__ for subject in _SUBJECTS]
RULES: tuple[Rule, ...] = tuple(one for name in _NAMES for one in REGISTERED if one.module == name)
