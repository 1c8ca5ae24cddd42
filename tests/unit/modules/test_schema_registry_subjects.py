"""The module that brings subjects to the schema registry: what it tests, changes, and says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.operations.subjects import (
    ARTIFACTS,
    Version,
)
from ansible_collections.millrace.streaming.plugins.modules import schema_registry_subjects

SUBJECTS, LEVELS, RULE = f"{CONFLUENT}/subjects", f"{CONFLUENT}/config", "rules/COMPATIBILITY"
SUBJECT = {
    "state": "present",
    "type": "AVRO",
    "schema": '"string"',
    "compatibility": "",
    "references": [],
}
BROKEN = "recod"
FAILS, ABSENT, REFUSED = "the disk is full", "there is none", "no Avro"
REFERRED = "others refer to it"
IDS = f"{CONFLUENT}/schemas/ids/"


class FailedError(Exception):
    """What the module fails with."""


@dataclass
class Task:
    """What Ansible gives the module."""

    params: dict[str, Any]
    check_mode: bool = False
    _diff: bool = False

    def fail_json(self, msg: str, **result: Any) -> None:
        raise FailedError(msg, result)


@dataclass
class Registry:
    """Subjects with the schemas of their versions, levels, and the changes that were asked for.

    It refuses schemas that contain BROKEN, and the removal of versions to which others refer.
    """

    schemas: dict[str, dict[int, str]] = field(default_factory=dict)
    references: list[tuple[Version, Version]] = field(default_factory=list)
    """Pairs of versions; the id of a schema is the place of its version among them.

    Ids of versions that are not there are those of removed ones.
    """
    levels: dict[str, str] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """Requests that are refused."""
    level: str = "BACKWARD"
    sent: list[str] = field(default_factory=list)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        if path == SUBJECTS:
            return [*self.schemas]
        if path.endswith("?dryRun=true"):
            return self._test(str(body))
        if method == "GET":
            return self._read(path)
        name = path.removeprefix(f"{SUBJECTS}/").split("/")[0]
        if method == "POST" and path == f"{SUBJECTS}/{name}":
            return self._there(body["schema"] in self.schemas.get(name, {}).values())
        request = f"{method} {path}"
        if request in self.refused:
            self.refused[request] -= 1
            if self.refused[request] < 0:
                raise RestError(FAILS, 500)
        self.sent.append(request)
        if path == LEVELS:
            self.level = body["compatibility"]
        elif path.startswith(LEVELS):
            self.levels[path.rpartition("/")[2]] = body["compatibility"]
        elif path.endswith(RULE):
            self.levels.pop(path.split("/")[-3])
        elif method == "POST":
            versions = self.schemas.setdefault(name, {})
            versions[max(versions, default=0) + 1] = body["schema"]
        else:
            self._remove(name, int(path.rpartition("/")[2]))
        return None

    def _remove(self, name: str, version: int) -> None:
        if any(to == (name, version) and self._has(referrer) for referrer, to in self.references):
            raise RestError(REFERRED, 422)
        del self.schemas[name][version]
        if not self.schemas[name]:
            del self.schemas[name]

    def _has(self, version: Version) -> bool:
        return version[1] in self.schemas.get(version[0], {})

    def _read(self, path: str) -> Any:
        if path == LEVELS:
            return {"compatibilityLevel": self.level}
        if path.startswith(ARTIFACTS):
            name = path.removeprefix(f"{ARTIFACTS}/").split("/")[0]
            existing = self.levels if path.endswith(RULE) else self.schemas
            return self._there(name in existing) and {"config": self.levels.get(name)}
        if path.startswith(IDS):
            referrer, _ = self.references[int(path.split("/")[-2])]
            return self._there(self._has(referrer)) and [
                {"subject": referrer[0], "version": referrer[1]}
            ]
        name = path.removeprefix(f"{SUBJECTS}/").split("/")[0]
        self._there(name in self.schemas)
        if path.endswith("/referencedby"):
            version = (name, int(path.split("/")[-2]))
            return [id_ for id_, (_, to) in enumerate(self.references) if to == version]
        if path.endswith("/latest"):
            latest = max(self.schemas[name])
            return {"schema": self.schemas[name][latest], "version": latest}
        return [*self.schemas[name]]

    def _there(self, exists: bool) -> bool:
        if not exists:
            raise RestError(ABSENT, 404)
        return exists

    def _test(self, text: str) -> None:
        if BROKEN in text:
            raise RestError(REFUSED, 422)


def run(
    registry: Registry,
    *entries: Mapping[str, Any],
    compatibility: str = "BACKWARD",
    only: str = "",
    check: bool = False,
) -> dict[str, Any]:
    subjects = [{**SUBJECT, **entry} for entry in entries]
    params = {"subjects": subjects, "compatibility": compatibility, "only": only}
    module: Any = Task(params, check)
    return schema_registry_subjects.run(module, schema_registry_subjects.Subjects(registry))  # type: ignore[arg-type]  # a stand-in


def refers(name: str) -> list[dict[str, Any]]:
    return [{"name": name, "subject": name}]


def test_a_second_run_changes_nothing() -> None:
    registry = Registry()
    assert run(registry, {"name": "a", "compatibility": "FULL"})["changed"]
    assert (registry.schemas, registry.levels) == ({"a": {1: '"string"'}}, {"a": "FULL"})
    assert not run(registry, {"name": "a", "compatibility": "FULL"})["changed"]


def test_check_mode_changes_nothing() -> None:
    registry = Registry()
    result = run(registry, {"name": "a"}, compatibility="FULL", check=True)
    assert result["changed"]
    assert result["not_tested"] == ["a"]
    assert not registry.sent


def test_what_a_schema_refers_to_may_come_after_it() -> None:
    registry = Registry()
    run(registry, {"name": "wings", "references": refers("planes")}, {"name": "planes"})
    assert [*registry.schemas] == ["planes", "wings"]


def test_a_refused_schema_changes_nothing() -> None:
    registry = Registry()
    with pytest.raises(schema_registry_subjects.RefusedError, match=f"b: {REFUSED}"):
        run(registry, {"name": "a"}, {"name": "b", "schema": BROKEN})
    assert not registry.sent


def test_a_level_is_set_back_if_its_schema_is_refused() -> None:
    registry = Registry()
    with pytest.raises(FailedError, match=REFUSED) as failure:
        run(registry, {"name": "a", "schema": BROKEN}, compatibility="FULL")
    assert failure.value.args[1]["changed"] is False
    assert registry.level == "BACKWARD"


def test_a_level_that_cannot_be_set_back_is_a_change() -> None:
    registry = Registry(refused={f"PUT {LEVELS}": 1})
    with pytest.raises(FailedError, match=REFUSED) as failure:
        run(registry, {"name": "a", "schema": BROKEN}, compatibility="FULL")
    message, result = failure.value.args
    assert registry.level == "FULL"
    assert FAILS in message
    assert "nothing was changed" not in message
    assert result["changed"]
    assert result["actions"]


def test_what_was_done_before_a_failure_is_a_change() -> None:
    registry = Registry(refused={f"POST {SUBJECTS}/b/versions": 0})
    with pytest.raises(FailedError) as failure:
        run(registry, {"name": "a"}, {"name": "b"})
    assert failure.value.args[1]["changed"]
    assert [*registry.schemas] == ["a"]


def test_only_what_is_asked_for_is_dealt_with_and_others_are_named() -> None:
    registry = Registry({"x": {1: '"string"'}})
    result = run(registry, {"name": "a"}, {"name": "b"}, compatibility="FULL", only="b")
    assert ([*registry.schemas], registry.level) == (["x", "b"], "BACKWARD")
    assert result["others"] == ["x"]
    with pytest.raises(schema_registry_subjects.RefusedError, match="there are: a"):
        run(registry, {"name": "a"}, only="c")


def unwanted(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "state": "absent"} for name in names]


def removed(*versions: str) -> list[str]:
    return [f"DELETE {SUBJECTS}/{version}" for version in versions]


def test_a_subject_is_removed_by_its_versions() -> None:
    registry = Registry({"a": {1: "1", 2: "2"}})
    assert run(registry, *unwanted("a"))["changed"]
    assert registry.sent == removed("a/versions/2", "a/versions/1")
    assert not run(registry, *unwanted("a"))["changed"]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_subjects_are_removed_after_those_that_refer_to_them(names: str) -> None:
    registry = Registry({"a": {1: "1"}, "b": {1: "1"}}, references=[(("b", 1), ("a", 1))])
    run(registry, *unwanted(*names))
    assert registry.sent == removed("b/versions/1", "a/versions/1")


def test_removed_schemas_that_refer_to_a_subject_do_not_keep_it() -> None:
    registry = Registry({"a": {1: "1"}}, references=[(("gone", 1), ("a", 1))])
    run(registry, *unwanted("a"))
    assert not registry.schemas


@pytest.mark.parametrize("check", [True, False])
def test_a_removal_that_others_forbid_changes_nothing(check: bool) -> None:
    schemas = {name: {1: "1"} for name in "abcd"}
    registry = Registry(schemas, references=[(("b", 1), ("a", 1)), (("d", 1), ("c", 1))])
    with pytest.raises(schema_registry_subjects.RefusedError) as refusal:
        run(
            registry,
            *unwanted("a", "c"),
            {"name": "e", "schema": BROKEN},
            {"name": "f"},
            check=check,
        )
    for text in ("a version 1", "b version 1", "c version 1", "d version 1", f"e: {REFUSED}"):
        assert text in str(refusal.value)
    assert not registry.sent
