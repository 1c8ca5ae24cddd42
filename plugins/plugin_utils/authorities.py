"""Which CAs the nodes of a cluster trust, and which of them signs, on the control node.

These are files of the secrets:

    ca.pem, ca.key    what nodes and clients trust, and the key of the cluster's own CA
    ca_next.key       while the CA is changed, the key of the next one, if it is the cluster's own
    ca_change.json    the record of that change

    zookeeper-ca.pem, .key            the CA of ZooKeeper's members
    zookeeper-clients-ca.pem, .key    the CA of ZooKeeper's clients
    connect-ca.pem, .key              the CA of Kafka Connect's REST interface
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..module_utils.host.files import write_own
from ..module_utils.model import ca_change, connect, transition, zookeeper_tls
from ..module_utils.model.ca_change import FORMER, NEXT, PhaseError
from ..module_utils.model.inventory import Secrets
from ..module_utils.model.pem import same_authority
from ..module_utils.model.security import AUTHORITY, AUTHORITY_FILE
from ..module_utils.model.transition import Transition
from .certificates import Authority, CertificateError, has_key, new_authority

CERTIFICATE, KEY, NEXT_KEY = AUTHORITY_FILE, "ca.key", "ca_next.key"
ENSEMBLE_CERTIFICATE, ENSEMBLE_KEY = zookeeper_tls.AUTHORITY_FILE, "zookeeper-ca.key"
CLIENTS_CERTIFICATE = zookeeper_tls.CLIENTS_AUTHORITY_FILE
CLIENTS_KEY = "zookeeper-clients-ca.key"
CONNECT_CERTIFICATE, CONNECT_KEY = connect.AUTHORITY_FILE, "connect-ca.key"
PLAYBOOK = "rotate_certificates.yml -e rotate=ca"
Files = dict[str, str]


@dataclass(frozen=True)
class Authorities:
    """What nodes trust (PEM), and the CA that signs, whose key is empty where it is not known.

    With `outside` it is a CA of the site that signs by requests. `new` are the files of a CA that
    was made, by their names, `key` is that of the key.
    """

    trusted: str
    signer: Authority
    outside: bool = False
    new: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = KEY


def now_valid(found: Secrets, given: Authority | None, cluster_id: str) -> Authorities:
    """Return the CAs of a cluster; `given` is the site's own.

    Raises:
        CertificateError: there is none that nodes would take.

    """
    change = _change(found)
    if change:
        signer = _with_key(found, given, ca_change.signer(change))
        _refuse_third(change, given)
        return Authorities(ca_change.trusted(change), signer)
    if given:
        _refuse_another(found, given)
        # A line end that a lookup has removed is no reason to restart nodes.
        same = found.authority.strip() == given.certificate.strip()
        trusted = found.authority if same else given.certificate
        return Authorities(trusted, given, outside=not given.key)
    if found.authority:
        key = _read(Path(found.directory) / KEY)
        return Authorities(found.authority, Authority(found.authority, key))
    others = (zookeeper_tls.is_identity, connect.is_rest)
    if any(not any(is_one(name) for is_one in others) for name in found.certificates):
        raise CertificateError(_missing(CERTIFICATE, AUTHORITY))
    made = new_authority(_name(cluster_id))
    return Authorities(made.certificate, made, new={KEY: made.key})


def of_members(found: Secrets) -> Authorities:
    """Return the CA of ZooKeeper's members, made where there is none.

    Raises:
        CertificateError: its certificate is missing, and members and clients trust it.

    """
    if found.zookeeper_authority:
        return _kept(found, found.zookeeper_authority, ENSEMBLE_KEY)
    if any(map(zookeeper_tls.is_identity, found.certificates)):
        _, on_hosts = zookeeper_tls.paths("zookeeper")
        raise CertificateError(_missing(ENSEMBLE_CERTIFICATE, on_hosts))
    return _made("Millrace ZooKeeper", ENSEMBLE_CERTIFICATE, ENSEMBLE_KEY)


def of_clients(found: Secrets) -> Authorities:
    """Return the CA of ZooKeeper's clients, made where there is none.

    Clients of an earlier state have certificates of the members' CA, which members take as well.

    Raises:
        CertificateError: its certificate is missing, and members trust it.

    """
    if found.zookeeper_clients_authority:
        return _kept(found, found.zookeeper_clients_authority, CLIENTS_KEY)
    earlier = found.zookeeper_authority.strip()
    names = filter(zookeeper_tls.is_identity, found.certificates)
    if any(earlier not in found.certificates[name] for name in names):
        raise CertificateError(_missing(CLIENTS_CERTIFICATE, zookeeper_tls.clients_path()))
    # ZooKeeper keeps what it trusts by the names of the CAs, so that they differ.
    return _made("Millrace ZooKeeper clients", CLIENTS_CERTIFICATE, CLIENTS_KEY)


def of_connect(found: Secrets) -> Authorities:
    """Return the CA of Kafka Connect's REST interface, made where there is none.

    Raises:
        CertificateError: its certificate is missing, and workers trust it.

    """
    if found.connect_authority:
        return _kept(found, found.connect_authority, CONNECT_KEY)
    if any(map(connect.is_rest, found.certificates)):
        raise CertificateError(_missing(CONNECT_CERTIFICATE, connect.AUTHORITY))
    return _made("Millrace Kafka Connect", CONNECT_CERTIFICATE, CONNECT_KEY)


def _kept(found: Secrets, certificate: str, key: str) -> Authorities:
    kept = Authority(certificate, _read(Path(found.directory) / key))
    return Authorities(certificate, kept, key=key)


def _made(name: str, certificate: str, key: str) -> Authorities:
    made = new_authority(name)
    new = {key: made.key, certificate: made.certificate}
    return Authorities(made.certificate, made, new=new, key=key)


def missing_key(known: Authorities, directory: str) -> str:
    """Return what to do where the key of the CA that signs is not known."""
    text = (
        f"the key of the CA is missing in {directory}, so no certificate can be made; copy "
        f"{known.key} from the control node that made it"
    )
    if known.key in (ENSEMBLE_KEY, CLIENTS_KEY, CONNECT_KEY):
        return text
    return (
        f"{text}, and {NEXT_KEY} if it is there, or set kafka_ca_certificate and kafka_ca_key if "
        "the CA that signs is the site's"
    )


def _missing(file: str, on_hosts: str) -> str:
    return (
        f"{file} is missing, and nodes that trust it would not trust another; copy it from another "
        f"control node, or from {on_hosts} of a node"
    )


def enter(found: Secrets, given: Authority | None, cluster_id: str, *, back: bool) -> Files:
    """Return the files that bring the next phase of a change of the CA; its first run begins it.

    Raises:
        CertificateError: there is nothing to change, or the new CA cannot sign.

    """
    change = _change(found)
    if change is None:
        if back:
            message = "no change of the CA is under way, so there is nothing to go back from"
            raise CertificateError(message)
        return _begin(found, given, cluster_id)
    try:
        entered = ca_change.following(change, back=back)
    except PhaseError as error:
        raise CertificateError(str(error)) from error
    return {transition.AUTHORITY: entered.text()}


def _begin(found: Secrets, given: Authority | None, cluster_id: str) -> Files:
    if not found.authority:
        message = f"the cluster has no CA yet ({CERTIFICATE} is missing): run site.yml first"
        raise CertificateError(message)
    if given and same_authority(found.authority, given.certificate):
        message = (
            "kafka_ca_certificate is the CA that the nodes trust already; set "
            "kafka_ca_certificate and kafka_ca_key to the new CA, or delete both: then Millrace "
            "makes one"
        )
        raise CertificateError(message)
    if given and not given.key:
        message = (
            "kafka_ca_certificate is a new CA whose key is not given, and a CA can only be "
            "changed to one that Millrace signs with; set kafka_ca_key, too, until the change is "
            "complete"
        )
        raise CertificateError(message)
    today = datetime.datetime.now(datetime.UTC).date()
    # Clients find a CA by its name first, so that of the next one differs.
    following = given or new_authority(f"{_name(cluster_id)} {today}")
    following.private_key()
    record = ca_change.begin(found.authority, following.certificate)
    return {**({} if given else {NEXT_KEY: following.key}), transition.AUTHORITY: record.text()}


def entered(found: Secrets, files: Mapping[str, str]) -> Secrets:
    """Return the secrets as they are with the files of the next phase."""
    texts = {**found.texts, transition.AUTHORITY: files[transition.AUTHORITY].strip()}
    return replace(found, texts=texts)


def end_phase(found: Secrets, brought: Transition | None) -> Transition:
    """Record that all nodes have the phase that a run has brought, and return it.

    The last phase ends the change, with the key of the CA that is left.

    Raises:
        CertificateError: the record is damaged, or is that of another phase.
        OSError: a file cannot be written.

    """
    change, directory = _change(found), Path(found.directory)
    if change is None or change != brought:
        message = "another run has changed the record since this run began; run this again"
        raise CertificateError(message)
    if change.phase not in (ca_change.FINISH, ca_change.WITHDRAW):
        write_own(directory / transition.AUTHORITY, replace(change, complete=True).text())
        return change
    if change.phase == ca_change.FINISH:
        key = _with_key(found, None, ca_change.signer(change)).key
        if key:
            write_own(directory / KEY, key)
        else:  # the site keeps the key of its own
            (directory / KEY).unlink(missing_ok=True)
    for name in (transition.AUTHORITY, NEXT_KEY):
        (directory / name).unlink(missing_ok=True)
    return change


def _change(found: Secrets) -> Transition | None:
    try:
        return ca_change.current(found)
    except ValueError as error:
        raise CertificateError(str(error)) from error


def _with_key(found: Secrets, given: Authority | None, certificate: str) -> Authority:
    """Return a CA with its key, wherever that is; a given one is not asked if it is another's."""
    directory = Path(found.directory)
    keys = [given.key] if given else []
    keys += [_read(directory / name) for name in (NEXT_KEY, KEY)]
    return Authority(certificate, next((one for one in keys if has_key(certificate, one)), ""))


def _refuse_another(found: Secrets, given: Authority) -> None:
    """Refuse a CA of the site that nodes do not trust; one with the same name and key is renewed.

    Raises:
        CertificateError: it is another one, or cannot be read.

    """
    _ = given.issuer
    if found.authority and not same_authority(found.authority, given.certificate):
        message = (
            f"{found.directory}/{CERTIFICATE} is another CA than kafka_ca_certificate, and nodes "
            f"that trust one do not trust the other; change it by {PLAYBOOK}, or, if no node was "
            f"deployed yet, delete {found.directory}"
        )
        raise CertificateError(message)


def _refuse_third(change: Transition, given: Authority | None) -> None:
    known = [str(change.data[name]) for name in (FORMER, NEXT)]
    if given and not any(same_authority(given.certificate, one) for one in known):
        message = (
            "kafka_ca_certificate is neither the former nor the new CA of the change that is under "
            f"way; set it to one of them until {PLAYBOOK} has completed the change"
        )
        raise CertificateError(message)


def _name(cluster_id: str) -> str:
    return f"Millrace {cluster_id or 'Kafka'}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
