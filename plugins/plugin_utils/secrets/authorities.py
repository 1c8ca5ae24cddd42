"""Which CAs a cluster trusts, and which of them sign, on the control node.

These are files of the secrets:

    ca.pem, ca.key    what nodes and clients trust, and the key of the cluster's own CA
    zookeeper-ca.pem, .key            the CA of ZooKeeper's members
    zookeeper-clients-ca.pem, .key    the CA of ZooKeeper's clients
    connect-ca.pem, .key              the CA of Kafka Connect's REST interface

    ca_change.json    while CAs are changed, the record of that
    *_next.key        the key of the next one of each, if it is the cluster's own
"""

import datetime
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..cluster import ca_change, transition
from ..cluster.ca_change import FORMER, NEXT, PhaseError
from ..cluster.inventory import Secrets
from ..cluster.transition import Transition
from ..cluster.x509 import same_authority
from ..services.connect import model as connect
from ..services.kafka.security import AUTHORITY, AUTHORITY_FILE
from ..services.zookeeper import tls as zookeeper_tls
from .certificates import Authority, CertificateError, has_key, new_authority
from .secret_files import SecretFiles

CERTIFICATE = AUTHORITY_FILE
ENSEMBLE_CERTIFICATE = zookeeper_tls.AUTHORITY_FILE
CLIENTS_CERTIFICATE = zookeeper_tls.CLIENTS_AUTHORITY_FILE
CONNECT_CERTIFICATE = connect.AUTHORITY_FILE
PLAYBOOK = "rotate_certificates.yml -e rotate=ca"
# The names of those that Millrace makes, besides Kafka's, which has that of the cluster.
_NAMES = {
    CONNECT_CERTIFICATE: "Millrace Kafka Connect",
    ENSEMBLE_CERTIFICATE: "Millrace ZooKeeper",
    # ZooKeeper keeps what it trusts by the names of the CAs, so that they differ.
    CLIENTS_CERTIFICATE: "Millrace ZooKeeper clients",
}
Files = dict[str, str]


