"""A change of the CA among the secrets: nobody is refused who trusts what the phase says."""

from __future__ import annotations

import ssl
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import (
    ca_change,
    transition,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.x509 import same_authority
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import authorities
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    Authority,
    CertificateError,
    new_authority,
)
from cryptography import x509

from tests.unit.cluster.small import cluster
from tests.unit.outside_authority import OutsideCa, pem
from tests.unit.secrets.kept_secrets import closed, stored

RECORD, NEXT_KEY = transition.AUTHORITY, "ca_next.key"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / ".secrets"


@pytest.fixture(scope="module")
def site() -> OutsideCa:
    return OutsideCa.new("Site")


def site_run(
    directory: Path, authority: Authority | None = None, *, brokers: int = 1, **options: Any
) -> Secrets:
    """Complete the secrets, as site.yml does."""
    cluster = closed(directory, brokers=brokers)
    return secrets.complete(cluster, authority, **{"store": True, **options})


def enter(
    directory: Path, authority: Authority | None = None, *, back: bool = False, **options: Any
) -> Secrets:
    """Enter the next phase, or the current one again."""
    return site_run(
        directory,
        authority,
        step=lambda recorded: authorities.enter(recorded, authority, "id", back=back),
        **options,
    )


def end(directory: Path) -> None:
    """Record that all nodes have the phase."""
    recorded = secrets.read(directory)
    authorities.end_phase(recorded, ca_change.current(recorded))


def phase(directory: Path) -> str:
    change = ca_change.current(secrets.read(directory))
    return change.phase if change else ""


def issuers(recorded: Secrets) -> set[str]:
    """Return who has signed the certificates of nodes."""
    leaves = (
        x509.load_pem_x509_certificate(text.encode()) for text in recorded.certificates.values()
    )
    return {certificate.issuer.rfc4514_string() for certificate in leaves}


def name(authority: str) -> str:
    return x509.load_pem_x509_certificate(authority.encode()).subject.rfc4514_string()


@dataclass
class Tls:
    """Handshakes between nodes, and of clients with them, without a network."""

    folder: Path

    def context(self, side: int, trusted: str, presented: str = "") -> ssl.SSLContext:
        context = ssl.SSLContext(side)
        context.check_hostname = side == ssl.PROTOCOL_TLS_CLIENT
        context.load_verify_locations(cadata=trusted)
        context.verify_mode = (
            ssl.CERT_REQUIRED if presented or context.check_hostname else ssl.CERT_NONE
        )
        if presented:
            path = self.folder / "own.pem"
            path.write_text(presented)
            context.load_cert_chain(path)
        return context

    def between(
        self,
        client: Secrets,
        server: Secrets,
        names: tuple[str, str] = ("b1/node", "b1/node"),
        trusted: tuple[str, str] = ("", ""),
    ) -> None:
        """Let the broker with the secrets of one phase connect to one with those of another.

        Others have certificates of other `names`, and trust something else.
        """
        of_client, of_server = (
            authority or secrets.authority
            for authority, secrets in zip(trusted, (client, server), strict=True)
        )
        self._shake(
            self.context(ssl.PROTOCOL_TLS_CLIENT, of_client, client.certificates[names[0]]),
            self.context(ssl.PROTOCOL_TLS_SERVER, of_server, server.certificates[names[1]]),
            names[1].partition("/")[0],
        )

    def client(self, trusted: str, server: Secrets) -> None:
        """Let a client connect that trusts some CAs, and has no certificate."""
        shown = self.context(
            ssl.PROTOCOL_TLS_SERVER, server.authority, server.certificates["b1/clients"]
        )
        shown.verify_mode = ssl.CERT_NONE
        self._shake(self.context(ssl.PROTOCOL_TLS_CLIENT, trusted), shown)

    @staticmethod
    def _shake(client: ssl.SSLContext, server: ssl.SSLContext, host: str = "b1") -> None:
        """Let both shake hands.

        Raises:
            ssl.SSLError: one refuses the other.

        """
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = [
            client.wrap_bio(to_client, to_server, server_hostname=host),
            server.wrap_bio(to_server, to_client, server_side=True),
        ]
        for _ in range(6):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        ends[0].write(b"x")
        assert ends[1].read(1) == b"x"


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    return Tls(tmp_path)


