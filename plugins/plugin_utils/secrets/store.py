"""The secrets of a cluster that the control node keeps: its CA, certificates and passwords.

They are files of one directory that only its owner can read:

    ca.pem, ca.key                the cluster's own CA; authorities.py has more of it
    zookeeper-ca.pem, .key        the CA of ZooKeeper's members
    zookeeper-clients-ca.pem, .key    the CA of ZooKeeper's clients
    connect-ca.pem, .key          the CA of Kafka Connect's REST interface
    certificates/connect-admin.pem    what people show that interface
    certificates/HOST/NAME.pem    a key, its certificate and the CA's
    requests, signed              signing_requests.py
    passwords/USER                a generated password of a user of Kafka
    passwords/schema_registry/USER    that of a user of the schema registry
    spark_secret                  what the processes of Spark share
    *_change.json                 the phase of a change of the running cluster
    store.json                    the generations of the directory; secret_store.py has more of it
    spark_ui_key                  what its web interfaces check a token with
    spark_ui_token                the token, for people and monitoring
    spark_session_ui_key          what the web interfaces of sessions check a token with
    postgresql_USER               the password of a user of the database
    spark_metastore               the password of the catalog of tables
    spark_connect_token           what clients of Spark Connect show
"""

import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import json
import secrets
import stat
import string
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..cluster import secret_store, transition
from ..cluster.cluster import Cluster
from ..cluster.inventory import Secrets
from ..cluster.secret_store import Cipher, Generation, Store
from ..operation import operator
from ..services.kafka.node import KafkaNode
from ..services.kafka.security import (
    ADMIN,
    NODES,
    SPARK_UI_KEY,
    SPARK_UI_TOKEN,
    Certificate,
    bearer_token,
)
from ..services.monitoring import model as monitoring
from ..services.postgresql.model import missing_passwords
from . import authorities, signing_requests
from .authorities import CERTIFICATE, Authorities
from .certificates import (
    Authority,
    CertificateError,
    authority_problem,
    days_left,
    issue,
    renewal_reason,
    signed_problem,
    with_chain,
)
from .secret_files import SecretFiles
from .signed_certificates import Answers
from .signing_requests import CERTIFICATES, OutsideAuthority

DIRECTORY = ".secrets"
"""The name of the directory, beside the inventory. Ansible reads no hidden file as inventory."""
_PASSWORDS = "passwords"
_LETTERS = string.ascii_letters + string.digits
_LENGTH = 44  # of a password: 262 bits
_BCRYPT_ROUNDS = 6
Step = Callable[[Secrets], Mapping[str, str]]
"""Returns the files of a further phase of a change, its record among them."""


def directory_of(configured: str, inventory: str, sources: Iterable[str] = ()) -> Path:
    """Return where the secrets of an inventory are, by the variable or beside the inventory.

    `sources` are the files and directories that Ansible reads as inventory.

    Raises:
        AnsibleActionFail: the directory is in one of them.

    """
    directory = Path(inventory) / Path(configured or DIRECTORY).expanduser()
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


def read(directory: Path, cipher: Cipher | None = None) -> Secrets:
    """Return the secrets that a directory holds; what is not there is empty.

    With a `cipher` its files are encrypted.

    Raises:
        AnsibleActionFail: a file cannot be read.

    """
    files = SecretFiles(directory, cipher).texts()

    def below(folder: str) -> dict[str, str]:
        return {
            name.removeprefix(f"{folder}/"): text
            for name, text in files.items()
            if name.startswith(f"{folder}/")
        }

    pems = below(CERTIFICATES)
    present = Secrets(
        str(directory),
        files.get(CERTIFICATE, ""),
        {name.removesuffix(".pem"): text for name, text in pems.items()},
        {user: text.strip() for user, text in below(_PASSWORDS).items()},
        {
            name: text.strip()
            for name, text in files.items()
            if "/" not in name and not name.endswith((".pem", ".key")) and name != secret_store.FILE
        },
        files.get(authorities.ENSEMBLE_CERTIFICATE, ""),
        files.get(authorities.CLIENTS_CERTIFICATE, ""),
        files.get(authorities.CONNECT_CERTIFICATE, ""),
        _store_of(directory, files),
        stat.S_IMODE(directory.stat().st_mode) if directory.is_dir() and not cipher else 0,
        cipher,
    )
    try:
        for record in transition.RECORDS:
            transition.read(present, record)
    except ValueError as error:
        raise AnsibleActionFail(str(error)) from error
    return present


