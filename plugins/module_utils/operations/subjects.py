"""What brings the subjects of a schema registry to what the inventory says.

Pure: the caller asks the registry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import quote

from ..formats.values import listing
from ..host.files import shown_diff
from ..host.registry_rest import APICURIO, CONFLUENT

Version = tuple[str, int]
"""A subject and the number of its version."""

ARTIFACTS = f"{APICURIO}/groups/default/artifacts"
"""Subjects as Apicurio's own interface has them."""
GLOBAL_LEVEL = f"{CONFLUENT}/config"
APICURIO_TYPES: Mapping[str, str] = {
    "AVRO": "application/json",
    "JSON": "application/json",
    "PROTOBUF": "application/x-protobuf",
}


@dataclass(frozen=True)
class Wanted:
    """A subject as it is wanted."""

    name: str
    type: str = "AVRO"
    schema: str = ""
    compatibility: str = ""
    """Empty where the global level counts."""
    references: Sequence[Mapping[str, Any]] = ()
    """They have name, subject and version, None for the latest."""
    present: bool = True


@dataclass(frozen=True)
class Found:
    """A subject as it is.

    One that was removed has no version, and keeps its level.
    """

    versions: Sequence[int] = ()
    compatibility: str = ""
    """Its own level, empty for none."""
    latest: str = ""
    """The latest schema."""
    registered: bool = False
    """Whether one of its versions is the wanted schema."""


@dataclass(frozen=True)
class Step:
    """A request."""

    what: str
    """What it does."""
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    undo: Step | None = field(default=None, repr=False)
    """What takes it back, None where nothing needs to."""


def path_of(name: str) -> str:
    """Return a subject's name as a part of a path."""
    return quote(name, safe="")


