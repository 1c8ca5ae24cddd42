"""Requests that an outside CA signs, and which signed certificates are taken in."""

from __future__ import annotations

import datetime
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    has_key,
    new_authority,
)
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tests.unit.outside_authority import CLIENT, NOW, SERVER, OutsideCa, pem
from tests.unit.secrets.kept_secrets import closed, stored

NAMES = ("b1/node", "b1/clients", "c1/node")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / ".secrets"


@pytest.fixture(scope="module")
def site() -> OutsideCa:
    return OutsideCa.new("Site")


def complete(directory: Path, site: OutsideCa, **options: Any) -> Secrets:
    options = {"store": True, **options}
    cluster = outside(directory, site, **options.pop("variables", {}))
    return secrets.complete(cluster, site.given, **options)


def outside(directory: Path, site: OutsideCa, **variables: Any) -> Cluster:
    """Return a closed cluster whose certificates the CA of a site signs by requests."""
    return closed(directory, kafka_ca_certificate=site.given.certificate, **variables)


def requested(directory: Path, site: OutsideCa) -> None:
    """Let a first run make the requests."""
    with pytest.raises(AnsibleError, match="must sign these requests"):
        complete(directory, site)


def request(directory: Path, name: str) -> str:
    return (directory / f"requests/{name}.csr").read_text()


def put(directory: Path, name: str, text: str) -> Path:
    path = directory / f"signed/{name}.pem"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def sign(directory: Path, site: OutsideCa, *names: str, **changes: Any) -> None:
    for name in names or NAMES:
        put(directory, name, site.sign(request(directory, name), **changes))


def deployed(directory: Path, site: OutsideCa, **changes: Any) -> Secrets:
    """Return the secrets of a cluster whose certificates were signed and taken in."""
    requested(directory, site)
    sign(directory, site, **changes)
    return complete(directory, site)


# Requests


def test_the_first_run_makes_requests_and_ends(directory: Path, site: OutsideCa) -> None:
    with pytest.raises(AnsibleError) as refusal:
        complete(directory, site)
    message = str(refusal.value)
    assert message.startswith("No host was touched.")
    for name in NAMES:
        assert f"{directory}/requests/{name}.csr -> {directory}/signed/{name}.pem" in message
    files = stored(directory)
    assert {name for name in files if name.startswith("certificates/")} == set()
    assert {f"requests/{name}.{end}" for name in NAMES for end in ("csr", "key")} <= files.keys()
    assert "ca.key" not in files
    with pytest.raises(AnsibleError):
        complete(directory, site)
    assert stored(directory) == files, "a request stays the same until it is signed"


def test_a_request_says_all_that_the_certificate_is_to_have(
    directory: Path, site: OutsideCa
) -> None:
    requested(directory, site)
    for name, principal, purposes in (
        ("b1/node", "CN=kafka-nodes", [SERVER, CLIENT]),
        ("b1/clients", "CN=b1", [SERVER]),
    ):
        signing_request = x509.load_pem_x509_csr(request(directory, name).encode())
        assert signing_request.is_signature_valid
        assert signing_request.subject.rfc4514_string() == principal
        names = signing_request.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
        assert set(names.get_values_for_type(x509.DNSName)) == {"b1", "localhost"}
        usage = signing_request.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(usage) == purposes
        path = directory / f"requests/{name}.key"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        assert key.public_key() == signing_request.public_key()


def test_check_mode_writes_no_request(directory: Path, site: OutsideCa) -> None:
    with pytest.raises(AnsibleError, match="which a run without --check writes"):
        complete(directory, site, store=False)
    assert not directory.exists()


def test_a_request_for_former_names_is_made_anew(directory: Path, site: OutsideCa) -> None:
    requested(directory, site)
    before = stored(directory)
    sign(directory, site, "b1/node")
    moved = {"of_hosts": {"b1": {"kafka_advertised_host": "new.example.org"}}}
    with pytest.raises(AnsibleError) as refusal:
        complete(directory, site, variables=moved)
    after = stored(directory)
    changed = {name for name in before if before[name] != after[name]}
    assert {name.partition(".")[0] for name in changed} == {
        "requests/b1/node",
        "requests/b1/clients",
    }
    assert "signed/b1/node.pem: it is for another key" in str(refusal.value)


