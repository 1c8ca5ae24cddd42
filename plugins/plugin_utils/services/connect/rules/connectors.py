"""The rules about the connectors of Kafka Connect: names, secrets, and their users of Kafka."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .....module_utils.formats import secret_texts
from .....module_utils.formats.config_providers import references
from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import by_name, listing, mapping, sequence, texts
from ....cluster.cluster import Cluster
from ....cluster.registry import KAFKA_USERS
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import falls_back_to_default, one_value, parts, shared_values
from ...kafka.rules.users import wrong_grants, wrong_name
from ...spark.jobs import VARIABLE as JOBS
from .. import connectors
from ..connectors import CLASS, SECRETS_VARIABLE, VARIABLE, Connector
from ..mirrors import ALIAS as MIRROR_ALIAS
from ..mirrors import VARIABLE as MIRRORS
from ..model import Worker, leader_transactional_id

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PROVIDER = re.compile(r"\$\{([\w-]+):")
# Names that the documentation of Kafka and of its plugins gives to providers.
_USUAL = ("directory", "env", "file", "secretManager", "secretsManager", "vault")
_POSTGRESQL = "io.debezium.connector.postgresql.PostgresConnector"
_POSTGRESQL_PORT, _SLOT = 5432, "debezium"
_SHARED = (VARIABLE, SECRETS_VARIABLE, MIRRORS, MIRROR_ALIAS)
_first = parts("connect", *_SHARED, first=True)
"""The first worker: all have the same connectors."""


def _all(cluster: Cluster) -> Iterator[tuple[str, Cluster, Worker, Connector]]:
    """Yield all connectors, also those that are to be removed."""
    for name, worker in _first(cluster):
        for connector in worker.connectors:
            yield name, cluster, worker, connector


def _every(cluster: Cluster) -> Iterator[tuple[str, Cluster, Worker, Connector]]:
    """Yield the connectors that are to be there."""
    return (checked for checked in _all(cluster) if checked[-1].present)


def _at(connector: Connector, key: str) -> str:
    return f"{VARIABLE}[{connector.name}].{key}"


@rule("connectors-differ")
def _connectors_differ(cluster: Cluster) -> Findings:
    """Any worker may get any connector, and reads its secrets there."""
    return one_value(cluster, "in the group variables of all workers", cluster.connect, *_SHARED)


@rule("connector-duplicate", each=_first, where=VARIABLE)
def _connector_duplicate(worker: Worker) -> Findings:
    """One of the two would take the place of the other."""
    for name, places in shared_values(
        {number: connector.name for number, connector in enumerate(worker.connectors)}
    ):
        fix = "Give each connector a name of its own."
        yield Finding(f"{name} is named {len(places)} times.", fix)


@rule("connector-name", each=_every, where=VARIABLE)
def _connector_name(_: Cluster, worker: Worker, connector: Connector) -> Findings:
    """It is part of the names of topics, groups and transactions, and by it the offsets of a
    connector are found again.
    """
    configured = connector.given.get("name", connector.name)
    if not _NAME.fullmatch(connector.name):
        fix = "Choose letters, digits, ., - and _, at most 100; a letter or a digit comes first."
        yield Finding(f"{connector.name!r} is no name for a connector.", fix)
    elif configured != connector.name:
        problem = f"The configuration of {connector.name} names it {configured}."
        yield Finding(problem, "Delete name there.", _at(connector, "config"))
    elif connector.user and worker.kafka_login and (owners := _writing_as(worker, connector)):
        problem = (
            f"{connector.user} of {connector.name} could end transactions of {listing(owners)}."
        )
        yield Finding(problem, "Choose a name with which no other one begins.")


def _writing_as(worker: Worker, current: Connector) -> list[str]:
    """Return who has transactional ids that the user of a source may use, too."""
    prefix = connectors.transactional_ids(worker.group, current.name)
    peers = [x.name for x in worker.connectors if x.present and not x.is_sink and x is not current]
    ids = {
        "the workers": leader_transactional_id(worker.group),
        **{name: connectors.transactional_ids(worker.group, name) for name in peers},
    }
    return (
        []
        if current.is_sink
        else [name for name, identifier in ids.items() if identifier.startswith(prefix)]
    )


@rule("connector-class", each=_every)
def _connector_class(_: Cluster, __: Worker, connector: Connector) -> Findings:
    """The workers would not know what to run."""
    if not connector.given.get(CLASS):
        near = nearest(CLASS, list(map(str, connector.given)))
        hint = f" It has {near}." if near else ""
        fix = f"Set {CLASS} to one of docs/operate/connect.md, or of a plugin of your own."
        yield Finding(f"{connector.name} has no {CLASS}.{hint}", fix, _at(connector, "config"))


@rule("connector-secret", each=_every)
def _connector_secret(_: Cluster, __: Worker, connector: Connector) -> Findings:
    """Kafka keeps configurations in clear text, and the workers show them to whoever may use their
    REST interface, so that an encrypted inventory does not help.
    """
    for key, value in by_name(connector.given).items():
        if secret_texts.of_property(key, value):
            reference = f"${{file:{connectors.secret_file(connector.name)}:{key}}}"
            fix = f"Put it into {SECRETS_VARIABLE}[{connector.name}], and write {reference}."
            yield Finding(
                f"{key} of {connector.name} contains a secret.", fix, _at(connector, "config")
            )


@rule("connector-reference", each=_every)
def _connector_reference(_: Cluster, worker: Worker, connector: Connector) -> Findings:
    """The worker would refuse the connector, or give it an empty value."""
    logins = [
        listed.user
        for listed in worker.connectors
        if listed.user and listed.present and worker.kafka_login
    ]
    keys_by_file = {
        path: [*map(str, mapping(values))] for path, values in worker.secret_values.items()
    }
    files = {
        **{connectors.login_file(user): [connectors.LOGIN_KEY] for user in logins},
        **keys_by_file,
    }
    for key, path, name in references(by_name(connector.given)):
        where = _at(connector, "config")
        if path not in files:
            near = nearest(path, list(files)) or connectors.secret_file(connector.name)
            problem = (
                f"{key} of {connector.name} refers to {path}, "
                f"which {SECRETS_VARIABLE} does not make."
            )
            yield Finding(problem, f"Write {near}, or add an entry to {SECRETS_VARIABLE}.", where)
        elif name not in files[path]:
            near = nearest(name, files[path])
            problem = f"{key} of {connector.name} refers to {name}, which {path} does not have."
            fix = f"Write {near}." if near else f"Add {name} to {SECRETS_VARIABLE}."
            yield Finding(problem, fix, where)


def _without_provider(worker: Worker, connector: Connector, *, usual: bool) -> Findings:
    """Yield a finding for each reference to a provider that the workers do not have."""
    providers = texts(worker.config.get("config.providers"))
    for key, value in by_name(connector.given).items():
        for name in dict.fromkeys(_PROVIDER.findall(str(value))):
            if name not in providers and (name in _USUAL) == usual:
                reference = f"${{file:{connectors.secret_file(connector.name)}:{key}}}"
                problem = f"{key} of {connector.name} refers to {name}; "
                problem += f"the workers have {listing(providers)}."
                put = "Put" if usual else "Leave it if the connector itself reads it; otherwise put"
                fix = f"{put} the value into {SECRETS_VARIABLE}, and write {reference}; or add "
                fix += f"{name} to config.providers in connect_config."
                yield Finding(problem, fix, _at(connector, "config"))


@rule("connector-provider", each=_every)
def _connector_provider(_: Cluster, worker: Worker, connector: Connector) -> Findings:
    """The workers replace only what a provider of theirs has: the connector would get this text
    itself as a password or a name (KIP-297).
    """
    return _without_provider(worker, connector, usual=True)


@rule("connector-placeholder", each=_every, severity="warning")
def _connector_placeholder(_: Cluster, worker: Worker, connector: Connector) -> Findings:
    """The workers leave it as it is, which some connectors want (Camel's `${date:now:yyyy}`), and
    which is wrong where a provider was meant.
    """
    return _without_provider(worker, connector, usual=False)


@rule("connector-slot", each=_first)
def _connector_slot(worker: Worker) -> Findings:
    """A replication slot of PostgreSQL has one reader: the second connector fails, or each misses
    the changes that the other one has read.
    """
    slots = {
        connector.name: (
            str(config.get("database.hostname") or "").lower(),
            str(config.get("database.port") or _POSTGRESQL_PORT),
            str(config.get("slot.name") or _SLOT),
        )
        for connector in worker.connectors
        if connector.present and (config := by_name(connector.given)).get(CLASS) == _POSTGRESQL
    }
    for (server, port, slot), names in shared_values(slots):
        problem = f"{listing(names)} read the slot {slot} of {server or 'a server'}:{port}."
        yield Finding(problem, "Give each a slot.name of its own.", VARIABLE)


@rule("connect-secret-file", each=_first, where=SECRETS_VARIABLE)
def _connect_secret_file(worker: Worker) -> Findings:
    """Each entry is a file of properties on the workers."""
    for name, values in by_name(worker.settings[SECRETS_VARIABLE]).items():
        if not _FILE.fullmatch(name) or name.startswith("kafka-login-"):
            fix = "Choose letters, digits, ., - and _, and a beginning other than kafka-login-."
            yield Finding(f"{name!r} is no name for a file of secrets.", fix)
        elif not isinstance(values, Mapping) or not values:
            yield Finding(f"{name} has no keys.", f"Write {name}: {{password: ...}} for example.")
        else:
            for key, value in values.items():
                if value is None or not str(value).strip():
                    problem = f"{key} of {name} is empty."
                    yield Finding(
                        problem, "Set it, or what its expression refers to, or delete it."
                    )


@rule("connector-user", each=_all)
def _connector_user(cluster: Cluster, worker: Worker, connector: Connector) -> Findings:
    """On a secured cluster a connector reads and writes as a user of its own, with its own grants;
    without a login it fails.
    """
    where, named = _at(connector, "kafka_user"), _named(cluster)
    same = [peer.name for peer in worker.connectors if peer.present and peer.user == connector.user]
    if not connector.user:
        if not connector.present:
            return
        if worker.kafka_login:
            problem = f"{connector.name} has no user, and the cluster is secured."
            yield Finding(problem, f"Set kafka_user: {connector.name}, and grants.", where)
        elif connector.grants:
            problem = f"{connector.name} has grants and no user."
            yield Finding(problem, f"Set kafka_user: {connector.name}.", where)
    elif wrong := wrong_name(cluster, connector.user):
        yield Finding(f"{connector.user!r} of {connector.name} {wrong}.", "Choose another.", where)
    elif connector.user in KAFKA_USERS:
        problem = f"{connector.user} of {connector.name} is a user of Millrace's own programs."
        yield Finding(problem, "Choose another.", where)
    elif connector.user in named:
        problem = f"{connector.user} of {connector.name} has an entry in kafka_users."
        yield Finding(problem, "Delete the entry; its grants go into the connector.", where)
    elif connector.user in _users_of_jobs(cluster):
        problem = f"{connector.user} of {connector.name} is the user of a job on Spark."
        yield Finding(problem, "Choose another.", where)
    elif connector.present and len(same) > 1:
        problem = f"{connector.user} is the user of {listing(same)}."
        yield Finding(problem, "Give each connector a user of its own.", VARIABLE)


def _named(cluster: Cluster) -> set[str]:
    broker = next(iter(cluster.brokers), None)
    entries = broker.settings["kafka_users"] if broker else []
    return {str(mapping(entry).get("name")) for entry in sequence(entries)}


def _users_of_jobs(cluster: Cluster) -> set[str]:
    return {
        job.user
        for name, host in cluster.spark.items()
        if not falls_back_to_default(cluster, name, JOBS)
        for job in host.drivers.jobs
    }


@rule("connector-grant", each=_every)
def _connector_grant(_: Cluster, __: Worker, connector: Connector) -> Findings:
    """Kafka refuses an operation that a resource does not have, and a grant is for one resource."""
    return wrong_grants(
        connector.user or connector.name, connector.grants, _at(connector, "grants")
    )


@rule("connector-topic", each=_every)
def _connector_topic(_: Cluster, worker: Worker, connector: Connector) -> Findings:
    """It would wait for the topic without an error, since Kafka does not show what no grant
    allows.
    """
    if connector.is_sink and connector.user and worker.kafka_login:
        for topic in texts(connector.given.get("topics")):
            if not any(connectors.allows(grant, topic, "read") for grant in connector.grants):
                problem = f"{connector.user} of {connector.name} may not read {topic}."
                fix = f"Add {{topic: {topic}, operations: [read]}} to grants."
                yield Finding(problem, fix, _at(connector, "grants"))
