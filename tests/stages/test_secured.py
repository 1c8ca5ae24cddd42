"""A closed cluster from outside: what `kafka_security: standard` promises, control by control.

It is the topology of `./lab up` with a site's own CA, listeners for partners with certificates and
for clients with tokens, and users of its own. The stage `lab` shows that everything else works on
such a cluster.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.secret_record import RECORD
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import acls, clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    KafkaAdminClient,
    errors,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import properties
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.store import (
    replace as replace_secrets,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security
from confluent_kafka import Consumer, Producer

from tests.support.clients import tokens
from tests.support.faults.catalogue import FAULTS
from tests.support.faults.catalogue.identities import unverified
from tests.support.faults.ledger_run import checked, ledger_running
from tests.support.faults.target import FULL, PART_OF_FULL, Target
from tests.support.lab import site_units, tls
from tests.support.lab.change import Plays
from tests.support.lab.lab import lab as run_lab
from tests.support.lab.lab import leftovers, readable, succeed
from tests.support.lab.lab import on_host as run_script
from tests.support.lab.topology import ROOT, Topology, describe, over_ssh
from tests.support.recap import changed
from tests.support.services.segments import CODECS
from tests.support.services.spark import get, master_state
from tests.support.wait import wait_for

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-secured"
STATE = ROOT / ".lab" / NAME
FACTS = STATE / "facts"
# Every run keeps facts where they can be searched.
LAB = {
    "LAB_TOPOLOGY": "kraft_combined",
    "LAB_NAME": NAME,
    "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
    "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(FACTS),
}
INVENTORY = STATE / "inventory"
PASSWORD = "known-Secret-7b1f09"
OTHER_PASSWORD = "changed-Secret-2c44e1"
TOPIC = {"num_partitions": 1, "replication_factor": 3}
HOSTS = ("k1", "k2", "k3")
OPEN, CLIENTS, BROKERS, PARTNERS, TOKENS = 9092, 9095, 9094, 9097, 9098  # ports
KEYS = "/etc/kafka/certificates"
TOKEN_KEYS = "/etc/token-keys.json"
AUDIENCE = "millrace"
RIGHT: dict[str, Any] = {"sub": "partner", "aud": AUDIENCE}
DENIALS = "/var/log/kafka/authorizer.log"


def lab(*arguments: str, seconds: float) -> str:
    """The output of a run, which shows no secret: no former one, and no new one."""
    former = secrets()
    output = succeed(*arguments, *all_of_it(arguments), seconds=seconds, env=LAB)
    reveals_nothing(output, former)
    return output


def refused(*arguments: str, seconds: float) -> str:
    """The output of a run that has to fail, and shows no secret either."""
    former = secrets()
    done = run_lab(*arguments, *all_of_it(arguments), seconds=seconds, env=LAB)
    assert done.returncode != 0, done.stdout[-3000:]
    reveals_nothing(done.stdout, former)
    return done.stdout


def all_of_it(arguments: tuple[str, ...]) -> list[str]:
    """What makes a playbook show all it can show."""
    return ["-vvv"] if arguments[0] == "run" else []


def reveals_nothing(output: str, former: list[str]) -> None:
    shown = [text for text in (*former, *secrets()) if text in output]
    assert not shown, "the output of a run shows a secret"


def on_host(host: str, script: str) -> str:
    return run_script(host, script, LAB)


def from_file(path: Path) -> str:
    """The expression by which an inventory reads a file."""
    return f"{{{{ lookup('ansible.builtin.file', '{path}') }}}}"


@dataclass
class Site:
    """The cluster, and what its operator has: a CA, an issuer of tokens, and the passwords of users
    in files.
    """

    folder: Path
    issuer: tokens.Issuer
    topology: Topology | None = None

    @property
    def known(self) -> Topology:
        assert self.topology
        return self.topology

    def write_open(self) -> None:
        """Write the inventory of a cluster that is still open."""
        self._write({"kafka_security": "open"})

    def _write(self, variables: dict[str, Any]) -> None:
        hosts = {name: dict(variables) for name in HOSTS}
        (INVENTORY / "secured.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))

    def write(self, *users: dict[str, Any], clients: str = "CLIENT_TLS") -> None:
        """Write what the inventory has besides the shipped one."""
        listeners = (
            (clients, CLIENTS, "SASL_SSL"),
            ("INTERNAL", BROKERS, "SSL"),
            ("PARTNERS", PARTNERS, "SSL"),
            ("TOKENS", TOKENS, "SASL_SSL"),
        )
        keys = ("name", "port", "protocol")
        partner = {
            "name": "partner",
            "authentication": "tls",
            "grants": [{"topic": "orders", "operations": ["write"]}],
        }
        self._write(
            {
                "kafka_ca_certificate": from_file(self.folder / "ca.pem"),
                "kafka_ca_key": from_file(self.folder / "ca.key"),
                "kafka_listeners": [
                    dict(zip(keys, listener, strict=True)) for listener in listeners
                ],
                "kafka_users": [*users, partner],
                **self._tokens(),
            }
        )

    def _tokens(self) -> dict[str, Any]:
        """The variables of a listener for tokens whose keys are in a file of each host."""
        kafka, url = "org.apache.kafka", f"file://{TOKEN_KEYS}"
        options = self.known.cluster.brokers[0].settings["kafka_java_options"]
        allowed = f"-D{kafka}.sasl.oauthbearer.allowed.urls={url}"
        bearer, of_listener = f"{kafka}.common.security.oauthbearer", "listener.name.tokens."
        settings = {
            "sasl.jaas.config": f"{bearer}.OAuthBearerLoginModule required;",
            "sasl.server.callback.handler.class": f"{bearer}.OAuthBearerValidatorCallbackHandler",
            "sasl.oauthbearer.jwks.endpoint.url": url,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": self.issuer.name,
        }
        return {
            "kafka_java_options": [*dict.fromkeys([*options, allowed])],
            "kafka_host_config": {
                f"{of_listener}sasl.enabled.mechanisms": "OAUTHBEARER",
                **{f"{of_listener}oauthbearer.{key}": value for key, value in settings.items()},
            },
        }

    def topics_seen(self, token: str) -> set[str]:
        """The topics that whoever has a token sees."""
        servers = ",".join(f"{address}:{TOKENS}" for address in self.known.addresses.values())
        return tokens.topics(servers, str(self.folder / "ca.pem"), token, seconds=30)

    def billing(self, password: str, *operations: str) -> dict[str, Any]:
        """A user whose password is in a file."""
        (self.folder / "billing").write_text(password)
        return {
            "name": "billing",
            "password": from_file(self.folder / "billing"),
            "grants": [
                {"topic": "orders", "operations": list(operations)},
                {"group": "billing", "operations": ["read"]},
            ],
        }

    def properties(self, user: str, password: str = "") -> dict[str, Any]:
        """The client properties of a user on this machine."""
        settings = self.known.cluster.brokers[0].clients.local_config("admin" if password else user)
        if password:  # of a user that the cluster may not have
            module = settings["sasl.jaas.config"].partition("username=")[0]
            login = f'username="{user}" password="{password}";'
            settings["sasl.jaas.config"] = module + login
        return {**settings, "bootstrap.servers": ",".join(self.known.brokers.values())}

    def admin(self, user: str, password: str = "") -> Any:
        connection = Connection.of(self.properties(user, password))
        return clients.admin(connection, bootstrap_timeout_ms=4000, request_timeout_ms=4000)

    def partner(self, certificate: Path) -> Connection:
        """How a client with a certificate connects."""
        servers = ",".join(f"{address}:{PARTNERS}" for address in self.known.addresses.values())
        return Connection.of(
            {
                "bootstrap.servers": servers,
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.folder / "ca.pem"),
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(certificate),
            }
        )

    def ports(self) -> Iterator[tuple[str, int]]:
        """Address and port of each listener of a node."""
        node = self.known.cluster.brokers[0]
        for listener in node.listeners.all:
            yield self.known.addresses[node.name], listener.port


def secrets() -> list[str]:
    """A part of each secret that there is: a password, or a line of a key."""
    files = [path for path in (INVENTORY / ".secrets").rglob("*") if path.is_file()]
    excerpts = [PASSWORD, OTHER_PASSWORD]
    for path in files:
        text = path.read_text().split("-----")
        if "PRIVATE KEY" in path.read_text():
            excerpts.append(text[2].split()[0])
        elif path.parent.name == "passwords" or path.name.startswith("spark_"):
            excerpts.append(text[0].strip())
    return excerpts


LEAVER = {"name": "leaver", "grants": [{"topic": "orders", "operations": ["read"]}]}
TOPICS = {"orders": TOPIC, "invoices": TOPIC}


def _deploy_closed(site: Site) -> None:
    site.write(site.billing(PASSWORD, "read"), LEAVER)
    lab("run", "site", seconds=600)
    site.topology = describe(INVENTORY)
    with contextlib.closing(site.admin("admin")) as admin:
        admin.create_topics(TOPICS, wait_for_metadata=True)


def _deploy_open_and_close(site: Site) -> None:
    """Close an open cluster while it is used, in phases (`secure.yml`)."""
    lab("run", "site", seconds=600)
    servers = ",".join(f"{address}:{OPEN}" for address in site.known.addresses.values())
    plain = Connection.of({"bootstrap.servers": servers})
    with contextlib.closing(clients.admin(plain)) as admin:
        admin.create_topics(TOPICS, wait_for_metadata=True)
    site.write(site.billing(PASSWORD, "read"), LEAVER)
    assert "protocol-between-nodes" in refused("run", "site", seconds=120)
    site.write(site.billing(PASSWORD, "read"), LEAVER, clients="CLIENT")
    assert "CLIENT://:9095" in refused("run", "secure", seconds=120)
    site.write(site.billing(PASSWORD, "read"), LEAVER)
    lab("run", "secure", "--diff", "-e", "prove=true", seconds=600)
    proved()
    lab("run", "secure", "-e", "secure_back=true", "-e", "prove=true", seconds=600)
    proved()
    assert not reaches(site.known.addresses["k1"], CLIENTS)
    lab("run", "secure", "-e", "prove=true", seconds=600)
    proved()
    lab("run", "secure", "-e", "prove=true", seconds=600)
    proved()
    with contextlib.closing(clients.producer(plain, acks="all")) as producer:
        assert producer.send("orders", b"from an open client").get(timeout=30).offset >= 0
        assert "clients are connected" in refused(
            "run", "secure", "-e", "secure_watch=1", seconds=60
        )
        assert producer.send("orders", b"served all the same").get(timeout=30).offset >= 0
    # The same roll brings new keys, and nodes with them are known to those with the former ones.
    shown = ssl.get_server_certificate((site.known.addresses["k1"], CLIENTS))
    shutil.rmtree(INVENTORY / ".secrets/certificates")
    lab("run", "secure", "-e", "prove=true", "-e", "secure_watch=1", seconds=600)
    proved()
    assert ssl.get_server_certificate((site.known.addresses["k1"], CLIENTS)) != shown
    record = json.loads(lab("ssh", "k1", "cat /var/lib/millrace/operation.json", seconds=30))
    assert (record["state"], record["left"]) == ("finished", [])
    change = json.loads((INVENTORY / ".secrets/security_change.json").read_text())
    assert (change["phase"], change["complete"]) == ("ended", True)


def proved() -> None:
    """The last run under load restarted each node once, and lost nothing."""
    proof = json.loads((STATE / "prove/report.json").read_text())
    assert proof["verdict"] == "PASS", proof
    assert {change["node"] for change in proof["changes"]} == set(HOSTS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The platform with a few variables of the site; with --full it is open first, and closed."""
    folder = tmp_path_factory.mktemp("site")
    tls.authority(folder)
    site = Site(folder, tokens.Issuer("https://issuer.example.org"))
    lab("down", seconds=120)
    lab("run", "../molecule/shared/create", seconds=600)
    site.write_open()
    site.topology = describe(INVENTORY)
    for host in HOSTS:
        on_host(host, f"cat > {TOKEN_KEYS} << 'EOF'\n{site.issuer.keys()}\nEOF\n")
    if FULL:
        _deploy_open_and_close(site)
    else:
        _deploy_closed(site)
    site.topology = describe(INVENTORY)
    yield site
    lab("down", seconds=120)
    assert not leftovers(NAME)