# Taking in


def test_signed_certificates_are_taken_in(directory: Path, site: OutsideCa) -> None:
    deployed_secrets = deployed(directory, site)
    assert deployed_secrets.authority == site.given.certificate
    assert deployed_secrets.certificates.keys() == {*NAMES}
    for name, text in deployed_secrets.certificates.items():
        assert text.startswith("-----BEGIN PRIVATE KEY-----")
        assert has_key(text, text)
        assert (directory / f"certificates/{name}.pem").read_text() == text
        [leaf, root] = x509.load_pem_x509_certificates(text.encode())
        leaf.verify_directly_issued_by(root)
    assert not [name for name in stored(directory) if name.startswith(("requests", "signed"))]
    assert secrets.read(directory) == deployed_secrets
    assert complete(directory, site) == deployed_secrets
    assert secrets.waiting_requests(outside(directory, site)) == ""


def test_what_is_signed_first_is_taken_in_first(directory: Path, site: OutsideCa) -> None:
    requested(directory, site)
    sign(directory, site, "b1/node")
    with pytest.raises(AnsibleError) as refusal:
        complete(directory, site)
    assert "b1/node" not in str(refusal.value)
    assert str(directory / "signed/c1/node.pem") in str(refusal.value)
    assert (directory / "certificates/b1/node.pem").exists()


def test_those_that_signed_it_follow_in_their_order(directory: Path, site: OutsideCa) -> None:
    upper = OutsideCa.new("Upper", site)
    lower = OutsideCa.new("Lower", upper)
    requested(directory, site)
    for name in NAMES:
        chain_above = pem(site.certificate, upper.certificate, lower.certificate)
        put(directory, name, lower.sign(request(directory, name)) + chain_above)
    completed = complete(directory, site)
    chain = x509.load_pem_x509_certificates(completed.certificates["c1/node"].encode())
    assert [certificate.subject for certificate in chain[1:]] == [
        authority.certificate.subject for authority in (lower, upper, site)
    ]
    assert complete(directory, site) == completed


def test_a_site_may_give_the_ca_that_signs_with_those_above_it(
    directory: Path, site: OutsideCa
) -> None:
    lower = OutsideCa.new("Lower", site)
    authority = certificates.Authority(pem(lower.certificate, site.certificate), "")
    cluster = closed(directory)
    with pytest.raises(AnsibleError):
        secrets.complete(cluster, authority, store=True)
    sign(directory, lower)
    completed = secrets.complete(cluster, authority, store=True)
    chain = x509.load_pem_x509_certificates(completed.certificates["c1/node"].encode())
    assert chain[1:] == [lower.certificate, site.certificate]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("b1/node", {"names": ["b1", "alias.example.org"]}),  # without localhost
        ("b1/node", {"names": ["B1"]}),
        ("b1/node", {"name": "CN=kafka-nodes,O=Site"}),
        ("b1/node", {"purposes": []}),
        ("b1/clients", {"name": "CN=other"}),
        ("b1/clients", {"purposes": [SERVER, CLIENT]}),
    ],
)
def test_a_ca_may_sign_otherwise_where_it_does_no_harm(
    directory: Path, site: OutsideCa, name: str, changes: dict[str, Any]
) -> None:
    requested(directory, site)
    sign(directory, site)
    put(directory, name, site.sign(request(directory, name), **changes))
    completed = complete(directory, site)
    assert complete(directory, site) == completed


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("b1/node", {"names": ["other"]}, "lacks the DNS name b1"),
        ("b1/node", {"name": "CN=b1"}, "must be for CN=kafka-nodes"),
        ("b1/node", {"name": "O=Site,CN=kafka-nodes"}, "must be for CN=kafka-nodes"),
        ("b1/node", {"purposes": [SERVER]}, "clientAuth"),
        ("b1/clients", {"purposes": [CLIENT]}, "serverAuth"),
        ("b1/clients", {"name": "CN=kafka-nodes"}, "its owner would be a node"),
        ("b1/clients", {"name": "CN=admin"}, "its owner would be a node or a user"),
        ("b1/clients", {"name": "CN=ledger,O=Site"}, "its owner would be a node or a user"),
        ("b1/node", {"begin": 1}, "not valid yet"),
        ("b1/node", {"days": 1}, "ends within 2 days"),
    ],
)
def test_what_nodes_or_clients_would_not_take_is_refused(
    directory: Path, site: OutsideCa, name: str, changes: dict[str, Any], reason: str
) -> None:
    requested(directory, site)
    sign(directory, site)
    path = put(directory, name, site.sign(request(directory, name), **changes))
    with pytest.raises(AnsibleError) as refusal:
        complete(directory, site)
    assert f"{path}: " in str(refusal.value)
    assert reason in str(refusal.value)
    assert path.exists()
    sign(directory, site, name)
    assert complete(directory, site).certificates.keys() == {*NAMES}


