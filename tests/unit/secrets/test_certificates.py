"""Certificates of nodes: what they prove to others, and when they are replaced."""

from __future__ import annotations

import datetime
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    RENEWED_DAYS,
    Authority,
    CertificateError,
    authority_problem,
    issue,
    new_authority,
    renewal_reason,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.unit.outside_authority import OutsideCa, pem

NAMES = ("k1", "k1.example.org", "10.0.0.1", "2001:db8::1", "localhost")
NODE = Certificate("k1/node", "/node.pem", "k1", NAMES, client=True)
CLIENTS = Certificate("k1/clients", "/clients.pem", "k1", NAMES, client=False)
NOW = datetime.datetime.now(datetime.UTC)
SITE_DAYS = "30"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return new_authority("Millrace test")


@pytest.fixture(scope="module")
def node(authority: Authority) -> str:
    """The key and certificate of a node."""
    return issue(authority, NODE)


def certificates(pem: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem.encode())


def key(pem: str) -> str:
    """Return the key of a text with a key and certificates."""
    return pem.partition("-----BEGIN CERTIFICATE-----")[0]


def openssl(*words: object) -> str:
    command = ["openssl", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def verify(folder: Path, root: str, pem: str, *options: str) -> bool:
    """Return whether OpenSSL takes a certificate for what the options say."""
    (folder / "root.pem").write_text(root)
    (folder / "leaf.pem").write_text(pem)
    files = ["-CAfile", folder / "root.pem", "-untrusted", folder / "leaf.pem", folder / "leaf.pem"]
    try:
        openssl("verify", "-x509_strict", *options, *files)
    except subprocess.CalledProcessError:
        return False
    return True


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Authority]:
    """The root of a site, and the CA below it that signs: of RSA, made by OpenSSL."""
    folder = tmp_path_factory.mktemp("site")
    for name, extra in (("root", []), ("sub", ["-CA", "root.pem", "-CAkey", "root.key"])):
        words = [str(folder / word) if word.startswith("root.") else word for word in extra]
        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            SITE_DAYS,
            *words,
            "-subj",
            f"/O=Site/CN={name}",
            "-addext",
            "keyUsage=critical,keyCertSign",
            "-keyout",
            folder / f"{name}.key",
            "-out",
            folder / f"{name}.pem",
        )
    pem, key = ((folder / f"sub.{end}").read_text() for end in ("pem", "key"))
    root = (folder / "root.pem").read_text()
    return root, Authority(f"{pem}{root}", key)


# What they prove


def test_a_node_serves_and_connects(tmp_path: Path, authority: Authority, node: str) -> None:
    for purpose in ("sslserver", "sslclient"):
        assert verify(tmp_path, authority.certificate, node, "-purpose", purpose)


def test_what_clients_see_is_no_client(tmp_path: Path, authority: Authority) -> None:
    pem = issue(authority, CLIENTS)
    assert verify(tmp_path, authority.certificate, pem, "-purpose", "sslserver")
    assert not verify(tmp_path, authority.certificate, pem, "-purpose", "sslclient")


@pytest.mark.parametrize("name", NAMES)
def test_a_node_has_each_of_its_names(
    tmp_path: Path, authority: Authority, node: str, name: str
) -> None:
    kind = "-verify_ip" if ":" in name or name[0].isdigit() else "-verify_hostname"
    assert verify(tmp_path, authority.certificate, node, kind, name)
    wrong_name = "10.0.0.2" if kind == "-verify_ip" else "k2"
    assert not verify(tmp_path, authority.certificate, node, kind, wrong_name)


def test_another_ca_has_not_signed_it(tmp_path: Path, node: str) -> None:
    assert not verify(tmp_path, new_authority("Millrace test").certificate, node)


def test_a_ca_signs_no_other_ca_and_a_node_signs_nothing(authority: Authority, node: str) -> None:
    of_ca = authority.issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (of_ca.ca, of_ca.path_length) == (True, 0)
    [leaf, *_] = certificates(node)
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_store_has_key_certificate_and_chain_as_kafka_reads_them(
    site: tuple[str, Authority],
) -> None:
    pem = issue(site[1], NODE)
    assert pem.startswith("-----BEGIN PRIVATE KEY-----"), "PKCS #8, not encrypted"
    [leaf, *chain] = certificates(pem)
    assert chain == certificates(site[1].certificate)
    assert leaf.subject.rfc4514_string() == "CN=k1"
    private_key = serialization.load_pem_private_key(pem.encode(), password=None)
    assert private_key.public_key() == leaf.public_key()


