"""What differs between the files of a host and those that are wanted, and what prevents it."""

from __future__ import annotations

import grp
import json
import os
import pwd
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import files
from ansible_collections.millrace.streaming.plugins.module_utils.host.files import (
    Change,
    Entry,
    Found,
)

from tests.unit.host.attacker import NAME, give, needs_root

DIRECTORY = Found("directory", mode=0o755, owner="root", group="root")
FILE = Found("file", content=b"x", mode=0o644, owner="root", group="root")
LINK = Found("link", target="/t")
LINK_TO_DIRECTORY = Found("link", target="/t", leads_to_directory=True)

Wanted = Mapping[str, Mapping[str, Any]]
Host = Mapping[str, Found]


def problems(desired: Wanted, host: Host, *, planned: bool = False) -> list[str]:
    present = {"/": DIRECTORY, **host}
    entries = files.entries_of(desired)
    return files.problems(entries, lambda path: present.get(path, Found()), planned=planned)


def plan(desired: Wanted, host: Host) -> list[Change]:
    return files.plan(files.entries_of(desired), lambda path: host.get(path, Found()))


def test_defaults() -> None:
    directory, properties, login, text = files.entries_of(
        {
            "/d": {"state": "directory"},
            "/d/a.properties": {"content": "a=1"},
            "/d/b": {"content": "", "mode": "0600", "owner": "u", "group": "g"},
            "/d/c.properties": {"content": "\\u", "format": "text"},
        }
    )
    assert [entry.mode for entry in (directory, properties, login, text)] == [
        0o755,
        0o644,
        0o600,
        0o644,
    ]
    assert [entry.properties for entry in (directory, properties, text)] == [False, True, False]
    assert (login.owner, login.group) == ("u", "g")
    assert (directory.owner, directory.group) == ("root", "root")
    plain = Entry("/d")
    assert (plain.mode, plain.properties, Found().mode) == (0o644, False, 0)