# Phases


@pytest.mark.parametrize("given_by_site", [False, True])
def test_in_no_phase_is_anybody_refused_who_trusts_what_it_says(
    directory: Path, tls: Tls, site: OutsideCa, given_by_site: bool
) -> None:
    authority = site.with_key if given_by_site else None
    states = [site_run(directory)]
    former = states[0].authority
    for _ in range(3):
        states.append(enter(directory, authority))
        assert states[-1] == secrets.read(directory)
        assert site_run(directory, authority) == states[-1], "site.yml keeps the phase"
        end(directory)
    begun, trust, leaves, finish = states
    following = finish.authority
    for earlier, later in pairwise(states):
        tls.between(earlier, later)
        tls.between(later, earlier)
        tls.between(later, later)
    for state in (begun, trust):
        tls.client(former, state)
    for state in (trust, leaves):
        tls.client(trust.authority, state)
    for state in (leaves, finish):
        tls.client(following, state)
    assert trust.authority == leaves.authority
    # What the phases are for: these are refused.
    with pytest.raises(ssl.SSLError):
        tls.between(begun, leaves)
    with pytest.raises(ssl.SSLError):
        tls.between(finish, trust)
    with pytest.raises(ssl.SSLError):
        tls.client(former, leaves)


def test_the_files_of_each_phase(directory: Path) -> None:
    former = site_run(directory)
    key = stored(directory)["ca.key"]
    trust = enter(directory)
    assert trust.authority.startswith(former.authority)
    assert trust.certificates == former.certificates
    files = stored(directory)
    assert files["ca.pem"] == trust.authority
    assert files["ca.key"] == key
    assert "PRIVATE KEY" not in files[RECORD]
    assert files[NEXT_KEY] not in str(secrets.read(directory).texts)
    end(directory)
    leaves = enter(directory)
    following = trust.authority.removeprefix(former.authority)
    assert issuers(former) == {name(former.authority)}
    assert issuers(leaves) == {name(following)} != issuers(former)
    end(directory)
    finish = enter(directory)
    assert (finish.authority, finish.certificates) == (following, leaves.certificates)
    end(directory)
    after = stored(directory)
    assert (after["ca.pem"], after["ca.key"]) == (following, files[NEXT_KEY])
    assert {RECORD, NEXT_KEY}.isdisjoint(after)
    assert site_run(directory).certificates == leaves.certificates
    assert issuers(site_run(directory, brokers=2)) == {name(following)}, "it signs from now on"


def test_a_phase_that_was_not_completed_is_repeated(directory: Path) -> None:
    site_run(directory)
    first = enter(directory)
    before = stored(directory)
    assert enter(directory) == first
    assert stored(directory) == before
    end(directory)
    second = enter(directory)
    before = stored(directory)
    assert enter(directory) == second
    assert stored(directory) == before


@pytest.mark.parametrize("missing", [("ca.pem",), ("certificates/b1/node.pem",)])
def test_a_run_that_ends_after_its_record_was_written_is_made_up_for(
    directory: Path, missing: tuple[str, ...]
) -> None:
    site_run(directory)
    former = stored(directory)
    enter(directory)
    end(directory)
    trust = stored(directory)
    leaves = enter(directory)
    for path in missing:
        (directory / path).write_text({**former, **({} if path == "ca.pem" else trust)}[path])
    completed = site_run(directory)
    assert completed.authority == leaves.authority
    assert issuers(completed) == issuers(leaves)


def test_the_new_nodes_of_a_phase_have_what_it_says(directory: Path) -> None:
    former = site_run(directory)
    enter(directory)
    assert issuers(site_run(directory, brokers=2)) == issuers(former)
    end(directory)
    leaves = enter(directory, brokers=2)
    assert issuers(site_run(directory, brokers=3)) == issuers(leaves)


# The CAs of other services


