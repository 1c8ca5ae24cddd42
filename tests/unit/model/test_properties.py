from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.model.properties import (
    changed_keys,
    parse_properties,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# a=1\n  ! b=2\n\n \t\n", {}),
        ("a=1\nb: 2\nc 3\nd\t=\t4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("a\nb=\nc = ", {"a": "", "b": "", "c": ""}),
        ("a=1 \n", {"a": "1 "}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a = = b", {"a": "= b"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=one,\\\n   two,\\\n\tthree\nb=2", {"a": "one,two,three", "b": "2"}),
        ("a=x\\\\\nb=2", {"a": "x\\", "b": "2"}),
        ("a=x\\\n# kept", {"a": "x# kept"}),
        ("a=x\\", {"a": "x"}),
        (r"a\=b\:c\ d=e\tf\u0041\q", {"a=b:c d": "e\tfAq"}),
        (r"path=C:\\kafka", {"path": "C:\\kafka"}),
        ("# comment \\\na=1", {"a": "1"}),
    ],
)
def test_parse(text: Any, expected: Any) -> None:
    assert parse_properties(text) == expected


def test_a_broken_unicode_escape_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: .*four hexadecimal digits"):
        parse_properties("a=1\nb=\\u12\n")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a=1\nb=2", "b=2\n# note\na = 1\n", []),
        ("a=1\nb=2", "b=3\nc=1", ["a", "b", "c"]),
        ("", "z=1\na=1", ["a", "z"]),
        ("a=", "", ["a"]),
        ("a=\\u1", "b=1", ["b"]),
    ],
)
def test_changed_keys(before: str, after: str, expected: Any) -> None:
    assert changed_keys(before, after) == expected
