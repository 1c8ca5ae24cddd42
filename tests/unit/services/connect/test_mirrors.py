"""Mirrors of other clusters: which connectors they are, as whom they work, and what they may do."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import (
    connectors,
    mirrors,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.mirrors import (
    Mirror,
)

from tests.unit.cluster.small import cluster, with_secrets

GROUPS = {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"], "kafka_connect": ["k1", "w1"]}
CA = "-----BEGIN CERTIFICATE-----\nMIIB\nMIIC\n-----END CERTIFICATE-----\n"
MIRROR: dict[str, Any] = {
    "from": "first",
    "bootstrap_servers": ["f1:9095", "f2:9095"],
    "user": "mirror-second",
    "password": "geheim",
    "ca": CA,
    "topics": ["orders.new", "shop-*"],
    "groups": ["billing"],
}
LOGIN = "/etc/connect/secrets/kafka-login@first.properties"
NAMES = ["mirror-first-topics", "mirror-first-offsets"]


def second(security: str = "standard", **options: Any) -> Cluster:
    return with_secrets(
        cluster(
            GROUPS,
            {"k1": {"kafka_node_id": 1}},
            kafka_security=security,
            connect_cluster_alias="second",
            connect_mirrors=[{**MIRROR, **options}],
        )
    )


def configs(deployment: Cluster) -> dict[str, dict[str, str]]:
    options = module_options.of_module("connect_connectors", deployment, "w1")
    return {connector["name"]: connector["config"] for connector in options["connectors"]}


def only(deployment: Cluster) -> Mirror:
    (mirror,) = deployment.connect["w1"].mirrors
    return mirror


def test_a_mirror_is_a_connector_for_topics_and_one_for_offsets() -> None:
    connector_configs = configs(second())
    assert [*connector_configs] == NAMES
    for config in connector_configs.values():
        assert config["topics"] == r"orders\.new,shop-.*"
        assert (config["source.cluster.alias"], config["target.cluster.alias"]) == (
            "first",
            "second",
        )
        assert config["source.cluster.bootstrap.servers"] == "f1:9095,f2:9095"
        assert config["target.cluster.bootstrap.servers"] == "k1:9095"
    assert connector_configs[NAMES[1]]["groups"] == "billing"
    assert connector_configs[NAMES[0]]["exactly.once.support"] == "required"


def test_offsets_of_a_mirror_that_has_no_groups_any_more_are_not_copied() -> None:
    deployment = second(groups=[])
    options = module_options.of_module("connect_connectors", deployment, "w1")["connectors"]
    assert {connector["name"]: connector["state"] for connector in options} == dict(
        zip(NAMES, ("running", "absent"), strict=True)
    )
    users = {user.name for user in deployment.kafka["k1"].security.users}
    assert NAMES[0] in users
    assert NAMES[1] not in users


def test_the_lines_of_a_ca_may_end_as_on_windows() -> None:
    entry = second(ca=CA.replace("\n", "\r\n")).connect["w1"].secret_files()[LOGIN]
    read = parse_properties(entry["content"])
    assert read["ssl.truststore.certificates"] == CA.strip()


def test_logins_are_in_files_alone() -> None:
    deployment = second()
    for name, config in configs(deployment).items():
        assert config["source.cluster.sasl.jaas.config"] == f"${{file:{LOGIN}:sasl.jaas.config}}"
        assert connectors.login_file(name) in config["target.cluster.sasl.jaas.config"]
        assert "geheim" not in str(config)
    entry = deployment.connect["w1"].secret_files()[LOGIN]
    assert entry["secret"]
    assert "geheim" not in str(only(deployment))
    read = parse_properties(entry["content"])
    assert 'username="mirror-second" password="geheim"' in read["sasl.jaas.config"]
    assert read["ssl.truststore.certificates"] == CA.strip()


def test_another_password_is_another_configuration() -> None:
    login = {"password": "another"}
    before, after = configs(second()), configs(second(**login))
    for name in NAMES:
        changed = {key for key in before[name] if before[name][key] != after[name][key]}
        assert changed == {connectors.DIGEST}


def test_users_may_write_copies_alone() -> None:
    grants = {user.name: user.grants for user in second().kafka["k1"].security.users}
    writing = {
        str(grant.get("topic"))
        for name in NAMES
        for grant in grants[name]
        if "write" in grant["operations"] and "topic" in grant
    }
    internal = {"first.checkpoints.internal", "mm2-offset-syncs.first.internal"}
    assert writing == {"connect-offsets", "first.", *internal}
    groups = [grant for name in NAMES for grant in grants[name] if "group" in grant]
    assert groups == [{"group": "billing", "operations": ["read"]}]


def test_what_an_operator_sets_wins_but_for_what_two_clusters_agree_on() -> None:
    config = {"tasks.max": 7, "sync.group.offsets.interval.seconds": 1, "topics": "others"}
    connector_configs = configs(second(config=config))
    assert connector_configs[NAMES[0]]["tasks.max"] == "7"
    assert connector_configs[NAMES[1]]["sync.group.offsets.interval.seconds"] == "1"
    assert "others" not in connector_configs[NAMES[0]]["topics"]
    assert config.keys() & mirrors.OWNED.keys() == {"topics"}


def test_an_open_cluster_is_reached_without_a_login() -> None:
    deployment = second("open", user=None, password=None, ca=None)
    for config in configs(deployment).values():
        assert not [key for key in config if "sasl" in key or "ssl" in key]
    assert LOGIN not in deployment.connect["w1"].secret_files()


def test_an_absent_mirror_leaves_no_login() -> None:
    deployment = second(state="absent")
    assert configs(deployment) == {name: {} for name in NAMES}
    assert LOGIN not in deployment.connect["w1"].secret_files()
    options = module_options.of_module("connect_connectors", deployment, "w1")
    assert [connector["former_user"] for connector in options["connectors"]] == NAMES
