"""The rules about the schema registry: what its instances need, its users, and the schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ....module_utils.formats.values import listing, mapping
from ...cluster.cluster import Cluster
from ...rules.engine import Finding, Findings, rule
from ...rules.shared import one_value, parts, shared_values, taken_user
from ..kafka.rules.users import wrong_password
from . import GROUP, KAFKA_USER, schemas
from .model import ADMIN, Registry
from .schemas import AVRO, JSON, RECORD, TOPIC, VARIABLE, Subject

_USERS = "schema_registry_users"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_DIALECTS = "json-schema.org"
# The first instance: all have the same users and subjects.
_with_users = parts("schema_registry", _USERS, first=True)
_with_subjects = parts("schema_registry", VARIABLE, first=True)


def _every(cluster: Cluster) -> Iterator[tuple[str, Subject]]:
    """Yield the subjects that are to be there."""
    for name, registry in _with_subjects(cluster):
        for subject in registry.subjects:
            if subject.present:
                yield name, subject


def _at(subject: Subject, key: str) -> str:
    return f"{VARIABLE}[{subject.label}].{key}"


@rule("schema-registry-without-kafka", where=f"group {GROUP}")
def _schema_registry_without_kafka(cluster: Cluster) -> Findings:
    """Its instances keep schemas in topics of the inventory's brokers."""
    if cluster.schema_registry and not cluster.brokers:
        problem = f"There is a schema registry ({listing(cluster.schema_registry)}) and no brokers."
        yield Finding(problem, f"Add the group kafka_brokers, or delete the group {GROUP}.")


@rule("schema-registry-name-taken", where="kafka_users")
def _schema_registry_name_taken(cluster: Cluster) -> Findings:
    """Instances log in as this user, whose grants Millrace makes: an entry of the inventory would
    replace them.
    """
    if cluster.schema_registry:
        yield from taken_user(cluster, KAFKA_USER, "the schema registry")


@rule("schema-registry-differs")
def _schema_registry_differs(cluster: Cluster) -> Findings:
    """A client may use any instance, and each must answer as the others do."""
    variables = (_USERS, VARIABLE, "schema_registry_compatibility", "schema_registry_security")
    place = "in the group variables of all instances"
    return one_value(cluster, place, cluster.schema_registry, *variables)


@rule("schema-registry-user", each=_with_users, where=_USERS)
def _schema_registry_user(registry: Registry) -> Findings:
    """The name of a user becomes a part of a property's key in the instances, and the user logs in
    as `name:password`.
    """
    entries = registry.settings[_USERS]
    for name, places in shared_values({n: str(entry["name"]) for n, entry in enumerate(entries)}):
        yield Finding(f"{name} is named {len(places)} times.", f"Keep one entry for {name}.")
    for entry in entries:
        name = str(entry["name"])
        if not _NAME.fullmatch(name):
            fix = "Choose letters, digits, _ and -, at most 63; a letter or a digit comes first."
            yield Finding(f"{name!r} is no name for a user of the schema registry.", fix)
        elif name == ADMIN and entry["role"] != "admin":
            problem = f"{ADMIN} has the role {entry['role']}; schemas.yml logs in as this user."
            yield Finding(problem, "Set role: admin, or choose another name.")
        yield from wrong_password(entry)


@rule("schema-subject", each=_with_subjects)
def _schema_subject(registry: Registry) -> Findings:
    """Serializers look up a schema by the subject name that their strategy derives."""
    for subject in registry.subjects:
        plain, strategy = bool(subject.given.get("subject")), subject.given.get("strategy")
        topic = bool(subject.given.get("topic"))
        if plain and (topic or strategy):
            problem = f"{subject.label} has a subject, and also a topic or a strategy."
            yield Finding(problem, "Keep subject, or topic and strategy.", _at(subject, "subject"))
        elif not plain and not topic and subject.strategy != RECORD:
            problem = f"{subject.label} has neither subject nor topic."
            yield Finding(problem, "Set one of them.", _at(subject, "subject"))
        elif (
            not plain
            and subject.strategy != TOPIC
            and subject.text is not None
            and not subject.record
        ):
            key = {AVRO: "name", JSON: "title"}.get(subject.type, "message")
            problem = (
                f"{subject.strategy} needs the name of the record, and the schema has no {key}."
            )
            yield Finding(
                problem, f"Add {key} to the schema, or set subject.", _at(subject, "strategy")
            )
        elif not subject.name and not subject.present:
            # schema-missing refuses one that is to be there
            problem = (
                f"{subject.label} is to be removed, and {subject.strategy} needs the name of the "
                "record, "
            )
            problem += (
                f"of which there is no schema{f' ({subject.error})' if subject.error else ''}."
            )
            fix = "Set subject, without strategy and topic."
            yield Finding(problem, fix, _at(subject, "strategy"))


@rule("schema-duplicate", each=_with_subjects, where=VARIABLE)
def _schema_duplicate(registry: Registry) -> Findings:
    """Which of the two schemas the subject has would be a matter of their order."""
    names = {
        number: subject.name for number, subject in enumerate(registry.subjects) if subject.name
    }
    for name, places in shared_values(names):
        problem = f"{name} is the subject of {len(places)} entries."
        yield Finding(problem, "Keep one of them.")


@rule("schema-missing", each=_every)
def _schema_missing(subject: Subject) -> Findings:
    """There would be nothing to register."""
    sources = [key for key in ("schema", "file") if subject.given.get(key) is not None]
    if len(sources) == 2:
        yield Finding(
            f"{subject.label} has both schema and file.", "Delete one.", _at(subject, "schema")
        )
    elif not sources:
        fix = "Set file to its path, or write it below schema."
        yield Finding(f"{subject.label} has no schema.", fix, _at(subject, "file"))
    elif subject.error:
        fix = "Correct the path; it is relative to the inventory's directory."
        yield Finding(f"The schema cannot be read: {subject.error}.", fix, _at(subject, "file"))


@rule("schema-syntax", each=_every)
def _schema_syntax(subject: Subject) -> Findings:
    """The registry would refuse it."""
    if subject.text is None or subject.type not in (AVRO, JSON):
        return
    where = _at(subject, "file" if subject.given.get("file") else "schema")
    try:
        json.loads(subject.text)
    except ValueError as error:
        problem = f"The schema of {subject.label} is not valid JSON: {error}."
        alternative = f", or set type: {schemas.PROTOBUF}" if "syntax" in subject.text else ""
        yield Finding(problem, f"Correct it{alternative}.", where)


@rule("schema-dialect", each=_every)
def _schema_dialect(subject: Subject) -> Findings:
    """The registry recognizes a JSON Schema by one of these, and refuses any other."""
    if subject.text is None or subject.type != JSON:
        return
    try:
        schema = mapping(json.loads(subject.text))
    except ValueError:
        return
    if _DIALECTS not in str(schema.get("$schema")) and "properties" not in schema:
        problem = f"The schema of {subject.label} has neither $schema nor properties."
        fix = "Add $schema: http://json-schema.org/draft-07/schema# for example."
        yield Finding(problem, fix, _at(subject, "file" if subject.given.get("file") else "schema"))
