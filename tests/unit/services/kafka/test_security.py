"""What kafka_security sets, what overrides it, and who gets which secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.formats.values import is_address
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import (
    of_job,
    removal,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import properties
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.module_options import (
    of_module,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    KafkaNode,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.jobs import (
    Job,
    login_file,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.logins import (
    KAFKA_AUTHORITY,
)

from tests.support.lab.topology import ROOT
from tests.unit.cluster.small import cluster, kafka, with_secrets

STANDARD, OPEN = security.STANDARD, security.OPEN
SERVER, CLIENT = "/etc/kafka/server.properties", "/etc/kafka/client.properties"
OWN = "/etc/kafka/tls/node.pem"
OWN_KEYS = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": OWN,
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/etc/kafka/tls/ca.pem",
}
SUPER_USERS = "super.users"


def closed(**variables: Any) -> Cluster:
    """Return a closed cluster of two brokers and a controller of its own."""
    return kafka(2, 1, **{"kafka_security": STANDARD, **variables})


def closed_broker(**variables: Any) -> KafkaNode:
    return closed(**variables).kafka["b1"]


def zookeeper_broker(**variables: Any) -> KafkaNode:
    """Return a closed broker on an ensemble."""
    groups = {"kafka_brokers": ["b1", "b2"], "zookeeper": ["z1"]}
    ids = {"b1": {"kafka_node_id": 1}, "b2": {"kafka_node_id": 2}, "z1": {"zookeeper_id": 1}}
    settings = {"kafka_security": STANDARD, "kafka_version": "3.9.2", **variables}
    return cluster(groups, ids, **settings).kafka["b1"]


def with_spark(**variables: Any) -> Cluster:
    """Return a closed cluster whose brokers' hosts have Spark too."""
    groups = {
        "kafka_brokers": ["b1"],
        "kafka_controllers": ["b1"],
        "spark_masters": ["s1"],
        "spark_workers": ["s2"],
    }
    ids = {"b1": {"kafka_node_id": 1}}
    return cluster(groups, ids, **{"kafka_security": STANDARD, **variables})


def with_passwords(deployment: Cluster, passwords: Mapping[str, str]) -> Cluster:
    """Return a cluster of which these passwords are kept."""
    return resolve(replace(deployment.inventory, secrets=Secrets("/secrets", passwords=passwords)))


def protocols(node: KafkaNode) -> dict[str, str]:
    return {listener.name: listener.protocol for listener in node.listeners.all}


def of_listener(node: KafkaNode, name: str) -> dict[str, Any]:
    """Return the properties that are of one listener alone."""
    prefix = f"listener.name.{name}."
    return {k.removeprefix(prefix): v for k, v in node.config.items() if k.startswith(prefix)}


# Listeners


def test_a_closed_node_has_a_listener_for_each_of_the_three() -> None:
    nodes = closed().kafka
    assert protocols(nodes["b1"]) == {"CLIENT_TLS": "SASL_SSL", "INTERNAL": "SSL"}
    assert protocols(nodes["c1"]) == {"CONTROLLER_TLS": "SSL"}
    assert nodes["b1"].config["inter.broker.listener.name"] == "INTERNAL"
    assert len({listener.port for node in nodes.values() for listener in node.listeners.all}) == 3
    assert nodes["b1"].clients.user_bootstrap == ["b1:9095", "b2:9095"]
    assert nodes["b1"].clients.bootstrap == ["b1:9094", "b2:9094"], "nodes need no user"
    assert (nodes["b1"].clients.own_address, nodes["c1"].clients.own_address) == (
        "b1:9094",
        "c1:9096",
    )


def test_an_open_node_sets_nothing_of_security() -> None:
    node = kafka(1, 1, kafka_security=OPEN).kafka["b1"]
    assert protocols(node) == {"CLIENT": "PLAINTEXT"}
    assert node.config["inter.broker.listener.name"] == "CLIENT"
    assert node.layers["security"] == {}
    assert (node.certificates, node.security.users, node.security.keys_are_ours) == ([], [], False)
    assert not [key for key in node.config if key.startswith(("ssl.", "sasl.", "authorizer"))]


def test_the_default_is_closed() -> None:
    assert closed_broker(kafka_security=None).is_secured