def test_all_that_is_refused_is_named_at_once(directory: Path, site: OutsideCa) -> None:
    requested(directory, site)
    namesake = OutsideCa.new("Site")
    put(directory, "b1/node", namesake.sign(request(directory, "b1/node")))
    put(directory, "b1/clients", site.sign(request(directory, "c1/node")))
    (directory / "signed/c1").mkdir()
    (directory / "signed/c1/node.pem").write_bytes(b"\xff\x00")
    with pytest.raises(AnsibleError) as refusal:
        complete(directory, site)
    for expected in (
        "b1/node.pem: kafka_ca_certificate has not signed it",
        "b1/clients.pem: it is for another key",
        "c1/node.pem: it is not a certificate in PEM",
    ):
        assert expected in str(refusal.value)


def test_an_address_must_be_one_of_type_ip(directory: Path, site: OutsideCa) -> None:
    variables = {"of_hosts": {"b1": {"kafka_advertised_host": "10.0.0.1"}}}
    with pytest.raises(AnsibleError):
        complete(directory, site, variables=variables)
    sign(directory, site)
    names = ["b1", "10.0.0.1"]
    put(directory, "b1/node", site.sign(request(directory, "b1/node"), names=names))
    with pytest.raises(AnsibleError, match=r"b1/node\.pem: it lacks the IP address 10\.0\.0\.1"):
        complete(directory, site, variables=variables)
    sign(directory, site, "b1/node")
    assert complete(directory, site, variables=variables).certificates.keys() == {*NAMES}


def test_a_user_of_the_inventory_is_no_server(directory: Path, site: OutsideCa) -> None:
    requested(directory, site)
    sign(directory, site)
    put(directory, "b1/clients", site.sign(request(directory, "b1/clients"), name="CN=billing"))
    users = {"kafka_users": [{"name": "billing"}]}
    with pytest.raises(AnsibleError, match=r"b1/clients\.pem: it is for CN=billing"):
        complete(directory, site, variables=users)
    assert complete(directory, site).certificates.keys() == {*NAMES}


@pytest.mark.parametrize(("below", "refused"), [(None, False), (1, False), (0, True)])
def test_a_ca_allows_as_many_below_it_as_it_says(
    directory: Path, below: int | None, refused: bool
) -> None:
    site = OutsideCa.new("Site", below=below)
    middle = OutsideCa.new("Middle", site, below=0)
    requested(directory, site)
    for name in NAMES:
        put(directory, name, middle.sign(request(directory, name)) + pem(middle.certificate))
    if refused:
        with pytest.raises(AnsibleError, match="pathlen"):
            complete(directory, site)
    else:
        assert complete(directory, site).certificates.keys() == {*NAMES}


def test_a_node_between_that_is_no_ca_is_refused(directory: Path, site: OutsideCa) -> None:
    requested(directory, site)
    leaf = x509.load_pem_x509_certificate(site.sign(request(directory, "b1/node")).encode())
    key = serialization.load_pem_private_key(
        (directory / "requests/b1/node.key").read_bytes(), password=None
    )
    false_ca = OutsideCa(leaf, key)  # type: ignore[arg-type]  # it is of that kind
    put(directory, "c1/node", false_ca.sign(request(directory, "c1/node")) + pem(leaf))
    with pytest.raises(AnsibleError, match=r"c1/node\.pem: kafka_ca_certificate has not signed"):
        complete(directory, site)