def test_a_second_run_changes_nothing(site: Site) -> None:
    assert changed(lab("run", "site", seconds=300)) == 0


def test_nothing_else_listens(site: Site) -> None:
    """But for ports that Spark's processes choose themselves."""
    for host in HOSTS:
        ports = {port for _, port in site.known.cluster.ports(host)} | {22}
        spark = on_host(host, "id -u spark").strip()
        for line in on_host(host, "ss -ltneH").splitlines():
            address = line.split()[3]
            ours = int(address.rpartition(":")[2]) in ports or f"uid:{spark} " in f"{line} "
            assert ours or "127.0.0.1" in address, line


def connect(address: str, port: int, context: ssl.SSLContext) -> None:
    """Connect, and wait for an answer: with TLS 1.3 a refusal of the certificate comes late."""
    with (
        socket.create_connection((address, port), timeout=10) as plain,
        context.wrap_socket(plain) as secured,
    ):
        secured.sendall(b"\0\0\0\0")
        assert secured.recv(1) == b""
        message = "the connection was closed without an alert"
        raise ConnectionError(message)


def test_nodes_and_partners_need_a_certificate(site: Site) -> None:
    for address, port in site.ports():
        if port not in (CLIENTS, TOKENS):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                connect(address, port, unverified())


def test_what_clients_see_is_no_key_of_a_node(site: Site, tmp_path: Path) -> None:
    """The certificate of the clients' listener is another one, and for servers alone."""
    shown = tmp_path / "shown.pem"
    shown.write_text(ssl.get_server_certificate((site.known.addresses["k1"], CLIENTS)))
    assert shown.read_text().strip() not in on_host("k1", f"cat {KEYS}/node.pem")
    for purpose, right in (("sslserver", True), ("sslclient", False)):
        command = ["openssl", "verify", "-CAfile", str(site.folder / "ca.pem"), "-purpose", purpose]
        done = subprocess.run([*command, str(shown)], capture_output=True, check=False)
        assert (done.returncode == 0) == right, purpose


