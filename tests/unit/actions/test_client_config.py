"""Clients on the control node reach the cluster by a file that no other user can read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.model.properties import (
    parse_properties,
)

from tests.unit.in_process import AnsibleRun, Answer

pytestmark = pytest.mark.usefixtures("local_tmp")


def written(place: Path, brokers: int = 3, **variables: Any) -> AnsibleRun:
    hosts = {f"k{number}": {"kafka_node_id": number} for number in range(1, brokers + 1)}
    document = {"all": {"vars": variables}, "kafka_brokers": {"hosts": hosts}}
    (place / "hosts.yml").write_text(
        yaml.safe_dump({**document, "zookeeper": {"hosts": {"z1": {}}}})
    )
    return AnsibleRun(place / "hosts.yml")


def config(ansible: AnsibleRun, **args: Any) -> Answer:
    """Run it on the control node, which is not a host of the inventory."""
    return ansible.task("client_config", "localhost", **args)


def test_the_file_describes_the_cluster(tmp_path: Path) -> None:
    path = tmp_path / "state/prove/client.properties"
    found = config(written(tmp_path), path=str(path))
    assert parse_properties(path.read_text()) == {
        "bootstrap.servers": "k1:9092,k2:9092,k3:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert found == {
        "changed": False,
        "brokers": 3,
        "replication_factor": 3,
        "min_insync_replicas": 2,
    }


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    ansible = written(tmp_path, kafka_local_client_config={"ssl.key.password": "hunter2"})
    result = config(ansible, path=str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "hunter2" in path.read_text()
    assert "hunter2" not in str(result)


def test_stores_are_the_controllers_own(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    ansible = written(
        tmp_path,
        kafka_listeners=[{"name": "CLIENT", "port": 9092, "protocol": "SSL"}],
        kafka_config={"ssl.truststore.location": "/etc/kafka/tls/ca.pem"},
        kafka_local_client_config={"ssl.truststore.location": "/home/me/ca.pem"},
    )
    config(ansible, path=str(path))
    assert parse_properties(path.read_text())["ssl.truststore.location"] == "/home/me/ca.pem"


def test_properties_of_the_task_win(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    ansible = written(tmp_path, brokers=1, kafka_config={"min.insync.replicas": 1})
    found = config(
        ansible, path=str(path), properties={"bootstrap.servers": "proxy:1", "client.id": "me"}
    )
    text = parse_properties(path.read_text())
    assert (text["bootstrap.servers"], text["client.id"]) == ("proxy:1", "me")
    assert (found["brokers"], found["replication_factor"], found["min_insync_replicas"]) == (
        1,
        1,
        1,
    )


def test_it_is_written_in_check_mode_and_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("of.another.cluster=1\n" * 100)
    path.chmod(0o644)
    config(written(tmp_path), path=str(path), check=True)
    assert "of.another.cluster" not in parse_properties(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_brokers_there_is_nothing_to_reach(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match="kafka_brokers"):
        config(written(tmp_path, brokers=0), path=str(tmp_path / "client.properties"))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AnsibleError, match=str(tmp_path / "file")):
        config(written(tmp_path), path=f"{tmp_path}/file/client.properties")
