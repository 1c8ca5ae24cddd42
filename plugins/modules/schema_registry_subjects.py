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

    def found(self, subject: Wanted) -> Found:
        """Return a subject as it is."""
        path = subjects.path_of(subject.name)
        versions = self._if_there("GET", f"{CONFLUENT}/subjects/{path}/versions") or []
        rule = self._if_there("GET", subjects.level_path(subject.name))
        level = str((rule or {}).get("config") or "")
        if not versions:
            return Found(compatibility=level)
        latest = self._registry.call("GET", f"{CONFLUENT}/subjects/{path}/versions/latest")
        registered = None
        if subject.present and (references := self.references(subject)) is not None:
            registered = self._if_there(
                "POST", f"{CONFLUENT}/subjects/{path}", subjects.body(subject, references)
            )
        return Found(
            [int(version) for version in versions],
            level,
            str(latest["schema"]),
            registered is not None,
        )

    def references(self, subject: Wanted) -> list[dict[str, Any]] | None:
        """Return what a schema refers to, each with its version, None if one is not there."""
        references = []
        for reference in subject.references:
            version = reference["version"]
            if version is None:
                path = subjects.path_of(str(reference["subject"]))
                latest = self._if_there("GET", f"{CONFLUENT}/subjects/{path}/versions/latest")
                if latest is None:
                    return None
                version = int(latest["version"])
            references.append({**reference, "version": version})
        return references

    def referrers(self, version: Version) -> list[Version]:
        """Return the versions whose schemas refer to one."""
        path = f"{subjects.version_path(version)}/referencedby"
        # Among the ids are those of schemas whose versions were all removed.
        responses = [
            self._if_there("GET", f"{CONFLUENT}/schemas/ids/{id_}/versions") or []
            for id_ in self._registry.call("GET", path)
        ]
        return sorted(
            {
                (str(referrer["subject"]), int(referrer["version"]))
                for response in responses
                for referrer in response
            }
        )

    def refusal(self, subject: Wanted) -> str:
        """Return why the registry would refuse a schema, empty if it would not."""
        references = self.references(subject)
        if references is None:
            names = ", ".join(sorted(str(reference["subject"]) for reference in subject.references))
            return f"{subject.name}: it refers to {names}, not all of which are in the registry"
        # A subject that was removed still exists for Apicurio.
        exists = (
            self._if_there("GET", f"{subjects.ARTIFACTS}/{subjects.path_of(subject.name)}")
            is not None
        )
        path, body = subjects.trial(subject, references, exists=exists)
        try:
            self._registry.call("POST", path, body)
        except RestError as error:
            if error.status in (0, 401, 403) or error.status >= 500:
                raise
            return f"{subject.name}: {error}"
        return ""

    def register(self, subject: Wanted, *, tested: bool) -> None:
        """Register a schema; one that could not be tested before is tested first.

        Raises:
            RefusedError: the registry would refuse it.

        """
        if not tested and (why := self.refusal(subject)):
            raise RefusedError(why)
        path = f"{CONFLUENT}/subjects/{subjects.path_of(subject.name)}/versions"
        action = f"register {subject.name}"
        self.send(
            Step(action, "POST", path, subjects.body(subject, self.references(subject) or []))
        )

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

    def _if_there(self, method: str, path: str, body: object = None) -> Any:
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
    params = module.params
    try:
        registry = Registry(params["instances"], params["authority"], params["login"])
        module.exit_json(**run(module, Subjects(registry)))
    except OSError as error:
        module.fail_json(msg=f"{params['authority']} cannot be used: {error}")
    except RefusedError as error:
        module.fail_json(msg=f"nothing was changed: {error}")
    except RestError as error:
        module.fail_json(msg=f"the schema registry refuses a request: {error}")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        module.fail_json(msg=f"what answers is no schema registry: {error!r}")