@pytest.mark.parametrize(
    ("desired", "host", "named"),
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
def test_what_prevents_a_change(desired: Wanted, host: Host, named: str) -> None:
    (problem,) = problems(desired, host)
    assert problem.startswith(f"{next(iter(desired))}: ")
    assert named in problem


def test_a_parent_that_is_to_go_or_to_be_a_file_is_no_parent() -> None:
    child = {"/d/a": {"content": ""}}
    assert problems({**child, "/d": {"content": ""}}, {})
    assert problems({**child, "/d": {"state": "directory"}}, {"/d": FILE})


@pytest.mark.parametrize(
    ("desired", "host"),
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
def test_what_prevents_none(desired: Wanted, host: Host) -> None:
    assert problems(desired, host) == []


def test_an_earlier_task_may_make_what_is_missing_in_check_mode() -> None:
    desired = {"/disk/a": {"content": ""}}
    assert problems(desired, {})
    assert problems(desired, {}, planned=True) == []
    assert problems(desired, {"/disk": FILE}, planned=True)


def test_a_directory_may_be_a_link_to_one_and_a_link_is_its_target_alone() -> None:
    link = Found("link", mode=0o755, owner="root", group="root", target="/t")
    host = {"/d": replace(link, leads_to_directory=True), "/l": link}
    assert plan({"/d": {"state": "directory"}, "/l": {"state": "link", "target": "/t"}}, host) == []
    assert [
        change.content for change in plan({"/d": {"state": "directory", "mode": "0700"}}, host)
    ] == [False]


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
    ("desired", "current", "restart"),
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
def test_what_needs_a_restart(desired: dict[str, Any], current: Found, restart: bool) -> None:
    (change,) = plan({"/a": {**desired, "restart": True}}, {"/a": current})
    assert change.needs_restart is restart
    (change,) = plan({"/a": desired}, {"/a": current})
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
    desired = {"content": after, "format": "properties", "restart": True, "dynamic": ["a"]}
    current = Found() if before is None else Found("file", before.encode())
    (change,) = plan({"/a": desired}, {"/a": current})
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
    problems = files.unknown_accounts(entries)
    assert [problem for problem in problems if "owner no-such-user" in problem and "/a" in problem]
    assert [problem for problem in problems if "group no-such-group" in problem]
    assert "another-one" not in str(problems)
    assert str(problems).count("no-such-user") == 1


def test_diff_shows_content_and_attributes_and_no_secret() -> None:
    desired: Wanted = {
        "/a": {"content": "new", "mode": "0600"},
        "/s": {"content": "hunter2", "secret": True},
    }
    host = {"/a": FILE, "/s": Found("file", b"hunter1", 0o644, "root", "root")}
    plain, attributes, secret = [
        difference for change in plan(desired, host) for difference in files.diff(change)
    ]
    assert (plain["before"], plain["after"], plain["before_header"]) == ("x", "new", "/a")
    assert (attributes["before"], attributes["after"]) == ("root:root 0644\n", "root:root 0600\n")
    assert secret["before"] != secret["after"]
    assert "hunter" not in json.dumps(secret)


@pytest.mark.parametrize("desired", [{"state": "absent"}, {"content": "hunter2"}])
@pytest.mark.parametrize("current", [Found(), Found("file", b"hunter1")])
def test_a_secret_is_shown_on_neither_side(desired: dict[str, Any], current: Found) -> None:
    for change in plan({"/s": {**desired, "secret": True}}, {"/s": current}):
        assert "hunter" not in json.dumps(files.diff(change))
        assert "hunter" not in repr(change)


def test_an_entry_does_not_show_its_content() -> None:
    assert "hunter2" not in repr(Entry.of("/s", {"content": "hunter2"}))


@pytest.mark.parametrize(
    ("path", "entry", "named"),
    [
        ("a", {"content": ""}, "absolute"),
        ("/a/", {"content": ""}, "absolute"),
        ("/a//b", {"content": ""}, "absolute"),
        ("/a/../b", {"content": ""}, "absolute"),
        ("/a/./b", {"content": ""}, "absolute"),
        ("/a", "text", "mapping"),
        ("/a", {"content": "", "contents": ""}, "contents"),
        ("/a", {"state": "gone"}, "'gone'"),
        ("/a", {"content": "", "mode": 644}, "644"),
        ("/a", {"content": "", "mode": "0648"}, "0648"),
        ("/a", {"content": "", "mode": "00644"}, "00644"),
        ("/a", {}, "content"),
        ("/a", {"content": 7}, "content"),
        ("/a", {"state": "link"}, "target"),
    ],
)
def test_what_is_wrong_with_an_entry_is_named(path: str, entry: Any, named: str) -> None:
    (problem,) = files.written_problems({path: entry, "/fine": {"content": ""}})
    assert problem.startswith(f"{path}: ")
    assert named in problem


@pytest.mark.parametrize(
    "entry",
    [
        {"content": ""},
        {"content": "x", "mode": "0600", "owner": "u", "group": "g", "secret": True},
        {"content": "x", "format": "text", "restart": True, "dynamic": ["a"]},
        {"state": "link", "target": "/b"},
        {"state": "directory", "mode": "2770"},
        {"state": "absent"},
    ],
)
def test_what_is_right_with_an_entry(entry: dict[str, Any]) -> None:
    assert files.written_problems({"/a.b/c": entry, "/": {"state": "directory"}}) == []


def apply(root: Path, desired: Wanted) -> list[Change]:
    """Make files below a directory what they should be, as the module does."""
    owners = {"owner": str(os.geteuid()), "group": str(os.getegid())}
    entries = files.entries_of(
        {f"{root}/{name}": {**owners, **entry} for name, entry in desired.items()}
    )
    host = files.Host(entries)
    assert files.problems(entries, host.read) == []
    changes = files.plan(entries, host.read)
    files.make(changes)
    return changes


def kinds(root: Path) -> dict[str, str]:
    """Return what lies below a directory."""
    return {
        str(path.relative_to(root)): (
            f"link {path.readlink()}"
            if path.is_symlink()
            else "directory"
            if path.is_dir()
            else path.read_text()
        )
        for path in sorted(root.rglob("*"))
    }


def test_every_kind_is_made_changed_and_removed(tmp_path: Path) -> None:
    first = {
        "d": {"state": "directory", "mode": "0750"},
        "d/file": {"content": "ä", "mode": "0640"},
        "d/link": {"state": "link", "target": "file"},
        "d/gone": {"state": "absent"},
    }
    made = apply(tmp_path, first)
    assert [Path(change.entry.path).name for change in made] == ["d", "file", "link"]
    assert kinds(tmp_path) == {"d": "directory", "d/file": "ä", "d/link": "link file"}
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("d", "d/file")]
    assert modes == [0o750, 0o640]
    second = {
        "d/file": {"content": "b", "mode": "0600"},
        "d/link": {"state": "link", "target": "nowhere"},
    }
    apply(tmp_path, second)
    assert kinds(tmp_path) == {"d": "directory", "d/file": "b", "d/link": "link nowhere"}
    third = {name: {"state": "absent"} for name in ("d", "d/file", "d/link")}
    apply(tmp_path, third)
    assert kinds(tmp_path) == {}


def own_changes(root: Path, desired: Wanted) -> list[Change]:
    """Return what a second run would change."""
    owners = {"owner": pwd.getpwuid(os.geteuid())[0], "group": grp.getgrgid(os.getegid())[0]}
    entries = files.entries_of(
        {f"{root}/{name}": {**owners, **entry} for name, entry in desired.items()}
    )
    return files.plan(entries, files.Host(entries).read)


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    desired: Wanted = {
        "d": {"state": "directory", "mode": "0750"},
        "d/file": {"content": "ä", "mode": "0640"},
        "d/link": {"state": "link", "target": "file"},
        "d/gone": {"state": "absent"},
    }
    apply(tmp_path, desired)
    assert own_changes(tmp_path, desired) == []
    (change,) = own_changes(tmp_path, {"d/file": {"content": "ä", "mode": "0600"}})
    assert (change.content, change.attributes) == (False, True)
    (change,) = own_changes(tmp_path, {"d/file": {"content": "b", "mode": "0640"}})
    assert (change.content, change.attributes) == (True, False)


def test_what_was_done_before_an_error_is_told(tmp_path: Path) -> None:
    entries = files.entries_of(
        {f"{tmp_path}/{name}": {"content": "", "owner": "", "group": ""} for name in ("a", "b/c")}
    )
    with pytest.raises(files.ApplyError) as raised:
        files.make(files.plan(entries, lambda _: Found()))
    assert raised.value.done == [f"{tmp_path}/a"]
    for path in (f"{tmp_path}/b/c", f"{tmp_path}/a", "No such file"):
        assert path in str(raised.value)
    assert "Errno" not in str(raised.value), "the path is named once, and no number"
    assert (tmp_path / "a").exists()
    with pytest.raises(files.ApplyError, match="nothing"):
        files.make(files.plan(entries[1:], lambda _: Found()))


def test_a_host_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    host = files.Host([])
    assert host.read(f"{tmp_path}/file").content == b"before"
    (tmp_path / "file").unlink()
    assert host.read(f"{tmp_path}/file").content == b"before"


@needs_root
def test_a_directory_that_may_be_another_one_is_found_before_a_change(tmp_path: Path) -> None:
    """The account can have renamed root's directory that lies in its own."""
    path = give(tmp_path / "shared") / "data"
    path.mkdir()
    (path / "x").touch()
    host = files.Host(files.entries_of({str(path): {"state": "directory", "owner": NAME}}))
    assert host.read(str(path)).unsafe_directory
    assert not files.Host([]).read(str(path)).unsafe_directory


def test_what_lies_at_a_path(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o700)
    (tmp_path / "d/x").touch()
    (tmp_path / "to-d").symlink_to("d")
    (tmp_path / "nowhere").symlink_to("missing")
    os.mkfifo(tmp_path / "pipe")
    host = files.Host(files.entries_of({f"{tmp_path}/d": {"state": "absent"}}))
    entries = {name: host.read(f"{tmp_path}/{name}") for name in ("d", "to-d", "nowhere", "pipe")}
    assert [entry.kind for entry in entries.values()] == ["directory", "link", "link", "other"]
    assert [entry.is_directory for entry in entries.values()] == [True, True, False, False]
    assert entries["d"].children == ("x",)
    assert entries["to-d"].target == "d"
    assert entries["to-d"].mode == entries["d"].mode == 0o700
    assert files.Host([]).read(f"{tmp_path}/d").children == ()
    for name in ("missing", "d/x/y"):
        assert files.Host([]).read(f"{tmp_path}/{name}") == Found()


def test_a_directory_that_still_holds_something_names_some_of_it() -> None:
    desired = {"/d": {"state": "absent"}, "/d/a": {"state": "absent"}}
    host = {"/d": Found("directory", children=("e", "d", "c", "b", "a"))}
    (problem,) = problems(desired, host)
    assert "b, c, d, ..." in problem
    (problem,) = problems({**desired, "/d/e": {"content": ""}}, {**host, "/d/e": FILE})
    assert "b, c, d, ..." in problem
    (problem,) = problems(desired, {"/d": Found("directory", children=("d", "c", "b", "a"))})
    assert "..." not in problem


@pytest.mark.parametrize(
    ("desired", "current"),
    [
        ({"content": "x"}, Found(unsafe="no way there")),
        ({"state": "absent"}, Found(unsafe="no way there")),
        ({"state": "directory"}, Found("link", unsafe_directory="no way there")),
    ],
)
def test_what_is_unsafe_is_a_problem_of_its_own_path(desired: Any, current: Found) -> None:
    assert problems({"/a": desired}, {"/a": current}) == ["/a: no way there"]
    assert problems({"/a/b": {"content": ""}}, {"/a": Found("link", unsafe="no")}) == []


def test_a_link_in_the_place_of_a_file_may_lie_anywhere() -> None:
    current = Found("link", unsafe_directory="no way there")
    assert problems({"/a": {"content": "x"}}, {"/a": current}) == []
    assert problems({"/a/b": {"content": "x"}}, {"/a": current}) == []


def test_the_difference_shows_kinds_and_only_what_differs() -> None:
    link, file = {"state": "link", "target": "/new"}, {"content": "x"}
    (change,) = plan({"/a": link}, {"/a": LINK})
    (difference,) = files.diff(change)
    assert (difference["before"], difference["after"]) == ("link to /t\n", "link to /new\n")
    (change,) = plan({"/a": file}, {})
    content, attributes = files.diff(change)
    assert (content["before"], content["after"]) == ("", "x")
    assert (attributes["before"], attributes["after"]) == ("", "root:root 0644\n")
    (change,) = plan({"/a": {"state": "absent"}}, {"/a": DIRECTORY})
    (difference,) = files.diff(change)
    assert (difference["before"], difference["after"]) == ("directory\n", "")
    (change,) = plan({"/a": {"state": "directory", "mode": "0700"}}, {"/a": DIRECTORY})
    (difference,) = files.diff(change)
    assert "0755" in difference["before"]


def test_a_secret_that_comes_or_goes_is_nothing_on_the_other_side() -> None:
    (change,) = plan({"/s": {"state": "absent", "secret": True}}, {"/s": FILE})
    (difference,) = files.diff(change)
    assert difference["before"]
    assert not difference["after"]
    (change,) = plan({"/s": {"content": "hunter2", "secret": True}}, {})
    difference, _ = files.diff(change)
    assert difference["after"]
    assert not difference["before"]
    (change,) = plan({"/s": {"state": "link", "target": "/t", "secret": True}}, {})
    (difference,) = files.diff(change)
    assert "/t" in difference["after"], "a link holds nothing"


def test_accounts_are_numbers_or_names(tmp_path: Path) -> None:
    for owner in (str(os.geteuid()), pwd.getpwuid(os.geteuid())[0], ""):
        files.write(tmp_path / "file", b"x", 0o600, owner)
        assert (tmp_path / "file").stat().st_uid == os.geteuid()
    with pytest.raises(KeyError):
        files.write(tmp_path / "file", b"y", 0o600, "no-such-user")
    assert (tmp_path / "file").read_text() == "x"


def test_state_of_our_own_is_private_and_its_directory_is_made(tmp_path: Path) -> None:
    files.write_own(tmp_path / "a/b", "ä")
    assert (tmp_path / "a/b").read_text() == "ä"
    assert stat.S_IMODE((tmp_path / "a/b").stat().st_mode) == 0o600
    files.write_own(tmp_path / "a/b", "c", 0o644)
    assert stat.S_IMODE((tmp_path / "a/b").stat().st_mode) == 0o644