def test_what_is_not_granted_is_denied(site: Site) -> None:
    """On topics, groups and the cluster; and the log of the authorizer has it."""
    billing = site.admin("billing")
    assert set(billing.list_topics()) == {"orders"}
    with pytest.raises(errors.KafkaError):
        billing.create_topics({"theirs": TOPIC})
    with pytest.raises(errors.KafkaError):
        billing.delete_topics(["orders"])
    billing.close()
    connection = Connection.of(site.properties("billing"))
    with (
        contextlib.closing(clients.producer(connection, max_block_ms=5000)) as producer,
        pytest.raises(errors.KafkaError),
    ):
        producer.send("orders", b"x").get(timeout=10)
    denied = [on_host(host, f"grep -c User:billing {DENIALS} || true") for host in HOSTS]
    assert sum(map(int, denied)) > 0


def test_a_client_with_a_certificate_does_what_is_granted_to_its_name(site: Site) -> None:
    partner = site.partner(tls.issue(site.folder, "partner"))
    with contextlib.closing(clients.producer(partner, acks="all", max_block_ms=5000)) as producer:
        assert producer.send("orders", b"from a partner").get(timeout=30).offset >= 0
        with pytest.raises(errors.KafkaError):
            producer.send("invoices", b"x").get(timeout=10)
    stranger = site.partner(tls.issue(site.folder, "stranger"))
    with (
        contextlib.closing(clients.producer(stranger, max_block_ms=5000)) as producer,
        pytest.raises(errors.KafkaError),
    ):
        producer.send("orders", b"x").get(timeout=10)