def test_what_clients_and_nodes_show_each_other() -> None:
    node = closed_broker()
    assert node.config["ssl.keystore.location"] == security.NODE_STORE
    assert node.config["ssl.truststore.location"] == security.AUTHORITY
    client, inner = (of_listener(node, name) for name in ("client_tls", "internal"))
    assert client["ssl.keystore.location"] == security.CLIENTS_STORE
    assert client["sasl.enabled.mechanisms"] == security.MECHANISM
    assert "ssl.client.auth" not in client, "clients log in"
    assert inner == {"ssl.client.auth": "required"}
    controller = closed().kafka["c1"]
    assert of_listener(controller, "controller_tls") == {"ssl.client.auth": "required"}
    assert not of_listener(controller, "client_tls")


@pytest.mark.parametrize(
    ("node", "authorizer", "users"),
    [
        (
            closed_broker(),
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "User:kafka-nodes;User:admin",
        ),
        (
            zookeeper_broker(),
            "kafka.security.authorizer.AclAuthorizer",
            "User:kafka-nodes;User:admin",
        ),
    ],
    ids=["kraft", "zookeeper"],
)
def test_what_is_not_granted_is_denied(node: KafkaNode, authorizer: str, users: str) -> None:
    assert node.config["authorizer.class.name"] == authorizer
    assert node.config[SUPER_USERS] == users
    assert node.config["allow.everyone.if.no.acl.found"] is False


def test_zookeeper_mode_has_no_listener_of_controllers() -> None:
    node = zookeeper_broker()
    assert protocols(node) == {"CLIENT_TLS": "SASL_SSL", "INTERNAL": "SSL"}
    assert not of_listener(node, "controller")


# What overrides it


def test_listeners_of_the_inventory_replace_those_of_the_preset() -> None:
    listeners = [
        {"name": "PARTNERS", "port": 9192, "protocol": "SASL_SSL"},
        {"name": "NODES", "port": 9194, "protocol": "SSL"},
    ]
    node = closed_broker(kafka_listeners=listeners, kafka_inter_broker_listener="NODES")
    assert protocols(node) == {"PARTNERS": "SASL_SSL", "NODES": "SSL"}
    assert of_listener(node, "partners")["ssl.keystore.location"] == security.CLIENTS_STORE
    assert of_listener(node, "nodes") == {"ssl.client.auth": "required"}
    assert not of_listener(node, "client")
    assert (node.clients.bootstrap[0], node.clients.user_bootstrap[0]) == ("b1:9194", "b1:9192")


@pytest.mark.parametrize(
    ("names", "expected"), [(("A", "INTERNAL"), "INTERNAL"), (("A", "B"), "A")]
)
def test_brokers_take_internal_else_the_first(names: tuple[str, ...], expected: str) -> None:
    listeners = [
        {"name": name, "port": 9100 + number, "protocol": "SSL"}
        for number, name in enumerate(names)
    ]
    assert closed_broker(kafka_listeners=listeners).listeners.between_brokers == expected


def test_certificates_alone_make_no_users() -> None:
    node = closed_broker(kafka_listeners=[{"name": "CLIENT", "port": 9092, "protocol": "SSL"}])
    assert node.security.users == []
    assert [certificate.path for certificate in node.certificates] == [security.NODE_STORE]
    assert node.clients.user_config(security.ADMIN, "/ca.pem") == {}


def test_the_controllers_listener_can_be_another() -> None:
    listener = {"name": "QUORUM", "port": 9193, "protocol": "SSL"}
    nodes = closed(kafka_controller_listener=listener).kafka
    assert protocols(nodes["c1"]) == {"QUORUM": "SSL"}
    for node in nodes.values():
        assert of_listener(node, "quorum") == {"ssl.client.auth": "required"}
        assert node.config["controller.quorum.bootstrap.servers"] == "c1:9193"


def test_properties_of_the_inventory_win() -> None:
    configured = {SUPER_USERS: "User:me", "listener.name.internal.ssl.client.auth": "requested"}
    node = closed_broker(kafka_config=configured, kafka_host_config={"ssl.protocol": "TLSv1.3"})
    assert configured.items() <= node.config.items()
    assert node.layers["security"][SUPER_USERS] != "User:me"
    assert node.config["ssl.protocol"] == "TLSv1.3"


