"""A closed ensemble: what members, brokers and Spark's masters show each other."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.module_options import (
    of_module,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
    tls as zookeeper_tls,
)

from tests.unit.cluster.small import cluster, with_secrets

GROUPS = {
    "zookeeper": ["z1", "z2"],
    "kafka_brokers": ["b1"],
    "spark_masters": ["s1", "s2"],
    "spark_workers": ["w1"],
}
OWN: dict[str, dict[str, Any]] = {
    "z1": {"zookeeper_id": 1, "zookeeper_host": "10.0.0.1"},
    "z2": {"zookeeper_id": 2},
    "b1": {"kafka_node_id": 1},
}
MEMBER = "/etc/zookeeper/certificates/zookeeper.pem"
BROKER = "/etc/kafka/certificates/zookeeper.pem"
MASTER = "/etc/spark/certificates/zookeeper.pem"


def closed(**variables: Any) -> Cluster:
    settings = {"kafka_version": "3.9.2", "zookeeper_security": "standard", **variables}
    return with_secrets(cluster(GROUPS, OWN, **settings))


def environment(deployment: Cluster, host: str) -> str:
    return str(deployment.spark[host].files()["/etc/spark/environment"]["content"])


def test_a_member_has_no_port_without_tls() -> None:
    member = closed().zookeeper["z1"]
    files = member.files()
    config = parse_properties(files["/etc/zookeeper/zoo.cfg"]["content"])
    assert config["secureClientPort"] == "2181"
    assert "clientPort" not in config
    assert config["sslQuorum"] == "true"
    assert {config[f"ssl.{kind}clientAuth"] for kind in ("", "quorum.")} == {"need"}
    servers = parse_properties(files["/etc/zookeeper/zoo.cfg.dynamic"]["content"])
    assert servers["server.1"] == "10.0.0.1:2888:3888:participant"


def test_members_trust_clients_at_the_clients_port_alone() -> None:
    files = closed().zookeeper["z1"].files()
    config = parse_properties(files["/etc/zookeeper/zoo.cfg"]["content"])
    clients, quorum = (
        str(files[config[f"ssl.{kind}trustStore.location"]]["content"]) for kind in ("", "quorum.")
    )
    assert "clients" in clients
    assert "clients" not in quorum
    assert quorum in clients, "a member is a client on its own host"


def test_an_open_ensemble_knows_nothing_of_certificates() -> None:
    deployment = closed(zookeeper_security="open")
    assert deployment.identities == []
    assert "-Dzookeeper" not in environment(deployment, "s1")
    for service in (deployment.zookeeper["z1"], deployment.kafka["b1"]):
        assert not [key for key in service.config if "ssl" in key.lower()]
        assert not [path for path in service.files() if path.endswith("zookeeper.pem")]


@pytest.mark.parametrize(
    ("host", "product", "path", "names"),
    [
        ("z1", "zookeeper", MEMBER, ("z1", "10.0.0.1")),
        ("b1", "kafka", BROKER, ("b1",)),
        ("s2", "spark", MASTER, ("s2",)),
    ],
)
def test_each_has_a_key_that_only_its_process_reads(
    host: str, product: str, path: str, names: tuple[str, ...]
) -> None:
    service: Any = closed().part(host, product)
    assert service.identity.certificate.names == names
    assert service.identity.certificate.client
    entry = service.files()[path]
    assert (entry["owner"], entry["mode"], entry["secret"]) == (product, "0400", True)
    assert service.identity.certificate.name in entry["content"]
    authority = path.replace("zookeeper.pem", zookeeper_tls.AUTHORITY_FILE)
    assert "CA of ZooKeeper" in service.files()[authority]["content"]


def test_brokers_protect_their_nodes_and_the_inventory_wins() -> None:
    config = closed().kafka["b1"].config
    assert config["zookeeper.ssl.keystore.location"] == BROKER
    assert config["zookeeper.set.acl"] is True
    configured = closed(kafka_config={"zookeeper.set.acl": False}).kafka["b1"].config
    assert configured["zookeeper.set.acl"] is False


def test_a_broker_with_controllers_is_no_client() -> None:
    groups = {**GROUPS, "kafka_controllers": ["b1"]}
    deployment = cluster(groups, OWN, zookeeper_security="standard")
    assert deployment.kafka["b1"].identity is None
    assert not [key for key in deployment.kafka["b1"].config if key.startswith("zookeeper.")]


def test_of_spark_only_masters_that_elect_one_are_clients() -> None:
    deployment = closed()
    assert f"-Dzookeeper.ssl.keyStore.location={MASTER}" in environment(deployment, "s1")
    assert "-Dzookeeper" not in environment(deployment, "w1")
    alone = cluster({**GROUPS, "spark_masters": ["s1"]}, OWN, zookeeper_security="standard")
    assert alone.spark["s1"].identity is None


def test_health_is_asked_with_the_members_certificate() -> None:
    options = of_module("zookeeper_health", closed(), "z1")
    assert options["certificate"] == MEMBER
    assert options["authority"].endswith(zookeeper_tls.AUTHORITY_FILE)
    assert "certificate" not in of_module(
        "zookeeper_health", closed(zookeeper_security="open"), "z1"
    )


def test_what_a_service_lacks_is_named() -> None:
    deployment = cluster(GROUPS, OWN, kafka_version="3.9.2", zookeeper_security="standard")
    for host, product in (("z1", "zookeeper"), ("b1", "kafka"), ("s1", "spark")):
        missing = deployment.missing_secrets(host, product)
        of_member = [zookeeper_tls.CLIENTS_AUTHORITY_FILE] if host == "z1" else []
        assert missing == [f"{host}/ensemble-{product}", zookeeper_tls.AUTHORITY_FILE, *of_member]
    assert deployment.missing_secrets("w1", "spark") == []


@pytest.mark.parametrize(
    ("host", "product", "path"),
    [("z1", "zookeeper", "/etc/zookeeper/certificates/zookeeper.pem"), ("b1", "kafka", BROKER)],
)
def test_a_key_is_removed_with_its_service(host: str, product: str, path: str) -> None:
    assert path in closed(zookeeper_security="open").services(host)[product].leftovers