def _store_of(directory: Path, files: Mapping[str, str]) -> Store | None:
    try:
        return secret_store.parse(files.get(secret_store.FILE, ""))
    except ValueError as error:
        message = f"{directory / secret_store.FILE} cannot be read: {error}"
        raise AnsibleActionFail(message) from error


def given_authority(cluster: Cluster) -> Authority | None:
    """Return the site's own CA, None where the cluster has one of its own."""
    for node in cluster.kafka.values():
        certificate, key = (
            node.settings[f"kafka_ca_{suffix}"] for suffix in ("certificate", "key")
        )
        return Authority(certificate, key) if certificate else None
    return None


def authority_error(cluster: Cluster) -> str:
    """Return why the site's own CA cannot be used, empty if it can or there is none."""
    authority = given_authority(cluster)
    return authority_problem(authority, datetime.datetime.now(datetime.UTC)) if authority else ""


def authority_days(cluster: Cluster) -> float | None:
    """Return how long the site's own CA is valid, None if it cannot be read or there is none."""
    authority = given_authority(cluster)
    try:
        return (
            days_left(authority.issuer, datetime.datetime.now(datetime.UTC)) if authority else None
        )
    except CertificateError:
        return None


def waiting_requests(cluster: Cluster) -> str:
    """Return which requests wait for the signature of an outside CA, empty if none does."""
    authority = given_authority(cluster)
    if authority is None or authority.key:
        return ""
    certificates = [
        certificate for node in cluster.kafka.values() for certificate in node.certificates
    ]
    certificates += cluster.web_certificates
    lines = signing_requests.pending(Path(cluster.inventory.secrets.directory), certificates)
    first = (
        "Requests wait to be signed; until then Kafka's nodes and instances of the schema registry "
        "keep their present certificates:"
    )
    return "\n".join([first, *lines]) if lines else ""


def complete(
    cluster: Cluster,
    site_authority: Authority | None,
    *,
    store: bool,
    step: Step | None = None,
    renewed: Collection[str] = (),
) -> Secrets:
    """Return the secrets of a cluster with all that it needs; what is new is stored.

    `site_authority` is the site's own CA. Certificates that are not as the cluster wants them, or
    expire soon, are replaced, and those of the hosts `renewed`. `step` enters a further phase of
    the change of the CA. Without `store` new ones are returned alone, for check mode.

    Raises:
        AnsibleActionFail: a secret cannot be read or written, the CA cannot be used, or an outside
            CA has not signed a certificate yet.

    """
    present = cluster.inventory.secrets
    files = SecretFiles(Path(present.directory), present.cipher)
    return _completed(cluster, site_authority, _Work(files, store, step, renewed))


def exchange(
    cluster: Cluster, site_authority: Authority, answers: Answers, *, store: bool
) -> tuple[Secrets, OutsideAuthority | None]:
    """Do the same with the certificates that an outside CA has handed over.

    Those that are missing do not end the run: return what became of all, None where the CA signs no
    certificate.

    Raises:
        AnsibleActionFail: a secret cannot be read or written, or the CA cannot be used.

    """
    present = cluster.inventory.secrets
    files = SecretFiles(Path(present.directory), present.cipher)
    work = _Work(files, store, answers=answers)
    return _completed(cluster, site_authority, work), work.outside


def _completed(cluster: Cluster, site_authority: Authority | None, work: "_Work") -> Secrets:
    present, store = cluster.inventory.secrets, work.store
    directory, cipher = work.files.directory, work.files.cipher
    of_kafka = (
        node.certificates or node.security.users_without_password for node in cluster.kafka.values()
    )
    texts = _new_texts(cluster, present.texts)
    other_needs = (
        *cluster.identities,
        *cluster.rest_certificates,
        *cluster.web_certificates,
        *cluster.registry_passwords,
    )
    if not any(of_kafka) and not texts and not other_needs:
        return read(directory, cipher) if store else present
    try:
        with lock(directory, store=store, cipher=cipher):
            # In check mode nothing was stored of what the run has made so far.
            held = read(directory, cipher) if store else present
            completed = _complete(cluster, held, site_authority, work)
            changed = work.new or work.removed or held.store is None
            new = _stamp(work.files) if store else _following(held.store) if changed else held.store
            return dataclasses.replace(completed, store=new)
    except (OSError, CertificateError) as error:
        message = f"the secrets in {directory} cannot be made: {error}"
        raise AnsibleActionFail(message) from error