def whole(directory: Path, authority: Authority | None = None, **options: Any) -> Secrets:
    """Complete the secrets of a cluster with an ensemble and a worker of Kafka Connect."""
    groups = {"zookeeper": ["z1"], "kafka_brokers": ["b1"], "kafka_connect": ["w1"]}
    ids = {"z1": {"zookeeper_id": 1}, "b1": {"kafka_node_id": 1}}
    services = ("zookeeper", "kafka", "connect")
    security: dict[str, Any] = {f"{service}_security": "standard" for service in services}
    deployment = cluster(groups, ids, kafka_version="3.9.2", **security)
    resolved = resolve(replace(deployment.inventory, secrets=secrets.read(directory)))
    return secrets.complete(resolved, authority, **{"store": True, **options})


def enter_all(
    directory: Path,
    authority: Authority | None = None,
    chosen: Collection[str] = (),
    *,
    back: bool = False,
) -> Secrets:
    """Enter the next phase of a change of several CAs, and complete it."""
    completed = whole(
        directory,
        authority,
        step=lambda recorded: authorities.enter(
            recorded, authority, "id", back=back, chosen=chosen
        ),
    )
    assert completed == secrets.read(directory)
    assert whole(directory, authority) == completed, "site.yml keeps the phase"
    return completed


CAS = [*ca_change.authorities(Secrets())]
SIGNED = {
    "ca.pem": {"b1/node", "b1/clients"},
    "connect-ca.pem": {"w1/connect", "connect-admin"},
    "zookeeper-ca.pem": {"z1/ensemble-zookeeper"},
    "zookeeper-clients-ca.pem": {"b1/ensemble-kafka"},
}


def signed_by(recorded: Secrets, authority: str) -> set[str]:
    """Return the names of the certificates that a CA has signed."""
    issuer = x509.load_pem_x509_certificate(authority.encode())
    leaves = {
        name: x509.load_pem_x509_certificate(text.encode())
        for name, text in recorded.certificates.items()
    }
    return {name for name, leaf in leaves.items() if leaf.issuer == issuer.subject}


def test_every_ca_changes_in_the_same_phases(directory: Path) -> None:
    former = whole(directory)
    begun, states = ca_change.authorities(former), []
    for _ in range(3):
        states.append(enter_all(directory))
        end(directory)
    trust, leaves, finish = map(ca_change.authorities, states)
    assert {*begun} == {*SIGNED}
    names = [name(text) for text in [*begun.values(), *finish.values()]]
    assert len({*names}) == len(names), "ZooKeeper keeps what it trusts by name"
    assert max(map(len, names)) <= len("CN=") + 64, "of X.509"
    for authority_file, of_it in SIGNED.items():
        assert (
            trust[authority_file]
            == leaves[authority_file]
            == begun[authority_file] + finish[authority_file]
        )
        assert (
            signed_by(former, begun[authority_file])
            == signed_by(states[0], begun[authority_file])
            == of_it
        )
        for state in states[1:]:
            assert signed_by(state, finish[authority_file]) == of_it
    assert {RECORD, *map(authorities.next_key_file, CAS)}.isdisjoint(stored(directory))
    assert whole(directory).certificates == states[-1].certificates


@pytest.mark.parametrize(
    ("names", "authority"),
    [
        (("z1/ensemble-zookeeper", "z1/ensemble-zookeeper"), "zookeeper-ca.pem"),
        (("w1/connect", "w1/connect"), "connect-ca.pem"),
        (("connect-admin", "w1/connect"), "connect-ca.pem"),
    ],
)
def test_in_no_phase_is_a_member_or_a_worker_refused(
    directory: Path, tls: Tls, names: tuple[str, str], authority: str
) -> None:
    def meet(client: Secrets, server: Secrets) -> None:
        trusted = tuple(ca_change.authorities(secrets)[authority] for secrets in (client, server))
        tls.between(client, server, names, (trusted[0], trusted[1]))

    states = [whole(directory)]
    for _ in range(3):
        states.append(enter_all(directory))
        end(directory)
    for former, later in pairwise(states):
        meet(former, later)
        meet(later, former)
    for early, late in ((0, 2), (1, 3)):
        with pytest.raises(ssl.SSLError):
            meet(states[early], states[late])