def test_key_stores_of_the_inventory_are_for_all_listeners() -> None:
    node = closed_broker(kafka_config=OWN_KEYS)
    for listener in node.listeners.all:
        assert node.properties.at(listener)["ssl.keystore.location"] == OWN
    assert (node.security.keys_are_ours, node.certificates) == (False, [])
    assert not [path for path in node.files() if path.startswith(security.DIRECTORY)]
    assert node.clients.user_config(security.ADMIN, "/ca.pem").keys() == {
        "bootstrap.servers",
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
    }, "the client brings its own trust store"


@pytest.mark.parametrize(
    "configured",
    [
        {"ssl.keystore.key": "${file:/etc/kafka/secrets:key}"},
        {"ssl.engine.factory.class": "com.example.Engine"},
        {"ssl.keystore.location": "/etc/kafka/tls/node.jks"},
    ],
    ids=lambda configured: next(iter(configured)),
)
def test_nothing_of_the_preset_is_beside_keys_of_the_inventory(configured: dict[str, str]) -> None:
    """Kafka refuses a key beside a key store, and takes a store without a type for JKS."""
    node = closed_broker(kafka_config=configured)
    stores = {key for key in node.config if "store" in key}
    assert stores == {key for key in configured if "store" in key}
    assert (node.security.keys_are_ours, node.certificates) == (False, [])


def test_a_trust_store_of_the_inventory_leaves_the_keys() -> None:
    configured = {"ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----"}
    node = closed_broker(kafka_config=configured)
    assert {key for key in node.config if "truststore" in key} == configured.keys()
    assert node.security.keys_are_ours


def test_a_name_of_a_listener_is_meant_in_any_case() -> None:
    node = closed_broker(kafka_inter_broker_listener="internal")
    assert node.listeners.between_brokers == "INTERNAL"
    assert node.listeners.for_host.name == "INTERNAL"
    assert of_listener(node, "internal") == {"ssl.client.auth": "required"}
    small = [
        {"name": "client", "port": 9092, "protocol": "SASL_SSL"},
        {"name": "internal", "port": 9094, "protocol": "SSL"},
    ]
    assert closed_broker(kafka_listeners=small).listeners.for_host.name == "internal"


def test_a_key_store_of_one_listener_leaves_the_others() -> None:
    key = "listener.name.client_tls.ssl.keystore.location"
    node = closed_broker(kafka_config={key: OWN})
    assert node.config[key] == OWN
    assert [certificate.path for certificate in node.certificates] == [security.NODE_STORE]


def test_without_an_encrypted_listener_there_is_nothing_to_set() -> None:
    plain = {"port": 9092, "protocol": "PLAINTEXT"}
    deployment = closed(
        kafka_listeners=[{"name": "CLIENT", **plain}],
        kafka_controller_listener={"name": "CONTROLLER", **plain, "port": 9093},
    )
    assert [node.layers["security"] for node in deployment.kafka.values()] == [{}, {}, {}]


# Certificates


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("kafka.example.org", "kafka.example.org"),
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
    ],
)
def test_a_certificate_has_every_name_of_its_node(address: str, name: str) -> None:
    node, clients = closed_broker(kafka_advertised_host=address).certificates
    assert (node.common_name, clients.common_name) == (security.NODES, "b1")
    assert {*node.names} == {*clients.names} == {"b1", name, "localhost"}
    assert (node.client, clients.client) == (True, False), "a client learns no key of a node"
    assert (node.name, clients.name) == ("b1/node", "b1/clients")


def test_a_node_that_joins_changes_nothing_of_the_others() -> None:
    before, after = (
        kafka(brokers, 1, kafka_security=STANDARD, kafka_cluster_id="0" * 22).kafka["b1"]
        for brokers in (2, 3)
    )
    assert before.config[SUPER_USERS] == after.config[SUPER_USERS]
    assert after.security.common_name in after.config[SUPER_USERS]


def test_keys_of_the_site_have_the_names_of_their_hosts() -> None:
    node = closed_broker(kafka_config=OWN_KEYS)
    assert node.config[SUPER_USERS] == "User:b1;User:b2;User:c1;User:admin"
    assert node.security.common_name == "b1"


def test_a_certificate_of_a_host_with_a_long_name() -> None:
    name = f"{'x' * 60}.example.org"
    certificates = security.certificates(name, [])
    assert all(
        len(certificate.common_name) <= 64 and certificate.names == (name,)
        for certificate in certificates
    )


