"""Until when the certificates of ZooKeeper's members and clients are valid, on their hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
    tls as zookeeper_tls,
)

from tests.unit.in_process import AnsibleRun, call_module

HOSTS = """\
all: {vars: {kafka_version: 3.9.2, zookeeper_security: SECURITY}}
zookeeper: {hosts: {z1: {zookeeper_id: 1}}}
kafka_brokers: {hosts: {b1: {kafka_node_id: 1}}}
spark_masters: {hosts: {z1: {}, s1: {}}}
spark_workers: {hosts: {w1: {}}}
"""
IDENTITIES = [zookeeper_tls.identity("z1", product) for product in ("zookeeper", "kafka", "spark")]


class Host:
    """The files of a host, of certificates that are valid for some days."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = certificates.new_authority("Ensemble")

    def has(self, identity: zookeeper_tls.Identity, by: certificates.Authority) -> str:
        path = self.folder / f"{identity.certificate.common_name}.pem"
        path.write_text(certificates.issue(by, identity.certificate))
        return str(path)

    def check(self, *paths: str, **options: Any) -> dict[str, Any]:
        trusted = self.authority.certificate
        stores = [{"certificate": path, "trusted": trusted} for path in paths]
        return call_module("service_certificates", {"stores": stores, **options})


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize(
    "identity", IDENTITIES, ids=lambda identity: identity.certificate.common_name
)
@pytest.mark.parametrize(
    ("days", "fails", "soon"), [(100, False, False), (20, False, True), (1, True, False)]
)
def test_the_days_that_are_left_decide(
    identity: zookeeper_tls.Identity,
    days: int,
    fails: bool,
    soon: bool,
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certificates, "LEAF_DAYS", days)
    path = host.has(identity, host.authority)
    result = host.check(path)
    assert result.get("failed", False) is fails
    assert [path in line for line in result["wrong"]] == [True] * fails
    assert [path in line for line in result["expiring"]] == [True] * soon
    assert not fails or path in result["msg"]
    assert not host.check(path, fail=False).get("failed")


def test_one_that_no_other_takes_is_wrong(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    member, broker, master = IDENTITIES
    foreign = host.has(broker, certificates.new_authority("Other"))
    good = host.has(master, host.authority)
    monkeypatch.setattr(certificates, "LEAF_DAYS", 0)
    expired = host.has(member, host.authority)
    result = host.check(expired, foreign, good, f"{host.folder}/absent.pem")
    assert result["failed"]
    for path, line in zip((expired, foreign, "absent.pem"), result["wrong"], strict=True):
        assert path in line


def test_a_key_of_another_certificate_is_wrong(host: Host) -> None:
    first, second = (certificates.issue(host.authority, IDENTITIES[0].certificate) for _ in "12")
    begin = "-----BEGIN CERTIFICATE-----"
    path = host.folder / "mixed.pem"
    path.write_text(first.partition(begin)[0] + "".join(second.partition(begin)[1:]))
    (line,) = host.check(str(path))["wrong"]
    assert str(path) in line


def run(folder: Path, security: str) -> AnsibleRun:
    (folder / "hosts.yml").write_text(HOSTS.replace("SECURITY", security))
    return AnsibleRun(folder / "hosts.yml", lambda _, args: {"changed": False, **args})


@pytest.mark.usefixtures("local_tmp")
@pytest.mark.parametrize(
    ("name", "products"), [("z1", ("zookeeper", "spark")), ("b1", ("kafka",)), ("s1", ("spark",))]
)
def test_each_service_of_a_host_that_has_one_is_checked(
    name: str, products: tuple[str, ...], tmp_path: Path
) -> None:
    stores = run(tmp_path, "standard").task("service_certificates", name)["stores"]
    certificates_checked = [store["certificate"] for store in stores]
    assert certificates_checked == [zookeeper_tls.paths(product)[0] for product in products]


@pytest.mark.usefixtures("local_tmp")
def test_a_host_that_has_none_is_not_asked(tmp_path: Path) -> None:
    closed = run(tmp_path, "standard")
    assert closed.task("service_certificates", "w1")["wrong"] == []
    assert closed.calls == []


@pytest.mark.usefixtures("local_tmp")
def test_an_open_ensemble_has_none(tmp_path: Path) -> None:
    opened = run(tmp_path, "open")
    for name in ("z1", "b1", "s1"):
        assert opened.task("service_certificates", name)["expiring"] == []
    assert opened.calls == []