@pytest.mark.parametrize("chosen", [["connect-ca.pem"], ["zookeeper-ca.pem", "ca.pem"]])
def test_chosen_cas_change_and_the_others_stay(directory: Path, chosen: list[str]) -> None:
    whole(directory)
    before = stored(directory)
    enter_all(directory, chosen=chosen)
    end(directory)
    with pytest.raises(AnsibleError, match="rotate_ca"):
        enter_all(directory, chosen=CAS)
    for names in (chosen, ()):
        enter_all(directory, chosen=names)
        end(directory)
    after = stored(directory)
    signed = {f"certificates/{certificate}.pem" for name in chosen for certificate in SIGNED[name]}
    keys = {*map(authorities.key_file, chosen)}
    assert {name for name in before if before[name] != after[name]} == {*chosen, *keys, *signed}
    assert after.keys() == before.keys()


def test_other_cas_go_back_too(directory: Path) -> None:
    whole(directory)
    before = stored(directory)
    enter_all(directory)
    end(directory)
    enter_all(directory, back=True)
    end(directory)
    assert stored(directory) == before


@pytest.mark.parametrize("missing", CAS)
def test_a_file_that_a_run_has_not_written_any_more_is_written_by_the_next(
    directory: Path, missing: str
) -> None:
    whole(directory)
    former = stored(directory)[missing]
    trust = enter_all(directory)
    (directory / missing).write_text(former)
    assert whole(directory) == trust
    assert stored(directory)[missing] == ca_change.authorities(trust)[missing]


@pytest.mark.parametrize("authority", CAS)
def test_without_the_key_of_the_next_ca_no_phase_begins_that_needs_it(
    directory: Path, authority: str
) -> None:
    whole(directory)
    enter_all(directory)
    end(directory)
    (directory / authorities.next_key_file(authority)).unlink()
    before = stored(directory)
    with pytest.raises(AnsibleError) as refusal:
        enter_all(directory)
    for path in (authorities.key_file(authority), authorities.next_key_file(authority)):
        assert path in str(refusal.value)
    assert ("kafka_ca_key" in str(refusal.value)) == (authority == "ca.pem")
    assert stored(directory) == before


def test_the_sites_ca_replaces_that_of_kafka_alone(directory: Path, site: OutsideCa) -> None:
    whole(directory)
    for _ in range(3):
        completed = enter_all(directory, site.with_key)
        end(directory)
    assert completed.authority == site.with_key.certificate
    certificates = ca_change.authorities(completed)
    assert len({*certificates.values()}) == len(certificates)
    for replacement in (site.with_key, site.given):
        with pytest.raises(AnsibleError, match="rotate_ca=connect"):
            enter_all(directory, replacement)
    assert enter_all(directory, site.given, ["connect-ca.pem"]).authority == completed.authority


def test_a_ca_that_is_not_there_is_not_changed(directory: Path) -> None:
    site_run(directory)
    before = stored(directory)
    with pytest.raises(AnsibleError, match=r"connect-ca\.pem.*run site\.yml"):
        site_run(
            directory,
            step=lambda recorded: authorities.enter(
                recorded, None, "id", back=False, chosen=["ca.pem", "connect-ca.pem"]
            ),
        )
    assert stored(directory) == before


# Back


def test_back_to_the_former_ca(directory: Path, tls: Tls) -> None:
    former = site_run(directory)
    states = [former, enter(directory)]
    end(directory)
    states.append(enter(directory))
    states.append(enter(directory, back=True))
    assert phase(directory) == "trust"
    assert issuers(states[-1]) == issuers(former)
    assert enter(directory, back=True) == states[-1], "not all nodes have it yet"
    end(directory)
    states.append(enter(directory, back=True))
    assert phase(directory) == "withdraw"
    for earlier, later in pairwise(states):
        tls.between(earlier, later)
        tls.between(later, earlier)
    assert states[-1].authority == former.authority
    end(directory)
    assert {RECORD, NEXT_KEY}.isdisjoint(stored(directory))
    assert phase(directory) == ""
    assert site_run(directory, brokers=2).authority == former.authority


