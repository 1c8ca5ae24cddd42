"""In a Prometheus of the site the alerts of a cluster are about its own series alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring import (
    site_files,
)

from apps.promql import scoped
from tests.support import promtool
from tests.unit.cluster.small import cluster, with_secrets
from tests.unit.monitoring.alert_rules import FILES
from tests.unit.monitoring.test_alerts import CASES, checks, name_of

GROUPS = {"kafka_controllers": ["k1"], "kafka_brokers": ["k1"]}
BOTH = ("a", "b")
# Its cluster without a leader is one of which there is nothing but `up`.
UP_MEANS_NOTHING = {"quorum"}


def rules(name: str) -> dict[str, str]:
    """The files with alerts of a cluster by those that they are made of."""
    deployment = with_secrets(
        cluster(GROUPS, {"k1": {"kafka_node_id": 1}}, metrics_enabled=True, metrics_cluster=name)
    )
    entries = site_files.entries(deployment, {}, grafana_dashboards="/d", grafana_prometheus="")
    prefix = f"rules/{name}-"
    return {
        path.removeprefix(prefix).removesuffix(".yml"): entry["content"]
        for path, entry in entries.items()
        if path.startswith(prefix)
    }


RULES = {name: rules(name) for name in BOTH}
OWN = {
    rule["alert"]
    for text in RULES["a"].values()
    for group in yaml.safe_load(text)["groups"]
    for rule in group["rules"]
}


def series_of(case: Mapping[str, Any], name: str) -> dict[str, str]:
    """The series of a case as those of a cluster, or of none."""
    matcher = f'cluster="{name}"'
    return {
        scoped(series, matcher) if name else series: values
        for series, values in case["series"].items()
    }


def expected(name: str, case: Mapping[str, Any], clusters: Iterable[str]) -> list[dict[str, Any]]:
    """Return what promtool is to expect if these clusters have the fault of a case."""
    tests = checks(name, case)
    for test in tests:
        test["exp_alerts"] = [
            {**alert, "exp_labels": {**alert["exp_labels"], "cluster": cluster_name}}
            for alert in test["exp_alerts"]
            for cluster_name in clusters
        ]
    return tests


def refused(
    file: str, folder: Path, faulty: Iterable[str], *, foreign: bool = False, up: str = ""
) -> str:
    """Return what promtool has against the cases of a file, in these clusters."""
    for name in BOTH:
        (folder / f"{name}.yml").write_text(RULES[name][file])
    tests: dict[str, list[dict[str, Any]]] = {}
    for title, case in CASES[file].items():
        if name_of(title) not in OWN:
            continue
        series = {} if not foreign else series_of(case, "") | series_of(case, "other")
        for name in faulty:
            series |= series_of(case, name)
        if up:
            of_targets = [name for name in case["series"] if name.startswith("up{")]
            series |= {scoped(name, f'cluster="{up}"'): "1x400" for name in of_targets}
        interval = case.get("interval", "15s")
        test = {
            "name": title,
            "interval": interval,
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": expected(name_of(title), case, faulty),
        }
        tests.setdefault(interval, []).append(test)
    documents = (
        {"rule_files": ["a.yml", "b.yml"], "evaluation_interval": interval, "tests": cases}
        for interval, cases in tests.items()
    )
    file_name = folder / "test.yml"
    return "".join(
        promtool.run("test", "rules", file=file_name, document=document) for document in documents
    )


@pytest.mark.parametrize("file", sorted(RULES["a"]))
def test_two_clusters_with_the_same_fault_have_an_alert_each(file: str, tmp_path: Path) -> None:
    assert not refused(file, tmp_path, BOTH)


@pytest.mark.parametrize("file", sorted(RULES["a"]))
def test_a_sound_cluster_with_the_same_names_of_hosts_hides_no_fault(
    file: str, tmp_path: Path
) -> None:
    up = "" if file in UP_MEANS_NOTHING else "b"
    assert not refused(file, tmp_path, ["a"], up=up)


@pytest.mark.parametrize("file", sorted(RULES["a"]))
def test_series_of_others_mean_nothing(file: str, tmp_path: Path) -> None:
    assert not refused(file, tmp_path, [], foreign=True)


def test_alerts_about_prometheus_itself_are_left_to_the_site() -> None:
    titles = {name_of(title) for file in FILES for title in CASES[file]}
    assert titles - OWN == {"AlertsNotDelivered", "MonitoringConfigRejected", "RulesFailing"}
    assert "TargetDown" in OWN
