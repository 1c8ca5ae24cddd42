#!/usr/bin/python
"""Ansible module: bring the subjects of the schema registry to what the inventory says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.registry_rest import CONFLUENT, OPTIONS, Registry
from ..module_utils.host.rest import RestError
from ..module_utils.operations import subjects
from ..module_utils.operations.subjects import Found, Step, Version, Wanted

DOCUMENTATION = r"""
module: schema_registry_subjects
short_description: Bring the subjects of the schema registry to what the inventory says
description:
  - Compares subjects and levels of compatibility with the registry. Each schema that is new is
    tested first, whether it parses and whether it is compatible; if one is refused, all that are
    refused are reported, and nothing was registered. What a schema refers to is registered before
    it.
  - Versions are removed after those that refer to them. If a schema refers to one that is to be
    removed, and stays itself, nothing is changed.
  - If the level of a subject changes, its schema is tested with the new level, which is set
    first; if a schema is refused then, all levels are set back.
  - The first instance that answers is asked. Subjects that are not in the inventory are left
    alone, and named.
options:
  only:
    description: Name of the one subject to deal with; empty for all.
    type: str
    default: ''
attributes:
  check_mode:
    description: Tests and compares. What depends on another change of the run is not tested.
    support: full
  diff_mode:
    description: Shows the schema of each subject before and after.
    support: full
"""

_NOT_FOUND = 404


class RefusedError(Exception):
    """Schemas or removals are refused; the text gives each with its reason."""


class Subjects:
    """The subjects of a registry, by both of its interfaces."""

    def __init__(self, registry: Registry) -> None:
        """Keep the registry."""
        self._registry = registry

    def names(self) -> list[str]:
        """Return the names of all subjects."""
        return sorted(map(str, self._registry.call("GET", f"{CONFLUENT}/subjects")))

    def level(self) -> str:
        """Return the global level."""
        return str(self._registry.call("GET", subjects.GLOBAL_LEVEL)["compatibilityLevel"])

    def found(self, one: Wanted) -> Found:
        """Return a subject as it is."""
        path = subjects.path_of(one.name)
        versions = self._if_there("GET", f"{CONFLUENT}/subjects/{path}/versions") or []
        rule = self._if_there("GET", subjects.level_path(one.name))
        level = str((rule or {}).get("config") or "")
        if not versions:
            return Found(compatibility=level)
        latest = self._registry.call("GET", f"{CONFLUENT}/subjects/{path}/versions/latest")
        there = None
        if one.present and (known := self.references(one)) is not None:
            there = self._if_there(
                "POST", f"{CONFLUENT}/subjects/{path}", subjects.body(one, known)
            )
        return Found([int(x) for x in versions], level, str(latest["schema"]), there is not None)

    def references(self, one: Wanted) -> list[dict[str, Any]] | None:
        """Return what a schema refers to, each with its version, None if one is not there."""
        found = []
        for reference in one.references:
            version = reference["version"]
            if version is None:
                path = subjects.path_of(str(reference["subject"]))
                latest = self._if_there("GET", f"{CONFLUENT}/subjects/{path}/versions/latest")
                if latest is None:
                    return None
                version = int(latest["version"])
            found.append({**reference, "version": version})
        return found

    def referrers(self, one: Version) -> list[Version]:
        """Return the versions whose schemas refer to one."""
        path = f"{subjects.version_path(one)}/referencedby"
        # Among the ids are those of schemas whose versions were all removed.
        every = [
            self._if_there("GET", f"{CONFLUENT}/schemas/ids/{id_}/versions") or []
            for id_ in self._registry.call("GET", path)
        ]
        return sorted({(str(x["subject"]), int(x["version"])) for each in every for x in each})

    def refusal(self, one: Wanted) -> str:
        """Return why the registry would refuse a schema, empty if it would not."""
        references = self.references(one)
        if references is None:
            names = ", ".join(sorted(str(x["subject"]) for x in one.references))
            return f"{one.name}: it refers to {names}, not all of which are in the registry"
        # A subject that was removed still exists for Apicurio.
        exists = (
            self._if_there("GET", f"{subjects.ARTIFACTS}/{subjects.path_of(one.name)}") is not None
        )
        path, body = subjects.trial(one, references, exists=exists)
        try:
            self._registry.call("POST", path, body)
        except RestError as error:
            if error.status in (0, 401, 403) or error.status >= 500:
                raise
            return f"{one.name}: {error}"
        return ""

    def register(self, one: Wanted, *, tested: bool) -> None:
        """Register a schema; one that could not be tested before is tested first.

        Raises:
            RefusedError: the registry would refuse it.

        """
        if not tested and (why := self.refusal(one)):
            raise RefusedError(why)
        path = f"{CONFLUENT}/subjects/{subjects.path_of(one.name)}/versions"
        what = f"register {one.name}"
        self.send(Step(what, "POST", path, subjects.body(one, self.references(one) or [])))

    def send(self, step: Step) -> None:
        """Do a step.

        Raises:
            RestError: the registry refuses it; the text says which step.

        """
        try:
            self._registry.call(step.method, step.path, step.body)
        except RestError as error:
            message = f"{step.what}: {error}"
            raise RestError(message, error.status) from error

    def _if_there(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        try:
            return self._registry.call(method, path, body)
        except RestError as error:
            if error.status != _NOT_FOUND:
                raise
            return None


def main() -> None:
    """Run the module."""
    subject = {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "type": {"type": "str", "choices": ["AVRO", "JSON", "PROTOBUF"], "default": "AVRO"},
        "schema": {"type": "str", "default": ""},
        "compatibility": {"type": "str", "default": ""},
        "references": {"type": "list", "elements": "dict", "default": []},
    }
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "compatibility": {"type": "str", "required": True},
            "subjects": {"type": "list", "elements": "dict", "options": subject, "default": []},
            "only": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        registry = Registry(given["instances"], given["authority"], given["login"])
        module.exit_json(**run(module, Subjects(registry)))
    except OSError as error:
        module.fail_json(msg=f"{given['authority']} cannot be used: {error}")
    except RefusedError as error:
        module.fail_json(msg=f"nothing was changed: {error}")
    except RestError as error:
        module.fail_json(msg=f"the schema registry refuses a request: {error}")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        module.fail_json(msg=f"what answers is no schema registry: {error!r}")


def run(module: AnsibleModule, registry: Subjects) -> dict[str, Any]:
    """Test, compare and change; return the module's result."""
    given = module.params
    every = [
        Wanted(
            **{key: one[key] for key in ("name", "type", "schema", "compatibility")},
            references=[{"version": None, **x} for x in one["references"]],
            present=one["state"] == "present",
        )
        for one in given["subjects"]
    ]
    wanted = [one for one in every if given["only"] in ("", one.name)]
    if given["only"] and not wanted:
        there = ", ".join(one.name for one in every) or "none"
        message = f"the inventory has no subject {given['only']}; there are: {there}"
        raise RefusedError(message)
    found = {one.name: registry.found(one) for one in wanted}
    names = registry.names()
    rules = [] if given["only"] else subjects.global_level(given["compatibility"], registry.level())
    rules += subjects.levels(wanted, found)
    new = subjects.to_register(wanted, found)
    later = [one for one in new if subjects.pending_references(one, new)]
    at_once = [one for one in new if one not in later]
    touched = _touched(rules, at_once, found)
    referrers = {one: registry.referrers(one) for one in subjects.unwanted(wanted, found)}
    _refuse(
        registry,
        [one for one in at_once if one not in touched],
        subjects.still_needed(referrers, new),
    )
    first = {
        one.name: [] if now.versions else subjects.level(one, now.compatibility)
        for one in new
        for now in (found[one.name],)
    }
    after = subjects.removals(referrers)
    result: dict[str, Any] = {
        "changed": bool(rules or new or after),
        "actions": [
            *(one.what for one in rules),
            *(f"register {one.name}" for one in new),
            *(step.what for steps in first.values() for step in steps),
            *(one.what for one in after),
        ],
        "others": sorted({*names} - {one.name for one in every}),
        "not_tested": [one.name for one in (*touched, *later)] if module.check_mode else [],
    }
    if module._diff:
        result["diff"] = subjects.diff(wanted, found)
    if module.check_mode:
        return result
    done: list[str] = []
    try:
        _set_rules(registry, rules, touched, done)
        for one in new:
            registry.register(one, tested=one not in later)
            done.append(f"register {one.name}")
            for step in first[one.name]:
                registry.send(step)
                done.append(step.what)
        for step in after:
            registry.send(step)
            done.append(step.what)
    except (RestError, RefusedError) as error:
        so_far = f"done before that: {', '.join(done)}" if done else "nothing was changed"
        module.fail_json(
            msg=f"{error}\n{so_far}. Once the cause is fixed, run schemas.yml again: it does the "
            "rest.",
            **{**result, "changed": bool(done), "actions": done},
        )
    return result