def test_there_is_no_way_back_at_the_end(directory: Path) -> None:
    site_run(directory)
    for _ in range(2):
        enter(directory)
        end(directory)
    enter(directory)
    before = stored(directory)
    with pytest.raises(AnsibleError, match="too late"):
        enter(directory, back=True)
    assert stored(directory) == before


def test_without_a_change_there_is_nothing_to_go_back_from(directory: Path) -> None:
    site_run(directory)
    before = stored(directory)
    with pytest.raises(AnsibleError, match="nothing to go back from"):
        enter(directory, back=True)
    assert stored(directory) == before


# The CA of a site


def test_from_a_ca_of_ours_to_the_sites(directory: Path, site: OutsideCa) -> None:
    site_run(directory)
    with pytest.raises(AnsibleError, match=r"rotate_certificates\.yml -e rotate=ca"):
        site_run(directory, site.with_key)
    for _ in range(3):
        completed = enter(directory, site.with_key)
        assert NEXT_KEY not in stored(directory)
        end(directory)
    assert completed.authority == site.with_key.certificate
    assert "ca.key" not in stored(directory), "the site keeps its key"
    assert site_run(directory, site.with_key) == secrets.read(directory)
    without_end = Authority(site.with_key.certificate.rstrip(), site.with_key.key)
    assert site_run(directory, without_end).authority == completed.authority


def test_from_the_sites_to_one_of_ours(directory: Path, site: OutsideCa) -> None:
    before = site_run(directory, site.with_key)
    for _ in range(3):
        completed = enter(directory)
        end(directory)
    assert issuers(completed).isdisjoint(issuers(before))
    assert site_run(directory, brokers=2).authority == completed.authority
    assert "ca.key" in stored(directory)


def test_an_outside_ca_can_be_left(directory: Path, site: OutsideCa) -> None:
    """Its certificates stay in use until the next CA signs."""
    middle = OutsideCa.new("Middle", site)
    cluster = closed(directory)
    with pytest.raises(AnsibleError):
        secrets.complete(cluster, site.given, store=True)
    for path in directory.glob("requests/*/*.csr"):
        signed = directory / "signed" / path.relative_to(directory / "requests").with_suffix(".pem")
        signed.parent.mkdir(parents=True, exist_ok=True)
        signed.write_text(middle.sign(path.read_text()) + pem(middle.certificate))
    before = secrets.complete(cluster, site.given, store=True)
    trust = enter(directory)
    assert trust.certificates == before.certificates
    end(directory)
    leaves = enter(directory)
    assert issuers(leaves).isdisjoint(issuers(before))


def test_between_two_cas_of_a_site(directory: Path, site: OutsideCa) -> None:
    following = OutsideCa.new("Site")  # of the same name
    site_run(directory, site.with_key)
    enter(directory, following.with_key)
    with pytest.raises(AnsibleError, match="key of the CA is missing"):
        site_run(directory, following.with_key, brokers=2)
    assert site_run(directory, site.with_key, brokers=2).certificates["b2/node"]
    end(directory)
    with pytest.raises(AnsibleError, match="key of the CA is missing"):
        enter(directory, site.with_key)
    assert phase(directory) == "trust", "a phase that cannot be made is not entered"
    enter(directory, following.with_key)
    assert phase(directory) == "leaves"
    enter(directory, site.with_key, back=True)
    assert phase(directory) == "trust"


def test_two_that_the_same_root_has_signed(directory: Path, site: OutsideCa) -> None:
    first, second = (OutsideCa.new(f"Lower {number}", site) for number in (1, 2))
    intermediates = [
        Authority(pem(intermediate.certificate, site.certificate), intermediate.with_key.key)
        for intermediate in (first, second)
    ]
    site_run(directory, intermediates[0])
    enter(directory, intermediates[1])
    end(directory)
    assert issuers(enter(directory, intermediates[1])) == {"CN=Lower 2"}


