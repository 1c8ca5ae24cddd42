"""The console on a host: how it logs in, whom it lets in, and that its program is complete."""

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
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.module_options import (
    of_module,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.model import (
    AUTHORITY,
    VIEWS,
    Console,
)

from apps.console.panels import of
from tests.unit.cluster.small import cluster, with_secrets

GROUPS = {"kafka_brokers": ["k1", "k2"], "kafka_controllers": ["k1"], "monitoring": ["m1"]}
IDS = {"k1": {"kafka_node_id": 1}, "k2": {"kafka_node_id": 2}}
CLOSED: dict[str, Any] = {
    f"{name}_security": "standard" for name in ("kafka", "monitoring", "schema_registry")
}


def console(groups: dict[str, list[str]] = GROUPS, **variables: Any) -> Console:
    return with_secrets(cluster(groups, IDS, **variables)).consoles["m1"]


def test_health_asks_the_console_of_its_host() -> None:
    deployment = with_secrets(cluster(GROUPS, IDS, **CLOSED, console_port=9444))
    options = of_module("monitoring_health", deployment, "m1")
    assert options["console"] == "localhost:9444"
    assert options["console_authority"] == AUTHORITY


def settings(instance: Console) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(instance.files()[instance.settings_file]["content"])
    return document


def test_on_a_closed_cluster_it_is_the_user_of_monitoring() -> None:
    instance = console(**CLOSED)
    client = parse_or_empty(instance.files()[instance.properties_file]["content"])
    assert 'username="monitoring"' in client["sasl.jaas.config"]
    assert client["ssl.truststore.location"] == AUTHORITY
    configured = settings(instance)
    assert configured["kafka"]["mechanism"].startswith("SCRAM-")
    assert (configured["kafka"]["expect_brokers"], configured["kafka"]["expect_voters"]) == (
        [1, 2],
        [1],
    )
    assert configured["prometheus"]["login"]
    assert [host["name"] for host in configured["hosts"]] == ["k1", "k2", "m1"]


def test_on_an_open_cluster_users_of_its_own_sign_in() -> None:
    instance = console(console_users=[{"name": "anna", "hash": "scrypt:x"}])
    configured = settings(instance)
    assert configured["kafka"]["mechanism"] == ""
    assert configured["users"] == {"anna": "scrypt:x"}
    assert instance.certificates[0].path in instance.files()


def test_secrets_are_for_its_account_alone() -> None:
    instance = console(**CLOSED)
    files = instance.files()
    for path in (instance.settings_file, instance.properties_file):
        assert files[path]["mode"] == "0640"
        assert files[path]["secret"]
    assert files[instance.certificates[0].path]["mode"] == "0400"
    assert "secret" not in files["/etc/console/page.html"]


def test_it_may_read_schemas_and_no_more() -> None:
    groups = {**GROUPS, "schema_registry": ["k1", "k2"], "kafka_connect": ["k1"]}
    deployment = with_secrets(cluster(groups, IDS, **CLOSED))
    configured = settings(deployment.consoles["m1"])
    registry = deployment.schema_registry["k1"]
    (user,) = (candidate for candidate in registry.users if candidate.name == "monitoring")
    assert user.role == "read"
    assert configured["registry"]["login"] == f"monitoring:{user.password}"
    assert configured["registry"]["instances"] == list(registry.rest_addresses.values())
    assert configured["registry"]["authority"] == AUTHORITY
    assert "connect-admin" not in str(deployment.consoles["m1"].files())
    unwatched = {name: hosts for name, hosts in groups.items() if name != "monitoring"}
    users = cluster(unwatched, IDS, **CLOSED).schema_registry["k1"].users
    assert [listed.name for listed in users] == ["admin"]


def test_the_password_for_schemas_is_made_and_asked_for() -> None:
    groups = {**GROUPS, "schema_registry": ["k1"]}
    deployment = cluster(groups, IDS, **CLOSED)
    assert "schema_registry/monitoring" in deployment.registry_passwords
    assert "passwords/schema_registry/monitoring" in deployment.missing_secrets("m1", "console")
    assert not with_secrets(deployment).missing_secrets("m1", "console")
    configured = {
        "schema_registry_users": [{"name": "monitoring", "role": "read", "password": "x"}]
    }
    assert (
        settings(console(**CLOSED, **configured, groups=groups))["registry"]["login"]
        == "monitoring:x"
    )


def test_an_open_registry_needs_no_login() -> None:
    registry = {"schema_registry_security": "open"}
    configured = settings(
        console(**{**CLOSED, **registry}, groups={**GROUPS, "schema_registry": ["k1"]})
    )
    assert configured["registry"] == {"instances": ["k1:8081"]}
    assert settings(console(**CLOSED))["registry"] == {}


@pytest.mark.parametrize(
    ("groups", "shown", "hidden"),
    [
        ({}, {"cluster", "broker", "consumers", "hosts"}, {"connect", "streams"}),
        ({"kafka_connect": ["k1"]}, {"connect"}, {"streams"}),
        ({"spark_masters": ["k1"], "spark_workers": ["k2"]}, {"streams"}, {"connect"}),
    ],
)
def test_views_are_of_what_the_cluster_has(
    groups: dict[str, list[str]], shown: set[str], hidden: set[str]
) -> None:
    instance = console(groups={**GROUPS, **groups})
    views = {view.name: view for view in of(json.loads(instance.files()[VIEWS]["content"]))}
    assert shown <= views.keys()
    assert not hidden & views.keys()
    queries = [query.query for panel in views["cluster"].panels for query in panel.queries]
    assert any("raft_metrics" in query for query in queries)
    assert not any("zookeeper" in query for query in queries)


def test_its_memory_is_bounded() -> None:
    unit = console().files()["/etc/systemd/system/millrace-console.service"]["content"]
    assert "MemoryMax=" in unit


def test_without_brokers_there_is_none() -> None:
    groups = {"spark_masters": ["s1"], "spark_workers": ["s1"], "monitoring": ["m1"]}
    assert not cluster(groups).consoles


def test_the_program_runs_with_what_the_host_has(tmp_path: Path) -> None:
    """Without the rest of the collection, and without Ansible."""
    for place, entry in Console.modules(str(tmp_path)).items():
        if entry.get("state") == "directory":
            Path(place).mkdir(parents=True, exist_ok=True)
        else:
            Path(place).write_text(entry["content"])
    site = tmp_path / "site"
    site.mkdir()
    for name in (
        "antlr4",
        "anyio",
        "avro",
        "click",
        "google.protobuf",
        "google.type",
        "h11",
        "idna",
        "kafka",
        "proto_schema_parser",
        "starlette",
        "typing_extensions",
        "uvicorn",
    ):
        spec = find_spec(name)
        assert spec is not None
        location = Path(str(next(iter(spec.submodule_search_locations or (spec.origin,)))))
        link = (site / name.replace(".", "/")).with_suffix(location.suffix)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(location)
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "apps.console", str(tmp_path / "none.json")],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{site}", "PYTHONNOUSERSITE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "the settings" in done.stderr
    assert console().directory.startswith("/opt/")
