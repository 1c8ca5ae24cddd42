"""What brings the subjects of a schema registry to what the inventory says."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.subjects import (
    Found,
    Version,
    Wanted,
    body,
    diff,
    global_level,
    level,
    levels,
    pending_references,
    removals,
    still_needed,
    to_register,
    trial,
    unwanted,
)

PLANE = Wanted("planes-value", schema='{"type": "int"}')
THERE = Found([1], "", '{"type":"int"}', registered=True)


def test_what_is_as_wanted_stays() -> None:
    registered = {PLANE.name: THERE}
    assert not to_register([PLANE], registered)
    assert not levels([PLANE], registered)
    assert not unwanted([PLANE], registered)
    assert not diff([PLANE], registered)
    assert not global_level("FULL", "FULL")


def test_a_schema_that_is_no_version_yet_is_registered() -> None:
    assert to_register([PLANE], {}) == [PLANE]
    assert to_register([PLANE], {PLANE.name: Found([1], "", "{}")}) == [PLANE]
    (shown,) = diff([PLANE], {PLANE.name: Found([1], "", "{}")})
    assert "{}" in shown["before"]
    assert PLANE.schema in shown["after"]


def referring(name: str, *subjects: str) -> Wanted:
    references = [{"name": subject, "subject": subject, "version": None} for subject in subjects]
    return Wanted(name, references=references)


def test_what_a_schema_refers_to_is_registered_first() -> None:
    first, second, third = referring("a", "b", "x"), referring("b", "c"), referring("c")
    assert to_register([first, second, third], {}) == [third, second, first]
    registered = {"b": THERE, "c": THERE}
    assert to_register([first, second, third], registered) == [first]


def test_schemas_that_refer_to_each_other_and_to_themselves_stay_in_their_order() -> None:
    first, second = referring("a", "b", "a"), referring("b", "a")
    assert to_register([first, second], {}) == [first, second]
    assert to_register([referring("a", "a")], {}) == [referring("a", "a")]


def removed(referrers: Mapping[Version, Collection[Version]]) -> list[str]:
    return [step.path.rpartition("/subjects/")[2] for step in removals(referrers)]


def test_each_version_is_removed_the_newest_one_first() -> None:
    versions = unwanted([Wanted("a/b", present=False)], {"a/b": Found([1, 10, 9])})
    assert [number for _, number in versions] == [10, 9, 1]
    order = ["a%2Fb/versions/10", "a%2Fb/versions/9", "a%2Fb/versions/1"]
    assert removed(dict.fromkeys(versions, ())) == order


@pytest.mark.parametrize("order", [1, -1])
def test_who_refers_to_a_version_is_removed_before_it(order: int) -> None:
    referrers = {("a", 1): [("b", 1)], ("b", 1): [("a", 2)], ("a", 2): []}
    ordered = dict([*referrers.items()][::order])
    assert removed(ordered) == ["a/versions/2", "b/versions/1", "a/versions/1"]
    assert still_needed(ordered) == []


def test_a_version_to_which_others_refer_is_needed() -> None:
    referrers = {("a", 1): [("b", 1), ("c", 2)], ("b", 1): []}
    (line,) = still_needed(referrers)
    assert "a version 1" in line
    assert "c version 2" in line
    assert "b version" not in line
    (line,) = still_needed({("b", 1): [], ("d", 1): []}, [referring("new", "b")])
    assert "new" in line
    assert line.startswith("b version 1")


def test_a_version_of_a_subject_is_not_removed_before_a_newer_one_of_it_alone() -> None:
    """Whose other referrers would be in a circle if versions of other subjects counted, too."""
    referrers: dict[Version, list[Version]] = {("a", 2): [("b", 1)], ("b", 1): [], ("b", 2): []}
    order = removed({**referrers, ("a", 1): []})
    assert order.index("b/versions/1") < order.index("a/versions/2") < order.index("a/versions/1")
    assert order.index("b/versions/2") < order.index("b/versions/1")
    # The newest version of one may be the one that the oldest of another waits for.
    chain: dict[Version, list[Version]] = {("a", 1): [], ("b", 2): [("a", 1)], ("a", 3): []}
    assert removed(chain) == ["a/versions/3", "a/versions/1", "b/versions/2"]


def test_a_level_can_be_taken_back() -> None:
    subject = Wanted("planes-value", compatibility="FULL")
    (step,) = levels([subject], {subject.name: Found([1], "NONE")})
    assert (step.method, step.body) == ("PUT", {"compatibility": "FULL"})
    assert step.undo is not None
    assert step.undo.body == {"compatibility": "NONE"}
    assert "NONE" in step.what
    (step,) = levels([subject], {subject.name: Found([1])})
    assert step.undo is not None
    assert step.undo.method == "DELETE"
    assert "it was" not in step.what
    (step,) = global_level("FULL", "BACKWARD")
    assert step.undo is not None
    assert step.undo.body == {"compatibility": "BACKWARD"}


def test_a_level_is_shown_among_the_differences() -> None:
    subject = Wanted(PLANE.name, schema=PLANE.schema, compatibility="FULL")
    (shown,) = diff([subject], {PLANE.name: THERE})
    assert "compatibility: FULL" in shown["after"]
    assert "global level" in shown["before"]
    assert "FULL" not in shown["before"]


def test_a_subject_without_a_level_loses_its_own() -> None:
    (step,) = levels([PLANE], {PLANE.name: Found([1], "NONE", registered=True)})
    assert step.method == "DELETE"
    assert "/planes-value/" in step.path


def test_a_subject_gets_its_first_level_after_its_first_version() -> None:
    subject = Wanted("planes-value", compatibility="FULL")
    assert levels([subject], {subject.name: Found()}) == []
    assert [step.method for step in level(subject, "")] == ["PUT"]


def test_a_subject_that_was_removed_does_not_get_its_former_level_back() -> None:
    assert [step.method for step in level(PLANE, "NONE")] == ["DELETE"]
    assert level(Wanted("planes-value", compatibility="NONE"), "NONE") == []


def test_only_what_is_there_is_removed() -> None:
    first, two = Wanted("a", present=False), Wanted("b", present=False)
    assert unwanted([first, two], {"a": Found(), "b": Found([1])}) == [("b", 1)]


def test_references_name_a_subject_and_its_version() -> None:
    wing = Wanted("wings", references=[{"name": "Plane", "subject": "planes-value", "version": 2}])
    assert body(wing, wing.references)["references"] == wing.references
    _, content = trial(wing, wing.references, exists=False)
    (reference,) = content["firstVersion"]["content"]["references"]
    assert (reference["artifactId"], reference["version"]) == ("planes-value", "2")
    assert pending_references(wing, [PLANE]) == ["planes-value"]
    assert pending_references(wing, [wing]) == []


def test_a_trial_registers_nothing() -> None:
    for exists in (True, False):
        path, _ = trial(PLANE, [], exists=exists)
        assert path.endswith("?dryRun=true")


def test_a_trial_is_of_the_next_version_or_of_a_new_subject() -> None:
    subject = Wanted("a/b", schema='{"type": "int"}')
    path, content = trial(subject, [], exists=True)
    assert "/a%2Fb/versions" in path
    path, new = trial(subject, [], exists=False)
    assert "a%2Fb" not in path
    assert (new["artifactId"], new["artifactType"]) == ("a/b", "AVRO")
    assert new["firstVersion"] == content
    assert content["content"]["content"] == subject.schema


def test_a_schema_without_references_names_none() -> None:
    assert body(PLANE, []) == {"schema": PLANE.schema, "schemaType": "AVRO"}


def test_the_global_level_and_that_of_a_subject_are_set_in_different_places() -> None:
    (everywhere,) = global_level("FULL", "NONE")
    (step,) = level(Wanted("a/b", compatibility="FULL"), "")
    assert "a%2Fb" in step.path
    assert step.path.startswith(everywhere.path)
    assert step.path != everywhere.path
    assert step.undo is not None
    assert step.undo.path != everywhere.path


def test_an_absent_subject_is_neither_registered_nor_given_a_level() -> None:
    gone = Wanted("a", schema="{}", compatibility="FULL", present=False)
    for registered in ({}, {"a": THERE}, {"a": Found([1], "NONE", "{}")}, {"a": Found()}):
        assert to_register([gone], registered) == []
        assert levels([gone], registered) == []


def test_a_subject_that_is_to_stay_is_not_removed() -> None:
    assert unwanted([PLANE], {PLANE.name: Found([1, 2])}) == []
    assert unwanted([PLANE, Wanted("a", present=False)], {}) == []


def test_a_level_of_a_subject_that_is_not_there_yet_is_not_set() -> None:
    assert levels([Wanted("a", compatibility="FULL")], {}) == []


@pytest.mark.parametrize(
    ("reference", "is_needed"),
    [
        (("a", None), True),
        (("a", 1), True),
        (("a", 2), False),
        (("b", 1), False),
        (("b", None), False),
    ],
)
def test_a_new_schema_needs_the_version_to_which_it_refers(
    reference: tuple[str, int | None], is_needed: bool
) -> None:
    name, version = reference
    new = Wanted("new", references=[{"name": "x", "subject": name, "version": version}])
    assert bool(still_needed({("a", 1): []}, [new])) is is_needed


def test_a_schema_that_is_registered_and_not_the_latest_shows_no_other_one() -> None:
    """A former version may be what the inventory says; registering it again changes nothing."""
    now = Found([1, 2], "", '{"type":"long"}', registered=True)
    assert diff([PLANE], {PLANE.name: now}) == []


def test_the_difference_of_a_subject_that_comes_or_goes() -> None:
    (new,) = diff([Wanted("a", schema="{}", compatibility="FULL")], {})
    assert new["before"] == ""
    assert "{}" in new["after"]
    assert "FULL" in new["after"]
    (gone,) = diff([Wanted("a", present=False)], {"a": Found([1], "NONE", '{"type":"int"}')})
    assert gone["after"] == ""
    assert "int" in gone["before"]
    assert "NONE" in gone["before"]
    assert diff([Wanted("a", present=False)], {"a": Found([], "NONE")}) == []
    assert diff([Wanted("a", present=False)], {}) == []


def test_a_subject_that_was_removed_is_registered_again() -> None:
    assert to_register([Wanted("a")], {"a": Found()}) == [Wanted("a")]


def test_nothing_refers_to_a_version_that_is_removed_with_its_referrer() -> None:
    assert still_needed({("a", 1): [("a", 2)], ("a", 2): []}) == []
    assert removed({("a", 1): [("a", 1)]}) == ["a/versions/1"]
