"""The exporter of consumer lag on a host: how it logs in, what it may do, and what it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_or_empty,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.artifacts import wanted
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import RECIPES
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import (
    of_service,
    removal,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.lag_exporter.model import (
    AUTHORITY,
    PRODUCT,
    LagExporter,
)

from tests.unit.cluster.small import cluster, with_secrets
from tests.unit.cluster.systemd_analyze import exposures, needs_systemd

GROUPS = {"kafka_brokers": ["k1", "k2"], "kafka_controllers": ["k1"], "monitoring": ["m1"]}
IDS = {"k1": {"kafka_node_id": 1}, "k2": {"kafka_node_id": 2}}
CLOSED: dict[str, Any] = {"kafka_security": "standard"}


def exporter(**variables: Any) -> LagExporter:
    return with_secrets(cluster(GROUPS, IDS, **variables)).lag_exporters["m1"]


def client(instance: LagExporter) -> dict[str, str]:
    return parse_or_empty(instance.files()[instance.properties_file]["content"])


def test_on_an_open_cluster_it_needs_no_login() -> None:
    instance = exporter()
    assert client(instance) == {
        "bootstrap.servers": "k1:9092,k2:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert AUTHORITY not in instance.files()


def test_on_a_closed_cluster_it_is_a_user_of_its_own() -> None:
    instance = exporter(**CLOSED)
    config = client(instance)
    assert config["bootstrap.servers"] == "k1:9095,k2:9095"
    assert config["security.protocol"] == "SASL_SSL"
    assert config["ssl.truststore.location"] == AUTHORITY
    assert 'username="monitoring" password="(password of monitoring)"' in config["sasl.jaas.config"]
    entry = instance.files()[instance.properties_file]
    assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", PRODUCT, True)
    assert instance.files()[AUTHORITY]["content"] == "(certificate of the CA)\n"


def test_its_user_may_see_all_and_read_no_record() -> None:
    node = cluster(GROUPS, IDS, **CLOSED).kafka["k1"]
    (user,) = (candidate for candidate in node.security.users if candidate.name == "monitoring")
    assert {operation for grant in user.grants for operation in grant["operations"]} == {
        "describe",
        "describe_configs",
    }


def test_a_cluster_without_monitoring_has_no_such_user() -> None:
    groups = {name: hosts for name, hosts in GROUPS.items() if name != "monitoring"}
    deployment = cluster(groups, IDS, **CLOSED)
    assert "monitoring" not in {user.name for user in deployment.kafka["k1"].security.users}
    assert not deployment.lag_exporters


def test_without_brokers_there_is_nothing_to_read() -> None:
    deployment = cluster({"zookeeper": ["z1"], "monitoring": ["m1"]}, {"z1": {"zookeeper_id": 1}})
    assert not deployment.lag_exporters


def test_what_is_not_there_yet_is_named() -> None:
    deployment = cluster(GROUPS, IDS, **CLOSED)
    assert deployment.missing_secrets("m1", PRODUCT) == ["the password of monitoring", "ca.pem"]
    assert exporter(**CLOSED).missing_secrets == []


def test_the_inventory_wins_over_what_follows_from_the_cluster() -> None:
    configured = {"ssl.truststore.location": "/etc/site/ca.pem", "bootstrap.servers": "lb:9095"}
    config = client(exporter(lag_exporter_client_config=configured, **CLOSED))
    assert {key: config[key] for key in configured} == configured


def test_its_settings_are_those_of_the_inventory() -> None:
    instance = exporter(lag_exporter_port=9400, lag_exporter_groups='a"b|c')
    settings = json.loads(instance.files()[instance.settings_file]["content"])
    assert (settings["address"], settings["port"], settings["groups"]) == (
        "127.0.0.1",
        9400,
        'a"b|c',
    )
    assert settings["library"] == instance.distribution.home
    (listens,) = instance.listening
    assert (listens.port, listens.callers) == (9400, ("loopback",))


def test_its_library_is_packed_and_is_that_of_the_recipe() -> None:
    deployment = cluster(GROUPS, IDS)
    distribution = deployment.lag_exporters["m1"].distribution
    assert distribution in wanted(deployment)
    assert f"kafka-python=={distribution.version} " in (
        RECIPES / distribution.product / distribution.version / "requirements.txt"
    ).read_text("utf-8")


def test_a_removal_leaves_nothing() -> None:
    deployment = with_secrets(cluster(GROUPS, IDS))
    gone = removal(deployment, "m1", PRODUCT)["removed"]
    remaining = [
        path
        for path, entry in of_service(deployment, "m1", PRODUCT)["files"].items()
        if entry.get("state") != "directory" and path not in gone
    ]
    assert not remaining
    assert {exporter().directory, "/etc/lag_exporter/"} <= {*gone}


@needs_systemd
def test_its_unit_is_confined(tmp_path: Path) -> None:
    text = exporter().files()[f"/etc/systemd/system/{LagExporter.service}.service"]["content"]
    ratings, messages = exposures(tmp_path, {f"m1/{LagExporter.service}.service": text})
    assert not messages
    assert ratings[f"m1/{LagExporter.service}.service"] <= 3.0


def test_the_program_starts_from_its_own_files_and_the_library_alone(tmp_path: Path) -> None:
    for path, entry in LagExporter.modules(str(tmp_path / "program")).items():
        if entry.get("state") == "directory":
            Path(path).mkdir()
        else:
            Path(path).write_text(entry["content"], "utf-8")
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=PLAINTEXT\n")
    library = find_spec("kafka")
    assert library is not None
    assert library.origin is not None
    settings = json.loads(exporter().files()[exporter().settings_file]["content"])
    settings |= {"client": str(properties), "library": str(Path(library.origin).parents[1])}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-S", "-m", "apps.lag_exporter", tmp_path / "settings.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "program")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # It ends by the first thing that is wrong, after all imports.
    assert done.returncode == 1, done.stderr
    assert done.stderr.strip() == "bootstrap.servers needs host:port entries, got none"


@pytest.mark.parametrize("name", ["apps/__init__.py", "apps/lag_exporter/__main__.py"])
def test_each_folder_of_the_program_comes_before_what_is_in_it(name: str) -> None:
    program = exporter().directory
    paths = [*LagExporter.modules(program)]
    assert paths.index(str(Path(f"{program}/{name}").parent)) < paths.index(f"{program}/{name}")
