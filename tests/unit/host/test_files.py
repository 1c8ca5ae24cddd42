"""What differs between the files of a host and those that are wanted, and what prevents it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import files
from ansible_collections.millrace.streaming.plugins.module_utils.host.files import (
    Change,
    Entry,
    Found,
)

DIRECTORY = Found("directory", mode=0o755, owner="root", group="root")
FILE = Found("file", content=b"x", mode=0o644, owner="root", group="root")
LINK = Found("link", target="/t")
LINK_TO_DIRECTORY = Found("link", target="/t", leads_to_directory=True)

Wanted = Mapping[str, Mapping[str, Any]]
Host = Mapping[str, Found]


def problems(wanted: Wanted, host: Host, *, planned: bool = False) -> list[str]:
    there = {"/": DIRECTORY, **host}
    entries = files.entries_of(wanted)
    return files.problems(entries, lambda path: there.get(path, Found()), planned=planned)


def plan(wanted: Wanted, host: Host) -> list[Change]:
    return files.plan(files.entries_of(wanted), lambda path: host.get(path, Found()))


def test_defaults() -> None:
    directory, properties, own, text = files.entries_of(
        {
            "/d": {"state": "directory"},
            "/d/a.properties": {"content": "a=1"},
            "/d/b": {"content": "", "mode": "0600", "owner": "u", "group": "g"},
            "/d/c.properties": {"content": "\\u", "format": "text"},
        }
    )
    assert [one.mode for one in (directory, properties, own, text)] == [0o755, 0o644, 0o600, 0o644]
    assert [one.properties for one in (directory, properties, text)] == [False, True, False]
    assert (own.owner, own.group) == ("u", "g")
    assert (directory.owner, directory.group) == ("root", "root")


@pytest.mark.parametrize(
    ("wanted", "host", "named"),
    [
        ({"/d/a": {"content": ""}}, {}, "/d "),
        ({"/d/a": {"content": ""}}, {"/d": FILE}, "/d is a file"),
        ({"/a": {"content": ""}}, {"/a": DIRECTORY}, "is a directory"),
        ({"/a": {"content": ""}}, {"/a": Found("other")}, "is a device"),
        ({"/a": {"state": "directory"}}, {"/a": FILE}, "is a file"),
        ({"/a": {"state": "directory"}}, {"/a": LINK}, "is a link"),
        ({"/a": {"state": "link", "target": "/b"}}, {"/a": FILE}, "is a file"),
        (
            {"/a": {"state": "absent"}},
            {"/a": Found("directory", children=("x", "y"))},
            "x, y",
        ),
    ],
)
def test_what_prevents_a_change(wanted: Wanted, host: Host, named: str) -> None:
    (found,) = problems(wanted, host)
    assert found.startswith(f"{next(iter(wanted))}: ")
    assert named in found


def test_a_parent_that_is_to_go_or_to_be_a_file_is_no_parent() -> None:
    child = {"/d/a": {"content": ""}}
    assert problems({**child, "/d": {"content": ""}}, {})
    assert problems({**child, "/d": {"state": "directory"}}, {"/d": FILE})


@pytest.mark.parametrize(
    ("wanted", "host"),
    [
        ({"/d/a": {"content": ""}, "/d": {"state": "directory"}}, {}),
        ({"/d/a": {"content": ""}}, {"/d": LINK_TO_DIRECTORY}),
        ({"/d/a": {"content": ""}, "/d": {"state": "link", "target": "/t"}}, {}),
        ({"/d": {"state": "directory"}}, {"/d": LINK_TO_DIRECTORY}),
        ({"/a": {"content": ""}}, {"/a": LINK}),
        ({"/no/such/a": {"state": "absent"}}, {}),
        (
            {"/d": {"state": "absent"}, "/d/x": {"state": "absent"}},
            {"/d": Found("directory", children=("x",)), "/d/x": FILE},
        ),
    ],
)
def test_what_prevents_none(wanted: Wanted, host: Host) -> None:
    assert problems(wanted, host) == []


def test_an_earlier_task_may_make_what_is_missing_in_check_mode() -> None:
    wanted = {"/disk/a": {"content": ""}}
    assert problems(wanted, {})
    assert problems(wanted, {}, planned=True) == []
    assert problems(wanted, {"/disk": FILE}, planned=True)


def test_a_directory_may_be_a_link_to_one_and_a_link_is_its_target_alone() -> None:
    there = Found("link", mode=0o755, owner="root", group="root", target="/t")
    host = {"/d": replace(there, leads_to_directory=True), "/l": there}
    assert plan({"/d": {"state": "directory"}, "/l": {"state": "link", "target": "/t"}}, host) == []
    assert [one.content for one in plan({"/d": {"state": "directory", "mode": "0700"}}, host)] == [
        False
    ]


def test_parents_come_first_and_removals_last_from_below() -> None:
    changes = plan(
        {
            "/a/b/c": {"content": ""},
            "/z": {"state": "absent"},
            "/z/y": {"state": "absent"},
            "/a": {"state": "directory"},
            "/a/b": {"state": "directory"},
            "/etc/sysusers.d/x/y.conf": {"content": ""},
        },
        {"/z": Found("directory", children=("y",)), "/z/y": FILE},
    )
    assert [change.entry.path for change in changes] == [
        "/etc/sysusers.d/x/y.conf",  # accounts, which may own what follows
        "/a",
        "/a/b",
        "/a/b/c",
        "/z/y",
        "/z",
    ]


@pytest.mark.parametrize(
    ("wanted", "found", "restart"),
    [
        ({"content": "y"}, FILE, True),
        ({"content": "x", "mode": "0600"}, FILE, False),
        ({"content": "x"}, Found(), True),
        ({"state": "absent"}, FILE, True),
        ({"content": "# x", "format": "properties"}, FILE, True),
        ({"content": "# note\nx=", "format": "properties"}, FILE, False),
        ({"content": "# note\n", "format": "properties"}, Found(), True),
        # Kafka reads ISO-8859-1, and so had another value.
        ({"content": "a=\\u00fc", "format": "properties"}, Found("file", "a=ü".encode()), True),
        ({"content": "a=\\u00fc", "format": "properties"}, Found("file", b"a=\xfc"), False),
        ({"state": "link", "target": "/new"}, LINK, True),
    ],
)
def test_what_needs_a_restart(wanted: dict[str, Any], found: Found, restart: bool) -> None:
    (change,) = plan({"/a": {**wanted, "restart": True}}, {"/a": found})
    assert change.needs_restart is restart
    (change,) = plan({"/a": wanted}, {"/a": found})
    assert not change.needs_restart


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("a=1", "a=2", []),
        ("", "a=2", []),
        ("a=1", "", []),
        ("a=1\nb=1", "a=2\nb=2", ["b"]),
        ("a=1", "a=${file:/s:x}", ["a"]),
        ("a=${file:/s:x}", "a=1", ["a"]),
        (None, "a=1", ["a"]),
    ],
)
def test_what_a_process_takes_while_it_runs_needs_no_restart(
    before: str | None, after: str, named: list[str]
) -> None:
    wanted = {"content": after, "format": "properties", "restart": True, "dynamic": ["a"]}
    found = Found() if before is None else Found("file", before.encode())
    (change,) = plan({"/a": wanted}, {"/a": found})
    assert change.needs_restart is bool(named)
    assert list(change.restart_keys) == named


def test_accounts_that_a_host_does_not_have_are_named_once() -> None:
    entries = files.entries_of(
        {
            "/a": {"content": "", "owner": "no-such-user", "group": "no-such-group"},
            "/b": {"content": "", "owner": "no-such-user"},
            "/c": {"state": "absent", "owner": "another-one"},
            "/d": {"state": "link", "target": "/a", "owner": "another-one"},
        }
    )
    found = files.unknown_accounts(entries)
    assert [one for one in found if "owner no-such-user" in one and "/a" in one]
    assert [one for one in found if "group no-such-group" in one]
    assert "another-one" not in str(found)
    assert str(found).count("no-such-user") == 1


def test_diff_shows_content_and_attributes_and_no_secret() -> None:
    wanted: Wanted = {
        "/a": {"content": "new", "mode": "0600"},
        "/s": {"content": "hunter2", "secret": True},
    }
    host = {"/a": FILE, "/s": Found("file", b"hunter1", 0o644, "root", "root")}
    plain, attributes, secret = [part for one in plan(wanted, host) for part in files.diff(one)]
    assert (plain["before"], plain["after"], plain["before_header"]) == ("x", "new", "/a")
    assert (attributes["before"], attributes["after"]) == ("root:root 0644\n", "root:root 0600\n")
    assert secret["before"] != secret["after"]
    assert "hunter" not in json.dumps(secret)


@pytest.mark.parametrize("wanted", [{"state": "absent"}, {"content": "hunter2"}])
@pytest.mark.parametrize("found", [Found(), Found("file", b"hunter1")])
def test_a_secret_is_shown_on_neither_side(wanted: dict[str, Any], found: Found) -> None:
    for change in plan({"/s": {**wanted, "secret": True}}, {"/s": found}):
        assert "hunter" not in json.dumps(files.diff(change))
        assert "hunter" not in repr(change)


def test_an_entry_does_not_show_its_content() -> None:
    assert "hunter2" not in repr(Entry.of("/s", {"content": "hunter2"}))