def body(subject: Wanted, references: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a schema as Confluent's interface takes it; `references` have all a version."""
    schema = {"schema": subject.schema, "schemaType": subject.type}
    return {**schema, **({"references": list(references)} if references else {})}


def trial(
    subject: Wanted, references: Sequence[Mapping[str, Any]], *, exists: bool
) -> tuple[str, dict[str, Any]]:
    """Return path and body of the request of Apicurio's interface that tests a schema.

    It says what is wrong, where Confluent's answers yes or no; and it tests the first schema of a
    subject, too.
    """
    content = {
        "content": {
            "content": subject.schema,
            "contentType": APICURIO_TYPES[subject.type],
            "references": [
                {
                    "groupId": "default",
                    "artifactId": reference["subject"],
                    "version": str(reference["version"]),
                    "name": reference["name"],
                }
                for reference in references
            ],
        }
    }
    if exists:
        return f"{ARTIFACTS}/{path_of(subject.name)}/versions?dryRun=true", content
    artifact = {"artifactId": subject.name, "artifactType": subject.type, "firstVersion": content}
    return f"{ARTIFACTS}?dryRun=true", artifact


def global_level(desired: str, current: str) -> list[Step]:
    """Return what sets the global level."""
    if desired == current:
        return []
    back = _set_level("", current, f"set the global compatibility to {current} again")
    action = f"set the global compatibility to {desired} (it was {current})"
    return [_set_level("", desired, action, back)]


def level(subject: Wanted, former: str) -> list[Step]:
    """Return what gives a subject its own level, or takes away what it had (empty for none)."""
    if former == subject.compatibility:
        return []
    was = f" (it was {former})" if former else ""
    back = _to_level(subject.name, former, " again")
    return [_to_level(subject.name, subject.compatibility, was, back)]


def levels(desired: Sequence[Wanted], current: Mapping[str, Found]) -> list[Step]:
    """Return what gives subjects that exist their levels."""
    return [
        step
        for subject in desired
        if subject.present and _exists(subject, current)
        for step in level(subject, current[subject.name].compatibility)
    ]


def _to_level(name: str, desired: str, suffix: str, undo: Step | None = None) -> Step:
    if desired:
        return _set_level(name, desired, f"set compatibility of {name} to {desired}{suffix}", undo)
    action = f"{name} follows the global level{suffix}"
    # Confluent's interface does not take the level NONE away.
    return Step(action, "DELETE", level_path(name), undo=undo)


def version_path(version: Version) -> str:
    """Return the path of a version."""
    return f"{CONFLUENT}/subjects/{path_of(version[0])}/versions/{version[1]}"


def level_path(name: str) -> str:
    """Return the path of a subject's own level."""
    return f"{ARTIFACTS}/{path_of(name)}/rules/COMPATIBILITY"


def _set_level(name: str, level: str, action: str, undo: Step | None = None) -> Step:
    path = f"{CONFLUENT}/config/{path_of(name)}" if name else GLOBAL_LEVEL
    return Step(action, "PUT", path, {"compatibility": level}, undo)


def _exists(subject: Wanted, current: Mapping[str, Found]) -> bool:
    return bool(subject.name in current and current[subject.name].versions)


def to_register(desired: Sequence[Wanted], current: Mapping[str, Found]) -> list[Wanted]:
    """Return the subjects whose schema is not one of their versions, in the order to register them.

    What a schema refers to comes before it; the list has its order where two refer to each other,
    which only earlier versions of theirs allow.
    """
    new = {
        subject.name: subject
        for subject in desired
        if subject.present and not (subject.name in current and current[subject.name].registered)
    }
    before = {
        name: [
            referenced
            for referenced in pending_references(subject, [*new.values()])
            if referenced != name
        ]
        for name, subject in new.items()
    }
    try:
        return [new[name] for name in TopologicalSorter(before).static_order()]
    except CycleError:
        return [*new.values()]


def pending_references(subject: Wanted, new: Sequence[Wanted]) -> list[str]:
    """Return the subjects that this run registers and this one refers to."""
    names = {pending.name for pending in new}
    return [
        str(reference["subject"])
        for reference in subject.references
        if reference["subject"] in names
    ]


def unwanted(desired: Sequence[Wanted], current: Mapping[str, Found]) -> list[Version]:
    """Return the versions of the subjects that are to be removed, newest first."""
    return [
        (subject.name, version)
        for subject in desired
        if not subject.present and _exists(subject, current)
        for version in sorted(current[subject.name].versions, reverse=True)
    ]


def still_needed(
    referrers: Mapping[Version, Collection[Version]], new: Sequence[Wanted] = ()
) -> list[str]:
    """Return which versions cannot be removed, and who refers to them afterwards.

    `referrers` are those of each version that is to be removed, `new` is what the run registers.
    """
    problems = []
    for (name, version), referring in referrers.items():
        staying = [_called(referrer) for referrer in referring if referrer not in referrers]
        staying += [
            f"the new schema of {subject.name}"
            for subject in new
            if any(
                reference["subject"] == name and reference["version"] in (None, version)
                for reference in subject.references
            )
        ]
        if staying:
            problems.append(f"{_called((name, version))}: {listing(staying)} would refer to it")
    return problems


def removals(referrers: Mapping[Version, Collection[Version]]) -> list[Step]:
    """Return what removes versions, each after those that refer to it, and newest first.

    `referrers` are as in `still_needed`, and none stays. Versions are removed one by one, since the
    registry refuses the removal of a whole subject to which a removed schema refers.
    """
    before = {
        (name, version): {referrer for referrer in referring if referrer != (name, version)}
        | {newer for newer in referrers if newer[0] == name and newer[1] > version}
        for (name, version), referring in referrers.items()
    }
    return [
        Step(f"remove {_called(removed)}", "DELETE", version_path(removed))
        for removed in TopologicalSorter(before).static_order()
    ]


def _called(version: Version) -> str:
    return "{} version {}".format(*version)


def diff(desired: Sequence[Wanted], current: Mapping[str, Found]) -> list[dict[str, str]]:
    """Return before and after of each subject that differs, as Ansible shows them."""
    shown = []
    for subject in desired:
        now = current.get(subject.name, Found())
        if subject.present:
            schema = now.latest if now.registered else subject.schema
            after = _lines(schema, subject.compatibility)
        else:
            after = ""
        before = _lines(now.latest, now.compatibility) if now.versions else ""
        if before != after:
            shown.append(shown_diff(subject.name, before, after))
    return shown


def _lines(schema: str, level: str) -> str:
    return f"{schema}\ncompatibility: {level or 'the global level'}\n"
