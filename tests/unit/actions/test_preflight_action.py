"""The control node's part of the preflight: what to inspect on a host, and its clock."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible_collections.millrace.streaming.plugins.action.preflight import (
    clock_offset,
    options,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import Inspection
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    pem_stores,
)

from tests.unit.cluster.small import cluster
from tests.unit.in_process import AnsibleRun, Answer, call_module
from tests.unit.inspections import answer_with, directory_at, inspection_with

DEBIAN_12 = {"system_os_release": {"ID": "debian", "VERSION_CODENAME": "bookworm"}}
TIMED_OUT = "timed out"
STORES = {
    "ssl.keystore.location": "/a.pem",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.location": "/b.jks",
    "listener.name.client.ssl.truststore.location": "/c.pem",
    "listener.name.client.ssl.truststore.type": "PEM",
}


@pytest.mark.parametrize(
    ("before", "answered", "after", "offset"),
    [
        (100.0, 101.0, 102.0, 0),
        (100.0, 99.0, 102.0, -1),
        (100.0, 104.5, 102.0, 2.5),
    ],
)
def test_the_clock_is_off_by_what_the_time_between_request_and_answer_does_not_explain(
    before: float, answered: float, after: float, offset: float
) -> None:
    assert clock_offset(before, answered, after) == offset


def test_pem_stores_of_all_listeners_are_found() -> None:
    assert pem_stores(STORES) == {"/a.pem": True, "/c.pem": False}


def test_what_is_inspected_follows_from_the_model() -> None:
    groups = {
        "kafka_brokers": ["h1"],
        "kafka_controllers": ["h1"],
        "zookeeper": ["h1"],
        "spark_workers": ["h1"],
        "spark_masters": ["h2"],
    }
    found = cluster(
        groups,
        host_mounts=[{"path": "/data", "src": "LABEL=kafka"}, {"path": "/srv"}],
        kafka_advertised_host="kafka.example.org",
        kafka_config=STORES,
        kafka_data_dirs=["/data/kafka"],
        kafka_metadata_dir="/data/kafka",
        kafka_user="broker",
        java_home="/opt/java",
        spark_shared_dir="/srv/spark",
    )
    asked = options(found, "h1")
    assert sorted(asked["directories"]) == ["/data/kafka", "/srv/spark", "/var/lib/zookeeper/data"]
    assert [home.rpartition("/")[2].partition("-")[0] for home in asked["homes"]] == [
        "kafka",
        "zookeeper",
        "spark",
    ]
    assert asked["links"] == [f"/opt/millrace/{x}" for x in ("kafka", "zookeeper", "spark")]
    assert (asked["mounts"], asked["sources"]) == (["/data", "/srv"], ["LABEL=kafka"])
    assert [(one["path"], one["is_keystore"]) for one in asked["stores"]] == [
        ("/a.pem", True),
        ("/c.pem", False),
    ]
    assert asked["names"] == ["kafka.example.org", "h1", "h1"]
    assert {2181, 9092, 9093} <= set(asked["ports"])
    assert (asked["java_homes"], asked["kafka_user"]) == (["/opt/java"], "broker")
    assert 8080 in options(found, "h2")["ports"], "a master's"
    ours = ("kafka", "zookeeper", "hdfs-namenode", "spark-job-clicks", "millrace-console")
    of_packages = ("postgresql", "prometheus", "monitoring", "console", "kafka-manager")
    units = re.compile(asked["units"])
    assert all(map(units.fullmatch, ours))
    assert not any(map(units.fullmatch, of_packages))
    assert options(found, "h2")["stores"] == []


def test_kernel_settings_and_times_of_jobs_are_asked_for_where_they_are_needed() -> None:
    schedules = {"a": "daily", "b": "Mon..Fri  06:30", "c": "daily", "d": "service", "e": "once"}
    jobs = [{"name": name, "schedule": schedule} for name, schedule in schedules.items()]
    found = cluster(
        {"spark_masters": ["h1", "h2"], "spark_workers": ["h2"], "zookeeper": ["h3"]},
        host_sysctl={"vm.swappiness": 1, "-net/core/somaxconn": 4096},
        spark_jobs=[*jobs, {"name": "f", "schedule": "hourly", "state": "absent"}],
    )
    asked = [options(found, name) for name in ("h1", "h2", "h3")]
    times = [host["schedules"] for host in asked]
    assert times == [["daily", "Mon..Fri 06:30"], [], []]
    names = ["vm.swappiness", "-net/core/somaxconn"]
    assert [host["kernel_settings"] for host in asked] == [names, names, names]


def test_each_list_of_java_options_is_asked_once_where_it_is_needed() -> None:
    serial = "-XX:+UseSerialGC"
    found = cluster(
        {"kafka_brokers": ["h1"], "zookeeper": ["h1"], "spark_masters": ["h2"]},
        kafka_java_options=["-Dpassword=hunter2", serial],
        zookeeper_java_options=[serial, "-Dzookeeper.a=b"],
        spark_java_options=["-Da=b"],
        spark_config={"spark.driver.extraJavaOptions": "-Xss4m -Xlog:gc:/var/log/gc.log"},
    )
    assert options(found, "h1")["java_options"] == [serial]
    assert options(found, "h2")["java_options"] == ["-Xss4m -Xlog:gc:file=log"]


@pytest.mark.parametrize(
    ("settings", "homes"),
    [
        (
            {},
            {
                "/usr/lib/jvm/java-17-openjdk-amd64",
                "/usr/lib/jvm/java-21-openjdk-arm64",
                "/usr/lib/jvm/jre-21-openjdk",
            },
        ),
        ({"java_package": "openjdk-25-jre-headless"}, {"/usr/lib/jvm/java-25-openjdk-amd64"}),
    ],
)
def test_the_java_of_any_system_is_asked_before_the_system_is_known(
    settings: dict[str, Any], homes: set[str]
) -> None:
    found = cluster({"zookeeper": ["h1"]}, **settings)
    assert homes <= {*options(found, "h1")["java_homes"]}
    known = replace(found.hosts["h1"], facts=inspection_with(**DEBIAN_12).facts)
    assert known.java_homes == [known.java.home]
    assert known.java.home in options(found, "h1")["java_homes"]


@pytest.mark.parametrize(
    ("watched", "former"),
    [
        ([], ["console", "lag_exporter", "metrics", "monitoring"]),
        (["m1"], ["console", "lag_exporter", "monitoring"]),
        (["h1"], []),
    ],
)
def test_what_watched_a_host_once_is_looked_for(watched: list[str], former: list[str]) -> None:
    node = {"kafka_brokers": ["h1"], "kafka_controllers": ["h1"]}
    found = cluster({**node, "monitoring": watched}, kafka_security="standard")
    asked = sorted(options(found, "h1")["accounts"])
    assert asked == [f"/etc/sysusers.d/millrace-{name}.conf" for name in former]


def test_stores_that_millrace_writes_are_not_inspected() -> None:
    groups = {"kafka_brokers": ["h1"], "kafka_controllers": ["h1"]}
    found = cluster(groups, kafka_security="standard")
    assert options(found, "h1")["stores"] == []
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/etc/ssl/all.pem"}
    own = cluster(groups, kafka_security="standard", kafka_config=trusted)
    assert [one["path"] for one in options(own, "h1")["stores"]] == ["/etc/ssl/all.pem"]


def test_hosts_with_a_firewall_are_peers() -> None:
    own = {"h1": {"host_firewall": "nftables"}, "h2": {"spark_host": "10.0.0.2"}}
    groups = {"spark_masters": ["h1"], "spark_workers": ["h2", "h3"]}
    found = cluster(groups, own)
    assert options(found, "h1")["peers"] == []
    assert options(found, "h3")["peers"] == ["h1"]
    both = cluster(groups, own, host_firewall="nftables")
    assert options(both, "h3")["peers"] == ["h1", "h2", "10.0.0.2"]


@pytest.fixture
def ansible(tmp_path: Path, local_tmp: Path) -> AnsibleRun:
    disk = f"{{kafka_node_id: 1, kafka_data_dirs: [{tmp_path}/data]}}"
    (tmp_path / "hosts.yml").write_text(f"kafka_brokers: {{hosts: {{k1: {disk}}}}}\n")
    return AnsibleRun(tmp_path / "hosts.yml", call_module)


def test_both_halves_make_an_inspection(ansible: AnsibleRun, tmp_path: Path) -> None:
    answer = ansible.task("preflight", "k1")
    assert answer["clock_offset"] == 0
    assert "time" not in answer
    inspection = Inspection.of(answer["inspection"], answer["clock_offset"])
    (directory,) = inspection.disks.directories
    assert (directory.path, directory.exists, directory.parent) == (f"{tmp_path}/data", False, True)


def test_a_clock_that_is_off_is_measured(ansible: AnsibleRun) -> None:
    ansible.module = lambda *_: {"inspection": answer_with(), "time": time.time() + 3600}
    assert 3590 < ansible.task("preflight", "k1")["clock_offset"] <= 3600


def test_an_answer_that_lacks_a_field_is_refused_with_both_names(ansible: AnsibleRun) -> None:
    incomplete = answer_with()
    del incomplete["system"]["swap"]
    ansible.module = lambda *_: {"inspection": incomplete, "time": time.time()}
    with pytest.raises(AnsibleActionFail, match=r"k1: .* lacks system\.swap$"):
        ansible.task("preflight", "k1")


@pytest.mark.parametrize("answer", [{"failed": True, "msg": "no Python"}, {"unreachable": True}])
def test_a_host_that_cannot_be_inspected_is_left_to_ansible(
    ansible: AnsibleRun, answer: Answer
) -> None:
    ansible.module = lambda *_: answer
    assert ansible.task("preflight", "k1") == answer


@pytest.mark.parametrize(("elected", "empty"), [(False, True), (True, False)])
def test_a_controller_without_records_is_named_and_another_host_can_be_asked(
    tmp_path: Path, local_tmp: Path, *, elected: bool, empty: bool
) -> None:
    hosts = "{k1: {kafka_node_id: 1}, k2: {kafka_node_id: 2}}"
    (tmp_path / "hosts.yml").write_text(
        f"kafka_brokers: {{hosts: {hosts}}}\nkafka_controllers: {{hosts: {{k2: }}}}\n"
    )
    disk = directory_at("/var/lib/kafka/data", exists=True, elected=elected)
    inspected = answer_with(disks_directories=(disk,))
    ansible = AnsibleRun(
        tmp_path / "hosts.yml", lambda *_: {"inspection": inspected, "time": time.time()}
    )
    assert ansible.task("preflight", "k1")["empty_controller"] is False
    assert ansible.task("preflight", "k2")["empty_controller"] is empty
    other = ansible.task("preflight", "k1", host="k2")
    assert other["empty_controller"] is empty


def test_only_a_host_of_the_run_has_to_be_reachable(ansible: AnsibleRun) -> None:
    def broken(*_: object) -> Answer:
        raise AnsibleConnectionFailure(TIMED_OUT)

    ansible.module = broken
    answer = ansible.task("preflight", "k1", host="k1")
    assert TIMED_OUT in answer["not_reached"]
    assert "inspection" not in answer
    with pytest.raises(AnsibleConnectionFailure):
        ansible.task("preflight", "k1")