def test_a_token_is_the_user_that_it_names(site: Site) -> None:
    """The ACLs of a name hold however its client logs in."""
    assert "orders" in site.topics_seen(site.issuer.token(**RIGHT))
    assert site.topics_seen(site.issuer.token(**{**RIGHT, "sub": "nobody-else"})) == set()


def test_no_other_token_is_taken(site: Site) -> None:
    now = int(time.time())
    right, admins = (site.issuer.token(**{**RIGHT, "sub": user}) for user in ("partner", "admin"))
    wrong = {
        "for another audience": site.issuer.token(**{**RIGHT, "aud": "another"}),
        "for no audience": site.issuer.token(**{**RIGHT, "aud": None}),
        "by another issuer": site.issuer.token(**RIGHT, iss="https://another.example.org"),
        "expired": site.issuer.token(**RIGHT, iat=now - 900, exp=now - 300),
        "without an end": site.issuer.token(**RIGHT, exp=None),
        "with another key": tokens.Issuer(site.issuer.name).token(**RIGHT),
        "not signed": tokens.unsigned(right),
        "changed": ".".join([*admins.split(".")[:2], right.split(".")[2]]),
    }
    for name, token in wrong.items():
        with pytest.raises(PermissionError):
            pytest.fail(f"{name}: it sees {site.topics_seen(token)}")


def test_client_files_work_as_they_are_written(site: Site, tmp_path: Path) -> None:
    """Those of one user, by Kafka's Java tools, kafka-python, confluent-kafka and kcat."""
    lab("run", "clients", "-e", f"path={tmp_path}", "-e", "user=admin", seconds=60)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == dict.fromkeys(
        ("ca.pem", "client.properties", "librdkafka.conf", "kafka-python.json", "spark.json"), 0o600
    )
    python = json.loads((tmp_path / "kafka-python.json").read_text())
    admin = KafkaAdminClient(**python)
    assert "orders" in admin.list_topics()
    admin.close()
    rdkafka = parse_properties((tmp_path / "librdkafka.conf").read_text())
    for codec in CODECS:  # brokers decompress what they validate, with libraries of their own
        producer = Producer({**rdkafka, "compression.type": codec})
        producer.produce("invoices", (codec * 100).encode())
        assert producer.flush(30) == 0
    consumer = Consumer({**rdkafka, "group.id": "reader", "auto.offset.reset": "earliest"})
    consumer.subscribe(["invoices"])
    records = [wait_for(lambda: consumer.poll(1.0), seconds=30, what="a record") for _ in CODECS]
    consumer.close()
    assert {record.value() for record in records} == {(codec * 100).encode() for codec in CODECS}
    assert "invoices" in java_topics(site, tmp_path / "client.properties")
    assert "invoices" in kcat(tmp_path / "librdkafka.conf")