def run(module: AnsibleModule, registry: Subjects) -> dict[str, Any]:
    """Test, compare and change; return the module's result."""
    params = module.params
    declared = [
        Wanted(
            **{key: entry[key] for key in ("name", "type", "schema", "compatibility")},
            references=[{"version": None, **reference} for reference in entry["references"]],
            present=entry["state"] == "present",
        )
        for entry in params["subjects"]
    ]
    desired = [subject for subject in declared if params["only"] in ("", subject.name)]
    if params["only"] and not desired:
        listed = ", ".join(subject.name for subject in declared) or "none"
        message = f"the inventory has no subject {params['only']}; there are: {listed}"
        raise RefusedError(message)
    current = {subject.name: registry.found(subject) for subject in desired}
    names = registry.names()
    rules = (
        [] if params["only"] else subjects.global_level(params["compatibility"], registry.level())
    )
    rules += subjects.levels(desired, current)
    to_register = subjects.to_register(desired, current)
    postponed = [
        subject for subject in to_register if subjects.pending_references(subject, to_register)
    ]
    at_once = [subject for subject in to_register if subject not in postponed]
    touched = _touched(rules, at_once, current)
    referrers = {
        version: registry.referrers(version) for version in subjects.unwanted(desired, current)
    }
    _refuse(
        registry,
        [subject for subject in at_once if subject not in touched],
        subjects.still_needed(referrers, to_register),
    )
    first = {
        subject.name: [] if now.versions else subjects.level(subject, now.compatibility)
        for subject in to_register
        for now in (current[subject.name],)
    }
    after = subjects.removals(referrers)
    result: dict[str, Any] = {
        "changed": bool(rules or to_register or after),
        "actions": [
            *(step.what for step in rules),
            *(f"register {subject.name}" for subject in to_register),
            *(step.what for steps in first.values() for step in steps),
            *(step.what for step in after),
        ],
        "others": sorted({*names} - {subject.name for subject in declared}),
        "not_tested": [subject.name for subject in (*touched, *postponed)]
        if module.check_mode
        else [],
    }
    if module._diff:
        result["diff"] = subjects.diff(desired, current)
    if module.check_mode:
        return result
    done: list[str] = []
    try:
        _set_rules(registry, rules, touched, done)
        for subject in to_register:
            registry.register(subject, tested=subject not in postponed)
            done.append(f"register {subject.name}")
            for step in first[subject.name]:
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
    rules: Iterable[Step], new: Sequence[Wanted], current: Mapping[str, Found]
) -> list[Wanted]:
    """Return the subjects that are to be tested with a level that is not set yet."""
    all_change = any(step.path == subjects.GLOBAL_LEVEL for step in rules)
    return [
        subject
        for subject in new
        if subjects.levels([subject], current) or (all_change and not subject.compatibility)
    ]


def _refuse(registry: Subjects, new: Sequence[Wanted], needed: Sequence[str] = ()) -> None:
    """Refuse schemas, and the removal of versions that are needed, all at once.

    Raises:
        RefusedError: the registry would refuse some.

    """
    refused = [why for subject in new if (why := registry.refusal(subject))]
    problems = {
        "correct these schemas, or set another compatibility for their subjects": refused,
        "keep these versions, which others need, or remove what refers to them, too": needed,
    }
    if sections := ["\n- ".join([f"{fix}:", *lines]) for fix, lines in problems.items() if lines]:
        raise RefusedError("\n".join(sections))


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
        for step in rules:
            registry.send(step)
            steps.append(step)
        _refuse(registry, touched)
    except (RestError, RefusedError) as error:
        failures = {
            step.what: why
            for step in reversed(steps)
            if step.undo and (why := _failure(registry, step.undo))
        }
        if not failures:
            raise
        done += failures
        message = f"{error}\nNot all levels could be set back: {'; '.join(failures.values())}"
        raise RefusedError(message) from error
    done += [step.what for step in steps]


def _failure(registry: Subjects, step: Step) -> str:
    """Do a step, and return why it failed, empty if it did not."""
    try:
        registry.send(step)
    except RestError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main()
