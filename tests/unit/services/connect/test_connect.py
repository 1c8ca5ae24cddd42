"""Kafka Connect: what its workers run with, who they are, and who may use the REST interface."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import bodies
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_or_empty,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_service
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import (
    ADMINS,
    NODES,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    issue,
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import KAFKA_USER
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect.model import (
    PROPERTIES,
    Worker,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.cluster.small import Variables, cluster, with_secrets

KAFKA = {"kafka_brokers": ["k1", "k2"], "kafka_controllers": ["k1"]}
GROUPS = {**KAFKA, "kafka_connect": ["k2", "w1"]}
IDS = {"k1": {"kafka_node_id": 1}, "k2": {"kafka_node_id": 2}}
CLOSED: dict[str, Any] = {"kafka_security": "standard", "connect_security": "standard"}


def workers(of_hosts: Mapping[str, Variables] | None = None, **variables: Any) -> dict[str, Worker]:
    host_variables = {**IDS, **(of_hosts or {})}
    return dict(with_secrets(cluster(GROUPS, host_variables, **variables)).connect)


def written(worker: Worker) -> dict[str, str]:
    return parse_or_empty(worker.files()[PROPERTIES]["content"])


def test_workers_find_each_other_and_the_brokers() -> None:
    group = workers({"w1": {"connect_host": "10.0.0.9", "connect_port": 9000}})
    config = written(group["w1"])
    assert config["listeners"] == "http://0.0.0.0:9000"
    assert (config["rest.advertised.host.name"], config["rest.advertised.port"]) == (
        "10.0.0.9",
        "9000",
    )
    assert config["bootstrap.servers"] == "k1:9092,k2:9092"
    assert [*group["k2"].rest_addresses.values()] == ["k2:8083", "10.0.0.9:9000"]
    assert group["k2"].callers("connect_port") == (NODES, ADMINS)


def test_internal_topics_have_as_many_copies_as_there_are_brokers_at_most_three() -> None:
    config = written(workers()["w1"])
    copies = {
        key: value for key, value in config.items() if key.endswith("storage.replication.factor")
    }
    assert set(copies.values()) == {"2"}
    assert len(copies) == 3


def test_a_closed_group_requires_client_certificates() -> None:
    worker = workers(**CLOSED)["w1"]
    config, files = written(worker), worker.files()
    assert config["listeners"].startswith("https://")
    assert config["listeners.https.ssl.client.auth"] == "required"
    secret = files["/etc/connect/certificates/rest.pem"]
    assert (secret["mode"], secret["owner"], secret["secret"]) == ("0400", "connect", True)
    assert "/etc/connect/certificates/rest.pem" not in workers()["w1"].files()


def test_a_worker_trusts_both_cas_while_they_are_changed(tmp_path: Path) -> None:
    """keytool takes the first certificate of a file alone."""
    authorities = [new_authority(name) for name in ("former", "next")]
    script = workers(**CLOSED)["w1"].files()["/opt/millrace/connect-stores"]["content"]
    for path in ("/run/connect", "/etc/connect/certificates"):
        script = script.replace(path, str(tmp_path))
    certificate = Certificate("w1/connect", "", "w1", ("w1",), client=True)
    (tmp_path / "rest.pem").write_text(issue(authorities[0], certificate))
    for number in (1, 2):
        trusted = "".join(authority.certificate for authority in authorities[:number])
        (tmp_path / "connect-ca.pem").write_text(trusted)
        subprocess.run(["sh", "-c", script], check=True)
        store = ["openssl", "pkcs12", "-in", f"{tmp_path}/trust.p12", "-passin", "pass:changeit"]
        shown = subprocess.run([*store, "-nokeys"], check=True, capture_output=True, text=True)
        assert {*bodies(shown.stdout)} == {*bodies(trusted)}


def test_connectors_do_not_get_the_login_of_the_workers() -> None:
    config = written(workers(**CLOSED)["w1"])
    assert f'username="{KAFKA_USER}"' in config["sasl.jaas.config"]
    for prefix in ("producer.", "consumer.", "admin."):
        assert config[f"{prefix}security.protocol"] == "SASL_SSL"
        assert f"{prefix}sasl.jaas.config" not in config


def test_only_workers_may_use_the_group_and_its_topics() -> None:
    users = cluster(GROUPS, IDS, **CLOSED, connect_group="databases").kafka["k1"].security.users
    (user,) = [candidate for candidate in users if candidate.name == KAFKA_USER]
    names = {
        grant.get("topic") or grant.get("group") or grant["transactional_id"]
        for grant in user.grants
    }
    assert names == {
        "databases-configs",
        "databases-offsets",
        "databases-status",
        "databases",
        "connect-cluster-databases",
    }


def test_the_user_of_the_workers_is_made_where_kafka_has_users() -> None:
    deployment = cluster(GROUPS, IDS, **CLOSED)
    assert KAFKA_USER in {user.name for user in deployment.kafka["k1"].security.users}
    without = cluster(KAFKA, IDS, **CLOSED)
    assert KAFKA_USER not in {user.name for user in without.kafka["k1"].security.users}


def test_what_is_missing_is_named() -> None:
    deployment = cluster(GROUPS, IDS, **CLOSED)
    assert set(deployment.missing_secrets("w1", "connect")) == {
        "w1/connect",
        "connect-ca.pem",
        f"the password of {KAFKA_USER}",
    }
    assert not with_secrets(deployment).missing_secrets("w1", "connect")


def test_the_worker_reads_secrets_from_one_directory_alone() -> None:
    config = written(workers(**CLOSED)["w1"])
    assert config["config.providers.file.param.allowed.paths"] == "/etc/connect/secrets"
    state = of_service(with_secrets(cluster(GROUPS, IDS, **CLOSED)), "w1", "connect")
    directory = state["files"]["/etc/connect/secrets"]
    assert (directory["owner"], directory["group"], directory["mode"]) == (
        "root",
        "connect",
        "0750",
    )


TIMER = {"name": "timer", "maven": "org.example:timer:1.2.3", "sha256": "ab" * 32}


def test_each_plugin_is_a_directory_of_its_own_and_a_new_one_a_restart() -> None:
    """Properties are read at a start: a worker whose plugins change is marked."""
    plain, changed = written(workers()["w1"]), {**TIMER, "sha256": "cd" * 32}
    homes = []
    for entry in (TIMER, changed):
        worker = workers(connect_plugins=[entry, {**TIMER, "name": "other"}])["w1"]
        home, other = (plugin.home for plugin in worker.plugins)
        assert written(worker)["plugin.path"] == f"{plain['plugin.path']},{home},{other}"
        state = worker.state
        assert [plugin["home"] for plugin in state["plugins"]] == [home, other]
        assert home.startswith(f"{state['plugin_directory']}/timer-")
        assert worker.files()[PROPERTIES]["restart"]
        homes.append(home)
    assert len({*homes}) == 2


def test_plugins_without_manifests_are_found_unless_the_inventory_decides() -> None:
    assert written(workers()["w1"])["plugin.discovery"] == "service_load"
    assert written(workers(connect_plugins=[TIMER])["w1"])["plugin.discovery"] == "hybrid_warn"
    config = {"plugin.discovery": "only_scan"}
    worker = workers(connect_plugins=[TIMER], connect_config=config)["w1"]
    assert written(worker)["plugin.discovery"] == "only_scan"


def test_teardown_removes_the_plugins() -> None:
    assert "/opt/millrace/connect-plugins" in workers()["w1"].removal["removed"]
