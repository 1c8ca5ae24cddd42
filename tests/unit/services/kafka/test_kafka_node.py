"""Who a Kafka node is, and which layer of its properties wins."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats import key_table
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.formats.uuids import directory_id
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import node as model
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.profiles import (
    PROFILES,
    Profile,
    Setting,
)

from tests.unit.cluster.small import CLUSTER_ID, broker, cluster, kafka

# The layers, and dedicated nodes: three brokers, three controllers.

LOGIN = 'org.example.Module required username="me" password="hunter2";'
PROFILE: dict[str, Any] = {
    "compression.type": "lz4",
    "default.replication.factor": 9,
    "log.segment.bytes": 1001,
    "log.retention.hours": 1001,
    "node.id": 1001,
}
KAFKA_CONFIG = {
    "min.insync.replicas": 1,
    "log.segment.bytes": 2002,
    "log.retention.hours": 2002,
    "num.io.threads": 2002,
    "node.id": 2002,
}
KAFKA_HOST_CONFIG = {
    "offsets.topic.replication.factor": 2,
    "log.retention.hours": 3003,
    "num.io.threads": 3003,
    "node.id": 3003,
}


@pytest.fixture
def layered(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    settings = {key: Setting(value, "to see who wins") for key, value in PROFILE.items()}
    monkeypatch.setattr(model, "PROFILES", {"small": Profile("For this test.", settings)})
    of_hosts: dict[str, dict[str, Any]] = {
        "b2": {
            "kafka_host_config": KAFKA_HOST_CONFIG,
            "kafka_advertised_host": "b2.example.org",
            "kafka_rack": "north",
        },
        "c1": {"kafka_rack": "north"},
    }
    return kafka(3, 3, of_hosts, kafka_profile="small", kafka_config=KAFKA_CONFIG)


@pytest.mark.parametrize(
    ("key", "b1", "b2"),
    [
        pytest.param("compression.type", "lz4", "lz4", id="profile"),
        pytest.param("default.replication.factor", 3, 3, id="topology-over-profile"),
        pytest.param("log.segment.bytes", 2002, 2002, id="config-over-profile"),
        pytest.param("min.insync.replicas", 1, 1, id="config-over-topology"),
        pytest.param("offsets.topic.replication.factor", 3, 2, id="host-over-topology"),
        pytest.param("num.io.threads", 2002, 3003, id="host-over-config"),
        pytest.param("log.retention.hours", 2002, 3003, id="host-over-config-over-profile"),
        pytest.param("node.id", 1, 2, id="owned-over-all"),
    ],
)
def test_a_later_layer_wins(layered: Cluster, key: str, b1: object, b2: object) -> None:
    assert layered.kafka["b1"].config[key] == b1
    assert layered.kafka["b2"].config[key] == b2
    text = layered.kafka["b2"].files()["/etc/kafka/server.properties"]["content"]
    assert parse_properties(text)[key] == str(b2)


def test_the_variable_that_sets_a_property_is_known(layered: Cluster) -> None:
    node = layered.kafka["b2"]
    assert node.properties.layer_of("num.io.threads") == "kafka_host_config"
    assert node.properties.layer_of("log.segment.bytes") == "kafka_config"
    assert node.properties.layer_of("compression.type") == ""


def test_a_broker_does_not_vote(layered: Cluster) -> None:
    config = layered.kafka["b1"].config
    assert config["process.roles"] == "broker"
    assert config["listeners"] == "CLIENT://:9092"
    assert config["advertised.listeners"] == "CLIENT://b1:9092"
    assert config["inter.broker.listener.name"] == "CLIENT"
    assert config["listener.security.protocol.map"] == "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    assert "broker.rack" not in config, "no rack was given"


def test_a_controller_serves_no_clients(layered: Cluster) -> None:
    config = layered.kafka["c1"].config
    assert config["process.roles"] == "controller"
    assert config["node.id"] == 11
    assert config["listeners"] == "CONTROLLER://:9093"
    assert config["advertised.listeners"] == "CONTROLLER://c1:9093"
    assert config["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT"
    assert "inter.broker.listener.name" not in config
    assert "broker.rack" not in config, "racks are the brokers'"


def test_a_host_has_its_own_address_and_rack(layered: Cluster) -> None:
    config = layered.kafka["b2"].config
    assert config["advertised.listeners"] == "CLIENT://b2.example.org:9092"
    assert config["broker.rack"] == "north"
    assert "b2.example.org:9092" in layered.kafka["b1"].clients.bootstrap


def test_static_voters_are_for_a_cluster_that_has_them() -> None:
    nodes = kafka(1, 3, kafka_quorum="static").kafka
    for host in ("b1", "c2"):
        config = nodes[host].config
        assert config["controller.quorum.voters"] == "11@c1:9093,12@c2:9093,13@c3:9093"
        assert "controller.quorum.bootstrap.servers" not in config


def test_every_node_knows_the_same_quorum(layered: Cluster) -> None:
    configs = {host: node.config for host, node in layered.kafka.items()}
    assert sorted(configs) == ["b1", "b2", "b3", "c1", "c2", "c3"]
    for config in configs.values():
        assert config["controller.quorum.bootstrap.servers"] == "c1:9093,c2:9093,c3:9093"
        assert config["controller.listener.names"] == "CONTROLLER"


def test_brokers_without_controllers_are_on_the_ensemble() -> None:
    groups = {"kafka_brokers": ["b1"], "zookeeper": ["z1", "z2"]}
    variables = {"b1": {"kafka_node_id": 1}, "z2": {"zookeeper_client_port": 2281}}
    node = cluster(groups, variables, kafka_version="3.9.2").kafka["b1"]
    assert node.mode == "zookeeper"
    assert node.config["zookeeper.connect"] == "z1:2181,z2:2281"
    assert node.config["broker.id"] == 1
    assert "listeners" in node.config
    assert not [key for key in node.config if key.startswith(("process.", "controller.quorum"))]
    assert "node.id" not in node.config
    # With controllers an ensemble is somebody else's.
    both = cluster({**groups, "kafka_controllers": ["b1"]}, variables).kafka["b1"]
    assert (both.mode, "zookeeper.connect" in both.config) == ("kraft", False)


# The fewest controllers, so that only the number of brokers differs.
@pytest.mark.parametrize(
    ("brokers", "factor", "min_isr"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)]
)
def test_replication_follows_from_the_number_of_brokers(
    brokers: int, factor: int, min_isr: int
) -> None:
    nodes = kafka(brokers, 1).kafka
    for host in ("b1", "c1"):
        for key, expected in {
            "default.replication.factor": factor,
            "offsets.topic.replication.factor": factor,
            "transaction.state.log.replication.factor": factor,
            "share.coordinator.state.topic.replication.factor": factor,
            "min.insync.replicas": min_isr,
            "transaction.state.log.min.isr": min_isr,
            "share.coordinator.state.topic.min.isr": min_isr,
        }.items():
            assert nodes[host].config[key] == expected, f"{key} on {host}"


@pytest.mark.parametrize("version", sorted(KAFKA.supported))
def test_what_a_version_does_not_know_is_left_out(version: str) -> None:
    config = broker(kafka_version=version).config
    assert ("share.coordinator.state.topic.min.isr" in config) == (version != "3.9.2")
    table = key_table.load(version)
    assert [key for key in config if not key_table.is_known(key, table)] == []


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("cores", [2, 64])
def test_every_profile_sets_what_kafka_knows(profile: str, cores: int) -> None:
    node = broker(Facts(cores=cores), kafka_profile=profile)
    assert PROFILES[profile].settings.keys() <= node.config.keys()
    for key, value in node.config.items():
        assert key_table.is_known(key, node.table), key
        assert not key_table.expected_value(key, value, node.table), f"{key}={value}"


@pytest.mark.parametrize(("cores", "threads"), [(None, 16), (2, 16), (16, 32)])
def test_threads_follow_from_the_cores(cores: int | None, threads: int) -> None:
    facts = Facts(cores=cores) if cores else None
    assert broker(facts, kafka_profile="throughput").config["num.io.threads"] == threads


@pytest.mark.parametrize(
    ("variables", "found_mb", "heap"),
    [
        ({}, None, "512m"),
        ({"host_memory_mb": 3072}, None, "1g"),
        ({"host_memory_mb": 6143}, None, "1g"),
        ({"host_memory_mb": 65536}, None, "6g"),
        ({}, 16384, "4g"),
        ({"host_memory_mb": 2048}, 16384, "512m"),
        ({"kafka_heap": "3g", "host_memory_mb": 2048}, None, "3g"),
    ],
)
def test_heap_is_a_share_of_the_memory(
    variables: dict[str, Any], found_mb: int | None, heap: str
) -> None:
    node = broker(Facts(memory_mb=found_mb) if found_mb else None, **variables)
    assert node.heap == heap
    assert f"-Xmx{heap} " in node.files()["/etc/kafka/environment"]["content"]


# What a client takes over from the broker

CONFIG = {
    "ssl.client.auth": "required",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "/node.pem",
    "ssl.key.password": "hidden",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/ca.pem",
    "ssl.truststore.password": "hidden",
    "log.retention.hours": 1,
}
STORES = {key: CONFIG[key] for key in CONFIG if key.endswith(("store.type", "store.location"))}
TRUST = {key: value for key, value in STORES.items() if "truststore" in key}
OWN = {"listener.name.client.ssl.truststore.location": "/own.pem"}
OTHER = {"listener.name.inner.ssl.truststore.location": "/other.pem"}


def listening(protocol: str, config: dict[str, Any], **variables: Any) -> model.KafkaNode:
    listeners = [{"name": "CLIENT", "port": 9092, "protocol": protocol}]
    return broker(kafka_listeners=listeners, kafka_config=config, **variables)


@pytest.mark.parametrize(
    ("config", "protocol", "expected"),
    [
        pytest.param(CONFIG, "PLAINTEXT", {}, id="plaintext"),
        pytest.param(CONFIG, "SASL_PLAINTEXT", {}, id="sasl"),
        pytest.param(CONFIG, "SSL", STORES, id="ssl"),
        pytest.param(CONFIG, "SASL_SSL", STORES, id="sasl-ssl"),
        pytest.param({**CONFIG, "ssl.client.auth": "none"}, "SSL", TRUST, id="nobody-asks"),
        pytest.param({**TRUST}, "SSL", TRUST, id="kafkas-default-asks-nobody"),
        pytest.param(
            {**CONFIG, **OWN, **OTHER},
            "SSL",
            {**STORES, "ssl.truststore.location": "/own.pem"},
            id="the-listeners-own",
        ),
        pytest.param(
            {**CONFIG, "ssl.enabled.protocols": ["TLSv1.3"], "ssl.cipher.suites": "x"},
            "SSL",
            {**STORES, "ssl.enabled.protocols": ["TLSv1.3"]},
            id="protocols",
        ),
    ],
)
def test_a_client_takes_over_stores_and_no_password(
    config: dict[str, Any], protocol: str, expected: dict[str, Any]
) -> None:
    assert listening(protocol, config).clients.config == {
        "bootstrap.servers": "b1:9092",
        "security.protocol": protocol,
        **expected,
    }


def test_a_client_on_the_controller_has_its_own_stores() -> None:
    configured = {"ssl.truststore.location": "/home/me/ca.pem"}
    node = listening(
        "SSL",
        {**CONFIG, "ssl.endpoint.identification.algorithm": ""},
        kafka_client_config={"client.id": "me"},
        kafka_local_client_config=configured,
    )
    assert node.clients.local_config() == {
        "bootstrap.servers": "b1:9092",
        "security.protocol": "SSL",
        "ssl.endpoint.identification.algorithm": "",
        "client.id": "me",
        **configured,
    }


@pytest.mark.parametrize(
    ("variables", "secret"),
    [
        ({}, False),
        ({"kafka_config": {"ssl.truststore.location": "/ca.pem"}}, False),
        ({"kafka_config": {"ssl.key.password": "hunter2"}}, True),
        ({"kafka_config": {"listener.name.client.ssl.key.password": "hunter2"}}, True),
        ({"kafka_config": {"rsm.config.s3.secret": "hunter2"}}, True),
        ({"kafka_config": {"rsm.config.s3.secret.access.key": "hunter2"}}, True),
        ({"kafka_client_config": {"bearer.auth.token": "hunter2"}}, True),
        ({"kafka_config": {"listener.name.client.plain.sasl.jaas.config": LOGIN}}, True),
        ({"kafka_client_config": {"sasl.jaas.config": LOGIN}}, True),
        # An entry without options holds no password.
        ({"kafka_config": {"sasl.jaas.config": "org.example.Module required;"}}, False),
        ({"kafka_version": "9.9.9", "kafka_config": {"ssl.key.password": "hunter2"}}, True),
    ],
)
def test_files_with_a_secret_are_secret(variables: dict[str, Any], secret: bool) -> None:
    files = broker(**variables).files()
    for path in ("/etc/kafka/server.properties", "/etc/kafka/client.properties"):
        assert files[path]["secret"] is secret
    readers = "0640" if secret else "0644"
    assert files["/etc/kafka/client.properties"]["mode"] == readers
    assert files["/etc/kafka/server.properties"]["mode"] == "0640"


# What others know of it


def test_a_cluster_id_that_is_set_wins_over_the_one_that_is_kept() -> None:
    groups = {"kafka_brokers": ["b1"], "kafka_controllers": ["b1"]}
    for configured, expected in (("", CLUSTER_ID), ("other", "other")):
        deployment = cluster(groups, kafka_cluster_id=configured, cluster_id=CLUSTER_ID)
        assert deployment.kafka["b1"].cluster_id == expected


def test_initial_controllers_name_the_directory_of_each_voter() -> None:
    nodes = kafka(1, 2, kafka_cluster_id=CLUSTER_ID).kafka
    first, second = (directory_id(CLUSTER_ID, number) for number in (11, 12))
    expected = f"11@c1:9093:{first},12@c2:9093:{second}"
    assert {node.quorum.initial_controllers for node in nodes.values()} == {expected}
    assert kafka(1, 2).kafka["c1"].quorum.initial_controllers == "", "there is no cluster id yet"


def test_the_bootstrap_for_a_stop_has_the_other_brokers_first() -> None:
    nodes = kafka(3, 1).kafka
    assert nodes["b2"].clients.bootstrap == ["b1:9092", "b2:9092", "b3:9092"]
    assert nodes["b2"].clients.other_brokers_first == ["b1:9092", "b3:9092", "b2:9092"]
    assert nodes["c1"].clients.other_brokers_first == nodes["c1"].clients.bootstrap


@pytest.mark.parametrize(
    ("key", "config", "expected"),
    [
        ("num.partitions", {}, 1),
        ("num.partitions", {"num.partitions": "7"}, 7),
        ("num.partitions", {"num.partitions": "many"}, None),
        ("no.such.key", {"no.such.key": 7}, None),
        ("node.id", {}, 1),
    ],
)
def test_a_number_is_the_effective_one(
    key: str, config: dict[str, Any], expected: int | None
) -> None:
    assert broker(kafka_config=config).properties.number(key) == expected


def test_directories_that_hold_data_are_named_by_their_variable() -> None:
    node = broker(kafka_data_dirs=["/a", "/b"], kafka_metadata_dir="/m")
    assert node.data_directories == [
        ("kafka_data_dirs", "/a"),
        ("kafka_data_dirs", "/b"),
        ("kafka_metadata_dir", "/m"),
    ]
    assert node.config["log.dirs"] == "/a,/b"
    assert node.config["metadata.log.dir"] == "/m"
    assert "metadata.log.dir" not in broker().config


# What a running broker takes

THREADS = "num.io.threads"


@pytest.mark.parametrize("version", sorted(KAFKA.supported))
def test_dynamic_keys_are_kafkas_without_those_of_listeners_and_secrets(version: str) -> None:
    keys = model.dynamic_keys(version)
    table = key_table.load(version)
    assert {THREADS, "log.cleanup.policy", "min.insync.replicas", "message.max.bytes"} <= set(keys)
    assert all(table[key]["update"] != "read-only" for key in keys)
    assert not [key for key in keys if key.startswith(("ssl.", "sasl.", "listener"))]
    left_out = {"advertised.listeners", "listeners", "cordoned.log.dirs", *model.OWNED}
    assert not left_out & set(keys)
    assert not [key for key in keys if table[key]["type"] == "password"]


def test_a_controller_alone_takes_nothing_while_it_runs() -> None:
    nodes = kafka(1, 1).kafka
    assert THREADS in nodes["b1"].dynamic_keys
    assert nodes["c1"].dynamic_keys == []
    assert nodes["c1"].files()["/etc/kafka/server.properties"]["dynamic"] == []
    assert broker(kafka_version="9.9.9").dynamic_keys == []


# The log of denials


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_denials_have_a_bounded_log_of_their_own_in_the_units_directory(version: str) -> None:
    files = broker(kafka_version=version).files()
    unit = files["/etc/systemd/system/kafka.service"]["content"].splitlines()
    assert {"LogsDirectory=kafka", "LogsDirectoryMode=0750"} <= {*unit}
    assert model.AUTHORIZER_LOG.startswith("/var/log/kafka/")
    if version.startswith("3."):
        config = parse_properties(files["/etc/kafka/log4j.properties"]["content"])
        assert config["log4j.logger.kafka.authorizer.logger"] == "INFO, authorizer"
        assert config["log4j.additivity.kafka.authorizer.logger"] == "false"
        prefix = "log4j.appender.authorizer"
        assert config[prefix] == "org.apache.log4j.RollingFileAppender"
        assert config[f"{prefix}.File"] == model.AUTHORIZER_LOG
        bounds = (config[f"{prefix}.MaxFileSize"], config[f"{prefix}.MaxBackupIndex"])
    else:
        config = yaml.safe_load(files["/etc/kafka/log4j2.yaml"]["content"])["Configuration"]
        appender = config["Appenders"]["RollingFile"]
        (logger,) = (
            candidate
            for candidate in config["Loggers"]["Logger"]
            if candidate["name"] == "kafka.authorizer.logger"
        )
        assert (logger["level"], logger["additivity"]) == ("info", False)
        assert logger["AppenderRef"] == [{"ref": appender["name"]}]
        assert appender["fileName"] == model.AUTHORIZER_LOG
        assert appender["filePattern"].startswith(model.AUTHORIZER_LOG)
        limit = appender["SizeBasedTriggeringPolicy"]["size"]
        bounds = (limit, str(appender["DefaultRolloverStrategy"]["max"]))
    assert bounds == ("10MB", "10")


def test_teardown_removes_the_log_of_denials_and_nothing_beside_it() -> None:
    """Somebody may keep other files, or Kafka's data, in that directory."""
    assert {f"{model.AUTHORIZER_LOG}*", "/var/log/kafka/"} <= {*broker().leftovers}
    assert "/var/log/kafka" not in broker().leftovers


# Plugins

REPORTER = {"name": "reporter", "maven": "org.example:reporter:1", "sha256": "ab" * 32}
STORAGE = {"name": "tiered", "maven": "org.example:tiered:1", "sha256": "cd" * 32}


def test_plugins_come_after_the_classes_of_kafka_and_change_the_unit() -> None:
    """The unit is an entry with a restart: a node whose plugins change is rolled."""
    node = broker(kafka_plugins=[REPORTER])
    (plugin,) = node.plugins
    unit = node.files()["/etc/systemd/system/kafka.service"]
    assert f" -cp {node.distribution.home}/libs/*:{plugin.home}/reporter/* " in unit["content"]
    assert unit["restart"]
    assert node.state["plugins"] == [plugin.unpacked]
    assert ":/opt" not in broker().files()["/etc/systemd/system/kafka.service"]["content"]


def test_a_remote_storage_has_a_class_loader_of_its_own() -> None:
    node = broker(kafka_plugins=[REPORTER, {**STORAGE, "remote_storage": True}])
    key = "remote.log.storage.manager.class.path"
    assert node.config[key] == f"{node.plugins[1].home}/tiered/*"
    assert "tiered" not in node.class_path
    assert broker(kafka_plugins=[STORAGE]).config.get(key) is None
