"""The desired state of a host as the options of the module `service`, and what it needs besides."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.files import entries_of
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import desired
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    NoServiceError,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts

from tests.unit.cluster.small import DEBIAN_12, ROCKY_9, cluster

JAVA_17 = "/usr/lib/jvm/java-17-openjdk-amd64"
SERVICES = ("zookeeper", "kafka", "spark")


def everything(facts: Facts | None = None, **variables: Any) -> Cluster:
    """One host with all services."""
    groups = ("zookeeper", "kafka_brokers", "kafka_controllers", "spark_masters", "spark_workers")
    settings = {"kafka_node_id": 1, "zookeeper_id": 1, **variables}
    return cluster(
        {name: ["h1"] for name in groups}, None, {"h1": facts} if facts else None, **settings
    )


def files(deployment: Cluster, service: str) -> dict[str, Any]:
    return dict(desired.of_service(deployment, "h1", service)["files"])


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_its_account_its_link_and_its_unit(service: str) -> None:
    state = desired.of_service(everything(), "h1", service)
    entries = state["files"]
    accounts = entries[f"/etc/sysusers.d/millrace-{service}.conf"]["content"].splitlines()
    assert ["u", service] in [line.split()[:2] for line in accounts]
    assert entries[f"/opt/millrace/{service}"]["target"] == state["distribution"]["home"]
    units = [unit for unit in state["units"] if not unit.endswith(".timer")]
    for unit, mark in zip(units, state["restart_marks"], strict=True):
        assert f"/etc/systemd/system/{unit}.service" in entries
        assert mark == f"/run/{unit}/restart-pending"


@pytest.mark.parametrize("service", SERVICES)
def test_every_file_has_a_place(service: str) -> None:
    """A parent is made here, or is there on every host."""
    entries = files(everything(), service)
    made = {path for path, entry in entries.items() if entry.get("state") == "directory"}
    present = {
        "/etc",
        "/etc/profile.d",
        "/etc/systemd/system",
        "/opt",
        "/srv",
        "/usr/local/bin",
        "/var/lib",
    }
    parents = {path.rpartition("/")[0] for path in entries}
    assert parents <= made | present


def test_services_of_one_host_agree_on_what_they_share() -> None:
    deployment = everything()
    merged: dict[str, Any] = {}
    for service in SERVICES:
        for path, entry in files(deployment, service).items():
            assert merged.setdefault(path, entry) == entry, path


def test_every_tool_is_a_command_with_and_without_its_suffix() -> None:
    deployment = everything()
    entries = files(deployment, "kafka")
    tools = deployment.kafka["h1"].distribution.tools
    assert "kafka-topics.sh" in tools
    for name in (*tools, "kafka-run-class.sh"):
        for command in (name, name.removesuffix(".sh")):
            assert entries[f"/usr/local/bin/{command}"]["target"] == "/opt/millrace/kafka-tool"
    assert entries["/opt/millrace/kafka-tool"]["mode"] == "0755"


def test_a_service_users_directories_are_its_own() -> None:
    deployment = everything(kafka_data_dirs=["/d1"], kafka_metadata_dir="/m", kafka_user="broker")
    for path in ("/d1", "/m"):
        entry = files(deployment, "kafka")[path]
        assert (entry["owner"], entry["group"], entry["mode"]) == ("broker", "broker", "0750")
    # Nobody but root writes what its programs read.
    writable = [
        entry.path
        for entry in entries_of(files(deployment, "kafka"))
        if entry.owner != "root" and entry.state != "directory"
    ]
    assert writable == []


def test_sparks_account_has_one_number_everywhere() -> None:
    text = files(everything(spark_uid=4711), "spark")["/etc/sysusers.d/millrace-spark.conf"]
    assert "\nu spark 4711 " in text["content"]


def test_who_may_use_spark_is_a_group_that_its_account_is_in() -> None:
    text = files(everything(), "spark")["/etc/sysusers.d/millrace-spark.conf"]["content"]
    assert text.startswith("g spark-users 7078\n")
    assert text.endswith("\nm spark spark-users\n")


def test_commands_have_their_documented_names() -> None:
    links = [path for path, entry in files(everything(), "spark").items() if entry.get("target")]
    assert {"/usr/local/bin/pyspark", "/usr/local/bin/start-worker.sh"} <= {*links}
    assert "/usr/local/bin/pyspark.sh" not in links


def test_only_kafka_keeps_what_it_was_started_with() -> None:
    deployment = everything()
    recording = [
        name for name in SERVICES if "previous" in desired.of_service(deployment, "h1", name)
    ]
    assert recording == ["kafka"]


def test_the_host_itself_is_files_alone() -> None:
    deployment = everything()
    assert desired.of_service(deployment, "h1", "host") == {"files": deployment.hosts["h1"].files()}


def test_a_service_that_a_host_does_not_have_is_an_error() -> None:
    deployment = cluster({"zookeeper": ["h1"]})
    for function in (desired.of_service, desired.removal):
        with pytest.raises(NoServiceError):
            function(deployment, "h1", "kafka")


# Removal


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_removed_is_what_was_written(service: str) -> None:
    deployment = everything()
    state = desired.of_service(deployment, "h1", service)
    removal = desired.removal(deployment, "h1", service)
    written = {p for p, entry in state["files"].items() if entry.get("state") != "directory"}
    assert written <= set(removal["removed"])
    assert state["distribution"]["home"] in removal["removed"]
    assert removal["state"] == "absent"
    data = [path for _, path in deployment.services("h1")[service].data_directories]
    assert not set(data) & set(removal["removed"]), "data stays"


@pytest.mark.parametrize("service", SERVICES)
def test_data_goes_only_where_the_inventory_says_so(service: str) -> None:
    settings: dict[str, Any] = {f"{service}_remove_data": True}
    deployment = everything(**settings)
    removed = desired.removal(deployment, "h1", service)["removed"]
    for _, path in deployment.services("h1")[service].data_directories:
        assert path in removed
    assert f"/var/lib/{service}" in removed


def test_certificates_of_a_site_stay() -> None:
    """A path with a slash at its end goes only where nothing is left in it."""
    removed = desired.removal(everything(), "h1", "kafka")["removed"]
    assert "/etc/kafka/" in removed
    assert "/etc/kafka" not in removed


# What a host needs besides files


def needs(
    facts: Facts | None, javas: list[str], time_service: str, **variables: Any
) -> dict[str, Any]:
    return desired.of_host(everything(facts, **variables).hosts["h1"], javas, time_service)


@pytest.mark.parametrize(
    ("facts", "javas", "package"),
    [
        (Facts(DEBIAN_12), [], "openjdk-17-jre-headless"),
        (Facts(DEBIAN_12), ["/usr/lib/jvm/java-11-openjdk-amd64"], "openjdk-17-jre-headless"),
        (Facts(DEBIAN_12), [JAVA_17], ""),
        (Facts(ROCKY_9), [], "java-17-openjdk-headless"),
        (Facts(ROCKY_9), ["/usr/lib/jvm/jre-17-openjdk"], ""),
    ],
)
def test_java_is_installed_where_it_is_missing(
    facts: Facts, javas: list[str], package: str
) -> None:
    assert needs(facts, javas, "chrony")["java_package"] == package


def test_a_java_of_the_inventorys_own_is_found_too() -> None:
    java = {"java_home": "/opt/java", "java_package": ""}
    assert needs(Facts(DEBIAN_12), ["/opt/java"], "chrony", **java)["java_package"] == ""


@pytest.mark.parametrize(
    ("release", "container", "running", "configured", "expected"),
    [
        (DEBIAN_12, False, "", None, ("systemd-timesyncd", "systemd-timesyncd")),
        (ROCKY_9, False, "", None, ("chrony", "chronyd")),
        (DEBIAN_12, False, "", "ntpsec", ("ntpsec", "ntpsec")),
        (DEBIAN_12, False, "", "", ("", "")),
        (DEBIAN_12, False, "chronyd", None, ("", "")),
        (DEBIAN_12, True, "", None, ("", "")),
    ],
    ids=["debian", "redhat", "named", "unwanted", "another-runs", "container"],
)
def test_a_time_service_is_installed_where_none_runs(
    release: dict[str, str],
    container: bool,
    running: str,
    configured: str | None,
    expected: tuple[str, str],
) -> None:
    variables = {} if configured is None else {"host_time_service": configured}
    required = needs(Facts(release, container=container), [JAVA_17], running, **variables)
    assert (required["time_package"], required["time_unit"]) == expected


@pytest.mark.parametrize(
    ("release", "manager"), [(DEBIAN_12, "apt"), (ROCKY_9, "dnf"), ({"ID": "plan9"}, "apt")]
)
def test_packages_come_by_the_systems_own_manager(release: dict[str, str], manager: str) -> None:
    assert needs(Facts(release), [], "")["package_manager"] == manager


def test_kernel_settings_are_loaded_where_the_kernel_is_the_hosts_own() -> None:
    commands = " ".join(needs(Facts(DEBIAN_12), [], "")["commands"])
    assert "sysctl " in commands
    assert "systemd-tmpfiles " in commands
    assert needs(Facts(DEBIAN_12, container=True), [], "")["commands"] == []


def test_mounts_are_mounted_in_containers_too() -> None:
    mounts = [{"path": "/data 1", "src": "/dev/sdb"}, {"path": "/others"}]
    commands = needs(Facts(DEBIAN_12, container=True), [], "", host_mounts=mounts)["commands"]
    assert any("'data\\x201.mount'" in line for line in commands)
    assert not any("others" in line for line in commands)