@dataclass
class _Work:
    """What is asked of a completion, and the files that it makes or removes, by their names."""

    files: SecretFiles
    store: bool
    step: Step | None = None
    renewed: Collection[str] = ()
    answers: Answers | None = None
    """Certificates of an outside CA, where it does not matter that some are missing."""
    outside: OutsideAuthority | None = None
    new: dict[str, str] = field(default_factory=dict, repr=False)
    removed: list[str] = field(default_factory=list)

    def write(self) -> None:
        """Store what is new in its order, and then remove what is done with."""
        if self.store:
            for name, text in self.new.items():
                self.files.write(name, text)
            for name in self.removed:
                self.files.remove(name)


def _complete(
    cluster: Cluster, present: Secrets, site_authority: Authority | None, work: _Work
) -> Secrets:
    if work.step:
        # Its record comes first: every run from then on makes what the phase wants.
        work.new |= work.step(present)
        present = authorities.entered(present, work.new)
    nodes = [node for node in cluster.kafka.values() if node.certificates]
    certificates, trusted = dict(present.certificates), present.authority
    outside = None
    if nodes or cluster.web_certificates:
        cluster_id = next((node.cluster_id for node in cluster.kafka.values()), "")
        kafka_authorities = authorities.now_valid(present, site_authority, cluster_id)
        trusted = kafka_authorities.trusted
        work.new |= kafka_authorities.new
        if trusted != present.authority:
            work.new[CERTIFICATE] = trusted
        if kafka_authorities.outside:
            outside = OutsideAuthority(
                work.files, trusted, _users(nodes), work.answers or Answers()
            )
        desired = [(node.name, certificate) for node in nodes for certificate in node.certificates]
        desired += [
            (certificate.name.partition("/")[0], certificate)
            for certificate in cluster.web_certificates
        ]
        for host, certificate in desired:
            renew, pem = host in work.renewed, certificates.get(certificate.name, "")
            if outside:
                certificates[certificate.name] = outside.issue(certificate, pem, renew=renew)
            else:
                certificates[certificate.name] = _certificate(
                    kafka_authorities, certificate, pem, work, renew=renew
                )
    of_ensemble = present.zookeeper_authority, present.zookeeper_clients_authority
    if cluster.identities:
        members, clients = authorities.of_members(present), authorities.of_clients(present)
        of_ensemble = members.trusted, clients.trusted
        work.new |= {**members.new, **clients.new}
        for identity in cluster.identities:
            issuers, certificate = members if identity.is_member else clients, identity.certificate
            pem = certificates.get(certificate.name, "")
            certificates[certificate.name] = _certificate(
                issuers, certificate, pem, work, renew=False
            )
    of_connect = present.connect_authority
    if cluster.rest_certificates:
        connect_authorities = authorities.of_connect(present)
        of_connect = connect_authorities.trusted
        work.new |= connect_authorities.new
        for certificate in cluster.rest_certificates:
            renew = certificate.name.partition("/")[0] in work.renewed
            pem = certificates.get(certificate.name, "")
            certificates[certificate.name] = _certificate(
                connect_authorities, certificate, pem, work, renew=renew
            )
    # Another run may have made some of them since the cluster was resolved.
    users = {
        user.name
        for node in cluster.kafka.values()
        for user in node.security.users_without_password
        if not present.passwords.get(user.name)
    } | {name for name in cluster.registry_passwords if not present.passwords.get(name)}
    passwords = {**present.passwords, **{name: random_text() for name in sorted(users)}}
    work.new |= {f"{_PASSWORDS}/{name}": passwords[name] for name in users}
    texts = _new_texts(cluster, present.texts)
    work.new |= texts
    if outside:
        work.new |= outside.new
        work.removed += outside.removed
    work.write()
    work.outside = outside
    if outside and work.answers is None:
        outside.refuse(stored=work.store)
    all_texts = {**present.texts, **texts}
    return Secrets(
        str(work.files.directory),
        trusted,
        certificates,
        passwords,
        all_texts,
        *of_ensemble,
        of_connect,
        mode=present.mode,
        cipher=present.cipher,
    )


