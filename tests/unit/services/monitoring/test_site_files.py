"""What Prometheus and Grafana of the site get, and that Prometheus accepts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring import (
    site_files,
)

from apps.console.panels import views
from tests.support import promtool
from tests.unit.cluster.small import cluster, with_secrets

GROUPS = {
    "kafka_controllers": ["k1"],
    "kafka_brokers": ["k1", "k2"],
    "schema_registry": ["k2"],
}
IDS = {name: {"kafka_node_id": number} for number, name in enumerate(("k1", "k2"), start=1)}
DASHBOARDS = {f"{view.name}.json": "{}\n" for view in views()}


def deployed(**variables: Any) -> Cluster:
    settings = {
        "metrics_enabled": True,
        "metrics_cluster": "prod",
        "metrics_security": "standard",
        **variables,
    }
    return with_secrets(cluster(GROUPS, IDS, **settings))


def entries(deployment: Cluster, *, with_token: bool = False) -> dict[str, dict[str, Any]]:
    return site_files.entries(
        deployment,
        DASHBOARDS,
        grafana_dashboards="/srv/dashboards",
        grafana_prometheus="https://p:9090",
        with_token=with_token,
    )


def document(deployment: Cluster, path: str) -> Any:
    return yaml.safe_load(entries(deployment)[path]["content"])


def test_exporters_need_no_prometheus_of_millrace() -> None:
    deployment = deployed()
    assert not deployment.monitoring
    assert set(deployment.metrics) == {"k1", "k2"}
    assert "-javaagent" in deployment.kafka["k1"].files()["/etc/kafka/environment"]["content"]
    assert not deployment.missing_secrets("k1", "metrics")


def test_a_single_host_can_be_left_out() -> None:
    deployment = cluster(GROUPS, {**IDS, "k2": {"kafka_node_id": 2, "metrics_enabled": True}})
    assert set(deployment.metrics) == {"k2"}


def test_a_firewall_admits_the_prometheus_of_the_site() -> None:
    callers = {
        enabled: next(
            endpoint.callers
            for endpoint in deployment.listening("k1")
            if endpoint.name == "metrics_port"
        )
        for enabled, deployment in (
            (True, deployed()),
            (None, cluster({**GROUPS, "monitoring": ["m1"]}, IDS)),
        )
    }
    assert callers == {True: ("nodes", "admins"), None: ("nodes",)}


def test_a_node_exporter_of_the_site_is_asked_and_not_replaced() -> None:
    exporters = deployed(metrics_node_exporter="site", metrics_node_port=9191).metrics["k1"]
    assert exporters.modules["node"].port == 9191
    assert "metrics_node_port" not in exporters.ports
    assert exporters.units == ["millrace-exporter-exporter", "millrace-host-metrics"]
    assert not [path for path in exporters.files() if "node" in path]
    assert exporters.binaries == ["/usr/bin/prometheus-exporter-exporter"]
    masks, units = exporters.former_programs
    assert "/etc/systemd/system/prometheus-node-exporter.service" in masks["masks"]
    assert units["units"] == ["millrace-node-exporter"]
    assert "millrace-node-exporter" in exporters.removal["units"]


def test_without_a_node_exporter_nothing_asks_for_one() -> None:
    assert "node" not in deployed(metrics_node_exporter="none").metrics["k1"].modules
    assert deployed().metrics["k1"].former_programs == (
        {"state": "absent", "masks": []},
        {"state": "absent", "units": []},
    )


def test_each_module_of_each_host_is_a_target_with_its_labels() -> None:
    targets = document(deployed(), "targets/prod.yml")
    modules = {(target["labels"]["host"], target["labels"]["__param_module"]) for target in targets}
    assert modules == {
        (host, module)
        for host, exporters in deployed().metrics.items()
        for module in exporters.modules
    }
    assert targets[0] == {
        "targets": ["k1:9998"],
        "labels": {
            "job": "node",
            "cluster": "prod",
            "host": "k1",
            "role": "kafka_controllers,kafka_brokers",
            "__param_module": "node",
        },
    }


def test_exporters_are_asked_with_tls_and_token() -> None:
    (job,) = document(deployed(), "scrape-prod.yml")["scrape_configs"]
    assert job["scheme"] == "https"
    assert job["tls_config"] == {"ca_file": "ca-prod.pem", "min_version": "TLS12"}
    assert job["authorization"] == {"credentials_file": "token-prod"}
    (job,) = document(deployed(metrics_security="open"), "scrape-prod.yml")["scrape_configs"]
    assert job["scheme"] == "http"
    assert not {"tls_config", "authorization"} & job.keys()


def test_the_token_is_written_only_on_request_and_for_its_owner() -> None:
    token = deployed().metrics["k1"].token
    assert not [entry for entry in entries(deployed()).values() if token in entry["content"]]
    with_it = entries(deployed(), with_token=True)
    assert {path for path, entry in with_it.items() if token in entry["content"]} == {"token-prod"}
    assert with_it["token-prod"]["mode"] == "0600"
    assert with_it["token-prod"]["secret"]
    opened = entries(deployed(metrics_security="open"), with_token=True)
    assert not {"token-prod", "ca-prod.pem"} & opened.keys()


def test_alerts_lead_to_the_documentation_that_the_site_serves() -> None:
    groups = document(deployed(docs_url="https://docs.example.org"), "rules/prod-kafka.yml")
    rules = [rule for group in groups["groups"] for rule in group["rules"]]
    assert {rule["labels"]["cluster"] for rule in rules} == {"prod"}
    start = "https://docs.example.org/docs/operate/alerts.html#"
    assert all(rule["annotations"]["runbook_url"].startswith(start) for rule in rules)


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    (source,) = document(deployed(), "provisioning/datasources/millrace.yml")["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "https://p:9090")
    (provider,) = document(deployed(), "provisioning/dashboards/millrace.yml")["providers"]
    assert provider["options"] == {"path": "/srv/dashboards"}
    assert {f"dashboards/{name}" for name in DASHBOARDS} <= entries(deployed()).keys()


@pytest.mark.parametrize("security", ["standard", "open"])
def test_prometheus_accepts_the_files_of_two_clusters(security: str, tmp_path: Path) -> None:
    jobs = []
    for name in ("prod", "test"):
        deployment = deployed(metrics_cluster=name, metrics_security=security)
        for path, entry in entries(deployment, with_token=True).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(entry["content"])
        jobs += yaml.safe_load((tmp_path / f"scrape-{name}.yml").read_text())["scrape_configs"]
    configuration = {"rule_files": ["rules/*.yml"], "scrape_configs": jobs}
    file = tmp_path / "prometheus.yml"
    assert not promtool.run("check", "config", file=file, document=configuration)
    # A target of the second cluster that is none is noticed: its file was read.
    (tmp_path / "targets/test.yml").write_text("- targets: 5\n")
    assert promtool.run("check", "config", file=file, document=configuration)


def test_without_exporters_or_secrets_there_are_no_files() -> None:
    with pytest.raises(site_files.MissingError, match="metrics_enabled to true"):
        entries(cluster(GROUPS, IDS))
    closed = cluster(GROUPS, IDS, metrics_enabled=True, metrics_security="standard")
    with pytest.raises(site_files.MissingError, match=r"metrics_token: run site\.yml"):
        entries(
            cluster(
                GROUPS, IDS, metrics_enabled=True, metrics_cluster="a", metrics_security="standard"
            )
        )
    with pytest.raises(site_files.MissingError, match="set metrics_cluster"):
        entries(closed)
