"""What certificates say, and the identities of CAs."""

from __future__ import annotations

import base64
import datetime
import hashlib
import re

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import bodies, is_for
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.x509 import (
    ends_within,
    identities,
    identities_of,
    readable,
    same_authority,
    store_facts,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import request
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.outside_authority import OutsideCa, pem

ONE, OTHER = OutsideCa.new("Site"), OutsideCa.new("Site")
BOTH = pem(ONE.certificate, OTHER.certificate)


def test_an_identity_is_the_digest_of_name_and_key() -> None:
    certificate = ONE.certificate
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    expected = hashlib.sha256(certificate.subject.public_bytes() + key).hexdigest()
    assert identities(pem(certificate)) == [expected]


def test_all_of_a_file_are_found_in_their_order() -> None:
    text = f"# of the site\n{pem(ONE.certificate)}\n\n{pem(OTHER.certificate)}trailer"
    assert (
        identities(text)
        == identities(BOTH)
        == [*identities(pem(ONE.certificate)), *identities(pem(OTHER.certificate))]
    )
    assert len(set(identities(BOTH))) == 2
    assert identities(BOTH.replace("\n", "\r\n")) == identities(BOTH)


def test_a_renewed_one_is_the_same() -> None:
    renewed = pem(ONE.renewed().certificate)
    assert renewed != pem(ONE.certificate)
    assert same_authority(renewed, pem(ONE.certificate))
    assert not same_authority(pem(OTHER.certificate), pem(ONE.certificate))
    assert same_authority(BOTH, pem(ONE.certificate)), "the first one signs"
    assert not same_authority(BOTH, pem(OTHER.certificate))


@pytest.mark.parametrize("text", ["", "junk", pem(ONE.certificate).replace("M", "%", 1)])
def test_what_cannot_be_read_has_none(text: str) -> None:
    assert identities(text) == []
    assert not same_authority(text, text)


def test_one_that_was_cut_off_is_left_out() -> None:
    der = ONE.certificate.public_bytes(Encoding.DER)
    for length in range(0, 300, 7):
        text = base64.encodebytes(der[:length]).decode()
        block = f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"
        read_identities = identities(f"{block}{pem(OTHER.certificate)}")
        assert read_identities[-1:] == identities(pem(OTHER.certificate))
        assert len(read_identities) == 1 or length > len(der) // 2


def days_until(moment: datetime.datetime) -> float:
    """Return how many days from now a moment is."""
    return (moment - datetime.datetime.now(datetime.UTC)).total_seconds() / 86400


NAMES = ("k1.example.org", "10.0.0.1", "2001:db8::1")


def test_what_a_certificate_says() -> None:
    _, made = request(Certificate("k1/node", "/node.pem", "kafka-nodes", NAMES, client=True))
    text = ONE.sign(made)
    [leaf], [authority] = readable(text), readable(pem(ONE.certificate))
    expected = x509.load_pem_x509_certificate(text.encode())
    assert leaf.days_to_begin == pytest.approx(days_until(expected.not_valid_before_utc), abs=0.01)
    assert leaf.days_left == pytest.approx(days_until(expected.not_valid_after_utc), abs=0.01)
    assert leaf.names == ("DNS:k1.example.org", "IP:10.0.0.1", "IP:2001:db8::1")
    assert (leaf.subject, leaf.issuer) == ([("2.5.4.3", "kafka-nodes")], authority.subject)
    assert leaf.is_of([authority])
    assert authority.is_of([authority])
    assert not authority.is_of([leaf])


def test_a_date_after_2049_is_read() -> None:
    [certificate] = readable(pem(OutsideCa.new("x", days=30 * 366).certificate))
    assert certificate.days_left == pytest.approx(30 * 366, abs=0.1)


def test_the_common_name_counts_without_dns_names() -> None:
    [certificate] = readable(pem(OutsideCa.new("K1.example.org").certificate))
    assert certificate.names is not None
    assert is_for(certificate.names, "k1.example.org")
    assert not is_for(certificate.names, "k2.example.org")


@given(st.binary(max_size=80))
def test_any_bytes_are_read_without_an_error(der: bytes) -> None:
    text = base64.encodebytes(der).decode()
    fingerprints = identities(f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n")
    assert all(re.fullmatch("[0-9a-f]{64}", fingerprint) for fingerprint in fingerprints)


def test_certificates_of_a_host_have_no_frames() -> None:
    assert identities_of(bodies(BOTH)) == {*identities(BOTH)}
    assert identities_of(["junk", *bodies(pem(ONE.certificate))]) == {*identities(BOTH)[:1]}


def test_certificates_that_end_soon_are_found() -> None:
    texts = {"/a.pem": pem(OutsideCa.new("a", days=3).certificate), "/b.pem": BOTH}
    shown = {path: bodies(text)[0] for path, text in texts.items()}
    assert ends_within({**shown, "/junk.pem": "junk"}, 4) == ["/a.pem"]
    assert ends_within(shown, 2) == []


SAN = "2.5.29.17"
CURVE = bytes.fromhex("2a8648ce3d030107")


def unusual(*extensions: tuple[str, str]) -> bytes:
    """Return a certificate with some extensions in DER."""
    builder = x509.CertificateBuilder(
        ONE.certificate.issuer,
        ONE.certificate.subject,
        ONE.key.public_key(),
        7,
        ONE.certificate.not_valid_before_utc,
        ONE.certificate.not_valid_after_utc,
    )
    for oid, value in extensions:
        extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), bytes.fromhex(value))
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(ONE.key, hashes.SHA256()).public_bytes(Encoding.DER)


X400 = unusual((SAN, "3002a300"))
JUNK_NAMES = unusual((SAN, "ffff"))
TWICE = unusual(("1.2.3.4", "0500"), ("1.2.3.5", "0500")).replace(b"\x2a\x03\x05", b"\x2a\x03\x04")
OTHER_CURVE = unusual().replace(CURVE, CURVE[:-1] + b"\x7f")


def body(der: bytes) -> str:
    return base64.b64encode(der).decode()


@pytest.mark.parametrize("der", [X400, JUNK_NAMES, TWICE])
def test_names_of_extensions_that_cannot_be_read_are_not_known(der: bytes) -> None:
    facts = store_facts({"chain": [body(der)], "trusted": [], "wrong": "", "refused": ""})
    assert (facts["wrong"], facts["names"]) == ("", None)
    assert identities_of([body(der)]) == {*identities(pem(ONE.certificate))}


def test_a_key_store_needs_the_key_of_its_certificate() -> None:
    assert "cannot be read" in store_facts({"chain": [body(OTHER_CURVE)], "trusted": []})["wrong"]
    assert identities_of([body(OTHER_CURVE)]) == set()


@pytest.mark.parametrize("der", [X400, JUNK_NAMES, TWICE, OTHER_CURVE])
def test_of_a_ca_that_is_trusted_neither_names_nor_key_are_needed(der: bytes) -> None:
    facts = store_facts({"chain": [body(der)]})
    assert facts == {"days_left": pytest.approx(days_until(ONE.certificate.not_valid_after_utc))}


def test_a_trust_store_is_usable_with_a_ca_that_cannot_be_read() -> None:
    assert store_facts({"chain": ["junk", *bodies(BOTH)]}) == {}
    assert "cannot be read" in store_facts({"chain": ["junk"]})["wrong"]
