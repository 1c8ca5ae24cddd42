"""Rows compared with rows, exactly: key by key and column by column."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

Row = dict[str, Any]
Rows = Mapping[str, Row]
"""Key -> column -> value."""

ABSENT: Final = "(absent)"
SHOWN: Final = 20


class Difference(NamedTuple):
    """One disagreement. A row that one side lacks has the column `*` and `ABSENT` on that side."""

    key: str
    column: str
    expected: object
    actual: object


def compare(expected: Rows, actual: Rows) -> list[Difference]:
    """Compare row by row and column by column, exactly, in key order.

    A value of another type is a difference too, except that 10 and 10.0 are the same JSON number.
    """
    differences: list[Difference] = []
    for key in sorted(expected.keys() | actual.keys()):
        if key not in actual:
            differences.append(Difference(key, "*", expected[key], ABSENT))
        elif key not in expected:
            differences.append(Difference(key, "*", ABSENT, actual[key]))
        else:
            differences += _columns(key, expected[key], actual[key])
    return differences


def _columns(key: str, expected: Row, actual: Row) -> list[Difference]:
    names = sorted(expected.keys() | actual.keys())
    pairs = [(name, expected.get(name, ABSENT), actual.get(name, ABSENT)) for name in names]
    return [Difference(key, *pair) for pair in pairs if not _same(pair[1], pair[2])]


def _same(expected: object, actual: object) -> bool:
    return expected == actual and isinstance(expected, bool) == isinstance(actual, bool)


def report_on(subject: str, differences: Sequence[Difference]) -> str:
    """Return the verdict as text: one line, then the first differences."""
    verdict = "different" if differences else "equal"
    head = f"{verdict}: {subject}, {len(differences)} differences"
    return "\n".join([head, *lines(differences)]) + "\n"


def lines(differences: Sequence[Difference]) -> list[str]:
    """Return the first differences as lines."""
    return [
        f"  {difference.key} {difference.column}: "
        f"expected {difference.expected}, got {difference.actual}"
        for difference in differences[:SHOWN]
    ]
