"""How CAs are distinguished without a library for certificates."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.model.pem import (
    identities,
    same_authority,
)
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
        found = identities(f"{block}{pem(OTHER.certificate)}")
        assert found[-1:] == identities(pem(OTHER.certificate))
        assert len(found) == 1 or length > len(der) // 2


@given(st.binary(max_size=80))
def test_any_bytes_are_read_without_an_error(der: bytes) -> None:
    text = base64.encodebytes(der).decode()
    found = identities(f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n")
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in found)
