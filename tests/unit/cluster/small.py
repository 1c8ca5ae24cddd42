"""Clusters for tests of the model, made of groups, hosts and their variables alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import (
    HostVariables,
    Inventory,
    Secrets,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import PRODUCTS
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.variables import documented
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    KafkaNode,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql import (
    model as postgresql,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.model import (
    SparkHost,
)

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
Variables = Mapping[str, Any]

DEBIAN_12 = {"ID": "debian", "VERSION_CODENAME": "bookworm", "VERSION_ID": "12"}
ROCKY_9 = {"ID": "rocky", "ID_LIKE": "rhel centos fedora", "VERSION_ID": "9.4"}


def cluster(
    groups: Mapping[str, Iterable[str]],
    of_hosts: Mapping[str, Variables] | None = None,
    facts: Mapping[str, Facts] | None = None,
    cluster_id: str = "",
    **variables: Any,
) -> Cluster:
    """Resolve groups of hosts; `variables` are those of every host, `of_hosts` of some.

    It is open unless they say otherwise.
    """
    for product in PRODUCTS:
        if f"{product}_security" in documented():
            variables.setdefault(f"{product}_security", "open")
    members = {group: list(names) for group, names in groups.items()}
    names = dict.fromkeys(name for hosts_of_group in members.values() for name in hosts_of_group)
    host_variables = of_hosts or {}
    hosts = {
        name: HostVariables(name, {**variables, **host_variables.get(name, {})}) for name in names
    }
    return resolve(Inventory(members, hosts, cluster_id=cluster_id), facts)


def with_secrets(deployment: Cluster) -> Cluster:
    """Return a cluster that has all its secrets, each a text that names it."""
    nodes = deployment.kafka.values()
    certificates = [certificate for node in nodes for certificate in node.certificates]
    certificates += [identity.certificate for identity in deployment.identities]
    certificates += deployment.rest_certificates
    certificates += deployment.web_certificates
    secrets = Secrets(
        "/secrets",
        "(certificate of the CA)\n",
        {
            certificate.name: f"(key and certificate {certificate.name})\n"
            for certificate in certificates
        },
        {
            name: f"(password of {name})"
            for name in (
                *(user.name for node in nodes for user in node.security.users_without_password),
                *deployment.registry_passwords,
            )
        },
        {
            "spark_secret": "(secret)",
            "spark_ui_key": "a2V5",
            "spark_session_ui_key": "b3duCg",
            "spark_metastore": "(password of the catalog)",
            "spark_connect_token": "(token)",
            "metrics_token": "(token of exporters)",
            "monitoring_password": "(password)",
            "monitoring_password_hash": "(what Prometheus compares the password with)",
            **{f"postgresql_{user}": f"(password of {user})" for user in postgresql.USERS},
        },
        "(certificate of the CA of ZooKeeper)\n",
        "(certificate of the CA of ZooKeeper's clients)\n",
        "(certificate of the CA of Kafka Connect)\n",
    )
    facts = {name: host.facts for name, host in deployment.hosts.items() if host.facts}
    return resolve(replace(deployment.inventory, secrets=secrets), facts)


def kafka(
    brokers: int,
    controllers: int,
    of_hosts: Mapping[str, Variables] | None = None,
    **variables: Any,
) -> Cluster:
    """Resolve brokers b1, b2, ... with ids from 1, and controllers c1, c2, ... from 11."""
    ids = {f"b{number}": number for number in range(1, brokers + 1)}
    ids |= {f"c{number}": 10 + number for number in range(1, controllers + 1)}
    host_variables = {
        host: {"kafka_node_id": id_, **(of_hosts or {}).get(host, {})} for host, id_ in ids.items()
    }
    groups = {
        "kafka_brokers": [host for host in ids if host.startswith("b")],
        "kafka_controllers": [host for host in ids if host.startswith("c")],
    }
    return cluster(groups, host_variables, **variables)


def broker(facts: Facts | None = None, **variables: Any) -> KafkaNode:
    """Return the only node of a cluster, broker and controller."""
    groups = {"kafka_brokers": ["b1"], "kafka_controllers": ["b1"]}
    settings = {"kafka_node_id": 1, **variables}
    return cluster(groups, facts={"b1": facts} if facts else None, **settings).kafka["b1"]


def spark(masters: Iterable[str], ensemble: Mapping[str, Variables], **variables: Any) -> Cluster:
    """Resolve a Spark cluster of masters and the worker w1, and perhaps an ensemble."""
    groups = {"spark_masters": list(masters), "spark_workers": ["w1"], "zookeeper": list(ensemble)}
    return cluster({name: hosts for name, hosts in groups.items() if hosts}, ensemble, **variables)


def only(deployment: Cluster) -> SparkHost:
    """Return the first Spark host."""
    return next(iter(deployment.spark.values()))