def _touched(
    rules: Iterable[Step], new: Sequence[Wanted], found: Mapping[str, Found]
) -> list[Wanted]:
    """Return the subjects that are to be tested with a level that is not set yet."""
    all_change = any(one.path == subjects.GLOBAL_LEVEL for one in rules)
    return [
        one
        for one in new
        if subjects.levels([one], found) or (all_change and not one.compatibility)
    ]


def _refuse(registry: Subjects, new: Sequence[Wanted], needed: Sequence[str] = ()) -> None:
    """Refuse schemas, and the removal of versions that are needed, all at once.

    Raises:
        RefusedError: the registry would refuse some.

    """
    refused = [why for one in new if (why := registry.refusal(one))]
    problems = {
        "correct these schemas, or set another compatibility for their subjects": refused,
        "keep these versions, which others need, or remove what refers to them, too": needed,
    }
    if found := ["\n- ".join([f"{fix}:", *lines]) for fix, lines in problems.items() if lines]:
        raise RefusedError("\n".join(found))


def _set_rules(
    registry: Subjects, rules: Sequence[Step], touched: Sequence[Wanted], done: list[str]
) -> None:
    """Set levels, and test what depends on them; set them back if a schema is refused.

    `done` gets the steps that stay.

    Raises:
        RefusedError: the registry would refuse a schema.
        RestError: it refuses a level.

    """
    steps: list[Step] = []
    try:
        for one in rules:
            registry.send(one)
            steps.append(one)
        _refuse(registry, touched)
    except (RestError, RefusedError) as error:
        left = {
            one.what: why
            for one in reversed(steps)
            if one.undo and (why := _failure(registry, one.undo))
        }
        if not left:
            raise
        done += left
        message = f"{error}\nNot all levels could be set back: {'; '.join(left.values())}"
        raise RefusedError(message) from error
    done += [one.what for one in steps]


def _failure(registry: Subjects, step: Step) -> str:
    """Do a step, and return why it failed, empty if it did not."""
    try:
        registry.send(step)
    except RestError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main()
