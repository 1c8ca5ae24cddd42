"""What modules that operate a service get of the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    NoServiceError,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.module_options import (
    limits,
)

from tests.unit.cluster.small import CLUSTER_ID, DEBIAN_12, cluster, kafka, spark

ENSEMBLE: dict[str, dict[str, Any]] = {
    "z1": {"zookeeper_id": 1, "zookeeper_host": "zoo.example.org"},
    "z2": {"zookeeper_id": 2, "zookeeper_client_port": 2281},
}


INTERNAL = ("", "__consumer_offsets", "__transaction_state", "__share_group_state")


def options(module: str, deployment: Cluster, host: str) -> dict[str, Any]:
    return module_options.of_module(module, deployment, host)


def combined(**variables: Any) -> Cluster:
    ids = {f"k{number}": {"kafka_node_id": number} for number in (1, 2, 3)}
    groups = {"kafka_brokers": list(ids), "kafka_controllers": list(ids)}
    facts = {host: Facts(DEBIAN_12) for host in ids}
    return cluster(groups, ids, facts, **variables)


def test_the_gate_asks_others_and_expects_all() -> None:
    health = options("kafka_health", kafka(2, 1, kafka_cluster_id=CLUSTER_ID), "b1")
    assert health == {
        "bootstrap": ["b2:9092", "b1:9092"],
        "expect_brokers": [1, 2],
        "expect_voters": [11],
        "cluster_id": CLUSTER_ID,
        "strict": True,
        "allow_outage": [],
        "allow_unsafe_quorum": False,
        "tls_addresses": [],
        "factors": dict.fromkeys(INTERNAL, 2),
    }


def test_what_an_inventory_allows_is_passed_on() -> None:
    configured: dict[str, Any] = {
        "kafka_gate_strict": False,
        "kafka_allow_outage": ["logs"],
        "kafka_allow_unsafe_quorum": True,
    }
    health = options("kafka_health", kafka(1, 1, **configured), "c1")
    assert (health["strict"], health["allow_outage"], health["allow_unsafe_quorum"]) == (
        False,
        ["logs"],
        True,
    )
    assert "cluster_id" not in health, "there is none yet"


def test_a_restart_knows_the_node_and_its_peers() -> None:
    restart = options("kafka_restart", kafka(2, 2, kafka_data_dirs=["/d1", "/d2"]), "b1")
    assert restart["expect_brokers"] == [1, 2]
    assert restart["node"] == {
        "id": 1,
        "broker": True,
        "controller": False,
        "address": "b1:9092",
        "ports": [9092],
        "data_dirs": ["/d1", "/d2"],
        "replication": 2,
        "peers": ["b2:9092", "c1:9093", "c2:9093"],
    }


def test_a_combined_nodes_own_addresses_are_no_peers() -> None:
    node = options("kafka_restart", combined(), "k2")["node"]
    assert node["peers"] == ["k1:9092", "k3:9092", "k1:9093", "k3:9093"]
    assert (node["broker"], node["controller"], node["ports"]) == (True, True, [9092, 9093])


def test_a_controller_is_reached_at_its_own_listener() -> None:
    node = options("kafka_restart", kafka(1, 1), "c1")["node"]
    assert (node["address"], node["ports"]) == ("c1:9093", [9093])


def test_seconds_of_a_restart_are_the_inventorys() -> None:
    configured: dict[str, Any] = {
        "kafka_gate_timeout": 1,
        "kafka_stop_timeout": 2,
        "kafka_reboot_timeout": 3,
        "kafka_start_timeout": 4,
        "kafka_isr_timeout": 5,
    }
    timeouts = limits(kafka(1, 1, **configured).kafka["b1"])
    assert timeouts == {"gate": 1, "stop": 32, "reboot": 3, "start": 4, "ready": 5}


def test_storage_is_formatted_with_the_nodes_own_tools() -> None:
    deployment = combined(
        kafka_cluster_id=CLUSTER_ID,
        kafka_data_dirs=["/d1", "/d2"],
        kafka_metadata_dir="/d1",
        kafka_user="broker",
    )
    node = deployment.kafka["k1"]
    assert options("kafka_storage", deployment, "k1") == {
        "home": node.distribution.home,
        "java": "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
        "node_id": 1,
        "user": "broker",
        "group": "broker",
        "cluster_id": CLUSTER_ID,
        "log_dirs": ["/d1", "/d2"],
        "controller": True,
        "initial_controllers": node.quorum.initial_controllers,
        "bootstrap": node.clients.other_brokers_first,
    }


def test_a_voter_has_as_long_as_a_start() -> None:
    voter = options("kafka_voter", combined(kafka_start_timeout=7), "k1")
    assert voter["timeout"] == 7
    assert voter["bootstrap"] == ["k1:9092", "k2:9092", "k3:9092"]
    assert voter["node_id"] == 1


def test_features_are_those_of_the_nodes_version() -> None:
    features = options("kafka_features", combined(kafka_version="4.2.1"), "k1")
    assert features["target"] == "4.2.1"
    assert features["expect_brokers"] == [1, 2, 3]
    assert "strict" not in features


def test_a_broker_is_asked_itself_for_its_dynamic_properties() -> None:
    deployment = combined(kafka_config={"num.io.threads": 9})
    dynamic = options("kafka_dynamic_config", deployment, "k2")
    assert (dynamic["bootstrap"], dynamic["node_id"]) == (["k2:9092"], 2)
    assert "\nnum.io.threads=9\n" in dynamic["content"]
    assert "num.io.threads" in dynamic["keys"]
    assert dynamic["path"] == "/etc/kafka/server.properties"


def test_spark_is_asked_at_its_masters() -> None:
    deployment = spark(["m1", "m2"], {}, spark_master_ui_port=8090)
    expected = {"masters": ["m1:8090", "m2:8090"], "workers": ["w1"], "token": "", "metastores": []}
    of_worker = {"own_master": "", "own_worker": "w1", "own_jobs": []}
    assert options("spark_health", deployment, "w1") == {**expected, **of_worker}
    of_master = {"own_master": "m2:8090", "own_worker": "", "own_jobs": []}
    assert options("spark_health", deployment, "m2") == {**expected, **of_master}


def test_a_worker_of_spark_is_asked_on_its_host() -> None:
    deployment = spark(["m1"], {}, spark_worker_ui_port=8091)
    expected = {"worker": "127.0.0.1:8091", "token": "", "enabled": True, "signal": "PWR"}
    assert options("spark_decommission", deployment, "w1") == expected
    stays = spark(["m1"], {}, spark_config={"spark.decommission.enabled": "false"})
    assert options("spark_decommission", stays, "w1")["enabled"] is False


def test_a_datanode_is_named_as_the_namenode_names_it() -> None:
    groups = {"hdfs_namenode": ["h1"], "hdfs_datanodes": ["h2", "h3"]}
    deployment = cluster(groups, hdfs_config={"dfs.replication": 2})
    datanode = options("hdfs_health", deployment, "h3")
    assert (datanode["own"], datanode["replication"]) == ("h3:9866", 2)
    assert datanode["exclude_file"] in deployment.hdfs["h1"].files()
    assert options("hdfs_health", deployment, "h1")["own"] == ""


def test_jobs_are_asked_about_where_their_drivers_are() -> None:
    jobs = [
        {"name": "a", "source": "/a", "late_after": 60},
        {"name": "b", "source": "/b", "schedule": "daily", "checkpoint": "file:///c"},
        {"name": "c", "state": "absent"},
    ]
    deployment = spark(["m1"], {}, spark_jobs=jobs)
    assert options("spark_job_health", deployment, "w1") == {"jobs": []}
    first, second = options("spark_job_health", deployment, "m1")["jobs"]
    assert first == {
        "name": "a",
        "unit": "spark-job-a",
        "timer": "",
        "continuous": True,
        "late_after": 60,
        "checkpoint": "/srv/spark/a/checkpoint",
    }
    assert (second["timer"], second["continuous"]) == ("spark-job-b.timer", False)
    assert (second["late_after"], second["checkpoint"]) == (0, "/c")


def test_commits_in_hdfs_are_asked_about_at_its_namenode() -> None:
    at = "hdfs://h1:8020/user/spark"
    jobs = [
        {"name": "a", "source": "/a", "late_after": 60, "checkpoint": f"{at}/a"},
        {"name": "b", "source": "/b", "checkpoint": "hdfs://h1/b"},
        {"name": "c", "source": "/c", "schedule": "daily", "late_after": 60, "checkpoint": at},
        {"name": "d", "source": "/d", "late_after": 60, "checkpoint": "hdfs://other:8020/d"},
        {"name": "e", "source": "/e", "late_after": 60},
        {"name": "f", "source": "/f", "state": "absent", "checkpoint": f"{at}/f"},
    ]
    groups = {"hdfs_namenode": ["h1"], "hdfs_datanodes": ["h1"], "spark_masters": ["m1"]}
    deployment = cluster({**groups, "spark_workers": ["m1"]}, spark_jobs=jobs)
    assert options("hdfs_job_health", deployment, "h1") == {
        "namenode": "127.0.0.1:9870",
        "user": "hdfs",
        "jobs": {
            "a": {"checkpoint": "/user/spark/a", "late_after": 60},
            "b": {"checkpoint": "/b", "late_after": 0},
        },
    }
    limits = options("spark_job_health", deployment, "m1")["jobs"]
    assert {limit["name"]: limit["late_after"] for limit in limits} == {
        "a": 0,
        "b": 0,
        "c": 60,
        "d": 60,
        "e": 60,
    }


def test_checkpoints_are_read_where_the_drivers_are() -> None:
    jobs = [
        {"name": "a", "source": "/a", "topics": ["clicks"]},
        {"name": "c", "state": "absent"},
    ]
    deployment = spark(["m1"], {}, spark_jobs=jobs)
    assert options("spark_job_checkpoints", deployment, "w1") == {"jobs": []}
    expected = {"name": "a", "checkpoint": "/srv/spark/a/checkpoint", "topics": ["clicks"]}
    assert options("spark_job_checkpoints", deployment, "m1") == {"jobs": [expected]}


def test_an_ensemble_is_asked_at_every_member() -> None:
    deployment = cluster({"zookeeper": ["z1", "z2"]}, ENSEMBLE)
    assert options("zookeeper_health", deployment, "z1") == {
        "members": ["zoo.example.org:2181", "z2:2281"]
    }


@pytest.mark.parametrize("module", ["kafka_health", "spark_health", "zookeeper_health"])
def test_a_service_that_a_host_does_not_have_is_an_error(module: str) -> None:
    groups = {"zookeeper": ["z1"], "spark_masters": ["m1"]}
    host = "m1" if module == "zookeeper_health" else "z1"
    with pytest.raises(NoServiceError):
        options(module, cluster(groups), host)
