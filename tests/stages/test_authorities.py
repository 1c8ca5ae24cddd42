"""A change of every CA while clients write, and what the former keys are worth afterwards.

Each lab has CAs that the other one does not have.
"""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.faults.verifiable import agrees, verifiable
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.topology import ROOT, Topology, describe
from tests.support.recap import changed

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
    found = Lab(topology, f"test-authorities-{topology}", tmp_path_factory.mktemp("x") / "stolen")
    try:
        found.run("up", seconds=1200)
        shutil.copytree(found.inventory / ".secrets", found.stolen)
        yield found
    finally:
        found.run("down", seconds=120)
    assert not leftovers(found.name)


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
