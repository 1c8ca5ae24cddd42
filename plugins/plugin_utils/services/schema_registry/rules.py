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
        for one in registry.subjects:
            if one.present:
                yield name, one


def _at(one: Subject, key: str) -> str:
    return f"{VARIABLE}[{one.label}].{key}"


@rule("schema-registry-without-kafka", where=f"group {GROUP}")
def _schema_registry_without_kafka(cluster: Cluster) -> Findings:
    """Its instances keep schemas in topics of the inventory's brokers."""
    if cluster.schema_registry and not cluster.brokers:
        what = f"There is a schema registry ({listing(cluster.schema_registry)}) and no brokers."
        yield Finding(what, f"Add the group kafka_brokers, or delete the group {GROUP}.")


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
    given = registry.settings[_USERS]
    for name, places in shared_values({n: str(one["name"]) for n, one in enumerate(given)}):
        yield Finding(f"{name} is named {len(places)} times.", f"Keep one entry for {name}.")
    for one in given:
        name = str(one["name"])
        if not _NAME.fullmatch(name):
            fix = "Choose letters, digits, _ and -, at most 63; a letter or a digit comes first."
            yield Finding(f"{name!r} is no name for a user of the schema registry.", fix)
        elif name == ADMIN and one["role"] != "admin":
            what = f"{ADMIN} has the role {one['role']}; schemas.yml logs in as this user."
            yield Finding(what, "Set role: admin, or choose another name.")
        yield from wrong_password(one)


@rule("schema-subject", each=_with_subjects)
def _schema_subject(registry: Registry) -> Findings:
    """Serializers look up a schema by the subject name that their strategy derives."""
    for one in registry.subjects:
        plain, strategy = bool(one.given.get("subject")), one.given.get("strategy")
        topic = bool(one.given.get("topic"))
        if plain and (topic or strategy):
            what = f"{one.label} has a subject, and also a topic or a strategy."
            yield Finding(what, "Keep subject, or topic and strategy.", _at(one, "subject"))
        elif not plain and not topic and one.strategy != RECORD:
            what = f"{one.label} has neither subject nor topic."
            yield Finding(what, "Set one of them.", _at(one, "subject"))
        elif not plain and one.strategy != TOPIC and one.text is not None and not one.record:
            key = {AVRO: "name", JSON: "title"}.get(one.type, "message")
            what = f"{one.strategy} needs the name of the record, and the schema has no {key}."
            yield Finding(what, f"Add {key} to the schema, or set subject.", _at(one, "strategy"))
        elif not one.name and not one.present:  # schema-missing refuses one that is to be there
            what = (
                f"{one.label} is to be removed, and {one.strategy} needs the name of the record, "
            )
            what += f"of which there is no schema{f' ({one.error})' if one.error else ''}."
            fix = "Set subject, without strategy and topic."
            yield Finding(what, fix, _at(one, "strategy"))


@rule("schema-duplicate", each=_with_subjects, where=VARIABLE)
def _schema_duplicate(registry: Registry) -> Findings:
    """Which of the two schemas the subject has would be a matter of their order."""
    names = {number: one.name for number, one in enumerate(registry.subjects) if one.name}
    for name, places in shared_values(names):
        what = f"{name} is the subject of {len(places)} entries."
        yield Finding(what, "Keep one of them.")


@rule("schema-missing", each=_every)
def _schema_missing(one: Subject) -> Findings:
    """There would be nothing to register."""
    given = [key for key in ("schema", "file") if one.given.get(key) is not None]
    if len(given) == 2:
        yield Finding(f"{one.label} has both schema and file.", "Delete one.", _at(one, "schema"))
    elif not given:
        fix = "Set file to its path, or write it below schema."
        yield Finding(f"{one.label} has no schema.", fix, _at(one, "file"))
    elif one.error:
        fix = "Correct the path; it is relative to the inventory's directory."
        yield Finding(f"The schema cannot be read: {one.error}.", fix, _at(one, "file"))


@rule("schema-syntax", each=_every)
def _schema_syntax(one: Subject) -> Findings:
    """The registry would refuse it."""
    if one.text is None or one.type not in (AVRO, JSON):
        return
    where = _at(one, "file" if one.given.get("file") else "schema")
    try:
        json.loads(one.text)
    except ValueError as error:
        what = f"The schema of {one.label} is not valid JSON: {error}."
        other = f", or set type: {schemas.PROTOBUF}" if "syntax" in one.text else ""
        yield Finding(what, f"Correct it{other}.", where)


@rule("schema-dialect", each=_every)
def _schema_dialect(one: Subject) -> Findings:
    """The registry recognizes a JSON Schema by one of these, and refuses any other."""
    if one.text is None or one.type != JSON:
        return
    try:
        found = mapping(json.loads(one.text))
    except ValueError:
        return
    if _DIALECTS not in str(found.get("$schema")) and "properties" not in found:
        what = f"The schema of {one.label} has neither $schema nor properties."
        fix = "Add $schema: http://json-schema.org/draft-07/schema# for example."
        yield Finding(what, fix, _at(one, "file" if one.given.get("file") else "schema"))
