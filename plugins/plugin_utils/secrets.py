"""The secrets of a cluster that the control node keeps: its CA, certificates and passwords.

They are files of one directory that only its owner can read:

    ca.pem, ca.key                the cluster's own CA
    zookeeper-ca.pem, .key        the CA of what ZooKeeper's members and clients show each other
    certificates/HOST/NAME.pem    a key, its certificate and the CA's
    passwords/USER                a generated password
    spark_secret                  what the processes of Spark share
"""

from __future__ import annotations

import datetime
import fcntl
import secrets
import string
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..module_utils.model import zookeeper_tls
from ..module_utils.model.cluster import Cluster
from ..module_utils.model.inventory import Secrets
from ..module_utils.model.security import AUTHORITY, AUTHORITY_FILE, SPARK_SECRET, Certificate
from .certificates import Authority, CertificateError, issue, new_authority, renewal_reason
from .files import write_private

DIRECTORY = ".secrets"
"""The name of the directory, beside the inventory. Ansible reads no hidden file as inventory."""
IGNORED = ".gitignore"
"""Keeps the directory out of the repository of an inventory."""
CERTIFICATE, KEY = AUTHORITY_FILE, "ca.key"
ZOOKEEPER_CERTIFICATE, ZOOKEEPER_KEY = zookeeper_tls.AUTHORITY_FILE, "zookeeper-ca.key"
_CERTIFICATES, _PASSWORDS = "certificates", "passwords"
_LETTERS = string.ascii_letters + string.digits
_LENGTH = 44  # of a password: 262 bits


def directory_of(given: str, inventory: str, sources: Iterable[str] = ()) -> Path:
    """Return where the secrets of an inventory are, by the variable or beside the inventory.

    `sources` are the files and directories that Ansible reads as inventory.

    Raises:
        AnsibleActionFail: the directory is in one of them.

    """
    directory = Path(inventory) / Path(given or DIRECTORY).expanduser()
    for source in map(Path, sources):
        if source.is_dir() and directory.is_relative_to(source):
            (first, *_) = (*directory.relative_to(source).parts, "")
            if not first.startswith("."):
                message = (
                    f"kafka_secrets_dir is {directory}, which Ansible reads as a part of the "
                    "inventory, passwords as names of hosts: set a directory elsewhere, or one "
                    "whose name begins with a dot"
                )
                raise AnsibleActionFail(message)
    return directory


def read(directory: Path) -> Secrets:
    """Return the secrets that a directory holds; what is not there is empty.

    Raises:
        AnsibleActionFail: a file cannot be read.

    """
    files: dict[str, str] = {}
    for path in sorted(directory.rglob("*")):
        try:
            if path.is_file() and not path.name.startswith("."):
                files[str(path.relative_to(directory))] = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            message = f"the secret {path} cannot be read: {error}"
            raise AnsibleActionFail(message) from error

    def below(folder: str) -> dict[str, str]:
        return {
            name.removeprefix(f"{folder}/"): text
            for name, text in files.items()
            if name.startswith(f"{folder}/")
        }

    pems = below(_CERTIFICATES)
    return Secrets(
        str(directory),
        files.get(CERTIFICATE, ""),
        {name.removesuffix(".pem"): text for name, text in pems.items()},
        {user: text.strip() for user, text in below(_PASSWORDS).items()},
        {
            name: text.strip()
            for name, text in files.items()
            if "/" not in name and not name.endswith((".pem", ".key"))
        },
        files.get(ZOOKEEPER_CERTIFICATE, ""),
    )


def complete(cluster: Cluster, given: Authority | None, *, store: bool) -> Secrets:
    """Return the secrets of a cluster with all that it needs; what is new is stored.

    `given` is the site's own CA. Certificates that are not as the cluster wants them, or expire
    soon, are replaced. Without `store` new ones are returned alone, for check mode.

    Raises:
        AnsibleActionFail: a secret cannot be read or written, or the CA cannot be used.

    """
    directory = Path(cluster.inventory.secrets.directory)
    of_kafka = (node.certificates or node.users_without_password for node in cluster.kafka.values())
    of_spark = (host.lacks_secret for host in cluster.spark.values())
    if not any(of_kafka) and not any(of_spark) and not cluster.identities:
        return read(directory)
    try:
        with _lock(directory, store=store):
            return _complete(cluster, given, directory, store=store)
    except (OSError, CertificateError) as error:
        message = f"the secrets in {directory} cannot be made: {error}"
        raise AnsibleActionFail(message) from error


