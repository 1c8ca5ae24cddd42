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
        for one in worker.connectors:
            yield name, cluster, worker, one


def _every(cluster: Cluster) -> Iterator[tuple[str, Cluster, Worker, Connector]]:
    """Yield the connectors that are to be there."""
    return (found for found in _all(cluster) if found[-1].present)


def _at(connector: Connector, key: str) -> str:
    return f"{VARIABLE}[{connector.name}].{key}"


@rule("connectors-differ")
def _connectors_differ(cluster: Cluster) -> Findings:
    """Any worker may get any connector, and reads its secrets there."""
    return one_value(cluster, "in the group variables of all workers", cluster.connect, *_SHARED)


@rule("connector-duplicate", each=_first, where=VARIABLE)
def _connector_duplicate(worker: Worker) -> Findings:
    """One of the two would take the place of the other."""
    for name, places in shared_values({n: one.name for n, one in enumerate(worker.connectors)}):
        fix = "Give each connector a name of its own."
        yield Finding(f"{name} is named {len(places)} times.", fix)


@rule("connector-name", each=_every, where=VARIABLE)
def _connector_name(_: Cluster, worker: Worker, one: Connector) -> Findings:
    """It is part of the names of topics, groups and transactions, and by it the offsets of a
    connector are found again.
    """
    given = one.given.get("name", one.name)
    if not _NAME.fullmatch(one.name):
        fix = "Choose letters, digits, ., - and _, at most 100; a letter or a digit comes first."
        yield Finding(f"{one.name!r} is no name for a connector.", fix)
    elif given != one.name:
        what = f"The configuration of {one.name} names it {given}."
        yield Finding(what, "Delete name there.", _at(one, "config"))
    elif one.user and worker.kafka_login and (others := _writing_as(worker, one)):
        what = f"{one.user} of {one.name} could end transactions of {listing(others)}."
        yield Finding(what, "Choose a name with which no other one begins.")


def _writing_as(worker: Worker, one: Connector) -> list[str]:
    """Return who has transactional ids that the user of a source may use, too."""
    prefix = connectors.transactional_ids(worker.group, one.name)
    sources = [x.name for x in worker.connectors if x.present and not x.is_sink and x is not one]
    ids = {
        "the workers": leader_transactional_id(worker.group),
        **{name: connectors.transactional_ids(worker.group, name) for name in sources},
    }
    return [] if one.is_sink else [name for name, x in ids.items() if x.startswith(prefix)]


@rule("connector-class", each=_every)
def _connector_class(_: Cluster, __: Worker, one: Connector) -> Findings:
    """The workers would not know what to run."""
    if not one.given.get(CLASS):
        near = nearest(CLASS, list(map(str, one.given)))
        hint = f" It has {near}." if near else ""
        fix = f"Set {CLASS} to one of docs/connect.md, or of a plugin of your own."
        yield Finding(f"{one.name} has no {CLASS}.{hint}", fix, _at(one, "config"))


@rule("connector-secret", each=_every)
def _connector_secret(_: Cluster, __: Worker, one: Connector) -> Findings:
    """Kafka keeps configurations in clear text, and the workers show them to whoever may use their
    REST interface, so that an encrypted inventory does not help.
    """
    for key, value in by_name(one.given).items():
        if secret_texts.of_property(key, value):
            reference = f"${{file:{connectors.secret_file(one.name)}:{key}}}"
            fix = f"Put it into {SECRETS_VARIABLE}[{one.name}], and write {reference}."
            yield Finding(f"{key} of {one.name} contains a secret.", fix, _at(one, "config"))


@rule("connector-reference", each=_every)
def _connector_reference(_: Cluster, worker: Worker, one: Connector) -> Findings:
    """The worker would refuse the connector, or give it an empty value."""
    logins = [x.user for x in worker.connectors if x.user and x.present and worker.kafka_login]
    known = {path: [*map(str, mapping(values))] for path, values in worker.secret_values.items()}
    files = {**{connectors.login_file(user): [connectors.LOGIN_KEY] for user in logins}, **known}
    for key, path, name in references(by_name(one.given)):
        where = _at(one, "config")
        if path not in files:
            near = nearest(path, list(files)) or connectors.secret_file(one.name)
            what = f"{key} of {one.name} refers to {path}, which {SECRETS_VARIABLE} does not make."
            yield Finding(what, f"Write {near}, or add an entry to {SECRETS_VARIABLE}.", where)
        elif name not in files[path]:
            near = nearest(name, files[path])
            what = f"{key} of {one.name} refers to {name}, which {path} does not have."
            fix = f"Write {near}." if near else f"Add {name} to {SECRETS_VARIABLE}."
            yield Finding(what, fix, where)