def java_topics(site: Site, config: Path) -> list[str]:
    """The topics that Kafka's own tool lists on this machine."""
    tarball = site.known.cluster.brokers[0].distribution.tarball
    servers = parse_properties(config.read_text())["bootstrap.servers"]
    with tempfile.TemporaryDirectory() as home:
        subprocess.run(["tar", "-xf", tarball, "-C", home, "./libs"], check=True)
        command = ["java", "-Xmx128m", "-cp", f"{home}/libs/*"]
        command += ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", servers]
        command += ["--command-config", str(config), "--list"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.split()


def kcat(config: Path) -> str:
    """What kcat lists; Debian's librdkafka is older than 2.6.1, which Kafka 4 needs for SCRAM."""
    bundled = next(Path(sys.prefix).glob("lib/*/site-packages/confluent_kafka.libs/librdkafka-*"))
    done = subprocess.run(
        ["kcat", "-F", config, "-L"],
        env={**os.environ, "LD_PRELOAD": str(bundled), "LD_LIBRARY_PATH": str(bundled.parent)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def test_faults_of_identities_harm_nobody(site: Site, tmp_path: Path) -> None:
    """Clients, users and certificates that are refused and named, under the ledger."""
    site.topology = describe(INVENTORY)
    plays = Plays(site.known, STATE)
    with ledger_running(site.known, over_ssh(site.known), plays, tmp_path / "f", Target) as target:
        for fault in FAULTS:
            if fault.on == "closed" and (FULL or not fault.long):
                target.run(fault)
        assert len(target.records) > 1
        report, text = checked(target)
    assert report["verdict"] == "PASS", text


def rotate(site: Site, *arguments: str) -> None:
    """Replace secrets."""
    lab("run", "rotate_secrets", "--diff", *arguments, seconds=300)
    site.topology = describe(INVENTORY)


def test_a_new_password_replaces_the_former_one(site: Site) -> None:
    path = INVENTORY / ".secrets/passwords/leaver"
    former = path.read_text()
    lab("run", "rotate_secrets", "-e", "user=leaver", "--check", seconds=60)
    assert path.read_text() == former
    rotate(site, "-e", "user=leaver")
    with pytest.raises(errors.KafkaError):
        site.admin("leaver", former)
    site.admin("leaver").close()
    assert "kafka_users" in refused("run", "rotate_secrets", "-e", "user=billing", seconds=60)


@contextlib.contextmanager
def instead(copy: Path) -> Iterator[None]:
    """Put a copy in the place of the secrets, as on another control node, and put these back."""
    secrets, away = INVENTORY / ".secrets", STATE / "away"
    secrets.rename(away)
    copy.rename(secrets)
    try:
        yield
    finally:
        shutil.rmtree(secrets)
        away.rename(secrets)


def test_an_older_copy_of_the_secrets_brings_back_no_password(site: Site) -> None:
    """Neither by a rotation nor by site.yml, although the site's CA is the same in both."""
    copy = STATE / "copy"
    shutil.copytree(INVENTORY / ".secrets", copy)
    former = (copy / "passwords/admin").read_text()
    rotate(site, "-e", "user=admin")
    record = f"stat -c %a {RECORD}; cat {RECORD}"
    before = {host: on_host(host, record) for host in HOSTS}
    assert {text.split()[0] for text in before.values()} == {"600"}
    with instead(copy):
        assert "secrets-older" in refused("run", "site", seconds=120)
        again = refused("run", "rotate_secrets", "-e", "user=admin", seconds=60)
        assert "secrets_accept=true" in again
        assert (INVENTORY / ".secrets/passwords/admin").read_text() == former
    assert {host: on_host(host, record) for host in HOSTS} == before
    with pytest.raises(errors.KafkaError):
        site.admin("admin", former)
    site.admin("admin").close()


def test_a_generated_password_replaces_none_that_was_set_in_kafka(site: Site) -> None:
    """Until rotate_secrets.yml makes another one."""
    password = INVENTORY / ".secrets/passwords/ledger"
    password.write_text("another-than-that-of-Kafka")
    assert "user ledger" in refused("run", "site", seconds=300)
    rotate(site, "-e", "user=ledger")
    assert password.read_text() != "another-than-that-of-Kafka"
    site.admin("ledger").close()


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_a_new_secret_of_spark_reaches_all_its_processes(site: Site) -> None:
    """And a new token its web interfaces, which refuse the former one."""
    former, url = site.known.spark_token, next(iter(site.known.urls.values()))
    assert "rotate_confirm" in refused("run", "rotate_secrets", "-e", "secret=spark", seconds=60)
    host = site.known.group("spark_masters")[0]
    units = ("spark-site", "spark-job-site")
    on_host(host, site_units.start(units))
    processes = on_host(host, site_units.processes(units))
    rotate(site, "-e", "secret=spark", "-e", "rotate_confirm=true")
    assert on_host(host, site_units.processes(units)) == processes
    lab("run", "health", seconds=60)
    assert site.known.spark_token != former
    with pytest.raises(HTTPError):
        get(f"{url}/json/", former)
    assert changed(lab("run", "site", seconds=300)) == 0


WRONG_SECRET = """spark.authenticate true
spark.authenticate.secret wrong
spark.network.crypto.enabled true
spark.network.crypto.saslFallback true"""
OWN_CONFIGURATION = "set -a; . /etc/spark/environment; cd /; export SPARK_CONF_DIR=$(mktemp -d)"
WORKER = "org.apache.spark.deploy.worker.Worker"
DRIVER = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
@pytest.mark.parametrize("secret", ["", WRONG_SECRET], ids=["none", "wrong"])
def test_nobody_joins_spark_without_its_secret(site: Site, secret: str) -> None:
    """Neither a worker nor a driver, from a host of the cluster."""
    master = site.known.group("spark_masters")[0]
    before = master_state(site.known, master)
    address = before["url"]
    assert before["workers"], "nobody joins anyway"
    for program in (
        f"$SPARK_HOME/bin/spark-class {WORKER} --cores 1 --memory 512m --port 7099"
        f" --webui-port 8099 --work-dir $SPARK_CONF_DIR {address}",
        f"$SPARK_HOME/bin/spark-submit --master {address} --class {DRIVER} spark-internal"
        " -e 'select 1'",
    ):
        words = f"printf '{secret}\n' > $SPARK_CONF_DIR/spark-defaults.conf; timeout 20 {program}"
        output = on_host("k2", f"{OWN_CONFIGURATION}; {words} 2>&1 || true")
        assert "Failed to connect to master" in output
    after = master_state(site.known, master)
    assert {worker["id"] for worker in after["workers"]} == {
        worker["id"] for worker in before["workers"]
    }
    assert not after["activeapps"]


def test_users_are_changed_and_removed(site: Site) -> None:
    """A new password replaces the old one, a grant that goes is taken away, and so is a user."""
    site.admin("leaver").close()
    password = (INVENTORY / ".secrets/passwords/leaver").read_text()
    # As after a rotation that was killed before Kafka had the new password.
    replace_secrets(INVENTORY / ".secrets", ["ledger"], [], store=True)
    site.write(site.billing(OTHER_PASSWORD, "describe"), {"name": "leaver", "state": "absent"})
    lab("run", "site", "--diff", seconds=300)
    for user, former in (("billing", PASSWORD), ("leaver", password)):
        with pytest.raises(errors.KafkaError):
            site.admin(user, former)
    site.topology = describe(INVENTORY)
    site.admin("ledger").close()
    connection = Connection.of(site.properties("billing", OTHER_PASSWORD))
    with contextlib.closing(clients.consumer(connection, group_id="billing")) as consumer:
        consumer.subscribe(["orders"])
        with pytest.raises(errors.KafkaError):
            wait_for(lambda: consumer.poll(timeout_ms=500), seconds=15, what="a record")


def test_passwords_and_keys_are_nowhere_else(site: Site) -> None:
    """Not in a journal, a file that others may read, an argument or an environment of a process;
    not in the cache of facts on the control node.
    """
    excerpts = secrets()
    assert len(excerpts) > 2 * len(HOSTS)
    # No play of ours gathers facts: these show that the cache was in use.
    gather = ["ansible", "k1", f"--inventory={INVENTORY}", "--module-name=ansible.builtin.setup"]
    subprocess.run(gather, cwd=ROOT, env={**os.environ, **LAB}, check=True, capture_output=True)
    facts = "".join(path.read_text() for path in FACTS.iterdir())
    assert facts
    assert not [text for text in excerpts if text in facts]
    texts = "\n".join(excerpts)
    for host in HOSTS:
        modes = on_host(host, f"stat -c '%a %U' {KEYS}/node.pem {KEYS}/clients.pem").split()
        assert modes == ["400", "kafka"] * 2
        assert on_host(host, readable(texts)) == ""


def test_another_authority_is_refused_before_anything_changes(site: Site) -> None:
    """As from a control node that does not have the secrets of the cluster."""
    secrets, away = INVENTORY / ".secrets", STATE / "away"
    text = (INVENTORY / "secured.yml").read_text()
    before = on_host("k1", f"sha256sum {KEYS}/*.pem")
    secrets.rename(away)
    try:
        without = yaml.safe_load(text)
        for variables in without["all"]["hosts"].values():
            del variables["kafka_ca_certificate"], variables["kafka_ca_key"]
        (INVENTORY / "secured.yml").write_text(yaml.safe_dump(without))
        assert "authority-differs" in refused("run", "site", seconds=120)
    finally:
        shutil.rmtree(secrets)
        away.rename(secrets)
        (INVENTORY / "secured.yml").write_text(text)
    assert on_host("k1", f"sha256sum {KEYS}/*.pem") == before


def test_a_running_cluster_is_not_opened_by_one_word(site: Site) -> None:
    of_listeners = '"kafka_listeners": [], "kafka_users": [], "kafka_host_config": {}'
    words = f'{{"kafka_security": "open", {of_listeners}}}'
    assert "protocol-between-nodes" in refused("run", "site", "-e", words, seconds=120)


@contextlib.contextmanager
def changed_inventory(change: Callable[[str, dict[str, Any]], object]) -> Iterator[None]:
    """Change the variables of each host, and restore them."""
    path = INVENTORY / "secured.yml"
    former = path.read_text()
    inventory = yaml.safe_load(former)
    for host, variables in inventory["all"]["hosts"].items():
        change(host, variables)
    path.write_text(yaml.safe_dump(inventory))
    try:
        yield
    finally:
        path.write_text(former)


def reaches(address: str, port: int) -> bool:
    """Whether a connection is accepted; a firewall that drops it leaves it without an answer."""
    try:
        socket.create_connection((address, port), timeout=3).close()
    except (TimeoutError, ConnectionRefusedError):
        return False
    return True


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_a_firewall_lets_in_whom_a_port_is_for(site: Site) -> None:
    """This machine is a client of k1 and k2, a stranger to k3, and no node."""
    addresses = site.known.addresses
    with socket.create_connection((addresses["k1"], 22), timeout=10) as connection:
        client_address = connection.getsockname()[0]

    def close(host: str, variables: dict[str, Any]) -> None:
        networks = [] if host == "k3" else [client_address]
        variables.update(host_firewall="nftables", host_firewall_clients=networks)

    with contextlib.ExitStack() as stack:
        stack.callback(lab, "run", "site", seconds=300)
        stack.enter_context(changed_inventory(close))
        lab("run", "site", seconds=300)
        for host, address in addresses.items():
            assert reaches(address, CLIENTS) == (host != "k3")
            assert not reaches(address, BROKERS)
            for port in (CLIENTS, BROKERS):
                on_host("k1", f"timeout 5 bash -c '< /dev/tcp/{address}/{port}'")
        lab("run", "health", seconds=60)
        assert changed(lab("run", "site", seconds=300)) == 0
    for address in addresses.values():
        assert reaches(address, CLIENTS)
        assert reaches(address, BROKERS)
    for host in HOSTS:
        assert "millrace" not in on_host(host, "nft list tables")


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_an_outside_authority_signs_requests(site: Site) -> None:
    """Nodes keep their certificates until all are signed, and then show the new ones."""

    def shown() -> list[str]:
        return [
            ssl.get_server_certificate((address, CLIENTS))
            for address in site.known.addresses.values()
        ]

    requests, signed = INVENTORY / ".secrets/requests", INVENTORY / ".secrets/signed"
    former = shown()
    with changed_inventory(lambda _, variables: variables.pop("kafka_ca_key")):
        lab("run", "rotate_certificates", seconds=300)
        assert shown() == former
        request_files = sorted(requests.glob("*/*.csr"))
        assert {path.parent.name for path in request_files} == set(HOSTS)
        certificates = []
        for path in request_files:
            certificate = signed / path.parent.name / f"{path.stem}.pem"
            tls.sign(site.folder, path, certificate)
            if path.stem == "clients":
                certificates.append(certificate.read_text().strip())
        lab("run", "site", seconds=600)
    assert {certificate.strip() for certificate in shown()} == set(certificates)
    assert not list(requests.glob("*/*.csr"))
    assert not list(signed.glob("*/*.pem"))
    site.admin("admin").close()
    lab("run", "health", seconds=60)


@contextlib.contextmanager
def denied(site: Site, user: str, resource: str, name: str, operation: str) -> Iterator[None]:
    """Take one grant from a user."""
    acl = [Acl(f"User:{user}", resource, name, "prefixed", operation, "deny")]
    with contextlib.closing(site.admin("admin")) as admin:
        assert not acls.create(admin, acl)
        try:
            yield
        finally:
            assert not acls.delete(admin, acl)


def each_grant(user: str) -> list[tuple[str, str, str]]:
    """Resource, the prefix of its name, and operation of each grant that a user has."""
    return [
        (kind, str(grant[kind]), operation)
        for account in security.own_users(with_spark=True)
        if account.name == user
        for grant in account.grants
        for kind in ("topic", "group", "transactional_id")
        if kind in grant
        for operation in grant["operations"]
    ]


def run_program(*words: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a program of the repository on this machine."""
    path = os.pathsep.join(str(ROOT / folder) for folder in (".", "spark", "collections"))
    return subprocess.run(
        [sys.executable, "-m", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
@pytest.mark.parametrize(
    ("resource", "operation"),
    [("topic", "create"), ("topic", "write"), ("topic", "read"), ("group", "read")],
)
def test_the_ledger_needs_each_of_its_grants_and_names_the_missing_one(
    site: Site, tmp_path: Path, resource: str, operation: str
) -> None:
    site.topology = describe(INVENTORY)
    (tmp_path / "client.properties").write_text(properties(site.properties("ledger")))
    command = ["ledger", "run", "--max-seconds=5", "--no-expect-changes"]
    command += [f"--client-config={tmp_path}/client.properties", f"--dir={tmp_path}/ledger"]
    with denied(site, "ledger", resource, "millrace-ledger-", operation):
        assert run_program(*command, seconds=400).returncode != 0
    texts = [path.read_text() for path in (tmp_path / "ledger").iterdir() if path.is_file()]
    assert "uthoriz" in "".join(texts)


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
@pytest.mark.parametrize(("resource", "name", "operation"), each_grant(security.PRODUCER))
def test_the_flights_producer_needs_each_of_its_grants_and_names_the_missing_one(
    site: Site, tmp_path: Path, resource: str, name: str, operation: str
) -> None:
    site.topology = describe(INVENTORY)
    (tmp_path / "client.properties").write_text(properties(site.properties(security.PRODUCER)))
    topic = f"{name}-without-{operation}"
    command = ["flights.producer", f"--client-config={tmp_path}/client.properties"]
    command += [f"--topic={topic}"]
    if operation != "create":  # it reads only what is there
        done = run_program(*command, "--limit=10", seconds=120)
        assert done.returncode == 0, done.stdout
    with denied(site, security.PRODUCER, resource, name, operation):
        done = run_program(*command, "--limit=20", seconds=120)
    assert done.returncode == 1, done.stdout
    assert f"operation {operation} on {topic}" in done.stdout


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
@pytest.mark.parametrize(("resource", "name", "operation"), each_grant(security.STREAM))
def test_the_flights_stream_needs_each_of_its_grants_and_names_the_missing_one(
    site: Site, resource: str, name: str, operation: str
) -> None:
    """The service fails on the host of the driver; its journal says why."""
    topic = f"{name}-stream-without-{operation}"
    unit = f"spark-job-{topic}"
    variables = {"flights_topic": topic, "flights_limit": 300, "flights_corrupt": 3}
    master = site.known.group("spark_masters")[0]

    def journal() -> str:
        return on_host(master, f"journalctl --no-pager --unit {unit}")

    try:
        with denied(site, security.STREAM, resource, name, operation):
            # Whether the play sees the end of the service depends on when it looks.
            run_lab("run", "flights", "-e", json.dumps(variables), seconds=300, env=LAB)
            wait_for(
                lambda: f"operation {operation} on {topic}" in journal(),
                seconds=180,
                what="the missing grant in the journal",
            )
    finally:
        script = f"systemctl disable --now {unit}; rm -f /etc/systemd/system/{unit}.service"
        on_host(master, f"{script}; systemctl daemon-reload; systemctl reset-failed {unit} || true")


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_keys_are_replaced_while_clients_work(site: Site) -> None:
    former = {ssl.get_server_certificate(address) for address in site.ports()}
    lab("run", "rotate_certificates", "-e", "prove=true", seconds=600)
    assert not former & {ssl.get_server_certificate(address) for address in site.ports()}
    site.admin("admin").close()
    lab("run", "health", seconds=60)
    assert changed(lab("run", "site", seconds=300)) == 0


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_the_authority_is_changed_while_clients_work(site: Site) -> None:
    """A client that trusts what the phase says is served, before, in and after each phase."""
    former, both, new = (site.folder / f"{name}-ca.pem" for name in ("former", "both", "new"))
    trusted = INVENTORY / ".secrets/ca.pem"
    former.write_text(trusted.read_text())
    inventory = yaml.safe_load((INVENTORY / "secured.yml").read_text())
    for variables in inventory["all"]["hosts"].values():
        del variables["kafka_ca_certificate"], variables["kafka_ca_key"]
    (INVENTORY / "secured.yml").write_text(yaml.safe_dump(inventory))
    served = {"trust": [former, both], "leaves": [both, new], "finish": [both, new]}
    for phase, stores in served.items():
        change = ("run", "rotate_certificates", "-e", "rotate=ca", "-e", "prove=true")
        assert phase in lab(*change, seconds=600)
        proved()
        if phase == "trust":
            both.write_text(trusted.read_text())
            new.write_text(both.read_text().replace(former.read_text().strip(), ""))
        for store in (former, both, new):
            connection = Connection.of(
                {**site.properties("admin"), "ssl.truststore.location": str(store)}
            )
            denied: Any = pytest.raises(errors.KafkaError)
            with contextlib.nullcontext() if store in stores else denied:
                clients.admin(connection, bootstrap_timeout_ms=4000).close()
    assert trusted.read_text().strip() == new.read_text().strip()


def test_teardown_takes_the_keys_along(site: Site) -> None:
    lab("run", "teardown", "-e", "teardown_confirm=true", seconds=120)
    assert on_host("k1", f"ls {KEYS} 2> /dev/null || true") == ""