@dataclass(frozen=True)
class Authorities:
    """What is trusted, and the CA that signs."""

    trusted: str
    """PEM."""
    signer: Authority
    """Its key is empty where it is not known."""
    outside: bool = False
    """Whether it is a CA of the site that signs by requests."""
    new: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The files that have to be written, by their names."""
    certificate: str = CERTIFICATE
    """The name of the file of the CA."""


def key_file(certificate: str) -> str:
    """Return the name of the file with the key of a CA."""
    return f"{certificate.removesuffix('.pem')}.key"


def next_key_file(certificate: str) -> str:
    """Return the name of the file with the key of the one that follows it in a change."""
    return f"{certificate.removesuffix('.pem')}_next.key"


def now_valid(secrets: Secrets, site_authority: Authority | None, cluster_id: str) -> Authorities:
    """Return the CAs of a cluster; `site_authority` is the site's own.

    Raises:
        CertificateError: there is none that nodes would take.

    """
    change = _change(secrets)
    if change and CERTIFICATE in ca_change.changed(change):
        _refuse_third(change, site_authority)
        return _changing(secrets, site_authority, change, CERTIFICATE)
    if site_authority:
        _refuse_another(secrets, site_authority)
        # A line end that a lookup has removed is no reason to restart nodes.
        unchanged = secrets.authority.strip() == site_authority.certificate.strip()
        trusted = secrets.authority if unchanged else site_authority.certificate
        return Authorities(trusted, site_authority, outside=not site_authority.key)
    if secrets.authority:
        key = _files(secrets).read(key_file(CERTIFICATE))
        return Authorities(secrets.authority, Authority(secrets.authority, key))
    predicates = (zookeeper_tls.is_identity, connect.is_rest)
    if any(not any(is_one(name) for is_one in predicates) for name in secrets.certificates):
        raise CertificateError(_missing(CERTIFICATE, AUTHORITY))
    made = new_authority(_name(CERTIFICATE, cluster_id))
    return Authorities(made.certificate, made, new={key_file(CERTIFICATE): made.key})


def of_members(secrets: Secrets) -> Authorities:
    """Return the CA of ZooKeeper's members, made where there is none.

    Raises:
        CertificateError: its certificate is missing, and members and clients trust it.

    """
    if secrets.zookeeper_authority:
        return _kept(secrets, ENSEMBLE_CERTIFICATE)
    if any(map(zookeeper_tls.is_identity, secrets.certificates)):
        _, on_hosts = zookeeper_tls.paths("zookeeper")
        raise CertificateError(_missing(ENSEMBLE_CERTIFICATE, on_hosts))
    return _made(ENSEMBLE_CERTIFICATE)


def of_clients(secrets: Secrets) -> Authorities:
    """Return the CA of ZooKeeper's clients, made where there is none.

    Clients of an earlier state have certificates of the members' CA, which members take as well.

    Raises:
        CertificateError: its certificate is missing, and members trust it.

    """
    if secrets.zookeeper_clients_authority:
        return _kept(secrets, CLIENTS_CERTIFICATE)
    earlier = secrets.zookeeper_authority.strip()
    names = filter(zookeeper_tls.is_identity, secrets.certificates)
    if any(earlier not in secrets.certificates[name] for name in names):
        raise CertificateError(_missing(CLIENTS_CERTIFICATE, zookeeper_tls.clients_path()))
    return _made(CLIENTS_CERTIFICATE)


def of_connect(secrets: Secrets) -> Authorities:
    """Return the CA of Kafka Connect's REST interface, made where there is none.

    Raises:
        CertificateError: its certificate is missing, and workers trust it.

    """
    if secrets.connect_authority:
        return _kept(secrets, CONNECT_CERTIFICATE)
    if any(map(connect.is_rest, secrets.certificates)):
        raise CertificateError(_missing(CONNECT_CERTIFICATE, connect.AUTHORITY))
    return _made(CONNECT_CERTIFICATE)


def _kept(secrets: Secrets, certificate: str) -> Authorities:
    """Return a CA that is there, as the phase of a change wants it."""
    change, text = _change(secrets), ca_change.authorities(secrets)[certificate]
    if change and certificate in ca_change.changed(change):
        return _changing(secrets, None, change, certificate)
    key = _files(secrets).read(key_file(certificate))
    return Authorities(text, Authority(text, key), certificate=certificate)


def _changing(
    secrets: Secrets, site_authority: Authority | None, change: Transition, certificate: str
) -> Authorities:
    """Return what the phase of a change wants of a CA; another run may have left out its file."""
    trusted = ca_change.trusted(change, certificate)
    signer = _with_key(secrets, site_authority, ca_change.signer(change, certificate), certificate)
    new = {} if trusted == ca_change.authorities(secrets)[certificate] else {certificate: trusted}
    return Authorities(trusted, signer, new=new, certificate=certificate)


def _made(certificate: str) -> Authorities:
    made = new_authority(_name(certificate))
    new = {key_file(certificate): made.key, certificate: made.certificate}
    return Authorities(made.certificate, made, new=new, certificate=certificate)


def missing_key(authorities: Authorities, directory: str) -> str:
    """Return what to do where the key of the CA that signs is not known."""
    text = (
        f"the key of the CA is missing in {directory}, so no certificate can be made; copy "
        f"{key_file(authorities.certificate)} from the control node that made it, and "
        f"{next_key_file(authorities.certificate)} if it is there"
    )
    if authorities.certificate != CERTIFICATE:
        return text
    return (
        f"{text}, or set kafka_ca_certificate and kafka_ca_key if the CA that signs is the site's"
    )


def _missing(file: str, on_hosts: str) -> str:
    return (
        f"{file} is missing, and nodes that trust it would not trust another; copy it from another "
        f"control node, or from {on_hosts} of a node"
    )


def enter(
    secrets: Secrets,
    site_authority: Authority | None,
    cluster_id: str,
    *,
    back: bool,
    chosen: Collection[str] = (),
) -> Files:
    """Return the files that bring the next phase of a change of the CAs; its first run begins it.

    `chosen` are the CAs to change, by the names of their files; without any it is all that there
    are.

    Raises:
        CertificateError: there is nothing to change, a new CA cannot sign, or others than those
            chosen are being changed.

    """
    change = _change(secrets)
    if change is None:
        if back:
            message = "no change of the CA is under way, so there is nothing to go back from"
            raise CertificateError(message)
        return _begin(secrets, site_authority, cluster_id, chosen)
    if chosen and {*chosen} != {*ca_change.changed(change)}:
        under_way = ", ".join(ca_change.changed(change))
        message = (
            f"a change of {under_way} is under way, which must end before another one begins: "
            "leave out rotate_ca"
        )
        raise CertificateError(message)
    try:
        entered = ca_change.following(change, back=back)
    except PhaseError as error:
        raise CertificateError(str(error)) from error
    return {transition.AUTHORITY: entered.text()}


def _begin(
    secrets: Secrets, site_authority: Authority | None, cluster_id: str, chosen: Collection[str]
) -> Files:
    present = {name: text for name, text in ca_change.authorities(secrets).items() if text}
    former = {name: text for name, text in present.items() if not chosen or name in chosen}
    if absent := [
        name for name in chosen or (() if present else [CERTIFICATE]) if name not in present
    ]:
        message = f"the cluster has no CA yet ({', '.join(absent)} is missing): run site.yml "
        message += "first"
        raise CertificateError(message)
    if CERTIFICATE in former:
        _refuse_given(secrets, site_authority, others=len(present) > 1)
    following = {name: _following(name, site_authority, cluster_id) for name in former}
    keys = {
        next_key_file(name): authority.key
        for name, authority in following.items()
        if authority is not site_authority
    }
    record = ca_change.begin(
        former, {name: authority.certificate for name, authority in following.items()}
    )
    return {**keys, transition.AUTHORITY: record.text()}


def _following(name: str, site_authority: Authority | None, cluster_id: str) -> Authority:
    """Return the CA that is to replace another one."""
    if site_authority and name == CERTIFICATE:
        site_authority.private_key()
        return site_authority
    # Who trusts both finds one by its name first, so that those of two changes differ.
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return new_authority(f"{_name(name, cluster_id)} {now}")


def _refuse_given(secrets: Secrets, site_authority: Authority | None, *, others: bool) -> None:
    """Refuse a CA of the site to which Kafka's cannot be changed.

    Raises:
        CertificateError: says what to set.

    """
    instead = "; the other CAs can be changed alone, by -e rotate_ca=connect,zookeeper"
    if site_authority and same_authority(secrets.authority, site_authority.certificate):
        message = (
            "kafka_ca_certificate is the CA that the nodes trust already; set "
            "kafka_ca_certificate and kafka_ca_key to the new CA, or delete both: then Millrace "
            "makes one"
        )
        raise CertificateError(message + (instead if others else ""))
    if site_authority and not site_authority.key:
        message = (
            "kafka_ca_certificate is a new CA whose key is not given, and a CA can only be "
            "changed to one that Millrace signs with. Set kafka_ca_key, too, until the change is "
            "complete"
        )
        raise CertificateError(message + (instead if others else ""))


def entered(secrets: Secrets, files: Mapping[str, str]) -> Secrets:
    """Return the secrets as they are with the files of the next phase."""
    texts = {**secrets.texts, transition.AUTHORITY: files[transition.AUTHORITY].strip()}
    return replace(secrets, texts=texts)


def end_phase(secrets: Secrets, brought: Transition | None) -> Transition:
    """Record that all nodes have the phase that a run has brought, and return it.

    The last phase ends the change, with the keys of the CAs that are left.

    Raises:
        CertificateError: the record is damaged, or is that of another phase.
        OSError: a file cannot be written.

    """
    change, files = _change(secrets), _files(secrets)
    if change is None or change != brought:
        message = "another run has changed the record since this run began; run this again"
        raise CertificateError(message)
    if change.phase not in (ca_change.FINISH, ca_change.WITHDRAW):
        files.write(transition.AUTHORITY, replace(change, complete=True).text())
        return change
    names = ca_change.changed(change)
    if change.phase == ca_change.FINISH:
        for name in names:
            key = _with_key(secrets, None, ca_change.signer(change, name), name).key
            if key:
                files.write(key_file(name), key)
            else:  # the site keeps the key of its own
                files.remove(key_file(name))
    for name in (transition.AUTHORITY, *map(next_key_file, names)):
        files.remove(name)
    return change


def _change(secrets: Secrets) -> Transition | None:
    try:
        return ca_change.current(secrets)
    except ValueError as error:
        raise CertificateError(str(error)) from error


def _with_key(
    secrets: Secrets, site_authority: Authority | None, certificate: str, name: str
) -> Authority:
    """Return a CA with its key, wherever that is; a given one is not asked if it is another's.

    `name` is that of its file.
    """
    files = _files(secrets)
    keys = [site_authority.key] if site_authority else []
    keys += [files.read(file) for file in (next_key_file(name), key_file(name))]
    return Authority(certificate, next((key for key in keys if has_key(certificate, key)), ""))


def _refuse_another(secrets: Secrets, site_authority: Authority) -> None:
    """Refuse a CA of the site that nodes do not trust; one with the same name and key is renewed.

    Raises:
        CertificateError: it is another one, or cannot be read.

    """
    _ = site_authority.issuer
    if secrets.authority and not same_authority(secrets.authority, site_authority.certificate):
        message = (
            f"{secrets.directory}/{CERTIFICATE} is another CA than kafka_ca_certificate, and nodes "
            f"that trust one do not trust the other; change it by {PLAYBOOK}, or, if no node was "
            f"deployed yet, delete {secrets.directory}"
        )
        raise CertificateError(message)


def _refuse_third(change: Transition, site_authority: Authority | None) -> None:
    certificates = [str(change.data[section][CERTIFICATE]) for section in (FORMER, NEXT)]
    if site_authority and not any(
        same_authority(site_authority.certificate, certificate) for certificate in certificates
    ):
        message = (
            "kafka_ca_certificate is neither the former nor the new CA of the change that is under "
            f"way; set it to one of them until {PLAYBOOK} has completed the change"
        )
        raise CertificateError(message)


def _name(certificate: str, cluster_id: str = "") -> str:
    return _NAMES.get(certificate) or f"Millrace {cluster_id or 'Kafka'}"


def _files(secrets: Secrets) -> SecretFiles:
    return SecretFiles(Path(secrets.directory), secrets.cipher)
