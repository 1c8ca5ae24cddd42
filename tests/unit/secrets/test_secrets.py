"""Secrets beside an inventory: made once, kept, read by their owner alone."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import (
    authorities,
    certificates,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    Authority,
    issue,
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
    tls as zookeeper_tls,
)
from cryptography import x509

from tests.unit.cluster.small import cluster, kafka, spark
from tests.unit.secrets.kept_secrets import closed, stored

FILES = {
    "ca.pem",
    "ca.key",
    "passwords/admin",
    "passwords/ledger",
    "certificates/b1/node.pem",
    "certificates/b1/clients.pem",
    "certificates/c1/node.pem",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "inventory" / ".secrets"


def complete(
    directory: Path, authority: Authority | None = None, *, store: bool = True, **variables: Any
) -> Secrets:
    return secrets.complete(closed(directory, **variables), authority, store=store)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Reading


def test_a_directory_that_is_not_there_holds_nothing(directory: Path) -> None:
    assert secrets.read(directory) == Secrets(str(directory))
    assert not directory.parent.exists()


def test_what_is_stored_is_read(directory: Path) -> None:
    made = complete(directory, brokers=1)
    (directory / "other").write_text("text\n")
    assert secrets.read(directory) == replace(made, texts={"other": "text"})


def test_the_key_of_the_ca_is_not_read(directory: Path) -> None:
    complete(directory)
    stored_secrets = secrets.read(directory)
    private = (directory / "ca.key").read_text()
    assert private not in (
        stored_secrets.authority,
        *stored_secrets.certificates.values(),
        *stored_secrets.texts.values(),
    )


def test_a_file_that_cannot_be_read_is_an_error(directory: Path) -> None:
    (directory / "passwords").mkdir(parents=True)
    (directory / "passwords/admin").write_bytes(b"\xff")
    with pytest.raises(AnsibleError, match=str(directory / "passwords/admin")):
        secrets.read(directory)


@pytest.mark.parametrize(
    ("configured", "expected"),
    [("", "/i/.secrets"), ("/srv/secrets", "/srv/secrets"), ("../secrets", "/i/../secrets")],
)
def test_secrets_are_beside_the_inventory_unless_it_says_otherwise(
    configured: str, expected: str
) -> None:
    assert secrets.directory_of(configured, "/i") == Path(expected)


@pytest.mark.parametrize("configured", ["secrets", "secrets/.own", "."])
def test_secrets_are_not_read_as_inventory(tmp_path: Path, configured: str) -> None:
    with pytest.raises(AnsibleError, match="begins with a dot"):
        secrets.directory_of(configured, str(tmp_path), [str(tmp_path)])


def test_secrets_that_ansible_does_not_read_may_be_beside_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("")
    source = str(tmp_path / "hosts.yml")
    assert secrets.directory_of("secrets", str(tmp_path), [source]) == tmp_path / "secrets"
    hidden = secrets.directory_of(".own/secrets", str(tmp_path), [str(tmp_path)])
    assert hidden == tmp_path / ".own/secrets"


def test_a_home_directory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert secrets.directory_of("~/secrets", "/i") == Path("/home/me/secrets")


# Making


def test_what_is_missing_is_made_once(directory: Path) -> None:
    first = complete(directory)
    before = stored(directory)
    assert before.keys() == FILES
    assert complete(directory) == first
    assert stored(directory) == before
    resolved = resolve(replace(closed(directory).inventory, secrets=first))
    for node in resolved.kafka.values():
        assert resolved.missing_secrets(node.name, "kafka") == []
        assert node.security.users_without_password == []


def test_nobody_else_reads_them(directory: Path) -> None:
    complete(directory)
    for path in (directory, *directory.rglob("*")):
        if path.name != ".lock":
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert not list(directory.rglob("*.new")), "no draft is left"


def test_a_file_that_others_could_read_is_closed(directory: Path) -> None:
    """A draft of an aborted run, perhaps of a lax umask."""
    complete(directory)
    (directory / "passwords/ledger").unlink()
    draft = directory / "passwords/.ledger.new"
    draft.write_text("left over " * 100)
    draft.chmod(0o644)
    made = complete(directory)
    path = directory / "passwords/ledger"
    assert (mode(path), path.read_text().strip()) == (0o600, made.passwords["ledger"])


def test_passwords_differ_and_cannot_be_guessed(directory: Path) -> None:
    passwords = complete(directory).passwords
    assert len({*passwords.values()}) == len(passwords) == 2
    assert all(len(password) >= 22 and password.isalnum() for password in passwords.values())


def test_without_storing_nothing_is_written(directory: Path) -> None:
    planned = complete(directory, store=False)
    assert planned.authority
    assert planned.certificates.keys() == {"b1/node", "b1/clients", "c1/node"}
    assert planned.passwords.keys() == {"admin", "ledger"}
    assert not directory.exists()
    completed = complete(directory)
    before = stored(directory)
    enlarged = complete(directory, store=False, brokers=2)
    assert stored(directory) == before
    assert enlarged.certificates.keys() - completed.certificates.keys() == {"b2/node", "b2/clients"}
    assert enlarged.authority == completed.authority


def test_what_is_there_stays_when_something_is_added(directory: Path) -> None:
    first = complete(directory)
    users = [{"name": "app"}, {"name": "other", "password": "of the inventory"}]
    second = complete(directory, brokers=2, kafka_users=users)
    assert first.certificates.items() <= second.certificates.items()
    assert first.passwords.items() <= second.passwords.items()
    assert second.passwords.keys() - first.passwords.keys() == {"app"}
    assert second.authority == first.authority


def test_a_certificate_for_other_names_is_replaced_alone(directory: Path) -> None:
    first = complete(directory)
    of_hosts = {"b1": {"kafka_advertised_host": "new.example.org"}}
    second = secrets.complete(closed(directory, of_hosts=of_hosts), None, store=True)
    changed = {k for k, pem in first.certificates.items() if second.certificates[k] != pem}
    assert changed == {"b1/node", "b1/clients"}
    assert secrets.read(directory) == second
    leaf = x509.load_pem_x509_certificate(second.certificates["b1/node"].encode())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "new.example.org" in names.get_values_for_type(x509.DNSName)


def test_a_damaged_certificate_is_replaced(directory: Path) -> None:
    complete(directory)
    (directory / "certificates/c1/node.pem").write_text("damaged")
    assert complete(directory).certificates["c1/node"].startswith("-----BEGIN PRIVATE KEY")


def test_an_open_cluster_needs_none(directory: Path) -> None:
    completed = complete(directory, kafka_security=security.OPEN)
    assert completed == Secrets(str(directory))
    assert not directory.exists()


def test_keys_of_the_inventory_need_none(directory: Path) -> None:
    configured = {"ssl.keystore.location": "/etc/kafka/tls/node.pem"}
    assert complete(directory, kafka_config=configured).certificates == {}
    assert stored(directory).keys() == {"passwords/admin", "passwords/ledger"}


SPARK = {"spark_secret", "spark_ui_key", "spark_ui_token", "spark_session_ui_key"}


def of_spark(directory: Path, *, store: bool = True) -> Secrets:
    """Complete the secrets of a closed Spark."""
    deployment = spark(["m1"], {}, spark_security=security.STANDARD)
    recorded = secrets.read(directory)
    return secrets.complete(
        resolve(replace(deployment.inventory, secrets=recorded)), None, store=store
    )


def test_spark_has_a_secret_and_a_token_of_its_web_interfaces(directory: Path) -> None:
    completed = of_spark(directory)
    assert stored(directory).keys() == completed.texts.keys() == SPARK
    assert completed.texts["spark_ui_token"] == security.bearer_token(
        completed.texts["spark_ui_key"]
    )
    assert of_spark(directory) == completed


@pytest.mark.parametrize(
    ("missing", "new"),
    [
        (["spark_ui_token"], set()),
        (["spark_ui_key"], {"spark_ui_key", "spark_ui_token"}),
        (["spark_ui_key", "spark_ui_token"], {"spark_ui_key", "spark_ui_token"}),
        (["spark_secret"], {"spark_secret"}),
    ],
)
def test_what_spark_lacks_is_made_alone(directory: Path, missing: list[str], new: set[str]) -> None:
    """The token follows from the key."""
    first = of_spark(directory)
    for name in missing:
        (directory / name).unlink()
    completed = of_spark(directory)
    assert {name for name in SPARK if completed.texts[name] != first.texts[name]} == new
    assert stored(directory) == completed.texts


def test_replaced_secrets_are_stored_and_others_stay(directory: Path) -> None:
    first = of_spark(directory)
    replaced = secrets.replace(directory, ["app"], ["spark_ui_key"], store=True)
    assert secrets.read(directory) == replaced
    assert replaced.passwords.keys() == {"app"}
    assert replaced.texts["spark_secret"] == first.texts["spark_secret"]
    assert replaced.texts["spark_ui_token"] == security.bearer_token(replaced.texts["spark_ui_key"])
    assert replaced.texts["spark_ui_token"] != first.texts["spark_ui_token"]


# The CA


def test_without_the_key_of_the_ca_no_certificate_is_made(directory: Path) -> None:
    first = complete(directory)
    (directory / "ca.key").unlink()
    assert complete(directory) == first, "nothing is to be signed"
    before = stored(directory)
    with pytest.raises(AnsibleError, match=r"ca\.key"):
        complete(directory, brokers=2)
    assert stored(directory) == before


def test_a_site_gives_its_ca(directory: Path) -> None:
    authority = new_authority("Site")
    completed = complete(directory, authority)
    assert completed.authority == authority.certificate == (directory / "ca.pem").read_text()
    assert "ca.key" not in stored(directory), "the site keeps its key"
    assert complete(directory, authority) == completed
    leaf = x509.load_pem_x509_certificate(completed.certificates["b1/node"].encode())
    leaf.verify_directly_issued_by(authority.issuer)


def test_a_site_whose_key_is_not_its_certificates_is_refused(directory: Path) -> None:
    authority = replace(new_authority("Site"), key=new_authority("Site").key)
    with pytest.raises(AnsibleError, match="key"):
        complete(directory, authority)
    assert stored(directory) == {}


def test_another_ca_of_a_site_replaces_none_that_nodes_may_trust(directory: Path) -> None:
    first = complete(directory)
    before = stored(directory)
    with pytest.raises(AnsibleError, match="kafka_ca_certificate"):
        complete(directory, new_authority("Site"))
    assert stored(directory) == before
    assert complete(directory) == first


def test_the_key_of_a_ca_whose_certificate_is_missing_is_kept(directory: Path) -> None:
    complete(directory)
    (directory / "ca.pem").unlink()
    before = stored(directory)
    with pytest.raises(AnsibleError, match=r"ca\.pem is missing"):
        complete(directory)
    assert stored(directory) == before
    deployment = closed(directory)
    assert deployment.missing_secrets("b1", "kafka") == ["ca.pem"]


def test_a_ca_that_was_made_in_part_is_made_anew(directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "ca.key").write_text("of an interrupted run\n")
    assert complete(directory).authority
    assert complete(directory, brokers=2).certificates["b2/node"]


def test_a_name_that_no_certificate_can_have_is_an_error(directory: Path) -> None:
    groups = {"kafka_brokers": ["käfka"], "kafka_controllers": ["käfka"]}
    deployment = cluster(groups, kafka_node_id=1, kafka_security=security.STANDARD)
    resolved = resolve(replace(deployment.inventory, secrets=Secrets(str(directory))))
    with pytest.raises(AnsibleError, match="käfka"):
        secrets.complete(resolved, None, store=True)


def test_an_address_in_another_notation_is_the_same(directory: Path) -> None:
    of_hosts = {"b1": {"kafka_advertised_host": "[2001:DB8:0::1]"}}
    deployment = closed(directory, of_hosts=of_hosts)
    first = secrets.complete(deployment, None, store=True)
    assert secrets.complete(deployment, None, store=True) == first


# Several at once, and failures


def test_two_runs_at_once_agree(directory: Path) -> None:
    deployment = closed(directory)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(secrets.complete, deployment, None, store=True) for _ in range(4)]
        results = [run.result() for run in runs]
    assert [result == results[0] for result in results] == [True] * 4
    assert secrets.read(directory) == results[0]


def test_a_place_that_cannot_be_written_is_named(directory: Path) -> None:
    directory.parent.mkdir(parents=True)
    directory.write_text("a file")
    with pytest.raises(AnsibleError, match=str(directory)):
        secrets.complete(kafka_at(directory), None, store=True)


def kafka_at(directory: Path) -> Cluster:
    """Return a closed cluster whose directory was not read."""
    deployment = kafka(1, 1, kafka_security=security.STANDARD)
    return resolve(replace(deployment.inventory, secrets=Secrets(str(directory))))


# ZooKeeper


def ensemble(directory: Path, **variables: Any) -> Secrets:
    """Complete the secrets of a closed ensemble with a broker."""
    groups = {"zookeeper": ["z1"], "kafka_brokers": ["b1"]}
    ids = {"z1": {"zookeeper_id": 1}, "b1": {"kafka_node_id": 1}}
    variables = {"zookeeper_security": "standard", "kafka_version": "3.9.2", **variables}
    deployment = cluster(groups, ids, **variables)
    return secrets.complete(
        resolve(replace(deployment.inventory, secrets=secrets.read(directory))), None, store=True
    )


def test_an_ensemble_has_a_ca_of_its_own(directory: Path) -> None:
    made = ensemble(directory, kafka_security="standard")
    assert made == secrets.read(directory)
    assert made.authority != made.zookeeper_authority
    issuers = {
        name: x509.load_pem_x509_certificate(pem.encode()).issuer.rfc4514_string()
        for name, pem in made.certificates.items()
    }
    authorities = {
        issuers[name] for name in ("z1/ensemble-zookeeper", "b1/ensemble-kafka", "b1/node")
    }
    assert len(authorities) == 3, "a key of one kind is worth nothing as another"
    before = stored(directory)
    ensemble(directory, kafka_security="standard")
    assert stored(directory) == before


def test_an_open_cluster_on_a_closed_ensemble(directory: Path) -> None:
    made = ensemble(directory)
    assert made.authority == ""
    assert set(made.certificates) == {"z1/ensemble-zookeeper", "b1/ensemble-kafka"}


def test_a_missing_ca_of_the_ensemble_is_not_replaced(directory: Path) -> None:
    ensemble(directory)
    (directory / authorities.ENSEMBLE_CERTIFICATE).unlink()
    with pytest.raises(AnsibleError) as refusal:
        ensemble(directory)
    for name in (authorities.ENSEMBLE_CERTIFICATE, "/etc/zookeeper/certificates"):
        assert name in str(refusal.value)


def of_earlier_state(directory: Path) -> Secrets:
    """Secrets of a time when the members' CA signed the certificates of clients, too."""
    made = ensemble(directory)
    members = Authority(made.zookeeper_authority, read_text(directory, "zookeeper-ca.key"))
    certificate = Certificate("b1/ensemble-kafka", "", "kafka", ("b1",), client=True)
    secrets.keep(directory, f"certificates/{certificate.name}.pem", issue(members, certificate))
    for name in (authorities.CLIENTS_CERTIFICATE, "zookeeper-clients-ca.key"):
        (directory / name).unlink()
    return secrets.read(directory)


