"""What a stolen password or key is worth once it was replaced, and the change of every CA.

Each lab has CAs that the other one does not have. All clients there, those of Kafka Connect and of
the schema registry too, have to log in again every few seconds.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.faults.verifiable import agrees, verifiable
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.topology import ROOT, Topology, describe
from tests.support.recap import changed
from tests.support.wait import wait_for

pytestmark = [
    pytest.mark.usefixtures("fetched_ahead"),
    pytest.mark.skipif(not FULL, reason=PART_OF_FULL),
]
# Topology -> the key and certificate of whom a port takes: its file among the secrets, host, port.
TAKEN = {
    "connect": [
        ("k1/node", "k2", 9094),  # a node at another one, as broker and as controller
        ("k1/node", "k2", 9096),
        ("connect-admin", "k2", 8083),  # an admin and a worker at another one's REST interface
        ("k3/connect", "k2", 8083),
    ],
    "zookeeper": [
        ("b1/node", "b2", 9094),
        ("b1/ensemble-kafka", "z2", 2181),
        ("z1/ensemble-zookeeper", "z2", 2181),
        ("z1/ensemble-zookeeper", "z2", 3888),  # where members elect one
    ],
}
BROKERS = {"connect": ("k1", "k2", "k3"), "zookeeper": ("b1", "b2", "b3")}
LOGIN_SECONDS = 20
"""How long a login holds."""
REAUTHENTICATION = "listener.name.client_tls.scram-sha-512.connections.max.reauth.ms"


@dataclass
class Lab:
    """A lab, and its secrets as a thief has copied them."""

    topology: str
    name: str
    stolen: Path

    @property
    def inventory(self) -> Path:
        return ROOT / ".lab" / self.name / "inventory"

    def run(self, *arguments: str, seconds: float) -> str:
        env = {"LAB_TOPOLOGY": self.topology, "LAB_NAME": self.name}
        return succeed(*arguments, seconds=seconds, env=env)

    def known(self) -> Topology:
        return describe(self.inventory)

    def start(self) -> None:
        self.run("run", "../molecule/shared/create", seconds=600)
        config = {"kafka_host_config": {REAUTHENTICATION: LOGIN_SECONDS * 1000}}
        hosts = dict.fromkeys(BROKERS[self.topology], config)
        (self.inventory / "logins.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        self.run("run", "site", seconds=1200)

    def connection(self, user: str) -> Connection:
        """How a user connects with the password that it has now."""
        topology = self.known()
        settings: dict[str, Any] = topology.cluster.brokers[0].clients.local_config(user)
        return Connection.of({**settings, "bootstrap.servers": ",".join(topology.brokers.values())})

    def taken(self, secrets: Path) -> list[bool]:
        """Whether each port still takes the certificate that it takes, by copies of them."""
        addresses = self.known().addresses
        return [
            takes(addresses[host], port, secrets / f"certificates/{name}.pem")
            for name, host, port in TAKEN[self.topology]
        ]


def takes(address: str, port: int, certificate: Path) -> bool:
    """Whether a server takes a client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # A later protocol tells a client only with the first answer.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate)
    try:
        with socket.create_connection((address, port), timeout=10) as connection:
            context.wrap_socket(connection).close()
    except (ssl.SSLError, ConnectionResetError):
        return False
    return True


@pytest.fixture(scope="module", params=[*TAKEN])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    topology = str(request.param)
    lab = Lab(topology, f"test-authorities-{topology}", tmp_path_factory.mktemp("x") / "stolen")
    try:
        lab.start()
        shutil.copytree(lab.inventory / ".secrets", lab.stolen)
        yield lab
    finally:
        lab.run("down", seconds=120)
    assert not leftovers(lab.name)


def test_a_former_password_is_worth_nothing_once_its_login_has_ended(lab: Lab) -> None:
    """Who logs in with it is refused at once; who is connected is served until then."""
    former, topic = lab.connection("ledger"), "millrace-ledger-stolen"
    with clients.admin(former) as admin:
        admin.create_topics(
            {topic: {"num_partitions": 1, "replication_factor": 3}}, wait_for_metadata=True
        )
    options = {"acks": "all", "request_timeout_ms": 3000, "delivery_timeout_ms": 4000}
    with contextlib.ExitStack() as stack:
        producer = clients.producer(former, max_block_ms=3000, **options)
        # Without a timeout it would wait for a login for ever.
        stack.enter_context(contextlib.suppress(errors.KafkaTimeoutError))
        stack.callback(producer.close, timeout=5)

        def serves() -> bool:
            try:
                return bool(producer.send(topic, b"x").get(timeout=5).offset >= 0)
            except errors.KafkaError:
                return False

        begin = time.monotonic()
        wait_for(
            lambda: not serves() or time.monotonic() - begin > 2 * LOGIN_SECONDS,
            seconds=3 * LOGIN_SECONDS,
            what="two logins of a connection that goes on",
        )
        assert serves(), "it has logged in again by itself"
        lab.run("run", "rotate_secrets", "-e", "user=ledger", seconds=300)
        with pytest.raises(errors.KafkaError):
            clients.admin(former, bootstrap_timeout_ms=4000).close()
        wait_for(lambda: not serves(), seconds=LOGIN_SECONDS + 10, what="the end of a former login")
        assert not serves()
    with clients.admin(lab.connection("ledger")) as admin:
        admin.delete_topics([topic])


def test_every_ca_is_changed_and_no_record_is_lost(lab: Lab, tmp_path: Path) -> None:
    """A client that reads the CAs before each phase is served in it; then nobody takes a former
    certificate.
    """
    assert all(lab.taken(lab.stolen)), "what is to be refused is taken first"
    for phase in ("trust", "leaves", "finish"):
        with verifiable(lab.known(), tmp_path / phase) as programs:
            assert phase in lab.run("run", "rotate_certificates", "-e", "rotate=ca", seconds=1200)
        agrees(programs)
        lab.run("run", "health", seconds=120)
        assert all(lab.taken(lab.inventory / ".secrets"))
    assert not any(lab.taken(lab.stolen))
    assert changed(lab.run("run", "site", seconds=600)) == 0
