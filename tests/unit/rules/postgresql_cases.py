"""Wrong inventories and legal variations: what operators write about the lab's database."""

from __future__ import annotations

from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal

SOURCE = "io.debezium.connector.postgresql.PostgresConnector"


def database(**settings: Any) -> Change:
    """Put a database beside a worker, with some settings."""

    def change(draft: Draft) -> None:
        draft.database().variable("postgresql_config", settings)

    return change


def capturing(host: str = "k1", **settings: Any) -> Change:
    """Let a connector capture tables of a database at `host`; that of the inventory is at k1."""

    def change(draft: Draft) -> None:
        config = {
            "connector.class": SOURCE,
            "database.hostname": host,
            "database.dbname": "flights",
        }
        connectors = [{"name": "planes", "kafka_user": "planes", "config": config}]
        draft.database().variable("connect_connectors", connectors)
        draft.variable("postgresql_config", settings)

    return change


REFUSED: list[Case] = [
    (
        "postgresql-hosts",
        "two",
        lambda d: d.database("k1", "k2"),
        ("k1 and k2",),
    ),
    *(
        (
            "postgresql-database-name",
            repr(name),
            lambda d, name=name: d.database().variable("postgresql_database", name),
            (repr(name),),
        )
        for name in ("Flights", "2013", "flights'; DROP", "a" * 64)
    ),
    (
        "postgresql-address",
        "with a port",
        lambda d: d.database().variable("postgresql_host", "db1:5432"),
        ("'db1:5432'", "postgresql_host"),
    ),
    (
        "postgresql-owned-key",
        "a file",
        database(hba_file="/etc/hba.conf"),
        ("hba_file", "postgresql_config[hba_file]"),
    ),
    ("postgresql-owned-key", "the port", database(port=5433), ("port", "postgresql_port")),
    (
        "postgresql-wal-level",
        "replica",
        capturing(wal_level="replica"),
        ("planes", "wal_level is replica", "wal_level: logical"),
    ),
    (
        "missing-partner-group",
        "a database without Kafka Connect",
        lambda d: d.database().drop_group("kafka_connect"),
        ("postgresql", "kafka_connect"),
    ),
    (
        "port-conflict",
        "of the database",
        lambda d: d.database().variable("postgresql_port", 8083),
        ("postgresql_port", "8083"),
    ),
]
LEGAL: list[Legal] = [
    ("postgresql-hosts", "one", database()),
    ("postgresql-database-name", "another", database()),
    (
        "postgresql-address",
        "a name",
        lambda d: d.database().variable("postgresql_host", "db1.example.org"),
    ),
    ("postgresql-owned-key", "a key of its own", database(shared_buffers="64MB")),
    ("postgresql-wal-level", "nobody captures", database(wal_level="replica")),
    ("postgresql-wal-level", "another server", capturing("db1", wal_level="replica")),
    ("postgresql-wal-level", "as it is", capturing()),
]