def test_two_certificates_have_nothing_in_common(authority: Authority, node: str) -> None:
    second_pem = issue(authority, NODE)
    [first, second] = (certificates(pem)[0] for pem in (node, second_pem))
    assert first.serial_number != second.serial_number
    assert first.public_key() != second.public_key()


def test_a_host_whose_clock_is_behind_takes_it(authority: Authority, node: str) -> None:
    for certificate in (authority.issuer, certificates(node)[0]):
        assert certificate.not_valid_before_utc < NOW - datetime.timedelta(minutes=10)


def test_the_ca_of_a_site_signs(tmp_path: Path, site: tuple[str, Authority]) -> None:
    root, authority = site
    pem = issue(authority, NODE)
    assert verify(tmp_path, root, pem, "-purpose", "sslserver")
    assert verify(tmp_path, root, pem, "-purpose", "sslclient")
    assert renewal_reason(pem, NODE, authority.certificate, NOW) == ""


@pytest.mark.parametrize("algorithm", ["rsa:2048", "ed25519", "ed448"])
def test_a_ca_of_another_algorithm_signs(tmp_path: Path, algorithm: str) -> None:
    external = made_by_openssl(tmp_path, algorithm)
    assert authority_problem(external, datetime.datetime.now(datetime.UTC)) == ""
    pem = issue(external, NODE)
    assert verify(tmp_path, external.certificate, pem, "-purpose", "sslserver")


def test_a_ca_whose_key_java_refuses_is_refused(tmp_path: Path) -> None:
    external = made_by_openssl(tmp_path, "rsa:512")
    assert "1024" in authority_problem(external, datetime.datetime.now(datetime.UTC))


def made_by_openssl(directory: Path, algorithm: str) -> Authority:
    """Return a CA with a key of an algorithm."""
    openssl(
        "req",
        "-x509",
        "-newkey",
        algorithm,
        "-nodes",
        "-days",
        SITE_DAYS,
        "-subj",
        "/CN=x",
        "-keyout",
        directory / "ca.key",
        "-out",
        directory / "ca.pem",
        "-addext",
        "keyUsage=critical,keyCertSign",
    )
    return Authority(*((directory / name).read_text() for name in ("ca.pem", "ca.key")))


# A CA that cannot sign


def test_a_key_of_another_ca_is_refused(authority: Authority, site: tuple[str, Authority]) -> None:
    for foreign_key in (site[1].key, new_authority("other").key):
        with pytest.raises(CertificateError, match="key"):
            issue(replace(authority, key=foreign_key), NODE)


@pytest.mark.parametrize("text", ["", "hunter2", "-----BEGIN PRIVATE KEY-----\nhunter2\n"])
def test_a_key_that_is_none_is_refused_and_not_shown(authority: Authority, text: str) -> None:
    with pytest.raises(CertificateError) as refusal:
        issue(replace(authority, key=text), NODE)
    assert "hunter2" not in str(refusal.value)


def test_why_a_ca_cannot_be_used_is_said(
    authority: Authority, site: tuple[str, Authority], node: str
) -> None:
    now = datetime.datetime.now(datetime.UTC)
    foreign_authority = site[1]
    for usable in (authority, foreign_authority, replace(authority, key="")):
        assert authority_problem(usable, now) == ""
    wrong = (
        replace(authority, key=foreign_authority.key),
        replace(authority, key="no key"),
        replace(authority, certificate="no certificate"),
        Authority(node, node),
        replace(authority, certificate=authority.key + authority.certificate),
    )
    assert all(authority_problem(broken, now) for broken in wrong)
    assert not [broken for broken in wrong if broken.key in authority_problem(broken, now)]
    for years in (-50, 50):
        assert authority_problem(authority, now + datetime.timedelta(days=365 * years))


@pytest.mark.parametrize(("days", "usable"), [(1, False), (3, True)])
def test_a_ca_that_ends_soon_is_no_good(days: float, usable: bool) -> None:
    for ending in (OutsideCa.new("Site", days=days).with_key, OutsideCa.new("x", days=days).given):
        assert (authority_problem(ending, NOW) == "") is usable