def _users(nodes: Iterable[KafkaNode]) -> set[str]:
    """Return the names of all who may log in: nodes, users, and super users of the inventory."""
    names = {NODES, ADMIN}
    for node in nodes:
        super_users = str(node.config.get("super.users") or "").split(";")
        names |= {principal.strip().partition(":")[2] for principal in super_users}
        names |= {user.name for user in node.security.users}
    return names - {""}


def _certificate(
    issuers: Authorities, certificate: Certificate, pem: str, work: _Work, *, renew: bool
) -> str:
    """Return a key and certificate as they are wanted, the present ones if they are."""
    signer, now = issuers.signer, datetime.datetime.now(datetime.UTC)
    if pem and not renew:
        if not signer.key and not signed_problem(pem, pem, certificate, signer.certificate, now):
            return pem  # a CA that cannot sign has to be content with what nodes take
        if not renewal_reason(pem, certificate, signer.certificate, now):
            replacement = with_chain(pem, signer.certificate)
            if replacement != pem:
                work.new[f"{CERTIFICATES}/{certificate.name}.pem"] = replacement
            return replacement
    if not signer.key:
        raise CertificateError(authorities.missing_key(issuers, str(work.files.directory)))
    replacement = issue(signer, certificate)
    work.new[f"{CERTIFICATES}/{certificate.name}.pem"] = replacement
    return replacement


def keep(directory: Path, name: str, text: str, cipher: Cipher | None = None) -> Secrets:
    """Store one secret, and return all of them with the generation that this makes.

    Raises:
        AnsibleActionFail: it cannot be written.

    """
    try:
        with lock(directory, store=True, cipher=cipher):
            SecretFiles(directory, cipher).write(name, text)
        return read(directory, cipher)
    except OSError as error:
        message = f"{directory / name} cannot be written: {error}"
        raise AnsibleActionFail(message) from error


def _new_texts(cluster: Cluster, present: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark and databases need besides the texts that there are, by name."""
    names = {name for host in cluster.spark.values() for name in host.security.missing}
    names |= {*(missing_passwords(cluster.inventory.secrets) if cluster.databases else ())}
    servers, exporters = cluster.monitoring.values(), cluster.metrics.values()
    names |= {*monitoring.missing_texts([*servers], [*exporters])}
    new = {name: random_text() for name in sorted(names) if not present.get(name)}
    all_texts = {**present, **new}
    return {**new, **_token(all_texts), **_hash(all_texts)}


def _hash(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what Prometheus compares its password with by its name, unless it is there."""
    import bcrypt  # where something is watched alone: elsewhere nobody needs to install it

    password, password_hash = (
        texts.get(name, "") for name in (monitoring.PASSWORD, monitoring.PASSWORD_HASH)
    )
    with contextlib.suppress(ValueError):  # it is none
        if not password or (
            password_hash and bcrypt.checkpw(password.encode(), password_hash.encode())
        ):
            return {}
    # Each request costs the server as much; the password is long.
    made = bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds=_BCRYPT_ROUNDS))
    return {monitoring.PASSWORD_HASH: made.decode()}