def read_text(directory: Path, name: str) -> str:
    return (directory / name).read_text()


def test_clients_of_an_earlier_state_get_certificates_of_a_ca_of_their_own(directory: Path) -> None:
    before = of_earlier_state(directory)
    now = ensemble(directory)
    assert now.zookeeper_authority == before.zookeeper_authority
    changed = {k for k, pem in now.certificates.items() if pem != before.certificates[k]}
    assert changed == {"b1/ensemble-kafka"}
    assert now.zookeeper_clients_authority in now.certificates["b1/ensemble-kafka"]


def test_a_missing_ca_of_the_ensembles_clients_is_not_replaced(directory: Path) -> None:
    ensemble(directory)
    (directory / authorities.CLIENTS_CERTIFICATE).unlink()
    with pytest.raises(AnsibleError) as refusal:
        ensemble(directory)
    for path in (authorities.CLIENTS_CERTIFICATE, zookeeper_tls.clients_path()):
        assert path in str(refusal.value)


def test_secrets_of_kafka_do_not_stand_in_the_way_of_an_ensemble(directory: Path) -> None:
    kafkas = ensemble(directory, kafka_security="standard", zookeeper_security="open")
    assert kafkas.zookeeper_authority == ""
    both = ensemble(directory, kafka_security="standard")
    assert both.zookeeper_authority
    assert both.authority == kafkas.authority