@pytest.mark.parametrize(("allowed", "usable"), [(None, 2), (1, 1), (0, 0)])
def test_a_ca_below_another_must_be_allowed_there(allowed: int | None, usable: int) -> None:
    site = OutsideCa.new("Site", below=allowed)
    middle = OutsideCa.new("Middle", site)
    lower = OutsideCa.new("Lower", middle)
    for below, chain in enumerate(([site], [middle, site], [lower, middle, site])):
        chained = replace(
            chain[0].with_key, certificate=pem(*(member.certificate for member in chain))
        )
        assert (authority_problem(chained, NOW) == "") is (below <= usable)


def test_others_beside_a_ca_are_not_above_it() -> None:
    first, sibling = OutsideCa.new("Site"), OutsideCa.new("Other", below=0)
    both = replace(first.with_key, certificate=pem(first.certificate, sibling.certificate))
    assert authority_problem(both, NOW) == ""


def test_an_encrypted_key_is_refused() -> None:
    made = ec.generate_private_key(ec.SECP256R1())
    encrypted = made.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"hunter2"),
    )
    with pytest.raises(CertificateError, match="encrypted"):
        issue(replace(new_authority("x"), key=encrypted.decode()), NODE)


@pytest.mark.parametrize("text", ["", "junk", "-----BEGIN CERTIFICATE-----\njunk\n"])
def test_a_certificate_that_is_none_is_refused(authority: Authority, text: str) -> None:
    with pytest.raises(CertificateError, match="certificate"):
        issue(replace(authority, certificate=text), NODE)


def test_a_key_is_not_shown(authority: Authority) -> None:
    assert authority.key not in repr(authority)


# When they are replaced


def test_a_good_one_stays(authority: Authority, node: str) -> None:
    assert renewal_reason(node, NODE, authority.certificate, NOW) == ""
    reordered = replace(NODE, names=NAMES[::-1])
    assert renewal_reason(node, reordered, authority.certificate, NOW) == ""


@pytest.mark.parametrize(
    "desired",
    [
        replace(NODE, names=(*NAMES, "new.example.org")),
        replace(NODE, names=NAMES[:-1]),
        replace(NODE, common_name="k2"),
    ],
    ids=["one more", "one less", "another principal"],
)
def test_one_for_other_names_is_replaced(
    authority: Authority, node: str, desired: Certificate
) -> None:
    assert renewal_reason(node, desired, authority.certificate, NOW)


def test_one_of_another_ca_is_replaced(
    authority: Authority, node: str, site: tuple[str, Authority]
) -> None:
    same_name = new_authority("Millrace test")
    assert same_name.issuer.subject == authority.issuer.subject
    for foreign in (same_name, site[1]):
        assert renewal_reason(node, NODE, foreign.certificate, NOW)


@pytest.mark.parametrize(
    ("days", "replaced"), [(RENEWED_DAYS - 1, True), (RENEWED_DAYS + 1, False)]
)
def test_one_that_expires_soon_is_replaced(
    authority: Authority, node: str, days: int, replaced: bool
) -> None:
    then = certificates(node)[0].not_valid_after_utc - datetime.timedelta(days=days)
    assert bool(renewal_reason(node, NODE, authority.certificate, then)) is replaced


def test_one_with_the_key_of_another_is_replaced(authority: Authority, node: str) -> None:
    mixed = node.replace(key(node), key(issue(authority, NODE)))
    assert certificates(mixed) == certificates(node)
    assert renewal_reason(mixed, NODE, authority.certificate, NOW)


def test_a_key_of_another_kind_is_another_key(authority: Authority, node: str) -> None:
    made = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    mixed = node.replace(key(node), made.decode())
    assert renewal_reason(mixed, NODE, authority.certificate, NOW)


def test_garbage_is_replaced(authority: Authority, node: str) -> None:
    for text in ("", "garbage", key(node), node.replace(key(node), ""), node[: len(node) // 4]):
        assert renewal_reason(text, NODE, authority.certificate, NOW)
    for broken in ("", "garbage"):
        assert renewal_reason(node, NODE, broken, NOW)
