"""Clients on the control node reach the cluster by a file that no other user can read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)

from tests.unit.in_process import AnsibleRun, Answer

pytestmark = pytest.mark.usefixtures("local_tmp")


def written(place: Path, brokers: int = 3, **variables: Any) -> AnsibleRun:
    hosts = {f"k{number}": {"kafka_node_id": number} for number in range(1, brokers + 1)}
    settings = {"kafka_security": "open", **variables}
    document = {"all": {"vars": settings}, "kafka_brokers": {"hosts": hosts}}
    (place / "hosts.yml").write_text(
        yaml.safe_dump({**document, "zookeeper": {"hosts": {"z1": {}}}})
    )
    return AnsibleRun(place / "hosts.yml")


def closed(place: Path, *users_with_password: str) -> AnsibleRun:
    """Write a closed cluster with some users, and the passwords of those that are known."""
    users = [
        {"name": "app"},
        {"name": "bridge", "authentication": "tls"},
        {"name": "gone", "state": "absent"},
    ]
    for name in users_with_password:
        password = place / ".secrets/passwords" / name
        password.parent.mkdir(parents=True, exist_ok=True)
        password.write_text(f"hunter2-{name}")
    return written(place, kafka_security="standard", kafka_users=users)


def config(ansible: AnsibleRun, **args: Any) -> Answer:
    """Run it on the control node, which is not a host of the inventory."""
    return ansible.task("client_config", "localhost", **args)


def test_the_file_describes_the_cluster(tmp_path: Path) -> None:
    path = tmp_path / "state/prove/client.properties"
    result = config(written(tmp_path), path=str(path))
    assert parse_properties(path.read_text()) == {
        "bootstrap.servers": "k1:9092,k2:9092,k3:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert result == {
        "changed": False,
        "files": [str(path)],
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
    result = config(
        ansible, path=str(path), properties={"bootstrap.servers": "proxy:1", "client.id": "me"}
    )
    text = parse_properties(path.read_text())
    assert (text["bootstrap.servers"], text["client.id"]) == ("proxy:1", "me")
    assert (result["brokers"], result["replication_factor"], result["min_insync_replicas"]) == (
        1,
        1,
        1,
    )


def test_a_login_at_a_registry_that_is_gone_is_removed(tmp_path: Path) -> None:
    former = tmp_path / "client/schema-registry.conf"
    former.parent.mkdir()
    former.write_text("hunter2")
    ansible, args = written(tmp_path), {"path": str(former.parent), "all_formats": True}
    assert config(ansible, check=True, **args)["changed"]
    assert former.exists()
    assert config(ansible, **args)["changed"]
    assert not former.exists()
    assert not config(ansible, **args)["changed"]


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


@pytest.mark.parametrize(
    ("args", "user"), [({}, "admin"), ({"user": "ledger"}, "ledger"), ({"user": "app"}, "app")]
)
def test_the_file_is_that_of_a_user(tmp_path: Path, args: dict[str, str], user: str) -> None:
    path = tmp_path / "client.properties"
    result = config(closed(tmp_path, "admin", "ledger", "app"), path=str(path), **args)
    text = parse_properties(path.read_text())
    assert (text["security.protocol"], text["sasl.mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")
    assert f'username="{user}" password="hunter2-{user}"' in text["sasl.jaas.config"]
    assert text["ssl.truststore.location"] == f"{tmp_path}/.secrets/ca.pem"
    assert "hunter2" not in str(result)


@pytest.mark.parametrize("user", ["nobody", "gone"])
def test_an_unknown_user_is_refused_with_those_that_log_in(tmp_path: Path, user: str) -> None:
    """Even one that once had a password."""
    path = tmp_path / "client.properties"
    with pytest.raises(AnsibleError) as refusal:
        config(closed(tmp_path, "admin", "app", "bridge", "gone"), path=str(path), user=user)
    for text in (user, "admin", "ledger", "app"):
        assert text in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
    assert not path.exists()


def test_a_user_with_a_certificate_has_no_file_with_a_password(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    with pytest.raises(AnsibleError, match=r"bridge.*certificate"):
        config(closed(tmp_path, "admin", "app", "bridge"), path=str(path), user="bridge")
    assert not path.exists()


def test_a_user_whose_password_is_not_here_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    with pytest.raises(AnsibleError, match="app") as refusal:
        config(closed(tmp_path, "admin"), path=str(path), user="app")
    assert f"{tmp_path}/.secrets" in str(refusal.value)
    assert not path.exists()


def test_on_an_open_cluster_anybody_may_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    config(written(tmp_path), path=str(path), user="nobody")
    assert "sasl" not in path.read_text()
