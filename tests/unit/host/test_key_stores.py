"""Which keys, certificates and CAs Kafka and other nodes take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import key_stores
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.x509 import store_facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules import inspection
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import request
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.unit.outside_authority import CLIENT, SERVER, OutsideCa, pem

SITE = OutsideCa.new("Site")
MIDDLE = OutsideCa.new("Middle", SITE)
NODE = Certificate("k1/node", "/node.pem", "k1", ("k1",), client=True)
KEY, REQUEST = request(NODE)
LEAF = SITE.sign(REQUEST)
PASSWORD = "hunter22"
ANY_PURPOSE = x509.ObjectIdentifier("2.5.29.37.0")


OPEN = serialization.NoEncryption()
PKCS8 = serialization.PrivateFormat.PKCS8
OLD = serialization.PrivateFormat.TraditionalOpenSSL


def encrypted(key: str = KEY) -> str:
    """Return a key with the password."""
    return written(key, PKCS8, serialization.BestAvailableEncryption(PASSWORD.encode()))


def written(
    key: str,
    form: serialization.PrivateFormat,
    encryption: serialization.KeySerializationEncryption = OPEN,
) -> str:
    loaded = serialization.load_pem_private_key(key.encode(), None)
    return loaded.private_bytes(serialization.Encoding.PEM, form, encryption).decode()


def read(
    text: str, password: str | None = "", trusted: str = "", *, mutual: bool = True
) -> inspection.Certificate:
    fields = store_facts(key_stores.key_store(text, password, trusted, mutual=mutual))
    return inspection.Certificate("/store.pem", **fields)


def trusting(*authorities: OutsideCa) -> str:
    return pem(*(authority.certificate for authority in authorities))


# What Kafka does not start with


@pytest.mark.parametrize(
    ("text", "password", "reason"),
    [
        ("", "", "no certificate"),
        ("junk", "", "no certificate"),
        (KEY, "", "no certificate"),
        (LEAF, "", "no private key"),
        (f"{KEY}{KEY}{LEAF}", "", "more than one private key"),
        (f"{KEY}{LEAF}{LEAF.replace('M', '%', 1)}", "", "certificates cannot be read"),
        (f"{KEY[:60]}{KEY[80:]}{LEAF}", "", "private key cannot be read"),
        (f"{written(KEY, OLD)}{LEAF}", "", "PKCS #8"),
        (f"{request(NODE)[0]}{LEAF}", "", "not that of its first certificate"),
        (f"{KEY}{trusting(SITE)}{LEAF}", "", "not in order"),
        (f"{KEY}{LEAF}{trusting(MIDDLE)}", "", "not in order"),
        (f"{encrypted()}{LEAF}", "", "ssl.key.password is not set"),
        (f"{encrypted()}{LEAF}", "wrong", "ssl.key.password does not open"),
        (f"{KEY}{LEAF}", PASSWORD, "not encrypted"),
        (f"{encrypted(request(NODE)[0])}{LEAF}", PASSWORD, "not that of its first certificate"),
    ],
)
def test_what_kafka_does_not_start_with(text: str, password: str, reason: str) -> None:
    wrong = read(text, password).wrong
    assert reason in wrong
    assert PASSWORD not in wrong


@pytest.mark.parametrize(
    ("text", "password"),
    [
        (f"{KEY}{LEAF}", ""),
        (f"{LEAF}{KEY}", ""),
        (f"# node\n{KEY}\nsubject=CN = k1\n{LEAF}".replace("\n", "\r\n"), ""),
        (f"{KEY}{MIDDLE.sign(REQUEST)}{trusting(MIDDLE, SITE)}", ""),
        (f"{encrypted()}{LEAF}", PASSWORD),
        (f"{encrypted()}{LEAF}", None),
        (f"{KEY}{LEAF}", None),
        (" ".join(f"{KEY}{LEAF}".split()), ""),
        (" ".join(f"{encrypted()}{LEAF}".split()), PASSWORD),
    ],
)
def test_what_kafka_starts_with(text: str, password: str | None) -> None:
    store = read(text, password, trusting(SITE))
    assert (store.wrong, store.refused) == ("", "")
    assert store.names == ("DNS:k1",)


def test_a_key_that_the_library_takes_for_too_weak_is_javas_business() -> None:
    made = rsa.generate_private_key(65537, 1024)  # noqa: S505 - which Java still takes
    builder = x509.CertificateSigningRequestBuilder(x509.Name.from_rfc4514_string("CN=k1"))
    csr = builder.sign(made, SITE.certificate.signature_hash_algorithm)  # type: ignore[arg-type]  # the certificate has one
    key = made.private_bytes(serialization.Encoding.PEM, PKCS8, OPEN).decode()
    leaf = SITE.sign(csr.public_bytes(serialization.Encoding.PEM).decode())
    store = read(f"{key}{leaf}", "", trusting(SITE))
    assert (store.wrong, store.refused) == ("", "")


def test_a_key_in_the_configuration_is_read_alike() -> None:
    good = store_facts(key_stores.inline_store(KEY, LEAF, "", trusting(SITE), mutual=True))
    assert (good["wrong"], good["refused"]) == ("", "")
    foreign = store_facts(key_stores.inline_store(request(NODE)[0], LEAF, "", "", mutual=True))
    assert "not that of its first certificate" in foreign["wrong"]
    both = store_facts(key_stores.inline_store(f"{KEY}{LEAF}", f"{KEY}{LEAF}", "", "", mutual=True))
    assert both["wrong"] == ""


# What other nodes refuse


@pytest.mark.parametrize(
    ("changes", "mutual", "reason"),
    [
        ({"purposes": [SERVER]}, True, "purpose"),
        ({"purposes": [CLIENT]}, False, "purpose"),
        ({"purposes": [SERVER]}, False, ""),
        ({"purposes": [ANY_PURPOSE]}, True, ""),
        ({"purposes": []}, True, ""),
    ],
)
def test_what_a_certificate_is_for(changes: dict[str, Any], mutual: bool, reason: str) -> None:
    text = f"{KEY}{SITE.sign(REQUEST, **changes)}"
    refused = read(text, "", trusting(SITE), mutual=mutual).refused
    assert reason in refused
    assert bool(reason) == bool(refused)


@pytest.mark.parametrize(
    ("chain", "trusted", "is_refused"),
    [
        ([], [SITE], True),
        ([MIDDLE], [OutsideCa.new("Site")], True),
        ([MIDDLE], [OutsideCa.new("Other")], True),
        ([MIDDLE], [OutsideCa.new("Other"), SITE], False),
        ([MIDDLE], [MIDDLE], False),
        ([], [MIDDLE], False),
        ([MIDDLE], [], False),
    ],
)
def test_a_ca_that_nodes_trust_has_signed_it(
    chain: Sequence[OutsideCa], trusted: Sequence[OutsideCa], is_refused: bool
) -> None:
    text = f"{KEY}{MIDDLE.sign(REQUEST)}{trusting(*chain)}"
    assert bool(read(text, "", trusting(*trusted)).refused) is is_refused


def test_a_trust_store_with_junk_says_nothing_of_keys() -> None:
    broken = trusting(SITE).replace("M", "%", 1)
    store = read(f"{KEY}{LEAF}", "", broken)
    assert (store.wrong, store.refused) == ("", "")


# Dates


def test_dates_of_a_certificate() -> None:
    store = read(f"{KEY}{SITE.sign(REQUEST, begin=3, days=9)}", "", trusting(SITE))
    assert store.days_left == pytest.approx(9, abs=0.1)
    assert store.days_to_begin == pytest.approx(3, abs=0.1)
    assert (store.refused, store.chain_days_left) == ("", None)


def test_dates_of_those_that_signed_it_count_up_to_one_that_is_trusted() -> None:
    expired, old = OutsideCa.new("Middle", SITE, days=-5), OutsideCa.new("Old", days=-9)
    cross_signed = OutsideCa(old.sign_ca(SITE), SITE.key, old)
    text = f"{KEY}{expired.sign(REQUEST)}{trusting(expired, cross_signed)}"
    for trusted, needed in (([SITE], True), ([], False)):
        store = read(text, "", trusting(*trusted))
        assert (store.wrong, store.refused, store.chain_is_needed) == ("", "", needed)
        assert store.chain_days_left == pytest.approx(-5, abs=0.1)
    for trusted in ([expired], [expired, SITE]):
        assert read(text, "", trusting(*trusted)).chain_days_left is None


def test_a_trusted_ca_is_good_after_its_end() -> None:
    old = OutsideCa.new("Old", days=-5)
    store = read(f"{KEY}{old.sign(REQUEST)}{trusting(old)}", "", trusting(old))
    assert (store.refused, store.chain_days_left) == ("", None)


@pytest.mark.parametrize(
    ("text", "days", "reason"),
    [
        ("", None, "no certificate"),
        ("junk", None, "no certificate"),
        (trusting(SITE).replace("M", "%", 1), None, "cannot be read"),
        (trusting(OutsideCa.new("Old", days=-5), OutsideCa.new("New", days=7)), 7, ""),
        (trusting(OutsideCa.new("Old", days=-5)), -5, ""),
    ],
)
def test_a_trust_store_is_valid_as_long_as_one_of_its_cas(
    text: str, days: float | None, reason: str
) -> None:
    fields = store_facts(key_stores.trust_store(text))
    assert reason in fields.get("wrong", "")
    assert fields.get("days_left") == (None if days is None else pytest.approx(days, abs=0.1))