def _without_provider(worker: Worker, one: Connector, *, usual: bool) -> Findings:
    """Yield a finding for each reference to a provider that the workers do not have."""
    providers = texts(worker.config.get("config.providers"))
    for key, value in by_name(one.given).items():
        for name in dict.fromkeys(_PROVIDER.findall(str(value))):
            if name not in providers and (name in _USUAL) == usual:
                reference = f"${{file:{connectors.secret_file(one.name)}:{key}}}"
                what = f"{key} of {one.name} refers to {name}; "
                what += f"the workers have {listing(providers)}."
                put = "Put" if usual else "Leave it if the connector itself reads it; otherwise put"
                fix = f"{put} the value into {SECRETS_VARIABLE}, and write {reference}; or add "
                fix += f"{name} to config.providers in connect_config."
                yield Finding(what, fix, _at(one, "config"))


@rule("connector-provider", each=_every)
def _connector_provider(_: Cluster, worker: Worker, one: Connector) -> Findings:
    """The workers replace only what a provider of theirs has: the connector would get this text
    itself as a password or a name (KIP-297).
    """
    return _without_provider(worker, one, usual=True)


@rule("connector-placeholder", each=_every, severity="warning")
def _connector_placeholder(_: Cluster, worker: Worker, one: Connector) -> Findings:
    """The workers leave it as it is, which some connectors want (Camel's `${date:now:yyyy}`), and
    which is wrong where a provider was meant.
    """
    return _without_provider(worker, one, usual=False)


@rule("connector-slot", each=_first)
def _connector_slot(worker: Worker) -> Findings:
    """A replication slot of PostgreSQL has one reader: the second connector fails, or each misses
    the changes that the other one has read.
    """
    slots = {
        one.name: (
            str(config.get("database.hostname") or "").lower(),
            str(config.get("database.port") or _POSTGRESQL_PORT),
            str(config.get("slot.name") or _SLOT),
        )
        for one in worker.connectors
        if one.present and (config := by_name(one.given)).get(CLASS) == _POSTGRESQL
    }
    for (server, port, slot), names in shared_values(slots):
        what = f"{listing(names)} read the slot {slot} of {server or 'a server'}:{port}."
        yield Finding(what, "Give each a slot.name of its own.", VARIABLE)


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
                    what = f"{key} of {name} is empty."
                    yield Finding(what, "Set it, or what its expression refers to, or delete it.")


@rule("connector-user", each=_all)
def _connector_user(cluster: Cluster, worker: Worker, one: Connector) -> Findings:
    """On a closed cluster a connector reads and writes as a user of its own, with its own grants;
    without a login it fails.
    """
    where, named = _at(one, "kafka_user"), _named(cluster)
    same = [x.name for x in worker.connectors if x.present and x.user == one.user]
    if not one.user:
        if not one.present:
            return
        if worker.kafka_login:
            what = f"{one.name} has no user, and the cluster is closed."
            yield Finding(what, f"Set kafka_user: {one.name}, and grants.", where)
        elif one.grants:
            what = f"{one.name} has grants and no user."
            yield Finding(what, f"Set kafka_user: {one.name}.", where)
    elif problem := wrong_name(cluster, one.user):
        yield Finding(f"{one.user!r} of {one.name} {problem}.", "Choose another.", where)
    elif one.user in KAFKA_USERS:
        what = f"{one.user} of {one.name} is a user of Millrace's own programs."
        yield Finding(what, "Choose another.", where)
    elif one.user in named:
        what = f"{one.user} of {one.name} has an entry in kafka_users."
        yield Finding(what, "Delete the entry; its grants go into the connector.", where)
    elif one.user in _users_of_jobs(cluster):
        what = f"{one.user} of {one.name} is the user of a job on Spark."
        yield Finding(what, "Choose another.", where)
    elif one.present and len(same) > 1:
        what = f"{one.user} is the user of {listing(same)}."
        yield Finding(what, "Give each connector a user of its own.", VARIABLE)


def _named(cluster: Cluster) -> set[str]:
    broker = next(iter(cluster.brokers), None)
    given = broker.settings["kafka_users"] if broker else []
    return {str(mapping(one).get("name")) for one in sequence(given)}


def _users_of_jobs(cluster: Cluster) -> set[str]:
    return {
        job.user
        for name, host in cluster.spark.items()
        if not falls_back_to_default(cluster, name, JOBS)
        for job in host.drivers.jobs
    }


@rule("connector-grant", each=_every)
def _connector_grant(_: Cluster, __: Worker, one: Connector) -> Findings:
    """Kafka refuses an operation that a resource does not have, and a grant is for one resource."""
    return wrong_grants(one.user or one.name, one.grants, _at(one, "grants"))


@rule("connector-topic", each=_every)
def _connector_topic(_: Cluster, worker: Worker, one: Connector) -> Findings:
    """It would wait for the topic without an error, since Kafka does not show what no grant
    allows.
    """
    if one.is_sink and one.user and worker.kafka_login:
        for topic in texts(one.given.get("topics")):
            if not any(connectors.allows(grant, topic, "read") for grant in one.grants):
                what = f"{one.user} of {one.name} may not read {topic}."
                fix = f"Add {{topic: {topic}, operations: [read]}} to grants."
                yield Finding(what, fix, _at(one, "grants"))
