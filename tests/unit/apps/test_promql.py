"""A query is narrowed to one cluster in each of its selectors, and stays the same query."""

from __future__ import annotations

import pytest

from apps.promql import scoped


@pytest.mark.parametrize(
    ("query", "narrowed"),
    [
        ("up", "up{C}"),
        ("up{}", "up{C}"),
        ('up{job="kafka"} == 0', 'up{C, job="kafka"} == 0'),
        ("max by (host) (up) == 0", "max by (host) (up{C}) == 0"),
        ("(sum(a) or vector(0)) < 1", "(sum(a{C}) or vector(0)) < 1"),
        ("a[5m] offset 1d", "a{C}[5m] offset 1d"),
        ("a unless on (host) b > 1e9", "a{C} unless on (host) b{C} > 1e9"),
        ("a == on (x) group_left max by (x) (b)", "a{C} == on (x) group_left max by (x) (b{C})"),
        ('{__name__=~"a_.+"}', '{C, __name__=~"a_.+"}'),
        ('a{\n  x="up{}", y="b"}', 'a{C, x="up{}", y="b"}'),
        ('label_replace(a, "b", "$1", "c", "(d)")', 'label_replace(a{C}, "b", "$1", "c", "(d)")'),
        ("max_over_time(max(a)[5m:15s])", "max_over_time(max(a{C})[5m:15s])"),
        ("time() - a > 14 * 86400", "time() - a{C} > 14 * 86400"),
    ],
)
def test_each_selector_has_the_matcher(query: str, narrowed: str) -> None:
    assert scoped(query, "C") == narrowed
