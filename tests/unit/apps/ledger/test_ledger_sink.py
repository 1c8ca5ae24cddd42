"""Exactly once into a sink: an exact sink passes, each damage is found as what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ledger.sink import Place, Row, violations

# Offset 4 of partition 0 is a transaction's marker: it is no record.
SOURCE = [Place("a", 0, n) for n in range(8) if n != 4] + [Place("a", 1, 2), Place("b", 0, 0)]
ROWS = [Row(*place, 5 + number // 3) for number, place in enumerate(SOURCE)]


def test_an_exact_sink_breaks_nothing() -> None:
    assert violations(SOURCE, reversed(ROWS)) == []
    assert violations([], []) == []


def without(batch: int) -> list[Row]:
    """Its rows are there under another batch."""
    return [row._replace(batch=row.batch + 1) if row.batch == batch else row for row in ROWS]


@pytest.mark.parametrize(
    ("rows", "message", "records"),
    [
        (ROWS[1:], "lost: the sink has no row of it", ("a-0@0",)),
        ([*ROWS, ROWS[0]], "duplicated: written by batches 5, 5", ("a-0@0",)),
        ([*ROWS, ROWS[0]._replace(batch=6)], "duplicated: written by batches 5, 6", ("a-0@0",)),
        (
            [*ROWS, Row("a", 0, 4, 6)],
            "foreign: written by batch 6, never given",
            ("a-0@4",),
        ),
        (
            [*ROWS, Row("c", 0, 0, 6), Row("c", 0, 0, 6)],
            "foreign: written by batch 6, never given",
            ("c-0@0",),
        ),
        (without(6), "batch 6 is missing between others", ()),
    ],
)
def test_each_damage_is_found(rows: list[Row], message: str, records: tuple[str, ...]) -> None:
    (violation,) = violations(SOURCE, rows)
    assert (violation.invariant, violation.what, violation.records) == ("I11", message, records)


PLACES = st.sets(st.builds(Place, st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 30)))
DAMAGES: list[Callable[[list[Row], Row], None]] = [
    lambda rows, row: rows.remove(row),
    lambda rows, row: rows.append(row),
    lambda rows, row: rows.append(row._replace(topic="c")),
]


@given(PLACES, st.integers(1, 9), st.data())
def test_any_sink_is_exact_until_one_row_is_damaged(
    places: set[Place], size: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(sorted(places)))
    rows = [Row(*place, number // size) for number, place in enumerate(order)]
    assert violations(places, rows) == []
    if rows:
        row = data.draw(st.sampled_from(rows))
        data.draw(st.sampled_from(DAMAGES))(rows, row)
        assert any(violation.records for violation in violations(places, rows))