@dataclass(frozen=True)
class _Signed:
    """Certificates of one CA: its files' names, its certificate, where hosts have it, its name."""

    wanted: Sequence[Certificate]
    certificate: str
    key: str
    found: str
    on_hosts: str
    name: str
    given: Authority | None = None


def _complete(
    cluster: Cluster, given: Authority | None, directory: Path, *, store: bool
) -> Secrets:
    found = read(directory)
    kafka = [one for node in cluster.kafka.values() for one in node.certificates]
    identity = next((node.cluster_id for node in cluster.kafka.values()), "") or "Kafka"
    of_kafka = _Signed(
        kafka, CERTIFICATE, KEY, found.authority, AUTHORITY, f"Millrace {identity}", given
    )
    own = cluster.identities
    of_zookeeper = _Signed(
        [one.certificate for one in own],
        ZOOKEEPER_CERTIFICATE,
        ZOOKEEPER_KEY,
        found.zookeeper_authority,
        own[0].authority if own else "",
        "Millrace ZooKeeper",
    )
    new = {**_sign(of_kafka, found, directory), **_sign(of_zookeeper, found, directory)}
    folder = f"{_CERTIFICATES}/"
    issued = {
        name.removeprefix(folder).removesuffix(".pem"): text
        for name, text in new.items()
        if name.startswith(folder)
    }
    certificates = {**found.certificates, **issued}
    # Another run may have made some of them since the cluster was resolved.
    users = {
        user.name
        for node in cluster.kafka.values()
        for user in node.users_without_password
        if not found.passwords.get(user.name)
    }
    passwords = {**found.passwords, **{name: random_text() for name in sorted(users)}}
    new |= {f"{_PASSWORDS}/{name}": passwords[name] for name in users}
    texts = dict(found.texts)
    if any(x.lacks_secret for x in cluster.spark.values()) and not texts.get(SPARK_SECRET):
        texts[SPARK_SECRET] = new[SPARK_SECRET] = random_text()
    if store:
        for name, text in new.items():
            _write(directory / name, text)
    return Secrets(
        str(directory),
        new.get(CERTIFICATE, found.authority),
        certificates,
        passwords,
        texts,
        new.get(ZOOKEEPER_CERTIFICATE, found.zookeeper_authority),
    )


def _sign(signed: _Signed, found: Secrets, directory: Path) -> dict[str, str]:
    """Return what is new of certificates and their CA, file -> text."""
    if not signed.wanted:
        return {}
    given, new = signed.given, {}
    authority, pem = given, given.certificate if given else signed.found
    if given and signed.found and Authority(signed.found, "").issuer != given.issuer:
        message = (
            f"{directory / signed.certificate} is another CA than kafka_ca_certificate, and nodes "
            "that trust one do not trust the other; if no node was deployed yet, delete "
            f"{directory}"
        )
        raise CertificateError(message)
    kinds = {one.name.rpartition("/")[2] for one in signed.wanted}
    if not pem and any(name.rpartition("/")[2] in kinds for name in found.certificates):
        message = (
            f"{signed.certificate} is missing, and nodes that trust it would not trust another; "
            f"copy it from another control node, or from {signed.on_hosts} of a node"
        )
        raise CertificateError(message)
    if not pem:
        authority = new_authority(signed.name)
        pem, new[signed.key] = authority.certificate, authority.key
    if pem != signed.found:
        new[signed.certificate] = pem
    now = datetime.datetime.now(datetime.UTC)
    for wanted in signed.wanted:
        known = found.certificates.get(wanted.name, "")
        if known and not renewal_reason(known, wanted, pem, now):
            continue
        authority = authority or _kept(directory / signed.key, pem)
        new[f"{_CERTIFICATES}/{wanted.name}.pem"] = issue(authority, wanted)
    return new


def random_text() -> str:
    """Return a new password of letters and digits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def _kept(path: Path, certificate: str) -> Authority:
    if not path.is_file():
        message = (
            f"{path} is missing, so no certificate can be made; copy it from the control node that "
            "made it, or set kafka_ca_certificate and kafka_ca_key if Kafka's CA is the site's"
        )
        raise CertificateError(message)
    return Authority(certificate, path.read_text(encoding="utf-8"))


def _write(path: Path, text: str) -> None:
    _make(path.parent)
    write_private(path, text)


def _make(directory: Path) -> None:
    """Make a directory that only its owner can enter, and those above it that are missing."""
    if not directory.is_dir():
        _make(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _lock(directory: Path, *, store: bool) -> Iterator[None]:
    """Let one run complete the secrets at a time, so that two runs agree on them."""
    if not store:
        yield
        return
    _make(directory)
    with (directory / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / IGNORED).exists():
            _write(directory / IGNORED, "*\n")
        yield
