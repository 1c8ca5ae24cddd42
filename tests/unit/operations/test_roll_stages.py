"""The stages of a roll."""

from __future__ import annotations

from itertools import chain

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.roll_stages import (
    Stage,
    joined,
    stages,
    steps,
)
from hypothesis import given, settings
from hypothesis import strategies as st

NORTH, EAST = ("north", 4), ("east", 4)


def test_without_groups_there_is_one_stage() -> None:
    assert stages(["c1", "b1", "b2"], {}) == [Stage(("c1", "b1", "b2"))]
    assert stages([], {}) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["c1", "c2", "b1", "b4", "b2", "b5"],
            [Stage(("c1", "c2")), Stage(("b1", "b4"), 4), Stage(("b2", "b5"), 4)],
        ),
        # One of a rack is as good as alone.
        (["c1", "b1", "b2"], [Stage(("c1", "b1", "b2"))]),
        # As for an earlier version.
        (["b1", "b4", "c1", "c2"], [Stage(("b1", "b4"), 4), Stage(("c1", "c2"))]),
        (["b1", "c1", "b4"], [Stage(("b1", "c1", "b4"))]),
    ],
)
def test_neighbours_of_a_group_are_a_stage(names: list[str], expected: list[Stage]) -> None:
    groups = {"b1": NORTH, "b4": NORTH, "b2": EAST, "b5": EAST}
    assert stages(names, groups) == expected


@settings(max_examples=150)
@given(st.lists(st.integers(1, 9), unique=True), st.dictionaries(st.integers(1, 9), st.booleans()))
def test_stages_keep_the_order_and_all_nodes(numbers: list[int], keys: dict[int, bool]) -> None:
    names = [str(number) for number in numbers]
    groups = {str(number): (key, 3) for number, key in keys.items()}
    parts = stages(names, groups)
    assert [*chain(*(part.names for part in parts))] == names
    assert joined(parts) == parts
    assert all(name in groups for part in parts if part.most > 1 for name in part.names)
    assert all(len(part.names) > 1 for part in parts if part.most > 1)


def test_steps_are_what_goes_together() -> None:
    parts = [Stage(("c1", "c2")), Stage(("b1", "b4"), 4)]
    assert steps(parts) == [("c1",), ("c2",), ("b1", "b4")]