@pytest.mark.parametrize("preset", [STANDARD, OPEN])
def test_a_removal_leaves_no_key(preset: str) -> None:
    removed = removal(closed(kafka_security=preset), "b1", "kafka")["removed"]
    assert {security.NODE_STORE, security.CLIENTS_STORE, security.AUTHORITY} <= {*removed}
    assert removed.index(f"{security.DIRECTORY}/") < removed.index("/etc/kafka/")


def test_a_controller_has_nothing_to_show_clients() -> None:
    assert [certificate.name for certificate in closed().kafka["c1"].certificates] == ["c1/node"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("10.0.0.1", True), ("2001:db8::1", True), ("k1", False), ("10.0.0.1.example", False)],
)
def test_addresses_among_names(name: str, expected: bool) -> None:
    assert is_address(name) is expected


def test_only_kafka_reads_the_keys() -> None:
    deployment = with_secrets(closed())
    files = deployment.kafka["b1"].files()
    for path, text in ((security.NODE_STORE, "b1/node"), (security.CLIENTS_STORE, "b1/clients")):
        assert text in files[path]["content"]
        assert (files[path]["mode"], files[path]["owner"]) == ("0400", "kafka")
        assert files[path]["secret"]
        assert files[path]["restart"]
    assert "CA" in files[security.AUTHORITY]["content"]
    assert deployment.missing_secrets("b1", "kafka") == []


def test_what_is_missing_is_named() -> None:
    assert closed().missing_secrets("b1", "kafka") == ["b1/node", "b1/clients", "ca.pem"]
    assert closed(kafka_security=OPEN).missing_secrets("b1", "kafka") == []
    assert closed(kafka_config=OWN_KEYS).missing_secrets("b1", "kafka") == []


@pytest.mark.parametrize("node", [closed_broker(), zookeeper_broker()], ids=["kraft", "zookeeper"])
def test_a_closed_nodes_properties_hold_no_secret(node: KafkaNode) -> None:
    assert not node.has_secrets
    assert (node.files()[SERVER]["secret"], node.files()[CLIENT]["secret"]) == (False, False)


# Users


def names(node: KafkaNode) -> list[str]:
    return [user.name for user in node.security.users]


def user(node: KafkaNode, name: str) -> security.User:
    return next(user for user in node.security.users if user.name == name)


def test_millraces_own_users() -> None:
    assert names(closed_broker()) == [security.ADMIN, security.LEDGER]
    spark = with_spark().kafka["b1"]
    assert names(spark) == [
        security.ADMIN,
        security.LEDGER,
        security.PRODUCER,
        security.STREAM,
    ]
    assert not user(spark, security.ADMIN).grants, "it is a super user"
    for name in (security.LEDGER, security.PRODUCER, security.STREAM):
        assert user(spark, name).grants


def test_users_of_the_inventory_are_added_to_them() -> None:
    grant = {"topic": "orders", "operations": ["read"]}
    node = closed_broker(
        kafka_users=[
            {"name": "app", "grants": [grant]},
            {"name": "bridge", "authentication": "tls"},
            {"name": "gone", "state": "absent"},
        ]
    )
    assert names(node) == [security.ADMIN, security.LEDGER, "app", "bridge", "gone"]
    assert user(node, "app").grants == [{**grant, "pattern": "literal"}]
    assert (user(node, "bridge").scram, user(node, "gone").present) == (False, False)
    assert [user.name for user in node.security.users_without_password] == [
        security.ADMIN,
        security.LEDGER,
        "app",
    ]


def test_a_user_of_the_inventory_replaces_one_of_millraces() -> None:
    grant = {"topic": "ledger", "operations": ["all"]}
    node = closed_broker(kafka_users=[{"name": security.LEDGER, "grants": [grant]}])
    assert sorted(names(node)) == [security.ADMIN, security.LEDGER]
    assert [grant["topic"] for grant in user(node, security.LEDGER).grants] == ["ledger"]


def test_users_of_an_open_cluster_are_the_inventorys_alone() -> None:
    listeners = [
        {"name": "CLIENT", "port": 9092, "protocol": "PLAINTEXT"},
        {"name": "USERS", "port": 9094, "protocol": "SASL_PLAINTEXT"},
    ]
    users = [{"name": "app"}]
    node = closed_broker(kafka_security=OPEN, kafka_listeners=listeners, kafka_users=users)
    assert names(node) == ["app"]
    assert closed_broker(kafka_security=OPEN, kafka_users=users).security.users == [], (
        "nobody logs in"
    )


