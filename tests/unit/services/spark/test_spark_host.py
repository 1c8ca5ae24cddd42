"""Which Spark clusters recover and how, what a host's services and a job are made of."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_job
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    bearer_token,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.jobs import Job
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.model import (
    SparkHost,
)

from tests.unit.cluster.small import cluster, spark, with_secrets

ENSEMBLE: dict[str, dict[str, Any]] = {
    "z1": {"zookeeper_id": 1, "zookeeper_host": "zoo.example.org"},
    "z2": {"zookeeper_id": 2, "zookeeper_client_port": 2281},
}
DEFAULTS = "/etc/spark/spark-defaults.conf"


def unit(host: SparkHost, role: str) -> str:
    return str(host.files()[f"/etc/systemd/system/spark-{role}.service"]["content"])


def test_two_masters_and_an_ensemble_recover() -> None:
    shuffle = {"spark.shuffle.service.enabled": True}
    hosts = spark(["m1", "m2"], ENSEMBLE, spark_config=shuffle).spark
    assert sorted(hosts) == ["m1", "m2", "w1"]
    for host in hosts.values():
        assert host.standalone.recovery == "zookeeper"
        assert host.config["spark.deploy.recoveryMode"] == "ZOOKEEPER"
        assert host.config["spark.deploy.zookeeper.url"] == "zoo.example.org:2181,z2:2281"
        assert host.config["spark.master"] == "spark://m1:7077,m2:7077"
        assert host.owned["spark.deploy.zookeeper.url"] == "the group zookeeper"
    # A master that loses ZooKeeper ends as if it had been asked to.
    assert "\nRestart=always\n" in unit(hosts["m1"], "master")
    assert "\nRestart=on-failure\n" in unit(hosts["w1"], "worker")


def test_a_single_master_recovers_from_its_own_disk() -> None:
    host = spark(["m1"], ENSEMBLE).spark["m1"]
    assert host.standalone.recovery == "filesystem"
    assert host.config["spark.deploy.recoveryMode"] == "FILESYSTEM"
    assert "spark.deploy.zookeeper.url" not in {**host.config, **host.owned}
    assert "\nRestart=on-failure\n" in unit(host, "master")


def test_several_masters_without_an_ensemble_do_not() -> None:
    host = spark(["m1", "m2"], {}).spark["m1"]
    assert host.standalone.recovery == ""
    assert not [key for key in {**host.config, **host.owned} if "recovery" in key]
    assert "\nRestart=on-failure\n" in unit(host, "master")


def test_a_worker_starts_after_any_master() -> None:
    hosts = spark(["m1", "m2"], ENSEMBLE).spark
    assert hosts["w1"].starts_after == {"spark-worker": ["m1:7077", "m2:7077"]}


@pytest.mark.parametrize(
    ("config", "port"),
    [
        ({}, None),
        ({"spark.shuffle.service.enabled": "false"}, None),
        ({"spark.shuffle.service.enabled": True}, 7337),
        ({"spark.shuffle.service.enabled": "true", "spark.shuffle.service.port": 7400}, 7400),
    ],
)
def test_a_worker_with_a_shuffle_service_listens_for_it(
    config: dict[str, Any], port: int | None
) -> None:
    hosts = spark(["m1"], {}, spark_config=config).spark
    assert hosts["w1"].ports.get("spark.shuffle.service.port") == port
    assert "spark.shuffle.service.port" not in hosts["m1"].ports


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ("0644", "root", False)),
        ({"spark.authenticate.secret": "x" * 32}, ("0640", "spark", True)),
        ({"spark.hadoop.fs.s3a.secret.key": "hunter2"}, ("0640", "spark", True)),
        ({"spark.ssl.keyPassword": "${env:PASSWORD}"}, ("0644", "root", False)),
    ],
)
def test_a_secret_is_read_by_its_service_alone(
    config: dict[str, Any], expected: tuple[str, str, bool]
) -> None:
    entry = spark(["m1"], {}, spark_config=config).spark["m1"].files()[DEFAULTS]
    assert (entry["mode"], entry["group"], entry["secret"]) == expected


def secured(**variables: Any) -> SparkHost:
    """Return a host of a closed Spark that has its secrets."""
    return with_secrets(spark(["m1"], {}, spark_security="standard", **variables)).spark["m1"]


def test_a_closed_spark_hides_its_web_interfaces() -> None:
    host = secured()
    assert host.config["spark.ui.filters"] == "org.apache.spark.ui.JWSFilter"
    key = host.config["spark.org.apache.spark.ui.JWSFilter.param.secretKey"]
    assert host.security.ui_token == bearer_token(key)
    entry = host.files()[DEFAULTS]
    assert key in entry["content"]
    assert (entry["mode"], entry["secret"]) == ("0640", True)
    assert host.config["spark.master.rest.enabled"] is False


@pytest.mark.parametrize("filters", ["", "org.example.Login"])
def test_the_inventory_has_another_filter_or_none(filters: str) -> None:
    host = secured(spark_config={"spark.ui.filters": filters})
    assert host.config["spark.ui.filters"] == filters
    assert host.security.ui_token == ""


def test_an_open_spark_asks_for_nothing() -> None:
    host = spark(["m1"], {}).spark["m1"]
    assert (host.security.ui_token, host.security.missing) == ("", [])
    assert not [key for key in host.config if "JWSFilter" in key or key == "spark.ui.filters"]


def test_a_token_is_a_signature_of_an_empty_claim() -> None:
    """With the key of the example in RFC 7515, appendix A.1."""
    key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    header, claim, signature = bearer_token(key).split(".")
    assert (header, claim) == ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "e30")
    signed = hmac.new(
        base64.urlsafe_b64decode(f"{key}=="), f"{header}.{claim}".encode(), hashlib.sha256
    )
    assert base64.urlsafe_b64decode(f"{signature}=") == signed.digest()


def test_shared_directories_are_for_the_account_and_the_group_alone() -> None:
    """Of an event log others read what its owner lets them; in a table they write."""
    host = secured()
    made = host.directories()
    paths = (f"{host.shared_dir}/events", f"{host.shared_dir}/warehouse")
    modes = [made[path]["mode"] for path in paths]
    assert modes == ["3770", "2770"]
    assert {made[path]["group"] for path in (*paths, host.shared_dir)} == {"spark-users"}


def test_owned_keys_win_over_the_inventory() -> None:
    configured = {"spark.master": "local", "spark.worker.cleanup.enabled": False}
    text = spark(["m1"], {}, spark_config=configured).spark["w1"].files()[DEFAULTS]["content"]
    config = parse_properties(text)
    assert config["spark.master"] == "spark://m1:7077"
    assert config["spark.worker.cleanup.enabled"] == "false"


def test_a_master_is_reached_at_its_own_port() -> None:
    groups = {"spark_masters": ["m1", "m2"], "spark_workers": ["w1"], "zookeeper": ["m1"]}
    variables = {"m1": {"spark_master_port": 7079, "spark_master_ui_port": 8090, "zookeeper_id": 1}}
    worker = cluster(groups, variables).spark["w1"]
    assert worker.standalone.master_url == "spark://m1:7079,m2:7077"
    assert worker.standalone.at_masters("spark_master_ui_port") == ["m1:8090", "m2:8080"]


def test_a_worker_offers_its_cores() -> None:
    groups = {"spark_masters": ["m1"], "spark_workers": ["w1", "w2"]}
    hosts = cluster(
        groups, {"w2": {"spark_worker_cores": 3}}, {name: Facts(cores=8) for name in ("w1", "w2")}
    ).spark
    assert " --cores 8 " in unit(hosts["w1"], "worker")
    assert " --cores 3 " in unit(hosts["w2"], "worker")


def test_each_role_is_a_unit_with_a_mark_of_its_own() -> None:
    groups = {"spark_masters": ["m1"], "spark_history": ["m1"], "spark_workers": ["w1"]}
    host = cluster(groups).spark["m1"]
    assert host.units == ["spark-master", "spark-history"]
    assert host.marks == [f"/run/{name}/restart-pending" for name in host.units]
    assert [path for path in host.files() if path.endswith(".service")] == [
        f"/etc/systemd/system/{name}.service" for name in host.units
    ]


# Jobs


@pytest.fixture
def job(tmp_path: Path) -> Job:
    package, data = tmp_path / "flights", tmp_path / "airports.csv"
    package.mkdir()
    for name in ("stream.py", "schema.py", "Ranks.scala", "notes.txt"):
        (package / name).write_text(f"# {name}\n")
    data.write_text("LHR\n")
    return Job("flights", "flights.stream", str(package), ["--topic", "two words"], [str(data)])


def test_a_job_brings_its_package_its_data_and_its_unit(job: Job) -> None:
    host = spark(["m1"], {}, spark_shared_dir="/srv/spark").spark["m1"]
    state = of_job(host, job)
    entries = state["files"]
    package = "/opt/millrace/jobs/flights/flights"
    assert entries[f"{package}/stream.py"] == {"content": "# stream.py\n", "restart": True}
    assert f"{package}/Ranks.scala" in entries
    assert f"{package}/notes.txt" not in entries
    assert entries["/srv/spark/flights/airports.csv"]["content"] == "LHR\n"
    assert entries["/srv/spark/flights"]["owner"] == "spark"
    assert state["units"] == ["spark-job-flights"]
    assert state["restart_marks"] == ["/run/spark-job-flights/restart-pending"]
    written = entries["/etc/systemd/system/spark-job-flights.service"]["content"]
    assert "-m flights.stream --topic 'two words'" in written
    assert [path for path in entries if path.endswith("kafka.properties")] == []


def test_a_job_connects_to_the_brokers_of_its_inventory(job: Job) -> None:
    groups = {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"], "spark_masters": ["s1"]}
    configured = {"security.protocol": "SASL_SSL", "sasl.jaas.config": "hunter2"}
    deployment = cluster(groups, spark_kafka_client_config=configured, kafka_node_id=1)
    entry = of_job(deployment.spark["s1"], job)["files"][job.kafka_client]
    assert parse_properties(entry["content"]) == {"bootstrap.servers": "k1:9092", **configured}
    assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", "spark", True)


def test_a_job_without_its_files_is_an_error(job: Job) -> None:
    Path(job.data[0]).unlink()
    with pytest.raises(OSError, match=r"airports\.csv"):
        of_job(spark(["m1"], {}).spark["m1"], job)
