"""New secrets are stored before anything uses them, or nothing is changed and all reasons given."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.module_options import (
    of_module,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import FILE
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    bearer_token,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.security import (
    SECRET,
)

from tests.unit.in_process import AnsibleRun, Answer

pytestmark = pytest.mark.usefixtures("local_tmp")
USERS = [
    {"name": "app"},
    {"name": "vault", "password": "hunter2-of-the-inventory"},
    {"name": "bridge", "authentication": "tls"},
    {"name": "gone", "state": "absent"},
]
HOSTS = ["s1", "s2"]


def deployed(place: Path, **variables: Any) -> AnsibleRun:
    """Write a closed cluster with Kafka and Spark, and the secrets that site.yml made."""
    document = {
        "all": {"vars": {"kafka_users": USERS, **variables}},
        "kafka_brokers": {"hosts": {"k1": {"kafka_node_id": 1}}},
        "kafka_controllers": {"hosts": {"k1": None}},
        "spark_masters": {"hosts": {"s1": None}},
        "spark_workers": {"hosts": {"s1": None, "s2": None}},
    }
    (place / "hosts.yml").write_text(yaml.safe_dump(document))
    passwords = place / ".secrets/passwords"
    passwords.mkdir(parents=True)
    for name in ("admin", "app", "flights-producer", "flights-stream", "gone"):
        (passwords / name).write_text(f"hunter2-{name}")
    (place / ".secrets/spark_secret").write_text("hunter2-spark-hunter2-spark")
    (place / ".secrets/spark_ui_key").write_text("aHVudGVyMi" * 4)
    (place / ".secrets/spark_session_ui_key").write_text("aHVudGVyMi" * 4)
    (place / ".secrets/spark_ui_token").write_text(bearer_token("aHVudGVyMi" * 4))
    return AnsibleRun(place / "hosts.yml")


def kept(place: Path) -> dict[str, str]:
    files = [path for path in (place / ".secrets").rglob("*") if path.is_file()]
    names = {path.name: path for path in files if not path.name.startswith(".")}
    return {name: path.read_text() for name, path in names.items() if name != FILE}


def rotate(ansible: AnsibleRun, **args: Any) -> Answer:
    return ansible.task("rotate_secrets", "k1", **args)


def refused(ansible: AnsibleRun, place: Path, **args: Any) -> str:
    """The reasons why nothing was changed."""
    before = kept(place)
    with pytest.raises(AnsibleError) as refusal:
        rotate(ansible, **{"make": True, "hosts": HOSTS, "confirmed": True, **args})
    assert kept(place) == before
    assert "hunter2" not in str(refusal.value)
    return str(refusal.value)


def password(ansible: AnsibleRun, user: str) -> str:
    """What the next task of the run would give Kafka."""
    users = of_module("kafka_users", ansible.cluster("k1"), "k1")["users"]
    secret: str = next(account["password"] for account in users if account["name"] == user)
    return secret


def test_users_of_a_task_alone_are_no_longer_to_be_replaced(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, users=["app", "flights-producer"], make=True)

    def replacing(**options: Any) -> list[str]:
        run = ansible.next_run()
        run.module = lambda *_: {"changed": True}
        run.task("kafka_users", "k1", **options)
        return sorted(json.loads((tmp_path / ".secrets" / FILE).read_text())["replacing"])

    former = {"name": "former", "state": "absent"}
    assert replacing(users=[former]) == ["app", "flights-producer"]
    assert replacing(users=[]) == ["app", "flights-producer"]
    assert replacing(users=[former, {"name": "app"}]) == ["flights-producer"]
    assert replacing() == []


def test_a_password_is_replaced_and_the_next_tasks_have_it(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = kept(tmp_path)
    assert password(ansible, "app") == "hunter2-app"
    result = rotate(ansible, users=["app"], make=True)
    after = kept(tmp_path)
    assert {name for name in after if after[name] != before[name]} == {"app"}
    assert password(ansible, "app") == after["app"]
    assert result == {"changed": True}
    mode = (tmp_path / ".secrets/passwords/app").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_an_aborted_run_is_completed_by_any_later_run(tmp_path: Path) -> None:
    """The stored password is what Kafka gets, since it does not accept it yet at the login."""
    ansible = deployed(tmp_path)
    rotate(ansible, users=["app"], make=True)
    later = ansible.next_run()
    assert password(later, "app") == kept(tmp_path)["app"]
    rotate(later, users=["app"], make=True)
    assert password(later.next_run(), "app") == kept(tmp_path)["app"]


def test_several_at_once_with_spaces_between(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = kept(tmp_path)
    rotate(ansible, users=["app", " admin", "app", ""], make=True)
    after = kept(tmp_path)
    assert {name for name in after if after[name] != before[name]} == {"admin", "app"}


def test_sparks_secret_is_replaced(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = kept(tmp_path)
    rotate(ansible, spark=True, hosts=HOSTS, confirmed=True, make=True)
    after = kept(tmp_path)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"spark_secret", "spark_ui_key", "spark_ui_token", "spark_session_ui_key"}
    hosts = ansible.cluster("k1").spark.values()
    assert {host.config[SECRET] for host in hosts} == {after["spark_secret"]}
    assert {host.security.ui_token for host in hosts} == {after["spark_ui_token"]}


def test_check_mode_stores_nothing_and_needs_no_confirmation(tmp_path: Path) -> None:
    """The tasks after it say what they would do with new secrets."""
    ansible = deployed(tmp_path)
    before = kept(tmp_path)
    result = rotate(ansible, users=["app"], spark=True, hosts=HOSTS, make=True, check=True)
    assert result == {"changed": True}
    assert kept(tmp_path) == before
    assert not (tmp_path / ".secrets/.lock").exists()
    assert password(ansible, "app") not in ("", "hunter2-app")
    assert password(ansible.next_run(), "app") == "hunter2-app"


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = kept(tmp_path)
    result = rotate(ansible, users=["app"], spark=True, hosts=HOSTS, confirmed=True)
    assert result == {"changed": False}
    assert kept(tmp_path) == before


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ("vault", "kafka_users"),
        ("bridge", "certificate"),
        ("gone", "no user gone"),
        ("nobody", "no user nobody"),
        ("ledger", "run site.yml"),
    ],
)
def test_a_password_that_is_not_generated_is_refused(
    tmp_path: Path, user: str, reason: str
) -> None:
    text = refused(deployed(tmp_path), tmp_path, users=["app", user])
    assert user in text
    assert reason in text


def test_every_reason_is_given_at_once(tmp_path: Path) -> None:
    options = {"users": ["vault", "nobody"], "spark": True, "hosts": ["s1"], "confirmed": False}
    text = refused(deployed(tmp_path), tmp_path, **options)
    for fragment in ("vault", "nobody", "s2", "rotate_confirm=true"):
        assert fragment in text


def test_without_a_choice_there_is_a_list_of_what_can_be_replaced(tmp_path: Path) -> None:
    text = refused(deployed(tmp_path), tmp_path, users=[""])
    for fragment in (
        "admin, flights-producer, flights-stream and app",
        "-e user=",
        "-e secret=spark",
    ):
        assert fragment in text
    assert "vault" not in text


def test_without_anything_to_replace_it_says_so(tmp_path: Path) -> None:
    nothing = {"kafka_security": "open", "spark_security": "open", "kafka_users": []}
    ansible = deployed(tmp_path, **nothing)
    assert "none that Millrace makes" in refused(ansible, tmp_path)
    assert "no user of Kafka has a password" in refused(ansible, tmp_path, users=["admin"])
    assert "spark_security: standard" in refused(ansible, tmp_path, spark=True)


def test_a_secret_of_spark_that_the_inventory_gives_is_refused(tmp_path: Path) -> None:
    ansible = deployed(tmp_path, spark_config={SECRET: "hunter2" * 5})
    assert "teardown.yml" in refused(ansible, tmp_path, spark=True)


def test_a_secret_of_spark_that_is_not_here_is_refused(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    (tmp_path / ".secrets/spark_secret").unlink()
    assert "run site.yml" in refused(ansible.next_run(), tmp_path, spark=True)


def test_no_result_has_a_secret(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    options: dict[str, Any] = {"users": ["app"], "spark": True, "hosts": HOSTS, "make": True}
    result = rotate(ansible, confirmed=True, **options)
    assert not [text for text in kept(tmp_path).values() if text in json.dumps(result)]


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, users=["app"])
    (tmp_path / ".secrets/passwords").rename(tmp_path / "elsewhere")
    (tmp_path / ".secrets/passwords").write_text("a file")
    with pytest.raises(AnsibleError, match=str(tmp_path / ".secrets")):
        rotate(ansible, users=["app"], make=True)


def test_stopping_spark_removes_its_units_and_the_secret_alone(tmp_path: Path) -> None:
    """No data, whatever teardown would remove by the inventory."""
    ansible = deployed(tmp_path, spark_remove_data=True)
    ansible.module = lambda *_: {"changed": True, "changed_paths": []}
    removed = ["/etc/spark/spark-defaults.conf"]
    ansible.task("service", "s2", product="spark", state="absent", removed=removed)
    [(_, options)] = ansible.calls
    assert options == {"state": "absent", "units": ["spark-*"], "removed": removed}


def test_masters_start_without_the_workers_of_their_hosts(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    ansible.module = lambda *_: {"changed": True}
    ansible.task("service", "s1", product="spark", units=["spark-master"], started=True)
    ansible.task("spark_health", "s1", workers=[])
    (_, service), (_, health) = ansible.calls
    assert (service["units"], service["started"]) == (["spark-master"], True)
    assert service["restart_marks"][0] == "/run/spark-master/restart-pending"
    assert "/etc/spark/spark-defaults.conf" in service["files"]
    assert (health["workers"], health["masters"]) == ([], ["s1:8080"])
