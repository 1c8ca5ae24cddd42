"""Wrong inventories and legal variations: what operators write about the lag exporter."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Draft, Legal


def monitored(draft: Draft) -> Draft:
    """Watch the cluster from one of its hosts."""
    # An open listener of controllers has the port that Alertmanager has by default.
    draft.groups["monitoring"] = ["k1"]
    return draft.variable("monitoring_alertmanager_port", 9193)


def with_user(draft: Draft) -> Draft:
    """Give Kafka a user of the name that monitoring hosts have."""
    return draft.variable("kafka_users", [{"name": "monitoring"}])


REFUSED: list[Case] = [
    (
        "monitoring-name-taken",
        "an entry",
        lambda d: with_user(monitored(d).variable("kafka_security", "standard")),
        ("kafka_users", "monitoring"),
    ),
    (
        "lag-exporter-pattern",
        "a bracket",
        lambda d: monitored(d).variable("lag_exporter_groups", "orders-(.*"),
        ("orders-(.*", "lag_exporter_groups"),
    ),
    (
        "lag-exporter-pattern",
        "a pattern of a shell",
        lambda d: monitored(d).variable("lag_exporter_excluded_groups", "*"),
        ("'*'", "lag_exporter_excluded_groups"),
    ),
    (
        "variable-range",
        "no interval",
        lambda d: monitored(d).variable("lag_exporter_interval", 0),
        ("lag_exporter_interval",),
    ),
    (
        "port-conflict",
        "the port of a broker",
        lambda d: monitored(d).variable("lag_exporter_port", 9092),
        ("lag_exporter_port", "9092"),
    ),
]
LEGAL: list[Legal] = [
    (
        "monitoring-name-taken",
        "a cluster that is not watched",
        lambda d: with_user(d.variable("kafka_security", "standard")),
    ),
    (
        "lag-exporter-pattern",
        "alternatives",
        lambda d: monitored(d).variable("lag_exporter_groups", "orders-.*|flights"),
    ),
]
