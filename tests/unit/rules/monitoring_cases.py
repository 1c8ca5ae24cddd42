"""Wrong inventories and legal variations: what operators write about monitoring."""

from __future__ import annotations

from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal

HOOK = {"name": "hook", "webhook_configs": [{"url": "http://127.0.0.1:9/"}]}


def watched(**variables: Any) -> Change:
    """Put Prometheus on a host of its own, with variables of all hosts."""

    def change(draft: Draft) -> None:
        draft.monitoring()
        hosts = tuple(draft.groups["all"])
        for name, value in variables.items():
            draft.variable(name, value, on=hosts)

    return change


REFUSED: list[Case] = [
    (
        "monitoring-address",
        "with a port",
        lambda d: d.monitoring().variable("monitoring_host", "m1:9090", on=("m1",)),
        ("'m1:9090'", "monitoring_host"),
    ),
    (
        "monitoring-address",
        "of exporters",
        lambda d: d.monitoring().variable("metrics_host", "k1:9", on=("k1",)),
        ("'k1:9'", "metrics_host"),
    ),
    (
        "monitoring-security-differs",
        "one host is closed",
        lambda d: d.monitoring().variable("metrics_security", "standard", on=("k1",)),
        ("metrics_security", "k1"),
    ),
    *(
        ("monitoring-duration", name, watched(monitoring_scrape_interval=name), (name,))
        for name in ("15", "0s", "15 s", "often")
    ),
    (
        "monitoring-duration",
        "the retention",
        watched(monitoring_retention="15 days"),
        ("'15 days'", "monitoring_retention"),
    ),
    *(
        ("monitoring-scrape-interval", name, watched(monitoring_scrape_interval=name), (name,))
        for name in ("31s", "1m", "1h30s")
    ),
    ("monitoring-size", "no unit", watched(monitoring_retention_size="20"), ("'20'", "20GB")),
    (
        "monitoring-receiver-name",
        "none",
        watched(monitoring_receivers=[{"webhook_configs": []}]),
        ("Entry 1", "monitoring_receivers"),
    ),
    (
        "monitoring-receiver-name",
        "twice",
        watched(monitoring_receivers=[HOOK, HOOK]),
        ("1 and 2", "hook"),
    ),
    (
        "monitoring-unknown-receiver",
        "in a route of a route",
        watched(
            monitoring_receivers=[HOOK],
            monitoring_routes=[{"receiver": "hook", "routes": [{"receiver": "hoook"}]}],
        ),
        ("hoook", "there are hook", "monitoring_routes"),
    ),
    (
        "monitoring-unknown-receiver",
        "there is none",
        watched(monitoring_route={"receiver": "hook"}),
        ("hook", "monitoring_receivers is empty", "monitoring_route[receiver]"),
    ),
    (
        "metrics-cluster-name",
        "a blank",
        lambda d: d.variable("metrics_enabled", True).variable("metrics_cluster", "my cluster"),
        ("'my cluster'", "metrics_cluster"),
    ),
    (
        "metrics-cluster-name",
        "two names",
        lambda d: (
            d.variable("metrics_enabled", True)
            .variable("metrics_cluster", "a", on=("k1",))
            .variable("metrics_cluster", "b", on=("k2", "k3"))
        ),
        ("metrics_cluster", "k1"),
    ),
    (
        "metrics-disabled",
        "with a group that collects metrics",
        lambda d: d.monitoring().variable("metrics_enabled", False, on=("k2",)),
        ("metrics_enabled", "k2", "monitoring"),
    ),
    (
        "metrics-site-port",
        "a port of Kafka",
        lambda d: (
            d.variable("metrics_enabled", True)
            .variable("metrics_node_exporter", "site")
            .variable("metrics_node_port", 9092)
        ),
        ("9092", "metrics_node_port", "k1"),
    ),
    (
        "open-to-everybody",
        "Prometheus",
        lambda d: watched(metrics_security="standard")(d) or d.reached_at("m1", "8.8.8.8"),
        ("Prometheus and Alertmanager is open", "8.8.8.8", "monitoring_security: standard"),
    ),
    (
        "port-conflict",
        "of Alertmanager and a controller",
        lambda d: d.monitoring("k1"),
        ("monitoring_alertmanager_port", "9093"),
    ),
]
LEGAL: list[Legal] = [
    (
        "metrics-cluster-name",
        "one name",
        lambda d: d.variable("metrics_enabled", True).variable("metrics_cluster", "kafka-prod.1"),
    ),
    ("metrics-disabled", "without such a group", lambda d: d.variable("metrics_enabled", False)),
    (
        "metrics-site-port",
        "a port of its own",
        lambda d: d.variable("metrics_enabled", True).variable("metrics_node_exporter", "site"),
    ),
    ("monitoring-address", "a name", watched(monitoring_host="watch.example.org")),
    ("monitoring-security-differs", "all are closed", watched(metrics_security="standard")),
    ("monitoring-duration", "in parts", watched(monitoring_retention="1d12h")),
    ("monitoring-scrape-interval", "30 s", watched(monitoring_scrape_interval="30s")),
    ("monitoring-size", "in GB", watched(monitoring_retention_size="20GB")),
    ("monitoring-receiver-name", "one", watched(monitoring_receivers=[HOOK])),
    (
        "monitoring-unknown-receiver",
        "a known one",
        watched(monitoring_receivers=[HOOK], monitoring_routes=[{"receiver": "hook"}]),
    ),
    ("monitoring-unknown-receiver", "nobody is notified", watched()),
]