def workers(directory: Path, **variables: Any) -> Secrets:
    """Complete the secrets of a closed group of Kafka Connect beside Kafka."""
    groups = {"kafka_brokers": ["b1"], "kafka_controllers": ["b1"], "kafka_connect": ["w1"]}
    variables = {"kafka_node_id": 1, "connect_security": "standard", **variables}
    deployment = cluster(groups, cluster_id="4L6g3nShT-eMCtK--X86sw", **variables)
    return secrets.complete(
        resolve(replace(deployment.inventory, secrets=secrets.read(directory))), None, store=True
    )


def test_workers_of_kafka_connect_have_a_ca_of_their_own(directory: Path) -> None:
    made = workers(directory, kafka_security="standard")
    assert made == secrets.read(directory)
    assert made.connect_authority != made.authority
    for name in ("w1/connect", "connect-admin"):
        assert made.connect_authority in made.certificates[name]
    assert made.connect_authority not in made.certificates["b1/node"]
    assert made.passwords.keys() >= {"connect"}
    assert workers(directory, kafka_security="standard") == made


def test_a_database_has_a_certificate_of_that_ca_and_passwords(directory: Path) -> None:
    groups = {"kafka_connect": ["w1"], "postgresql": ["d1"]}
    deployment = cluster(groups, connect_security="standard")
    inventory = replace(deployment.inventory, secrets=secrets.read(directory))
    made = secrets.complete(resolve(inventory), None, store=True)
    assert made.connect_authority in made.certificates["d1/postgresql"]
    passwords = [made.texts[f"postgresql_{user}"] for user in ("owner", "debezium", "sink")]
    assert len({*passwords}) == len(passwords)
    again = resolve(replace(inventory, secrets=secrets.read(directory)))
    assert secrets.complete(again, None, store=True) == made


