"""Files for Prometheus and Grafana of the site, by which they scrape and show a cluster.

Several clusters may write into one directory: files that differ have the cluster's name, and so has
each series, as the label `cluster`. Paths in a file begin at its directory, as Prometheus reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.streaming.apps.promql import scoped

from ...cluster import files
from ...cluster.cluster import Cluster
from ...cluster.files import Entry
from ...cluster.registry import GROUPS
from ..metrics.model import TOKEN
from .model import alert_files

INTERVAL, TIMEOUT = "15s", "10s"
"""Alerts look at no less than twice as long as 30 s."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# Prometheus and Alertmanager of the site watch themselves.
_OF_SERVERS = re.compile(r"\b(?:prometheus|alertmanager)_")


class MissingError(Exception):
    """Something without which there are no such files; the text says what to do."""


def is_name(name: str) -> bool:
    """Return whether a cluster may have a name."""
    return bool(_NAME.fullmatch(name))


def cluster_name(cluster: Cluster) -> str:
    """Return the name of a cluster in a Prometheus of the site.

    Raises:
        MissingError: it has none that could be one of files.

    """
    names = (exporters.settings["metrics_cluster"] for exporters in cluster.metrics.values())
    name = next(filter(None, names), "") or PurePosixPath(cluster.inventory.directory).name
    if not is_name(name):
        message = f"the directory of the inventory has the name {name!r}: set metrics_cluster"
        raise MissingError(message)
    return name


def entries(
    cluster: Cluster,
    dashboards: Mapping[str, str],
    *,
    grafana_dashboards: str,
    grafana_prometheus: str,
    with_token: bool = False,
) -> dict[str, Entry]:
    """Return the files by their paths.

    `dashboards` are those of Grafana by the names of their files, `grafana_dashboards` is where it
    finds them, and `grafana_prometheus` where it reaches Prometheus.

    Raises:
        MissingError: no host has exporters, or the secrets of the cluster are not there.

    """
    exporters = cluster.metrics
    if not exporters:
        message = "no host has exporters: set metrics_enabled to true for all hosts, run site.yml"
        raise MissingError(message)
    name = cluster_name(cluster)
    secured = not all(metrics.is_open for metrics in exporters.values())
    authority = cluster.inventory.secrets.authority
    token = cluster.inventory.secrets.texts.get(TOKEN, "")
    if secured and not (authority and token):
        message = (
            f"{cluster.inventory.secrets.directory} has no CA or no {TOKEN}: run site.yml "
            "first, which makes them"
        )
        raise MissingError(message)
    secrets = {f"ca-{name}.pem": files.text(authority)} if secured else {}
    if secured and with_token:
        secrets[f"token-{name}"] = files.text(token, mode="0600", secret=True)
    return {
        f"scrape-{name}.yml": files.text(files.yaml_text(_scrape(name, cluster, secured=secured))),
        f"targets/{name}.yml": files.text(files.yaml_text(_targets(name, cluster))),
        **secrets,
        **{
            f"rules/{name}-{file}": files.text(text)
            for file, text in _rules(name, cluster.docs_url).items()
        },
        **{f"dashboards/{file}": files.text(text) for file, text in dashboards.items()},
        "provisioning/datasources/millrace.yml": files.text(_source(grafana_prometheus)),
        "provisioning/dashboards/millrace.yml": files.text(_provider(grafana_dashboards)),
    }


def _scrape(name: str, cluster: Cluster, *, secured: bool) -> dict[str, Any]:
    """Return the part of Prometheus' configuration: one job, whose targets name their modules."""
    client: dict[str, Any] = {
        "scheme": "https",
        "tls_config": {"ca_file": f"ca-{name}.pem", "min_version": "TLS12"},
        "authorization": {"credentials_file": f"token-{name}"},
    }
    job = {
        "job_name": f"millrace-{name}",
        "scrape_interval": INTERVAL,
        "scrape_timeout": TIMEOUT,
        "metrics_path": "/proxy",
        **(client if secured else {"scheme": "http"}),
        "file_sd_configs": [{"files": [f"targets/{name}.yml"]}],
    }
    return {"scrape_configs": [job]}


def _targets(name: str, cluster: Cluster) -> list[dict[str, Any]]:
    return [
        {
            "targets": [f"{metrics.address}:{metrics.settings['metrics_port']}"],
            "labels": {
                "job": module,
                "cluster": name,
                "host": host,
                "role": _role(host, cluster),
                "__param_module": module,
            },
        }
        for host, metrics in cluster.metrics.items()
        for module in metrics.modules
    ]


def _role(host: str, cluster: Cluster) -> str:
    """Return the groups of a host."""
    return ",".join(group for group in GROUPS if host in cluster.inventory.members(group))


def _rules(name: str, docs_url: str) -> dict[str, str]:
    """Return the files with alerts, which are about the series of the cluster alone."""
    documents = {
        file: files.parse_yaml(text)["groups"] for file, text in alert_files(docs_url).items()
    }
    groups = {
        file: [
            {"name": f"millrace-{name}-{group['name']}", "rules": rules}
            for group in of_file
            if (rules := _scope_rules(name, group["rules"]))
        ]
        for file, of_file in documents.items()
    }
    return {file: files.yaml_text({"groups": made}) for file, made in groups.items() if made}


def _scope_rules(name: str, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    matcher = f'cluster="{name}"'
    return [
        {
            **rule,
            "expr": scoped(rule["expr"], matcher),
            "labels": {**rule["labels"], "cluster": name},
        }
        for rule in rules
        if not _OF_SERVERS.search(rule["expr"])
    ]


def _source(url: str) -> str:
    source = {
        "name": "Millrace",
        "type": "prometheus",
        "access": "proxy",
        "uid": "millrace",
        "url": url,
    }
    return files.yaml_text({"apiVersion": 1, "datasources": [source]})


def _provider(path: str) -> str:
    provider = {
        "name": "millrace",
        "folder": "Millrace",
        "type": "file",
        "options": {"path": path},
    }
    return files.yaml_text({"apiVersion": 1, "providers": [provider]})
