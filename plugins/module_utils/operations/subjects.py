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
    """A subject as it is wanted; `compatibility` is empty where the global level counts.

    `references` have name, subject and version, None for the latest.
    """

    name: str
    type: str = "AVRO"
    schema: str = ""
    compatibility: str = ""
    references: Sequence[Mapping[str, Any]] = ()
    present: bool = True


@dataclass(frozen=True)
class Found:
    """A subject as it is: its versions, its own level (empty for none), and the latest schema.

    One that was removed has no version, and keeps its level. `registered` says whether one of its
    versions is the wanted schema.
    """

    versions: Sequence[int] = ()
    compatibility: str = ""
    latest: str = ""
    registered: bool = False


@dataclass(frozen=True)
class Step:
    """A request, what it does, and what takes it back, None where nothing needs to."""

    what: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    undo: Step | None = field(default=None, repr=False)


def path_of(name: str) -> str:
    """Return a subject's name as a part of a path."""
    return quote(name, safe="")


def body(wanted: Wanted, references: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a schema as Confluent's interface takes it; `references` have all a version."""
    found = {"schema": wanted.schema, "schemaType": wanted.type}
    return {**found, **({"references": list(references)} if references else {})}


def trial(
    wanted: Wanted, references: Sequence[Mapping[str, Any]], *, exists: bool
) -> tuple[str, dict[str, Any]]:
    """Return path and body of the request of Apicurio's interface that tests a schema.

    It says what is wrong, where Confluent's answers yes or no; and it tests the first schema of a
    subject, too.
    """
    content = {
        "content": {
            "content": wanted.schema,
            "contentType": APICURIO_TYPES[wanted.type],
            "references": [
                {
                    "groupId": "default",
                    "artifactId": one["subject"],
                    "version": str(one["version"]),
                    "name": one["name"],
                }
                for one in references
            ],
        }
    }
    if exists:
        return f"{ARTIFACTS}/{path_of(wanted.name)}/versions?dryRun=true", content
    own = {"artifactId": wanted.name, "artifactType": wanted.type, "firstVersion": content}
    return f"{ARTIFACTS}?dryRun=true", own


def global_level(wanted: str, found: str) -> list[Step]:
    """Return what sets the global level."""
    if wanted == found:
        return []
    back = _set_level("", found, f"set the global compatibility to {found} again")
    what = f"set the global compatibility to {wanted} (it was {found})"
    return [_set_level("", wanted, what, back)]


def level(one: Wanted, former: str) -> list[Step]:
    """Return what gives a subject its own level, or takes away what it had (empty for none)."""
    if former == one.compatibility:
        return []
    was = f" (it was {former})" if former else ""
    back = _to_level(one.name, former, " again")
    return [_to_level(one.name, one.compatibility, was, back)]


def levels(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[Step]:
    """Return what gives subjects that exist their levels."""
    return [
        step
        for one in wanted
        if one.present and _exists(one, found)
        for step in level(one, found[one.name].compatibility)
    ]


def _to_level(name: str, wanted: str, more: str, undo: Step | None = None) -> Step:
    if wanted:
        return _set_level(name, wanted, f"set compatibility of {name} to {wanted}{more}", undo)
    what = f"{name} follows the global level{more}"
    # Confluent's interface does not take the level NONE away.
    return Step(what, "DELETE", level_path(name), undo=undo)


def version_path(one: Version) -> str:
    """Return the path of a version."""
    return f"{CONFLUENT}/subjects/{path_of(one[0])}/versions/{one[1]}"


def level_path(name: str) -> str:
    """Return the path of a subject's own level."""
    return f"{ARTIFACTS}/{path_of(name)}/rules/COMPATIBILITY"


def _set_level(name: str, level: str, what: str, undo: Step | None = None) -> Step:
    path = f"{CONFLUENT}/config/{path_of(name)}" if name else GLOBAL_LEVEL
    return Step(what, "PUT", path, {"compatibility": level}, undo)


def _exists(one: Wanted, found: Mapping[str, Found]) -> bool:
    return bool(one.name in found and found[one.name].versions)


def to_register(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[Wanted]:
    """Return the subjects whose schema is not one of their versions, in the order to register them.

    What a schema refers to comes before it; the list has its order where two refer to each other,
    which only earlier versions of theirs allow.
    """
    new = {
        one.name: one
        for one in wanted
        if one.present and not (one.name in found and found[one.name].registered)
    }
    before = {
        name: [x for x in pending_references(one, [*new.values()]) if x != name]
        for name, one in new.items()
    }
    try:
        return [new[name] for name in TopologicalSorter(before).static_order()]
    except CycleError:
        return [*new.values()]


def pending_references(one: Wanted, new: Sequence[Wanted]) -> list[str]:
    """Return the subjects that this run registers and this one refers to."""
    names = {x.name for x in new}
    return [str(x["subject"]) for x in one.references if x["subject"] in names]


def unwanted(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[Version]:
    """Return the versions of the subjects that are to be removed, newest first."""
    return [
        (one.name, version)
        for one in wanted
        if not one.present and _exists(one, found)
        for version in sorted(found[one.name].versions, reverse=True)
    ]


def still_needed(
    referrers: Mapping[Version, Collection[Version]], new: Sequence[Wanted] = ()
) -> list[str]:
    """Return which versions cannot be removed, and who refers to them afterwards.

    `referrers` are those of each version that is to be removed, `new` is what the run registers.
    """
    found = []
    for (name, version), known in referrers.items():
        staying = [_called(x) for x in known if x not in referrers]
        staying += [
            f"the new schema of {one.name}"
            for one in new
            if any(x["subject"] == name and x["version"] in (None, version) for x in one.references)
        ]
        if staying:
            found.append(f"{_called((name, version))}: {listing(staying)} would refer to it")
    return found


def removals(referrers: Mapping[Version, Collection[Version]]) -> list[Step]:
    """Return what removes versions, each after those that refer to it, and newest first.

    `referrers` are as in `still_needed`, and none stays. Versions are removed one by one, since the
    registry refuses the removal of a whole subject to which a removed schema refers.
    """
    before = {
        (name, version): {x for x in known if x != (name, version)}
        | {x for x in referrers if x[0] == name and x[1] > version}
        for (name, version), known in referrers.items()
    }
    return [
        Step(f"remove {_called(one)}", "DELETE", version_path(one))
        for one in TopologicalSorter(before).static_order()
    ]


def _called(version: Version) -> str:
    return "{} version {}".format(*version)


def diff(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[dict[str, str]]:
    """Return before and after of each subject that differs, as Ansible shows them."""
    shown = []
    for one in wanted:
        now = found.get(one.name, Found())
        if one.present:
            schema = now.latest if now.registered else one.schema
            after = _lines(schema, one.compatibility)
        else:
            after = ""
        before = _lines(now.latest, now.compatibility) if now.versions else ""
        if before != after:
            shown.append(shown_diff(one.name, before, after))
    return shown


def _lines(schema: str, level: str) -> str:
    return f"{schema}\ncompatibility: {level or 'the global level'}\n"