def test_kafka_gets_its_ca_although_workers_have_certificates_already(directory: Path) -> None:
    """A cluster that is closed later."""
    assert workers(directory).authority == ""
    assert workers(directory, kafka_security="standard").authority


def test_a_missing_ca_of_the_workers_is_not_replaced(directory: Path) -> None:
    workers(directory)
    (directory / authorities.CONNECT_CERTIFICATE).unlink()
    with pytest.raises(AnsibleError) as refusal:
        workers(directory)
    for path in (authorities.CONNECT_CERTIFICATE, "/etc/connect/certificates"):
        assert path in str(refusal.value)


def registry(directory: Path, **variables: Any) -> Secrets:
    """Complete the secrets of a closed schema registry beside Kafka."""
    groups = {"kafka_brokers": ["b1"], "kafka_controllers": ["b1"], "schema_registry": ["r1"]}
    variables = {"kafka_node_id": 1, "schema_registry_security": "standard", **variables}
    deployment = cluster(groups, cluster_id="4L6g3nShT-eMCtK--X86sw", **variables)
    return secrets.complete(
        resolve(replace(deployment.inventory, secrets=secrets.read(directory))), None, store=True
    )


def test_the_schema_registry_has_a_certificate_of_the_cluster(directory: Path) -> None:
    made = registry(directory, kafka_security="standard")
    assert made == secrets.read(directory)
    assert made.authority in made.certificates["r1/schema_registry"]
    assert registry(directory, kafka_security="standard") == made


