#!/usr/bin/python
"""Ansible module: bring the subjects of the schema registry to what the inventory says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.registry_rest import APICURIO, CONFLUENT, Registry, RegistryError
from ..module_utils.operations import subjects
from ..module_utils.operations.subjects import Found, Step, Wanted

DOCUMENTATION = r"""
module: schema_registry_subjects
short_description: Bring the subjects of the schema registry to what the inventory says
description:
  - Compares subjects and levels of compatibility with the registry. Each schema that is new is
    tested first, whether it parses and whether it is compatible; if one is refused, all that are
    refused are reported, and nothing was registered.
  - A subject whose level changes is tested with the new one, for which that is set first; if a
    schema is refused then, it is set back.
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
    """The registry would refuse schemas; the text says which, and why."""


class Subjects:
    """The subjects of a registry, by both of its interfaces."""

    def __init__(self, registry: Registry) -> None:
        """Keep the registry."""
        self._registry = registry

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request to Confluent's interface."""
        return self._registry.call(method, f"{CONFLUENT}{path}", body)

    def names(self) -> list[str]:
        """Return the names of all subjects."""
        return sorted(map(str, self.call("GET", "/subjects")))

    def level(self) -> str:
        """Return the global level."""
        return str(self.call("GET", "/config")["compatibilityLevel"])

    def found(self, one: Wanted) -> Found:
        """Return a subject as it is."""
        path = subjects.path_of(one.name)
        versions = self._if_there("GET", f"{CONFLUENT}/subjects/{path}/versions") or []
        if not versions:
            return Found()
        latest = self.call("GET", f"/subjects/{path}/versions/latest")
        rule = self._if_there(
            "GET", f"{APICURIO}/groups/default/artifacts/{path}/rules/COMPATIBILITY"
        )
        there = None
        if one.present and (known := self.references(one)) is not None:
            there = self._if_there(
                "POST", f"{CONFLUENT}/subjects/{path}", subjects.body(one, known)
            )
        level = str((rule or {}).get("config") or "")
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

    def refusal(self, one: Wanted, *, exists: bool) -> str:
        """Return why the registry would refuse a schema, empty if it would not."""
        references = self.references(one)
        if references is None:
            names = ", ".join(sorted(str(x["subject"]) for x in one.references))
            return f"{one.name}: it refers to {names}, and not all of that is in the registry"
        path, body = subjects.trial(one, references, exists=exists)
        try:
            self._registry.call("POST", f"{APICURIO}{path}", body)
        except RegistryError as error:
            if error.status in (0, 401, 403) or error.status >= 500:  # noqa: PLR2004 - HTTP's own
                raise
            return f"{one.name}: {error}"
        return ""

    def register(self, one: Wanted) -> None:
        """Register a schema."""
        path = f"/subjects/{subjects.path_of(one.name)}/versions"
        self.call("POST", path, subjects.body(one, self.references(one) or []))

    def send(self, step: Step) -> None:
        """Do a step."""
        self.call(step.method, step.path, step.body)

    def _if_there(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        try:
            return self._registry.call(method, path, body)
        except RegistryError as error:
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
            "instances": {"type": "list", "elements": "str", "required": True},
            "authority": {"type": "path", "default": ""},
            "login": {"type": "str", "default": "", "no_log": True},
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
        module.fail_json(msg=str(error))
    except RegistryError as error:
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
    found = {one.name: registry.found(one) for one in wanted}
    names = registry.names()
    rules = [] if given["only"] else subjects.global_level(given["compatibility"], registry.level())
    rules += subjects.levels(wanted, found)
    new = subjects.to_register(wanted, found)
    later = [one for one in new if subjects.pending_references(one, new)]
    at_once = [one for one in new if one not in later]
    touched = _touched(rules, at_once)
    _refuse(registry, [one for one in at_once if one not in touched], found)
    after = subjects.removals(wanted, found)
    result: dict[str, Any] = {
        "changed": bool(rules or new or after),
        "actions": [
            *(one.what for one in rules),
            *(f"register {one.name}" for one in new),
            *(x.what for one in new if not found[one.name].versions for x in _first(one)),
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
        _set_rules(module, registry, rules, touched, found)
        done += [one.what for one in rules]
        for one in new:
            if one in later and (why := registry.refusal(one, exists=bool(found[one.name].versions))):
                raise RefusedError(why)
            registry.register(one)
            done.append(f"register {one.name}")
            for step in _first(one) if not found[one.name].versions else ():
                registry.send(step)
                done.append(step.what)
        for step in after:
            registry.send(step)
            done.append(step.what)
    except (RegistryError, RefusedError) as error:
        so_far = f"Done before that: {', '.join(done)}. " if done else ""
        module.fail_json(
            msg=f"{error}. {so_far}Once the cause is fixed, run schemas.yml again: it does the rest.",
            **{**result, "changed": bool(done), "actions": done},
        )
    return result


def _first(one: Wanted) -> list[Step]:
    return subjects.first_level(one)


def _touched(rules: Iterable[Step], new: Sequence[Wanted]) -> list[Wanted]:
    """Return the subjects that are to be tested with a level that is not set yet."""
    paths = {one.path for one in rules}
    return [
        one
        for one in new
        if f"/config/{subjects.path_of(one.name)}" in paths
        or ("/config" in paths and not one.compatibility)
    ]


def _refusals(
    registry: Subjects, new: Sequence[Wanted], found: Mapping[str, Found]
) -> list[str]:
    checked = (registry.refusal(one, exists=bool(found[one.name].versions)) for one in new)
    return [why for why in checked if why]


def _refuse(registry: Subjects, new: Sequence[Wanted], found: Mapping[str, Found]) -> None:
    """Refuse schemas, all at once.

    Raises:
        RefusedError: the registry would refuse some.

    """
    if refused := _refusals(registry, new, found):
        lines = "\n- ".join(refused)
        message = (
            "nothing was changed. Correct these schemas, or set another compatibility for their "
            f"subjects:\n- {lines}"
        )
        raise RefusedError(message)


def _set_rules(
    module: AnsibleModule,
    registry: Subjects,
    rules: Sequence[Step],
    touched: Sequence[Wanted],
    found: Mapping[str, Found],
) -> None:
    """Set levels, and test what depends on them; set them back if a schema is refused."""
    done: list[Step] = []
    try:
        for one in rules:
            registry.send(one)
            done.append(one)
        _refuse(registry, touched, found)
    except (RegistryError, RefusedError) as error:
        for one in reversed(done):
            if one.undo:
                registry.send(one.undo)
        module.fail_json(msg=str(error), changed=False)


if __name__ == "__main__":
    main()
