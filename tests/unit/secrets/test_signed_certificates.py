"""What a CA of the site hands over, in any form, and which of it is taken in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import (
    signed_certificates,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    new_authority,
    public_key,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.signed_certificates import (
    Answers,
    read,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.signing_requests import (
    OutsideAuthority,
)
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tests.unit.outside_authority import SERVER, OutsideCa, pem
from tests.unit.secrets.kept_secrets import closed, stored

NAMES = ("b1/node", "b1/clients", "c1/node")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / ".secrets"


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    path = tmp_path / "signed"
    path.mkdir()
    return path


@pytest.fixture(scope="module")
def site() -> OutsideCa:
    return OutsideCa.new("Site")


def exchange(
    directory: Path, site: OutsideCa, source: Path | None = None, *, store: bool = True
) -> tuple[Secrets, OutsideAuthority]:
    cluster = closed(directory, kafka_ca_certificate=site.given.certificate)
    answers = read(source) if source else Answers()
    completed, outside = secrets.exchange(cluster, site.given, answers, store=store)
    assert outside
    return completed, outside


def requests(directory: Path, site: OutsideCa) -> dict[str, str]:
    """Make the requests, and return them by the names of the certificates."""
    _, outside = exchange(directory, site)
    return {wanted.name: made for wanted, made in outside.pending.items()}


def missing(outside: OutsideAuthority) -> set[str]:
    return {wanted.name for wanted in outside.pending}


def test_requests_are_made_once_and_end_no_run(directory: Path, site: OutsideCa) -> None:
    made = requests(directory, site)
    assert made.keys() == {*NAMES}
    files = stored(directory)
    assert {files[f"requests/{name}.csr"] for name in NAMES} == {*made.values()}
    assert requests(directory, site) == made
    assert stored(directory) == files


def test_check_mode_names_requests_and_writes_none(directory: Path, site: OutsideCa) -> None:
    _, outside = exchange(directory, site, store=False)
    assert missing(outside) == {*NAMES}
    assert not directory.exists()


def test_one_file_with_all_in_any_order_has_chains_completed(directory: Path, signed: Path) -> None:
    root = OutsideCa.new("Root")
    middle = OutsideCa.new("Middle", root)
    issuing = OutsideCa.new("Issuing", middle)
    made = requests(directory, root)
    bundle = [issuing.certificate, root.certificate, middle.certificate]
    text = pem(bundle[0]) + "".join(issuing.sign(made[name]) for name in NAMES) + pem(*bundle[1:])
    path = signed / "anything.txt"
    path.write_text(f"issued today\n{text}{text}")
    completed, outside = exchange(directory, root, path)
    assert {wanted.name for wanted in outside.issued} == {*NAMES}
    assert not missing(outside)
    for name in NAMES:
        chain = x509.load_pem_x509_certificates(completed.certificates[name].encode())
        assert [*chain[1:]] == [issuing.certificate, middle.certificate, root.certificate]
    files = stored(directory)
    assert not [name for name in files if name.startswith(("requests/", "signed/"))]
    again, outside = exchange(directory, root, path)
    assert (again, outside.issued, outside.refused) == (completed, [], {})
    assert stored(directory) == files


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("another CA", "kafka_ca_certificate has not signed it"),
        ("expired", "ends within 2 days"),
        ("not yet", "not valid yet"),
        ("names", "lacks the IP address|lacks the DNS name"),
        ("purpose", "lacks the extended key usage clientAuth"),
        ("name", "must be for CN=kafka-nodes"),
        ("a CA", "it is that of a CA"),
    ],
)
def test_a_certificate_that_hosts_would_refuse_is_refused_and_the_others_are_not(
    directory: Path, signed: Path, site: OutsideCa, case: str, reason: str
) -> None:
    made = requests(directory, site)
    wrong = made["b1/node"]
    text = {
        "another CA": lambda: OutsideCa.new("Other").sign(wrong),
        "expired": lambda: site.sign(wrong, begin=-9, days=-1),
        "not yet": lambda: site.sign(wrong, begin=1),
        "names": lambda: site.sign(wrong, names=["elsewhere"]),
        "purpose": lambda: site.sign(wrong, purposes=[SERVER]),
        "name": lambda: site.sign(wrong, name="CN=admin"),
        "a CA": lambda: authority_for(directory, site),
    }[case]()
    (signed / "deep/er").mkdir(parents=True)
    (signed / "deep/er/wrong.crt").write_text(text)
    for name in NAMES[1:]:
        (signed / name.replace("/", "-")).write_text(site.sign(made[name]))
    _, outside = exchange(directory, site, signed)
    [(where, why)] = outside.refused.items()
    assert where == str(signed / "deep/er/wrong.crt")
    assert why.startswith("for b1/node: ")
    assert any(words in why for words in reason.split("|")), why
    assert missing(outside) == {"b1/node"}
    assert "requests/b1/node.key" in stored(directory)
    assert {f"certificates/{name}.pem" for name in NAMES[1:]} <= stored(directory).keys()


def authority_for(directory: Path, site: OutsideCa) -> str:
    """Return a certificate of a CA, signed by the site, for the key of a node."""
    key = (directory / "requests/b1/node.key").read_bytes()
    private = serialization.load_pem_private_key(key, password=None)
    other = OutsideCa.new("kafka-nodes")
    return pem(site.sign_ca(replace(other, key=private), days=90))  # type: ignore[arg-type]  # as it was made


def test_of_two_the_newest_that_can_be_used_is(
    directory: Path, signed: Path, site: OutsideCa
) -> None:
    made = requests(directory, site)
    older, newer = site.sign(made["b1/node"], begin=-5), site.sign(made["b1/node"], begin=-3)
    newest = site.sign(made["b1/node"], begin=-1, names=["elsewhere"])
    for name, text in {"c": older, "b": newest, "a": newer}.items():
        (signed / name).write_text(text)
    completed, outside = exchange(directory, site, signed)
    assert newer in completed.certificates["b1/node"]
    assert not outside.refused
    [(where, why)] = outside.passed_over.items()
    assert (where, "lacks" in why) == (str(signed / "b"), True)


@pytest.mark.parametrize("name", ["ca.key", "one.pem", "sub/.hidden", "x.csr"])
def test_with_a_private_key_nothing_is_taken_in(
    directory: Path, signed: Path, site: OutsideCa, name: str
) -> None:
    made = requests(directory, site)
    (signed / "good.pem").write_text(site.sign(made["b1/node"]))
    (signed / "sub").mkdir()
    (signed / name).write_text(site.sign(made["c1/node"]) + new_authority("x").key)
    with pytest.raises(AnsibleActionFail, match=r"there is a private key.*Nothing was taken in"):
        read(signed)


def test_what_is_no_certificate_is_named(signed: Path, site: OutsideCa, directory: Path) -> None:
    made = requests(directory, site)
    (signed / "b1.der").write_bytes(b"\x30\x82")
    (signed / "b1.csr").write_text(made["b1/node"])
    (signed / "requests.json").write_text("[]")
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    (signed / "broken.pem").write_text(pem(site.certificate) + broken)
    answers = read(signed)
    assert answers.others == [str(signed / "b1.der")]
    assert [*answers.unreadable] == [f"{signed}/broken.pem (certificate 2)"]
    assert [answer.is_authority for answer in answers.certificates] == [True]


def test_a_path_that_cannot_be_what_a_ca_has_handed_over_is_refused(
    signed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AnsibleActionFail, match="is not there: set signed"):
        read(signed / "nowhere")
    (signed / "a").write_text("a")
    (signed / "b").write_text("bb")
    monkeypatch.setattr(signed_certificates, "MOST_FILES", 1)
    with pytest.raises(AnsibleActionFail, match=r"more than 1 files.*Nothing was taken in"):
        read(signed)
    monkeypatch.setattr(signed_certificates, "MOST_BYTES", 1)
    with pytest.raises(AnsibleActionFail, match=r"is no file of certificates.*Nothing"):
        read(signed / "b")


def test_renewal_takes_the_answer_and_keeps_the_present_certificate_without_one(
    directory: Path, signed: Path, site: OutsideCa
) -> None:
    made = requests(directory, site)
    for name in NAMES:
        (signed / f"{name.replace('/', '-')}.pem").write_text(site.sign(made[name], days=20))
    first, _ = exchange(directory, site, signed)
    renewal = requests(directory, site)
    assert renewal.keys() == {*NAMES}
    assert not {*renewal.values()} & {*made.values()}
    # The former certificates are still there, and answer no request.
    (signed / "new.pem").write_text(site.sign(renewal["b1/node"]))
    second, outside = exchange(directory, site, signed)
    assert missing(outside) == {*NAMES[1:]}
    assert not outside.refused
    changed = {name for name in NAMES if first.certificates[name] != second.certificates[name]}
    assert changed == {"b1/node"}


def test_a_public_key_is_that_of_its_certificate(directory: Path, site: OutsideCa) -> None:
    made = requests(directory, site)
    key = (directory / "requests/b1/node.key").read_text()
    assert public_key(key) == public_key(site.sign(made["b1/node"])) != b""
    assert public_key("no key") == b""