def test_a_cluster_that_is_closed_later_keeps_the_ca_of_its_schema_registry(
    directory: Path,
) -> None:
    made = registry(directory)
    assert made.authority
    closed = registry(directory, kafka_security="standard")
    assert closed.authority == made.authority
    assert closed.certificates["r1/schema_registry"] == made.certificates["r1/schema_registry"]
    assert closed.authority in closed.certificates["b1/node"]


def test_users_of_the_schema_registry_and_of_kafka_have_passwords_of_their_own(
    directory: Path,
) -> None:
    users = [{"name": "admin", "role": "admin"}, {"name": "writer", "role": "write"}]
    made = registry(directory, kafka_security="standard", schema_registry_users=users)
    assert made.passwords["schema_registry/admin"] != made.passwords["admin"]
    assert (directory / "passwords/schema_registry/writer").stat().st_mode & 0o077 == 0
    configured = [{**users[1], "password": "a-password-of-theirs"}]
    (directory / "passwords/schema_registry/writer").unlink()
    completed = registry(directory, kafka_security="standard", schema_registry_users=configured)
    assert "schema_registry/writer" not in completed.passwords


def watching(directory: Path, **variables: Any) -> Secrets:
    """Complete the secrets of a broker and of what watches it."""
    groups = {"kafka_brokers": ["b1"], "kafka_controllers": ["b1"], "monitoring": ["m1"]}
    variables = {"metrics_security": "standard", "monitoring_security": "standard", **variables}
    deployment = cluster(groups, cluster_id="4L6g3nShT-eMCtK--X86sw", kafka_node_id=1, **variables)
    return secrets.complete(
        resolve(replace(deployment.inventory, secrets=secrets.read(directory))), None, store=True
    )