def logins(**variables: Any) -> tuple[list[str], dict[str, Any]]:
    """Return where users of a closed cluster log in to be checked, and how."""
    options = of_module("kafka_users", with_secrets(closed(**variables)), "b1")
    assert all("password" not in user or options["login_bootstrap"] for user in options["users"])
    return options["login_bootstrap"], options["login_properties"]


def test_passwords_are_checked_at_the_listener_that_takes_them() -> None:
    client = {"name": "CLIENT", "port": 9092, "protocol": "SASL_SSL"}
    inner = {"name": "INTERNAL", "port": 9094, "protocol": "SSL"}
    for listeners in ([client, inner], [inner, client]):
        addresses, properties = logins(kafka_listeners=listeners)
        assert addresses == ["b1:9092", "b2:9092"]
        assert properties["security.protocol"] == "SASL_SSL"
        node = with_secrets(closed(kafka_listeners=listeners)).kafka["b1"]
        assert node.clients.local_config()["bootstrap.servers"] == "b1:9092,b2:9092"


def test_without_a_listener_that_takes_passwords_nobody_gets_one() -> None:
    users = [{"name": "app", "authentication": "tls"}]
    inner = {"name": "INTERNAL", "port": 9094, "protocol": "SSL"}
    assert logins(kafka_listeners=[inner], kafka_users=users) == ([], {})
    mechanisms = {"listener.name.client_tls.sasl.enabled.mechanisms": "OAUTHBEARER"}
    assert logins(kafka_config=mechanisms, kafka_users=users) == ([], {})
    node = closed_broker(kafka_config=mechanisms, kafka_users=users)
    assert (names(node), node.security.users_without_password, node.clients.log_in) == (
        ["app"],
        [],
        False,
    )
    everywhere = {"sasl.enabled.mechanisms": "OAUTHBEARER"}
    assert logins(kafka_config=everywhere, kafka_users=users) == ([], {}), "the preset is below it"
    both = {"listener.name.client_tls.sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512"}
    assert logins(kafka_config=both)[0] == ["b1:9095", "b2:9095"]


def test_who_has_logged_in_has_to_again() -> None:
    """Otherwise a connection with a former password would never end."""
    key = "connections.max.reauth.ms"
    node = closed_broker()
    assert 0 < int(node.config[key]) <= 60 * 60 * 1000
    assert closed_broker(kafka_config={key: 60_000}).config[key] == 60_000
    assert key not in closed().kafka["c1"].config, "no listener of a controller takes passwords"
    tls = [{"name": name, "port": port, "protocol": "SSL"} for name, port in (("A", 1), ("B", 2))]
    assert key not in closed_broker(kafka_listeners=tls, kafka_inter_broker_listener="A").config


def test_passwords_are_of_a_mechanism_that_a_listener_takes() -> None:
    weaker, better = "SCRAM-SHA-256", "SCRAM-SHA-512"
    key = "listener.name.client_tls.sasl.enabled.mechanisms"
    for enabled, expected in (
        (weaker, weaker),
        ([weaker, "OAUTHBEARER"], weaker),
        (f"{weaker},{better}", better),
    ):
        deployment = with_secrets(closed(kafka_config={key: enabled}))
        node = deployment.kafka["b1"]
        assert of_module("kafka_users", deployment, "b1")["mechanism"] == expected
        assert node.clients.local_config()["sasl.mechanism"] == expected
        entry = f"listener.name.client_tls.{expected.lower()}.sasl.jaas.config"
        assert node.config[entry].startswith("org.apache.kafka.common.security.scram.")
    assert of_module("kafka_users", closed(), "b1")["mechanism"] == better


