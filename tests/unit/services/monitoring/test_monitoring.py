"""What exporters and Prometheus get on a host, and what changes for what they watch."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import desired
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import read
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import restart_mark
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.packaged import (
    Packaged,
)

from tests.unit.cluster.small import DEBIAN_12, ROCKY_9, cluster, with_secrets

GROUPS = {
    "kafka_controllers": ["k1"],
    "kafka_brokers": ["k1"],
    "schema_registry": ["k2"],
    "spark_masters": ["k2"],
    "spark_workers": ["k1"],
}
WATCHED = {**GROUPS, "monitoring": ["m1"]}
NODE = {"k1": {"kafka_node_id": 1}}
HOST = "/etc/metrics/host.json"
CLOSED: dict[str, Any] = {"metrics_security": "standard", "monitoring_security": "standard"}


def watched(facts: dict[str, Facts] | None = None, **variables: Any) -> Cluster:
    return with_secrets(cluster(WATCHED, NODE, facts, "", **{**CLOSED, **variables}))


def prometheus(deployment: Cluster) -> dict[str, Any]:
    text = deployment.monitoring["m1"].configuration["prometheus.yml"]["content"]
    settings: dict[str, Any] = yaml.safe_load(text)
    return settings


def jobs(deployment: Cluster) -> dict[str, dict[str, Any]]:
    return {job["job_name"]: job for job in prometheus(deployment)["scrape_configs"]}


def test_without_a_host_that_watches_nothing_is_exported() -> None:
    deployment = cluster(GROUPS, NODE)
    assert not deployment.metrics
    assert not deployment.monitoring
    assert "javaagent" not in deployment.kafka["k1"].files()["/etc/kafka/environment"]["content"]
    assert not any("prometheus" in key.lower() for key in deployment.spark["k1"].config)


def test_a_broker_starts_with_the_agent_on_the_loopback_address() -> None:
    options = watched().kafka["k1"].files()["/etc/kafka/environment"]["content"]
    jar = "/opt/millrace/jmx_exporter/jmx_prometheus_javaagent.jar"
    assert f" -javaagent:{jar}=127.0.0.1:7071:/etc/metrics/kafka.yml" in options
    files = watched().metrics["k1"].files()
    assert files["/opt/millrace/jmx_exporter"]["target"].startswith("/opt/millrace/jmx_exporter-")
    assert "/etc/metrics/kafka.yml" in files
    assert "/opt/millrace/jmx_exporter" not in watched().metrics["m1"].files()


def test_every_host_has_the_modules_of_what_it_runs() -> None:
    modules = {host: set(exporter.modules) for host, exporter in watched().metrics.items()}
    assert modules == {
        "k1": {"node", "host", "kafka", "spark_worker"},
        "k2": {"node", "host", "registry", "spark_master", "spark_applications", "spark_streams"},
        "m1": {"node", "host", "lag"},
    }


def test_nothing_but_the_proxy_is_reached_from_outside() -> None:
    deployment = watched()
    for host, exporter in deployment.metrics.items():
        reached = {port.name for port in exporter.listening if "loopback" not in port.callers}
        assert reached == {"metrics_port"}, host
    listens = [*deployment.metrics["k1"].files().values()]
    texts = "".join(str(file.get("content", "")) for file in listens)
    assert "-web.listen-address= -web.tls.listen-address=:9998" in texts
    assert "--web.listen-address=127.0.0.1:9100" in texts


def test_packages_start_nothing_of_their_own() -> None:
    deployment = watched({"k1": Facts(DEBIAN_12), "m1": Facts(ROCKY_9)})
    masks = {**deployment.metrics["k1"].masks(), **deployment.monitoring["m1"].masks()}
    assert {path.rpartition("/")[2] for path in masks} == {
        "prometheus-node-exporter.service",
        "prometheus-exporter-exporter.service",
        "prometheus.service",
        "alertmanager.service",
    }
    assert {mask["target"] for mask in masks.values()} == {"/dev/null"}


def test_only_missing_packages_are_installed() -> None:
    deployment = watched()
    needed = desired.of_packages(deployment, "m1", ["/usr/bin/prometheus"])
    assert needed["packages"]["monitoring"] == ["prometheus-alertmanager"]
    assert len(needed["packages"]["metrics"]) == 2
    assert desired.of_packages(cluster(GROUPS, NODE), "k1", []) == {"packages": {}}


def test_prometheus_asks_every_module_with_the_token_over_tls() -> None:
    scraped = jobs(watched())
    assert scraped["kafka"] == {
        "job_name": "kafka",
        "metrics_path": "/proxy",
        "params": {"module": ["kafka"]},
        "scheme": "https",
        "tls_config": {"ca_file": "certificates/ca.pem", "min_version": "TLS12"},
        "authorization": {"credentials_file": "token"},
        "static_configs": [{"targets": ["k1:9998"], "labels": {"host": "k1"}}],
    }
    assert len(scraped["node"]["static_configs"]) == 3
    assert scraped["prometheus"]["basic_auth"]["username"] == "admin"


def test_open_exporters_are_asked_in_clear() -> None:
    deployment = watched(metrics_security="open", monitoring_security="open")
    assert "scheme" not in jobs(deployment)["kafka"]
    assert jobs(deployment)["alertmanager"]["scheme"] == "http"
    assert set(deployment.monitoring["m1"].configuration) == {
        "prometheus.yml",
        "alertmanager.yml",
        *(name for name in deployment.monitoring["m1"].configuration if name.startswith("alerts/")),
    }
    assert not deployment.missing_secrets("m1", "monitoring")
    # The console is never open.
    assert {certificate.name for certificate in deployment.web_certificates} == {"m1/console"}


def test_secrets_are_needed_where_it_is_closed() -> None:
    deployment = cluster(WATCHED, NODE, **CLOSED)
    assert deployment.missing_secrets("k1", "metrics") == ["k1/metrics", "metrics_token"]
    assert {"ca.pem", "monitoring_password", "metrics_token"} <= {
        *deployment.missing_secrets("m1", "monitoring")
    }
    assert not watched().missing_secrets("m1", "monitoring")
    certificates = {certificate.name for certificate in deployment.web_certificates}
    watching = {"m1/console", "m1/metrics", "m1/monitoring"}
    assert certificates == {"k1/metrics", "k2/metrics", *watching}


def test_a_short_interval_leaves_no_more_time_than_it_is_long() -> None:
    for interval, timeout in (("5s", "5s"), ("15s", "10s"), ("1m", "10s")):
        settings = prometheus(watched(monitoring_scrape_interval=interval))
        assert settings["global"]["scrape_timeout"] == timeout


def test_metrics_get_half_of_the_disk_unless_the_inventory_says_more() -> None:
    facts = {"m1": Facts(DEBIAN_12, disk_mb={"/var/lib/monitoring": 41 * 1024})}
    assert watched(facts).monitoring["m1"].retention_size == "20GB"
    assert watched(facts, monitoring_retention_size="5GB").monitoring["m1"].retention_size == "5GB"
    assert watched().monitoring["m1"].retention_size == ""
    small = {"m1": Facts(DEBIAN_12, disk_mb={"/var/lib/monitoring": 900})}
    assert watched(small).monitoring["m1"].retention_size == "450MB"


def test_routes_and_receivers_are_those_of_the_inventory() -> None:
    hook = {"name": "hook", "webhook_configs": [{"url": "http://127.0.0.1:9/"}]}
    routes = [{"receiver": "hook", "matchers": ['severity = "critical"']}]
    monitoring = watched(monitoring_receivers=[hook], monitoring_routes=routes).monitoring["m1"]
    settings = yaml.safe_load(monitoring.configuration["alertmanager.yml"]["content"])
    nobody = {"name": "nobody"}
    assert settings["receivers"] == [hook, nobody]
    assert settings["route"]["receiver"] == "hook"
    assert settings["route"]["routes"][:-1] == routes
    assert watched().monitoring["m1"].receivers == [nobody]


def test_alerts_that_can_wait_notify_nobody_unless_a_route_of_the_inventory_has_them() -> None:
    hook = {"name": "nobody", "webhook_configs": [{"url": "http://127.0.0.1:9/"}]}
    monitoring = watched(monitoring_receivers=[hook]).monitoring["m1"]
    assert monitoring.receivers == [hook]
    assert monitoring.route["routes"] == [{"receiver": "nobody", "matchers": ['severity = "info"']}]


def test_rules_of_the_inventory_are_a_file_of_their_own_and_go_with_it() -> None:
    groups = [{"name": "own", "rules": [{"record": "a:b", "expr": "sum(up)"}]}]
    path = "/etc/monitoring/alerts/site.yml"
    with_rules = watched(monitoring_rule_groups=groups).monitoring["m1"].files()
    assert yaml.safe_load(with_rules[path]["content"]) == {"groups": groups}
    assert watched().monitoring["m1"].files()[path]["state"] == "absent"


def runbooks(**variables: Any) -> set[str]:
    """The annotations with which alerts lead to their page."""
    files = watched(**variables).monitoring["m1"].files()
    documents = [
        yaml.safe_load(entry["content"])
        for path, entry in files.items()
        if path.startswith("/etc/monitoring/alerts/") and "content" in entry
    ]
    return {
        rule["annotations"]["runbook_url"]
        for document in documents
        for group in document["groups"]
        for rule in group["rules"]
    }


def test_alerts_lead_to_their_entries_in_the_collection_or_on_the_site() -> None:
    here, site = runbooks(), runbooks(docs_url="https://docs.example.org")
    assert "docs/operate/alerts.md#kafkadown" in here
    assert "https://docs.example.org/docs/operate/alerts.html#kafkadown" in site
    assert len(here) == len(site)
    assert all(one.startswith("https://docs.example.org/docs/operate/alerts.html#") for one in site)


def test_changed_rules_need_no_restart_and_a_changed_unit_does() -> None:
    files = watched().monitoring["m1"].files()
    marked = {path for path, entry in files.items() if entry.get("restart")}
    assert marked == {
        f"/etc/systemd/system/millrace-{name}.service" for name in ("prometheus", "alertmanager")
    }
    state = watched().monitoring["m1"].state
    assert state["restart_marks"] == [restart_mark(unit) for unit in state["units"]]


def test_removal_leaves_neither_units_nor_packages_that_start() -> None:
    gone = watched().metrics["k1"].removal
    mask = "/etc/systemd/system/prometheus-node-exporter.service"
    assert mask in gone["masks"]
    assert mask not in gone["removed"], "it may be the site's own"
    assert "/var/lib/monitoring" not in watched().monitoring["m1"].removal["removed"]
    gone = watched(monitoring_remove_data=True).monitoring["m1"].removal["removed"]
    assert "/var/lib/monitoring" in gone


FORMER = [f"/etc/sysusers.d/millrace-{name}.conf" for name in ("metrics", "monitoring", "console")]


def test_a_host_loses_what_watches_no_more() -> None:
    former = desired.of_former_monitoring(cluster(GROUPS, NODE), "k1", FORMER)
    units = {f"millrace-{name}" for name in ("node-exporter", "prometheus", "console")}
    assert units <= {*former["units"]}
    assert "millrace-lag-exporter" not in former["units"], "it is not there"
    paths = {"/etc/metrics/", "/opt/millrace/jmx_exporter", "/etc/monitoring/", "/etc/console/"}
    assert {*former["removed"]} >= paths
    assert "/var/lib/monitoring" not in former["removed"]
    assert "/etc/systemd/system/prometheus.service" in former["masks"]


def test_a_host_keeps_what_the_inventory_has() -> None:
    assert desired.of_former_monitoring(watched(), "k1", FORMER)["units"] == [
        "millrace-console",
        "millrace-prometheus",
        "millrace-alertmanager",
    ]
    former = desired.of_former_monitoring(watched(), "m1", FORMER)
    assert former == {"state": "absent", "units": [], "masks": [], "removed": []}


def test_commits_are_read_where_checkpoints_are() -> None:
    in_hdfs = {"name": "a", "source": "/a", "checkpoint": "hdfs://k1:8020/a/", "late_after": 60}
    jobs = [
        in_hdfs,
        {"name": "b", "source": "/b"},
        {"name": "c", "source": "/c", "schedule": "daily"},
    ]
    store = {"hdfs_namenode": ["k1"], "hdfs_datanodes": ["k1", "k2"]}
    exporters = cluster({**WATCHED, **store}, NODE, spark_jobs=jobs).metrics
    settings = {
        name: json.loads(exporter.files()[HOST]["content"]) for name, exporter in exporters.items()
    }
    here = {"namenode": "127.0.0.1:9870", "hdfs_user": "hdfs"}
    none = {"namenode": "", "hdfs_user": "", "hdfs_streams": {}}
    streams = {"b": {"checkpoint": "/srv/spark/b/checkpoint", "late_after": 0}}
    of_hdfs = {"a": {"checkpoint": "/a", "late_after": 60}}
    for name, expected in {
        "k1": {**here, "hdfs_streams": of_hdfs, "streams": {}},
        "k2": {**none, "streams": streams},
        "m1": {**none, "streams": {}},
    }.items():
        assert expected.items() <= settings[name].items(), name


def test_a_removal_that_was_interrupted_is_done_again() -> None:
    """What it is found by is there as long as anything else is."""
    deployed = watched().deployed("m1").values()
    packaged = [service for service in deployed if isinstance(service, Packaged)]
    for service in packaged:
        assert service.removal["removed"][-1] == service.account_file
    find = yaml.safe_load(read("roles/metrics/tasks/former.yml"))[0]["ansible.builtin.find"]
    assert {*find["patterns"]} == {PurePosixPath(service.account_file).name for service in packaged}
