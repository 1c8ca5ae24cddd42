"""What holds for a service that no part of Millrace but its own folder and the registry names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import Entry
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import HostSettings
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import (
    CLIENTS,
    Certified,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.cluster import small

PORT = 8082


@dataclass(frozen=True)
class Karapace(Certified):
    """A registry in Python: no JVM, and no program of a package."""

    host: HostSettings
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    security: str = "standard"
    product = "karapace"
    title = "Karapace"
    address_variable = "ansible_host"
    connecting = (CLIENTS,)

    @property
    def units(self) -> list[str]:
        return ["millrace-karapace"]

    @property
    def removal(self) -> dict[str, Any]:
        return {"state": "absent", "units": self.units, "removed": list(self.files())}

    @property
    def is_open(self) -> bool:
        return self.security == "open"

    @property
    def ports(self) -> dict[str, int]:
        return {"karapace_port": PORT}

    @property
    def certificates(self) -> list[Certificate]:
        return [] if self.is_open else [self.server_certificate("/etc/karapace/certificate.pem")]

    def files(self) -> dict[str, Entry]:
        return self.certificate_files()


class OfConnect(Karapace):
    """It has certificates of the CA of Kafka Connect."""

    of_connect = True


def with_service(service: type[Karapace], address: str, security: str = "standard") -> Cluster:
    """Return a cluster with a broker of which the host has the service too."""
    cluster = small.cluster(
        {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"]},
        kafka_node_id=1,
        kafka_allow_unsafe_quorum=True,
    )
    hosts = {
        name: replace(host, settings={**host.settings, "ansible_host": address})
        for name, host in cluster.hosts.items()
    }
    parts = {name: service(host, security=security) for name, host in hosts.items()}
    return replace(cluster, hosts=hosts, by_product={**cluster.by_product, "karapace": parts})


def named(certificates: list[Certificate]) -> list[str]:
    return [certificate.name for certificate in certificates]


def test_its_certificate_is_made() -> None:
    cluster = with_service(Karapace, "10.0.0.1")
    assert named(cluster.web_certificates) == ["k1/karapace"]
    assert named(cluster.rest_certificates) == []


def test_its_certificate_is_of_the_authority_that_it_names() -> None:
    cluster = with_service(OfConnect, "10.0.0.1")
    assert named(cluster.web_certificates) == []
    assert named(cluster.rest_certificates) == ["k1/karapace"]


@pytest.mark.parametrize(
    ("address", "security", "refused"),
    [("8.8.8.8", "open", True), ("8.8.8.8", "standard", False), ("10.0.0.1", "open", False)],
)
def test_it_is_not_open_to_the_internet(address: str, security: str, *, refused: bool) -> None:
    cluster = with_service(Karapace, address, security)
    problems = [
        problem for problem in check_cluster(RULES, cluster) if problem.rule == "open-to-everybody"
    ]
    fixes = [problem.fix for problem in problems if problem.what.startswith("Karapace")]
    assert ["karapace_security: standard" in fix for fix in fixes] == [True] * refused