def test_a_certificate_without_its_request_is_refused(directory: Path, site: OutsideCa) -> None:
    deployed_secrets = deployed(directory, site)
    path = put(directory, "b1/node", deployed_secrets.certificates["b1/node"])
    with pytest.raises(AnsibleError, match="there is no request for it"):
        complete(directory, site)
    path.unlink()
    assert complete(directory, site) == deployed_secrets


@pytest.mark.parametrize("remaining", [("signed", "csr", "key"), ("csr", "key"), ("key",)])
def test_a_run_that_ends_while_it_takes_one_in_is_repeated(
    directory: Path, site: OutsideCa, remaining: tuple[str, ...]
) -> None:
    requested(directory, site)
    sign(directory, site)
    before = stored(directory)
    completed = complete(directory, site)
    for end in remaining:
        folder, suffix = ("signed", "pem") if end == "signed" else ("requests", end)
        name = f"{folder}/b1/node.{suffix}"
        (directory / name).write_text(before[name])
    assert complete(directory, site) == completed
    assert not (directory / "requests/b1/node.csr").exists()
    assert not (directory / "signed/b1/node.pem").exists()


# Renewal


def test_one_that_ends_soon_stays_until_its_successor_is_signed(
    directory: Path, site: OutsideCa
) -> None:
    deployed_secrets = deployed(directory, site, days=20)
    assert complete(directory, site) == deployed_secrets
    waiting = secrets.waiting_requests(outside(directory, site))
    assert str(directory / "requests/b1/node.csr") in waiting
    assert complete(directory, site) == deployed_secrets
    sign(directory, site)
    after = complete(directory, site)
    assert {*after.certificates.values()}.isdisjoint(deployed_secrets.certificates.values())
    assert secrets.waiting_requests(outside(directory, site)) == ""


def test_one_that_ends_within_two_days_ends_the_run(
    directory: Path, site: OutsideCa, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(directory, site, days=20)

    def later(certificate: x509.Certificate, now: datetime.datetime) -> float:
        del now
        return (certificate.not_valid_after_utc - NOW).days - 19

    monkeypatch.setattr(certificates, "days_left", later)
    requested(directory, site)


def test_new_keys_are_requested_and_the_present_ones_stay(directory: Path, site: OutsideCa) -> None:
    deployed_secrets = deployed(directory, site)
    assert complete(directory, site, renewed=["b1"]) == deployed_secrets
    requests = {name for name in stored(directory) if name.startswith("requests/")}
    assert requests == {
        f"requests/b1/{certificate}.{end}"
        for certificate in ("node", "clients")
        for end in ("csr", "key")
    }
    before = stored(directory)
    assert complete(directory, site, renewed=["b1"]) == deployed_secrets
    assert stored(directory) == before, "a request that waits stays"
    sign(directory, site, "b1/node", "b1/clients")
    after = complete(directory, site)
    assert after.certificates["b1/node"] != deployed_secrets.certificates["b1/node"]
    assert after.certificates["c1/node"] == deployed_secrets.certificates["c1/node"]


def test_a_ca_whose_key_is_no_longer_given_goes_on_with_what_it_signed(
    directory: Path, site: OutsideCa
) -> None:
    completed = secrets.complete(closed(directory), site.with_key, store=True)
    assert complete(directory, site) == completed
    assert "ca.key" not in stored(directory)


def test_an_outside_ca_is_no_way_around_a_change_of_the_ca(
    directory: Path, site: OutsideCa
) -> None:
    secrets.complete(closed(directory), None, store=True)
    before = stored(directory)
    with pytest.raises(AnsibleError, match=r"rotate_certificates\.yml"):
        complete(directory, site)
    assert stored(directory) == before


def test_a_certificate_that_cannot_be_read_is_refused(directory: Path) -> None:
    authority = certificates.Authority("-----BEGIN CERTIFICATE-----", "")
    with pytest.raises(AnsibleError, match="must be PEM"):
        secrets.complete(closed(directory), authority, store=True)
    assert new_authority("x").key not in str(stored(directory))