def test_users_log_in_where_the_better_mechanism_is() -> None:
    listeners = [
        {"name": "OLD", "port": 9092, "protocol": "SASL_SSL"},
        {"name": "INTERNAL", "port": 9094, "protocol": "SSL"},
        {"name": "NEW", "port": 9095, "protocol": "SASL_SSL"},
    ]
    config = {"listener.name.old.sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    assert logins(kafka_listeners=listeners, kafka_config=config)[0] == ["b1:9095", "b2:9095"]


def test_a_node_with_a_changed_address_is_still_known_to_its_own_host() -> None:
    for node, port in (("b1", 9094), ("c1", 9096)):
        [address] = of_module("kafka_dynamic_config", closed(), node)["bootstrap"]
        assert address == f"localhost:{port}"
        for certificate in closed().kafka[node].certificates:
            assert "localhost" in certificate.names
    options = of_module("kafka_dynamic_config", closed(kafka_config=OWN_KEYS), "b1")
    assert options["bootstrap"] == ["b1:9094"], "who knows which names it has"


def test_a_password_is_the_given_one_else_the_kept_one() -> None:
    users = [{"name": "app", "password": "given-secret"}, {"name": "other"}]
    passwords = {"app": "kept-1", "other": "kept-2", security.ADMIN: "kept-3", "unknown": "kept-4"}
    node = with_passwords(closed(kafka_users=users), passwords).kafka["b1"]
    assert user(node, "app").password == "given-secret"
    assert user(node, "other").password == "kept-2"
    assert [user.name for user in node.security.users_without_password] == [security.LEDGER]
    assert "unknown" not in names(node)


def test_a_password_is_not_shown() -> None:
    deployment = with_passwords(closed(), {security.ADMIN: "hunter2"})
    assert user(deployment.kafka["b1"], security.ADMIN).password == "hunter2"
    for shown in (
        deployment.inventory,
        deployment.kafka["b1"],
        deployment.kafka["b1"].security.users,
    ):
        assert "hunter2" not in repr(shown)


def test_a_user_may_have_the_grants_of_another_entry() -> None:
    """Also of one that is removed, so that its clients can change to the second user before."""
    grants = [{"topic": "orders", "operations": ["read"]}]
    first = {"name": "app", "state": "absent", "grants": grants}
    node = closed_broker(kafka_users=[first, {"name": "app-2", "same_grants_as": "app"}])
    users = {user.name: user for user in node.security.users}
    assert users["app-2"].grants == users["app"].grants
    assert [grant["topic"] for grant in users["app-2"].grants] == ["orders"]
    assert users["app-2"].present
    assert not users["app"].present


def test_a_second_user_as_the_page_shows_it() -> None:
    page = (ROOT / "docs/deploy/security.md").read_text().partition("second user")[2]
    text = page.partition("```yaml\n")[2].partition("```")[0]
    deployment = closed(**yaml.safe_load(text))
    assert not [
        problem for problem in check_cluster(RULES, deployment) if problem.rule.startswith("user")
    ]
    first, second = deployment.kafka["b1"].security.users[-2:]
    assert (first.name, second.name) == ("billing", "billing-2")
    assert second.grants == first.grants != []


# Clients


def test_a_client_on_a_controllers_host_is_the_node_too() -> None:
    nodes = closed().kafka
    assert nodes["c1"].clients.config == nodes["b1"].clients.config
    assert nodes["c1"].clients.config["ssl.keystore.location"] == security.NODE_STORE


def test_a_client_on_a_brokers_host_is_the_node() -> None:
    config = closed_broker().clients.config
    assert config["security.protocol"] == "SSL"
    assert config["ssl.keystore.location"] == security.NODE_STORE
    assert config["ssl.truststore.location"] == security.AUTHORITY
    assert not [key for key in config if key.startswith("sasl.")]


def test_a_client_on_the_control_node_is_a_user() -> None:
    node = with_secrets(closed()).kafka["b1"]
    config = node.clients.local_config()
    assert config["bootstrap.servers"] == "b1:9095,b2:9095"
    assert config["security.protocol"] == "SASL_SSL"
    assert config["ssl.truststore.location"] == "/secrets/ca.pem"
    assert not [key for key in config if "keystore" in key]
    assert 'username="admin"' in config["sasl.jaas.config"]
    assert "(password of admin)" in config["sasl.jaas.config"]
    ledger = node.clients.local_config(security.LEDGER)
    assert "(password of ledger)" in ledger["sasl.jaas.config"]
    assert "admin" not in ledger["sasl.jaas.config"]


def test_the_inventory_overrides_a_client_on_the_control_node() -> None:
    configured = {"ssl.truststore.location": "/home/me/ca.pem", "client.id": "me"}
    config = (
        with_secrets(closed(kafka_local_client_config=configured))
        .kafka["b1"]
        .clients.local_config()
    )
    assert configured.items() <= config.items()
    assert config["sasl.mechanism"] == security.MECHANISM


def test_a_login_is_read_back_from_its_file() -> None:
    users = [{"name": "app@example.org", "password": "a b=c;d#e"}]
    node = with_secrets(closed(kafka_users=users)).kafka["b1"]
    config = node.clients.user_config("app@example.org", "/ca.pem")
    assert parse_properties(properties(config)) == config
    assert 'username="app@example.org" password="a b=c;d#e"' in config["sasl.jaas.config"]


def test_a_client_of_an_open_cluster_logs_in_nowhere() -> None:
    node = closed_broker(kafka_security=OPEN)
    assert node.clients.user_config(security.ADMIN, "/ca.pem") == {}
    assert node.clients.local_config("anybody") == {
        "bootstrap.servers": "b1:9092,b2:9092",
        "security.protocol": "PLAINTEXT",
    }


# Jobs of Spark

PASSWORD = "hunter2"
KAFKA_LOGIN = login_file(security.STREAM)


def job(folder: Path) -> Job:
    """Return a job without files."""
    return Job("it", "jobs.it", str(folder), user=security.STREAM)


def test_a_job_refers_to_its_login(tmp_path: Path) -> None:
    deployment = with_passwords(with_spark(), {security.STREAM: PASSWORD})
    host = deployment.spark["s1"]
    assert PASSWORD not in str(host.drivers.logins.client(security.STREAM))
    entry = of_job(host, job(tmp_path))["files"][job(tmp_path).kafka_client]
    config = parse_properties(entry["content"])
    assert config["sasl.jaas.config"] == f"${{file:{KAFKA_LOGIN}:sasl.jaas.config}}"
    assert config["config.providers"] == "file"
    assert config["config.providers.file.class"].endswith(".FileConfigProvider")
    assert KAFKA_LOGIN.startswith(config["config.providers.file.param.allowed.paths"])
    assert config["ssl.truststore.location"] == KAFKA_AUTHORITY
    assert (config["security.protocol"], config["bootstrap.servers"]) == ("SASL_SSL", "b1:9095")
    assert PASSWORD not in entry["content"]


@pytest.mark.parametrize("name", ["s1", "s2"])
def test_every_host_of_an_executor_has_the_login(name: str) -> None:
    host = with_passwords(with_spark(), {security.STREAM: PASSWORD}).spark[name]
    login = host.files()[KAFKA_LOGIN]
    entry = parse_properties(login["content"])["sasl.jaas.config"]
    assert f'password="{PASSWORD}"' in entry
    assert f'username="{security.STREAM}"' in entry
    assert (login["mode"], login["group"], login["secret"]) == ("0640", "spark", True)
    remaining = {path: entry for path, entry in host.files().items() if path != KAFKA_LOGIN}
    assert PASSWORD not in str(remaining)
    assert KAFKA_AUTHORITY in remaining


def test_a_password_that_a_job_needs_is_missed() -> None:
    deployment = with_spark()
    assert len(deployment.missing_secrets("s2", "spark")) == 1
    assert security.STREAM in deployment.missing_secrets("s2", "spark")[0]
    assert with_secrets(deployment).missing_secrets("s2", "spark") == []
    assert with_spark(kafka_security=OPEN).missing_secrets("s2", "spark") == []


def test_the_properties_of_jobs_win(tmp_path: Path) -> None:
    configured = {"sasl.jaas.config": "${file:/etc/site/login:jaas}"}
    host = with_secrets(with_spark(spark_kafka_client_config=configured)).spark["s1"]
    entry = of_job(host, job(tmp_path))["files"][job(tmp_path).kafka_client]
    assert parse_properties(entry["content"])["sasl.jaas.config"] == configured["sasl.jaas.config"]


def test_a_job_whose_user_the_cluster_does_not_have_logs_in_by_itself() -> None:
    listeners = [{"name": "CLIENT", "port": 9092, "protocol": "SASL_PLAINTEXT"}]
    deployment = with_spark(
        kafka_security=OPEN, kafka_listeners=listeners, kafka_users=[{"name": "app"}]
    )
    host = deployment.spark["s1"]
    assert host.drivers.logins.of(security.STREAM) == {}
    assert not [
        key
        for key in host.drivers.logins.client(security.STREAM)
        if key.startswith(("sasl.", "config."))
    ]
    assert KAFKA_LOGIN not in host.files()


def test_without_a_login_a_job_has_what_the_brokers_say() -> None:
    host = with_spark(kafka_security=OPEN).spark["s1"]
    assert host.drivers.logins.client(security.STREAM) == {
        "bootstrap.servers": "b1:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert KAFKA_LOGIN not in host.files()
    groups = {"spark_masters": ["s1"], "spark_workers": ["s1"]}
    assert cluster(groups).spark["s1"].drivers.logins.client("app") == {}


CLICKS = {
    "name": "clicks",
    "source": "/jobs/clicks",
    "kafka_user": "clicks",
    "grants": [{"topic": "clicks", "operations": ["read"]}],
}


def test_a_job_of_the_inventory_brings_its_user() -> None:
    users = {user.name: user for user in with_spark(spark_jobs=[CLICKS]).kafka["b1"].security.users}
    assert users["clicks"].grants == [
        {"topic": "clicks", "operations": ["read"], "pattern": "literal"}
    ]
    assert users["clicks"].present
    assert "clicks" not in {user.name for user in with_spark().kafka["b1"].security.users}


def test_the_user_of_a_job_that_goes_is_removed_unless_another_job_has_it() -> None:
    gone = {**CLICKS, "state": "absent"}
    for job in (gone, {**gone, "grants": []}, {**gone, "grants": [{"operations": ["read"]}]}):
        users = {
            user.name: user for user in with_spark(spark_jobs=[job]).kafka["b1"].security.users
        }
        assert (users["clicks"].present, [*users["clicks"].grants]) == (False, [])
    jobs = [gone, {**CLICKS, "name": "clicks2"}]
    users = {user.name: user for user in with_spark(spark_jobs=jobs).kafka["b1"].security.users}
    assert users["clicks"].present


def test_kafka_users_decides_about_the_user_of_a_job_that_it_names() -> None:
    job = {key: value for key, value in CLICKS.items() if key != "grants"}
    grants = [{"topic": "other", "operations": ["write"]}]
    users = [{"name": "clicks", "grants": grants}]
    node = with_spark(spark_jobs=[job], kafka_users=users).kafka["b1"]
    (user,) = [candidate for candidate in node.security.users if candidate.name == "clicks"]
    assert user.grants[0]["topic"] == "other"


def test_jobs_of_an_open_cluster_are_no_users() -> None:
    deployment = with_spark(kafka_security=OPEN, spark_jobs=[CLICKS])
    assert deployment.kafka["b1"].security.users == []
    assert (
        deployment.spark["s1"].drivers.logins.client("clicks")["security.protocol"] == "PLAINTEXT"
    )


def test_each_job_has_a_login_of_its_own_and_no_other(tmp_path: Path) -> None:
    passwords = {security.STREAM: PASSWORD, "clicks": "swordfish", "views": "mellon"}
    jobs = [CLICKS, {**CLICKS, "name": "views", "kafka_user": "views"}]
    deployment = with_passwords(with_spark(spark_jobs=jobs), passwords)
    for host in (deployment.spark["s1"], deployment.spark["s2"]):
        logins = host.drivers.logins.files()
        for user, password in passwords.items():
            entry = logins[login_file(user)]
            assert f'username="{user}" password="{password}"' in parse_properties(entry["content"])[
                "sasl.jaas.config"
            ].replace("\\", "")
            assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", "spark", True)
            passwords_of_others = {*passwords.values()} - {password}
            assert not [secret for secret in passwords_of_others if secret in entry["content"]]
        assert logins.items() <= host.files().items()
        assert host.files()["/etc/spark/kafka-login.properties"]["state"] == "absent"
    mine = Job("clicks", "clicks", str(tmp_path), user="clicks")
    client = of_job(deployment.spark["s1"], mine)["files"][mine.kafka_client]
    config = parse_properties(client["content"])
    assert config["sasl.jaas.config"] == f"${{file:{login_file('clicks')}:sasl.jaas.config}}"
    assert not [secret for secret in passwords.values() if secret in client["content"]]


def test_the_password_of_a_job_is_missed() -> None:
    deployment = with_spark(spark_jobs=[CLICKS])
    assert [secret for secret in deployment.missing_secrets("s2", "spark") if "clicks" in secret]
    assert with_secrets(deployment).missing_secrets("s2", "spark") == []