def _token(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the token of the web interfaces by its name, unless it is there."""
    key = texts.get(SPARK_UI_KEY, "")
    token = bearer_token(key) if key else ""
    return {} if token == texts.get(SPARK_UI_TOKEN, "") else {SPARK_UI_TOKEN: token}


def replace(
    directory: Path,
    users: Iterable[str],
    texts: Iterable[str],
    *,
    store: bool,
    cipher: Cipher | None = None,
) -> Secrets:
    """Return the secrets with new passwords of users and new texts by their names.

    They are stored before anything uses them: whatever happens then, another run applies them.
    Without `store` they are returned alone, for check mode.

    Raises:
        AnsibleActionFail: a secret cannot be read or written.

    """
    passwords = {name: random_text() for name in users}
    new_texts = {name: random_text() for name in texts}
    new_texts |= _token(new_texts)
    stored = SecretFiles(directory, cipher)
    try:
        with lock(directory, store=store, cipher=cipher):
            present = read(directory, cipher)
            # First of all: a run that ends here must not leave a password that Kafka never gets.
            new = _replacing(present.store or _first(""), passwords)
            if store:
                stored.write(secret_store.FILE, new.text())
                files = {
                    f"{_PASSWORDS}/{name}": text for name, text in passwords.items()
                } | new_texts
                for name, text in files.items():
                    stored.write(name, text)
                new = _stamp(stored) or new
    except OSError as error:
        message = f"the secrets in {directory} cannot be made: {error}"
        raise AnsibleActionFail(message) from error
    return dataclasses.replace(
        present,
        passwords={**present.passwords, **passwords},
        texts={**present.texts, **new_texts},
        store=new if store else _following(new),
    )


def replaced(directory: Path, users: Iterable[str], cipher: Cipher | None = None) -> None:
    """Record that Kafka has the passwords of users: from now on they replace no other ones.

    Raises:
        AnsibleActionFail: it cannot be recorded.

    """
    try:
        with lock(directory, store=True, cipher=cipher):
            recorded = read(directory, cipher).store
            if recorded and {*recorded.replacing} & {*users}:
                remaining = tuple(name for name in recorded.replacing if name not in users)
                new = dataclasses.replace(recorded, replacing=remaining)
                SecretFiles(directory, cipher).write(secret_store.FILE, new.text())
    except OSError as error:
        message = f"{directory / secret_store.FILE} cannot be written: {error}"
        raise AnsibleActionFail(message) from error


def accept(
    present: Secrets, generations: Iterable[Generation], users: Iterable[str], *, store: bool
) -> Secrets:
    """Return the secrets as those that come after the generations of hosts that they lack.

    The passwords of `users` may replace those that Kafka has. Without `store` this is returned
    alone, for check mode.

    Raises:
        AnsibleActionFail: it cannot be stored.

    """
    directory, cipher = Path(present.directory), present.cipher
    files = SecretFiles(directory, cipher)
    try:
        with lock(directory, store=store, cipher=cipher):
            recorded = (read(directory, cipher) if store else present).store or _first("")
            missing = [
                generation
                for generation in generations
                if not secret_store.contains(recorded, generation)
            ]
            new = _replacing(recorded, users)
            if missing:
                numbers = [generation.number for generation in (*recorded.generations, *missing)]
                following = _generation(max(numbers) + 1)
                new = new.followed_by(*missing, following, digest=recorded.digest)
            if store:
                files.write(secret_store.FILE, new.text())
                new = _stamp(files) or new
    except OSError as error:
        message = f"{directory / secret_store.FILE} cannot be written: {error}"
        raise AnsibleActionFail(message) from error
    return dataclasses.replace(present, store=new)


def _stamp(stored: SecretFiles) -> Store | None:
    """Return the generation of what a directory holds, recorded if it is a new one.

    A change by hand is one, too. None where there are no secrets.

    Raises:
        AnsibleActionFail: a secret cannot be read.
        OSError: the generation cannot be written.

    """
    files = stored.texts()
    recorded = _store_of(stored.directory, files)
    texts = sorted((name, text) for name, text in files.items() if name != secret_store.FILE)
    if not texts:
        return recorded
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    if recorded is None:
        recorded = _first(digest)
    elif recorded.digest != digest:
        recorded = _following(recorded, digest)
    else:
        return recorded
    stored.write(secret_store.FILE, recorded.text())
    return recorded


def _first(digest: str) -> Store:
    """Return the first generation; copies of a directory from before there were any agree on it."""
    name = hashlib.sha256(f"generation {digest}".encode()).hexdigest() if digest else ""
    return Store((_generation(1, name),), digest)


def _following(store: Store | None, digest: str = "") -> Store:
    """Return a directory after a change."""
    if store is None:
        return _first("")
    return store.followed_by(_generation(store.generation.number + 1), digest=digest)


def _generation(number: int, name: str = "") -> Generation:
    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    number = min(number, secret_store.MOST_NUMBER)
    return Generation(name or uuid.uuid4().hex, number, made, operator())


def _replacing(store: Store, users: Iterable[str]) -> Store:
    return dataclasses.replace(store, replacing=tuple(sorted({*store.replacing, *users})))


def random_text() -> str:
    """Return a new password of letters and digits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


@contextmanager
def lock(directory: Path, *, store: bool, cipher: Cipher | None = None) -> Iterator[None]:
    """Let one run change the secrets at a time, so that two runs agree on them.

    What it has changed is a new generation.
    """
    if not store:
        yield
        return
    files = SecretFiles(directory, cipher)
    with locked(files):
        files.prepare()
        _stamp(files)  # what has changed by hand since
        yield
        _stamp(files)


@contextmanager
def locked(files: SecretFiles) -> Iterator[None]:
    """Let one run change the files at a time, whatever form they have."""
    files.make()
    with (files.directory / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