def test_monitoring_has_certificates_a_token_and_a_password_with_its_digest(
    directory: Path,
) -> None:
    made = watching(directory)
    watching_host = {"m1/console", "m1/metrics", "m1/monitoring"}
    assert {*made.certificates} == {"b1/metrics", *watching_host}
    password, digest = (made.texts[f"monitoring_password{end}"] for end in ("", "_hash"))
    assert bcrypt.checkpw(password.encode(), digest.encode())
    assert len(made.texts["metrics_token"]) > 40
    assert watching(directory) == made


@pytest.mark.parametrize("digest", ["", "no digest", None])
def test_a_new_password_of_monitoring_has_a_new_digest(directory: Path, digest: str | None) -> None:
    watching(directory)
    (directory / "monitoring_password").unlink()
    if digest is not None:
        (directory / "monitoring_password_hash").write_text(digest)
    made = watching(directory)
    password, digest_text = (made.texts[f"monitoring_password{end}"] for end in ("", "_hash"))
    assert bcrypt.checkpw(password.encode(), digest_text.encode())


def test_open_monitoring_needs_a_key_of_the_console_alone(directory: Path) -> None:
    made = watching(directory, metrics_security="open", monitoring_security="open")
    assert {*made.certificates} == {"m1/console"}
    assert not made.texts


def test_a_certificate_that_expires_soon_is_issued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / ".secrets"
    before = secrets.complete(closed(directory), None, store=True)
    assert secrets.complete(closed(directory), None, store=True).certificates == before.certificates
    monkeypatch.setattr(certificates, "days_left", lambda *_: 10.0)
    after = secrets.complete(closed(directory), None, store=True)
    assert {*after.certificates} == {*before.certificates}
    assert {*after.certificates.values()}.isdisjoint(before.certificates.values())


def test_a_ca_without_its_key_goes_on_with_what_it_has_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a host is new, or what it has signed ends."""
    directory = tmp_path / ".secrets"
    before = secrets.complete(closed(directory), None, store=True)
    (directory / "ca.key").unlink()
    assert secrets.complete(closed(directory), None, store=True).certificates == before.certificates
    with pytest.raises(AnsibleError, match=r"ca\.key"):
        secrets.complete(closed(directory, brokers=2), None, store=True)
    monkeypatch.setattr(certificates, "days_left", lambda *_: 10.0)
    assert secrets.complete(closed(directory), None, store=True).certificates == before.certificates
    monkeypatch.setattr(certificates, "days_left", lambda *_: 1.0)
    with pytest.raises(AnsibleError, match=r"ca\.key"):
        secrets.complete(closed(directory), None, store=True)
