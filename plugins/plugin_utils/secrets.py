"""The secrets of a cluster that the control node keeps: its CA, certificates and passwords.

They are files of one directory that only its owner can read:

    ca.pem, ca.key                the cluster's own CA
    certificates/HOST/NAME.pem    a key, its certificate and the CA's
    passwords/USER                a generated password
    spark_secret                  what the processes of Spark share
    spark_ui_key                  what its web interfaces check a token with
    spark_ui_token                the token, for people and monitoring
"""

from __future__ import annotations

import dataclasses
import datetime
import fcntl
import secrets
import string
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..module_utils.model.cluster import Cluster
from ..module_utils.model.inventory import Secrets
from ..module_utils.model.security import (
    AUTHORITY,
    AUTHORITY_FILE,
    SPARK_UI_KEY,
    SPARK_UI_TOKEN,
    bearer_token,
)
from .certificates import Authority, CertificateError, issue, new_authority, renewal_reason
from .files import write_private

DIRECTORY = ".secrets"
"""The name of the directory, beside the inventory. Ansible reads no hidden file as inventory."""
IGNORED = ".gitignore"
"""Keeps the directory out of the repository of an inventory."""
CERTIFICATE, KEY = AUTHORITY_FILE, "ca.key"
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
            if "/" not in name and name not in (CERTIFICATE, KEY)
        },
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
    if not any(of_kafka) and not _new_texts(cluster, cluster.inventory.secrets.texts):
        return read(directory)
    try:
        with _lock(directory, store=store):
            return _complete(cluster, given, directory, store=store)
    except (OSError, CertificateError) as error:
        message = f"the secrets in {directory} cannot be made: {error}"
        raise AnsibleActionFail(message) from error


def _complete(
    cluster: Cluster, given: Authority | None, directory: Path, *, store: bool
) -> Secrets:
    found = read(directory)
    new: dict[str, str] = {}
    nodes = [node for node in cluster.kafka.values() if node.certificates]
    certificates, authority_pem = dict(found.certificates), found.authority
    if nodes:
        authority_pem = given.certificate if given else found.authority
        authority = given
        if given and found.authority and Authority(found.authority, "").issuer != given.issuer:
            message = (
                f"{directory / CERTIFICATE} is another CA than kafka_ca_certificate, and nodes "
                "that trust one do not trust the other; if no node was deployed yet, delete "
                f"{directory}"
            )
            raise CertificateError(message)
        if not authority_pem and certificates:
            message = (
                f"{CERTIFICATE} is missing, and nodes that trust it would not trust another; copy "
                f"it from another control node, or from {AUTHORITY} of a node"
            )
            raise CertificateError(message)
        if not authority_pem:
            authority = new_authority(f"Millrace {next(iter(nodes)).cluster_id or 'Kafka'}")
            authority_pem = authority.certificate
            new[KEY] = authority.key
        if authority_pem != found.authority:
            new[CERTIFICATE] = authority_pem
        now = datetime.datetime.now(datetime.UTC)
        for node in nodes:
            for wanted in node.certificates:
                known = certificates.get(wanted.name, "")
                if known and not renewal_reason(known, wanted, authority_pem, now):
                    continue
                authority = authority or _kept(directory, authority_pem)
                certificates[wanted.name] = issue(authority, wanted)
                new[f"{_CERTIFICATES}/{wanted.name}.pem"] = certificates[wanted.name]
    # Another run may have made some of them since the cluster was resolved.
    users = {
        user.name
        for node in cluster.kafka.values()
        for user in node.users_without_password
        if not found.passwords.get(user.name)
    }
    passwords = {**found.passwords, **{name: random_text() for name in sorted(users)}}
    new |= {f"{_PASSWORDS}/{name}": passwords[name] for name in users}
    texts = _new_texts(cluster, found.texts)
    new |= texts
    if store:
        for name, text in new.items():
            _write(directory / name, text)
    every = {**found.texts, **texts}
    return Secrets(str(directory), authority_pem, certificates, passwords, every)


def _new_texts(cluster: Cluster, found: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark needs besides the texts that there are, by name."""
    wanted = {name for host in cluster.spark.values() for name in host.missing_secrets}
    new = {name: random_text() for name in sorted(wanted) if not found.get(name)}
    return {**new, **_token({**found, **new})}


def _token(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the token of the web interfaces by its name, unless it is there."""
    key = texts.get(SPARK_UI_KEY, "")
    token = bearer_token(key) if key else ""
    return {} if token == texts.get(SPARK_UI_TOKEN, "") else {SPARK_UI_TOKEN: token}


def replace(directory: Path, users: Iterable[str], texts: Iterable[str], *, store: bool) -> Secrets:
    """Return the secrets with new passwords of users and new texts by their names.

    They are stored before anything uses them: whatever happens then, another run applies them.
    Without `store` they are returned alone, for check mode.

    Raises:
        AnsibleActionFail: a secret cannot be read or written.

    """
    passwords = {name: random_text() for name in users}
    others = {name: random_text() for name in texts}
    others |= _token(others)
    try:
        with _lock(directory, store=store):
            if store:
                new = {f"{_PASSWORDS}/{name}": text for name, text in passwords.items()} | others
                for name, text in new.items():
                    _write(directory / name, text)
            found = read(directory)
    except OSError as error:
        message = f"the secrets in {directory} cannot be made: {error}"
        raise AnsibleActionFail(message) from error
    return dataclasses.replace(
        found, passwords={**found.passwords, **passwords}, texts={**found.texts, **others}
    )


def random_text() -> str:
    """Return a new password of letters and digits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def _kept(directory: Path, certificate: str) -> Authority:
    path = directory / KEY
    if not path.is_file():
        message = (
            f"{path} is missing, so no certificate can be made; copy it from the control node that "
            "made it, or set kafka_ca_certificate and kafka_ca_key if the CA is the site's"
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