@pytest.mark.parametrize("back", [True, False])
def test_a_third_ca_is_refused(directory: Path, site: OutsideCa, back: bool) -> None:
    site_run(directory)
    enter(directory)
    with pytest.raises(AnsibleError, match="neither the former nor the new CA"):
        enter(directory, site.with_key, back=back)
    with pytest.raises(AnsibleError, match="neither the former nor the new CA"):
        site_run(directory, site.with_key)


def test_a_renewed_ca_is_taken_in(directory: Path, site: OutsideCa, tls: Tls) -> None:
    before = site_run(directory, site.with_key)
    renewed = site.renewed().with_key
    after = site_run(directory, renewed)
    assert after.authority == renewed.certificate != before.authority
    assert site_run(directory, renewed) == after
    for name, text in after.certificates.items():
        [leaf, chain] = x509.load_pem_x509_certificates(text.encode())
        former = x509.load_pem_x509_certificate(before.certificates[name].encode())
        assert leaf == former, "it is good as it is"
        assert pem(chain) == renewed.certificate
    tls.between(before, after)
    tls.between(after, before)


# What is refused


@pytest.mark.parametrize(
    ("authority", "reason"),
    [
        (lambda site: site.given, "key is not given"),
        (
            lambda site: Authority(site.given.certificate, new_authority("x").key),
            "not the key of its certificate",
        ),
        (lambda site: Authority(site.given.certificate, "hunter2"), "key of the authority cannot"),
        (lambda site: Authority("junk", site.with_key.key), "certificate cannot be read"),
    ],
)
def test_a_new_ca_that_cannot_sign_is_refused(
    directory: Path, site: OutsideCa, authority: Any, reason: str
) -> None:
    site_run(directory)
    before = stored(directory)
    with pytest.raises(AnsibleError, match=reason) as refusal:
        enter(directory, authority(site))
    assert "hunter2" not in str(refusal.value)
    assert stored(directory) == before


def test_the_ca_that_nodes_trust_is_no_new_one(directory: Path, site: OutsideCa) -> None:
    site_run(directory, site.with_key)
    for replacement in (site.with_key, site.given, site.renewed().with_key):
        with pytest.raises(AnsibleError, match="trust already"):
            enter(directory, replacement)


def test_a_cluster_without_a_ca_has_none_to_change(directory: Path) -> None:
    with pytest.raises(AnsibleError, match=r"run site\.yml first"):
        enter(directory)
    assert stored(directory) == {}


def test_a_damaged_record_is_refused(directory: Path) -> None:
    site_run(directory)
    (directory / RECORD).write_text("{")
    before = stored(directory)
    for task in (site_run, enter):
        with pytest.raises(AnsibleError, match=RECORD):
            task(directory)
    assert stored(directory) == before


def test_without_storing_a_phase_is_only_returned(directory: Path) -> None:
    site_run(directory)
    before = stored(directory)
    completed = enter(directory, store=False)
    assert stored(directory) == before
    assert completed.authority != before["ca.pem"]
    assert same_authority(completed.authority, before["ca.pem"])


def test_a_phase_that_another_run_entered_is_not_completed(directory: Path) -> None:
    site_run(directory)
    enter(directory)
    begun = secrets.read(directory)
    change = ca_change.current(begun)
    end(directory)
    enter(directory)
    for brought in (change, None):
        with pytest.raises(CertificateError, match="another run"):
            authorities.end_phase(secrets.read(directory), brought)
    assert phase(directory) == "leaves"


@pytest.mark.parametrize("remaining", [(RECORD, NEXT_KEY, "ca.key"), (RECORD, "ca.key"), (RECORD,)])
def test_the_end_of_a_change_can_be_repeated(directory: Path, remaining: tuple[str, ...]) -> None:
    site_run(directory)
    for _ in range(2):
        enter(directory)
        end(directory)
    finish = enter(directory)
    before = stored(directory)
    end(directory)
    after = stored(directory)
    for name in remaining:
        (directory / name).write_text(before[name])
    if NEXT_KEY not in remaining and "ca.key" in remaining:
        (directory / "ca.key").write_text(after["ca.key"])
    assert enter(directory) == finish
    end(directory)
    assert stored(directory) == after
