from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import file_tree
from ansible_collections.millrace.streaming.plugins.module_utils.file_tree import Found

from tests.unit.module_runner import run_module, run_playbook

Run = Callable[..., dict[str, Any]]

UID, GID = str(os.geteuid()), str(os.getegid())


def parse(raw: Any) -> Any:
    return file_tree.parse_entries(raw, "root", "root")


@pytest.mark.parametrize(
    ("path", "wish", "message"),
    [
        ("etc/a", {"content": ""}, "not absolute"),
        ("/etc//a", {"content": ""}, "plain form"),
        ("/etc/../a", {"content": ""}, "plain form"),
        ("/etc/a/", {"content": ""}, "plain form"),
        ("/", {"state": "directory"}, "plain form"),
        ("/a", "text", "must be a mapping"),
        ("/a", None, "must be a mapping"),
        ("/a", {}, "content must be text, got nothing"),
        ("/a", {"content": {"x": 1}}, "content must be text, got dict"),
        ("/a", {"content": "", "mode": 644}, "mode is 644; write four octal digits in quotes"),
        ("/a", {"content": "", "mode": "644"}, "mode is '644'"),
        ("/a", {"content": "", "mode": "0888"}, "mode is '0888'"),
        ("/a", {"content": "", "mode": "u=rw"}, "mode is 'u=rw'"),
        ("/a", {"state": "present"}, "state is 'present'; use one of"),
        ("/a", {"state": "link"}, "a link needs target"),
        ("/a", {"state": "link", "target": "/b", "mode": "0644"}, "mode has no meaning"),
        ("/a", {"content": "", "target": "/b"}, "target has no meaning"),
        ("/a", {"state": "directory", "content": ""}, "content has no meaning"),
        ("/a", {"contnet": "", "content": ""}, "unknown key 'contnet'; did you mean content?"),
        ("/a", {"content": "", "format": "ini"}, "format is 'ini'"),
        ("/a", {"content": "", "restart": "yes"}, "restart is 'yes'; use true or false"),
        ("/a.properties", {"content": "a=\\u1"}, "not a properties file: line 1"),
        ("/a.properties", {"content": "", "dynamic": "a"}, "dynamic is str 'a'; write a list"),
        ("/a.properties", {"content": "", "dynamic": [1]}, "write a list of keys"),
        ("/a", {"content": "", "dynamic": ["a"]}, "dynamic names keys of a properties file"),
        ("/a", {"state": "directory", "dynamic": ["a"]}, "dynamic has no meaning"),
    ],
)
def test_every_malformed_entry_is_named(path: str, wish: Any, message: str) -> None:
    _, problems = parse({path: wish})
    assert len(problems) == 1
    assert problems[0].startswith(f"{path}: ")
    assert message in problems[0]


def test_defaults() -> None:
    entries, problems = parse(
        {
            "/d": {"state": "directory"},
            "/d/a.properties": {"content": "a=1"},
            "/d/b": {"content": "", "mode": "0600", "owner": 7, "group": "g"},
            "/d/c.properties": {"content": "\\u", "format": "text"},
        }
    )
    assert problems == []
    assert [entry.mode for entry in entries] == [0o755, 0o644, 0o600, 0o644]
    assert [entry.properties for entry in entries] == [False, True, False, False]
    assert (entries[2].owner, entries[2].group) == ("7", "g")
    assert (entries[0].owner, entries[0].group) == ("root", "root")


DIRECTORY = Found("directory", mode=0o755, owner="root", group="root")
FILE = Found("file", content=b"x", mode=0o644, owner="root", group="root")
LINK = Found("link", target="/t")
LINK_TO_DIRECTORY = Found("link", target="/t", leads_to_directory=True)


@pytest.mark.parametrize(
    ("raw", "host", "message"),
    [
        ({"/d/a": {"content": ""}}, {}, "parent directory /d does not exist"),
        ({"/d/a": {"content": ""}}, {"/d": FILE}, "its parent /d is a file"),
        ({"/d/a": {"content": ""}, "/d": {"content": ""}}, {}, "parent /d is to be a file"),
        (
            {"/d/a": {"content": ""}, "/d": {"state": "absent"}},
            {"/d": DIRECTORY},
            "parent /d is to be absent",
        ),
        ({"/a": {"content": ""}}, {"/a": DIRECTORY}, "is a directory on the host, where a file"),
        ({"/a": {"content": ""}}, {"/a": Found("other")}, "is a device, socket or pipe"),
        ({"/a": {"state": "directory"}}, {"/a": FILE}, "is a file on the host, where a directory"),
        ({"/a": {"state": "directory"}}, {"/a": LINK}, "is a link on the host"),
        ({"/a": {"state": "link", "target": "/b"}}, {"/a": FILE}, "where a link should be"),
        (
            {"/a": {"state": "absent"}},
            {"/a": Found("directory", children=("x", "y", "z", "w"))},
            "holds w, x, y, ...; absent removes files, links and empty directories only",
        ),
    ],
)
def test_what_stands_in_the_way(raw: Any, host: Any, message: str) -> None:
    entries, problems = parse(raw)
    assert problems == []
    found = file_tree.tree_problems(
        entries, lambda path: {"/": DIRECTORY, **host}.get(path, Found())
    )
    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    ("raw", "host"),
    [
        ({"/d/a": {"content": ""}, "/d": {"state": "directory"}}, {}),
        ({"/d/a": {"content": ""}}, {"/d": LINK_TO_DIRECTORY}),
        ({"/d": {"state": "directory"}}, {"/d": LINK_TO_DIRECTORY}),
        ({"/a": {"content": ""}}, {"/a": LINK}),
        ({"/no/such/a": {"state": "absent"}}, {}),
        (
            {"/d": {"state": "absent"}, "/d/x": {"state": "absent"}},
            {"/d": Found("directory", children=("x",)), "/d/x": FILE},
        ),
    ],
)
def test_what_does_not(raw: Any, host: Any) -> None:
    entries, _ = parse(raw)
    look = {"/": DIRECTORY, **host}
    assert file_tree.tree_problems(entries, lambda path: look.get(path, Found())) == []


def test_parents_come_first_and_removals_last_from_below() -> None:
    entries, _ = parse(
        {
            "/a/b/c": {"content": ""},
            "/z": {"state": "absent"},
            "/z/y": {"state": "absent"},
            "/a": {"state": "directory"},
            "/a/b": {"state": "directory"},
        }
    )
    host = {"/z": Found("directory", children=("y",)), "/z/y": FILE}
    changes = file_tree.plan(entries, lambda path: host.get(path, Found()))
    assert [change.entry.path for change in changes] == ["/a", "/a/b", "/a/b/c", "/z/y", "/z"]


@pytest.mark.parametrize(
    ("wish", "found", "restart"),
    [
        ({"content": "y"}, FILE, True),
        ({"content": "x", "mode": "0600"}, FILE, False),
        ({"content": "x"}, Found(), True),
        ({"state": "absent"}, FILE, True),
        ({"content": "# x", "format": "properties"}, FILE, True),
        ({"content": "# note\nx=", "format": "properties"}, FILE, False),
        ({"content": "# note\n", "format": "properties"}, Found(), True),
        ({"state": "link", "target": "/new"}, LINK, True),
    ],
)
def test_what_needs_a_restart(wish: Any, found: Found, restart: bool) -> None:
    entries, problems = parse({"/a": {**wish, "restart": True}})
    assert problems == []
    (change,) = file_tree.plan(entries, lambda _: found)
    assert change.needs_restart is restart
    entries, _ = parse({"/a": wish})
    (change,) = file_tree.plan(entries, lambda _: found)
    assert not change.needs_restart


@pytest.mark.parametrize("existing", ["", "garbage", "[]", '{"paths": 3}', '{"paths": {"/a": 1}}'])
def test_a_broken_mark_counts_as_empty(existing: str) -> None:
    assert json.loads(file_tree.merge_mark(existing, {})) == {"paths": {}}


def test_diff_shows_content_and_attributes_and_no_secret() -> None:
    entries, _ = parse(
        {"/a": {"content": "new", "mode": "0600"}, "/s": {"content": "hunter2", "secret": True}}
    )
    host = {"/a": FILE, "/s": Found("file", b"hunter1", 0o644, "root", "root")}
    plain, attributes, secret = [
        part
        for change in file_tree.plan(entries, lambda path: host[path])
        for part in file_tree.diff(change)
    ]
    assert (plain["before"], plain["after"], plain["before_header"]) == ("x", "new", "/a")
    assert (attributes["before"], attributes["after"]) == ("root:root 0644\n", "root:root 0600\n")
    assert secret["before"] != secret["after"]
    assert "hunter" not in json.dumps(secret)


@pytest.fixture
def tree(tmp_path: Path) -> Any:
    """Write a tree with the real module and return the function that does it."""
    base = tmp_path / "etc"
    entries = {
        f"{base}": {"state": "directory", "mode": "0750"},
        f"{base}/server.properties": {"content": "a=1\nb=2\n", "mode": "0640", "restart": True},
        f"{base}/secret": {"content": "hunter2", "mode": "0600", "secret": True},
        f"{base}/notes.txt": {"content": "ä\n"},
        f"{base}/current": {"state": "link", "target": "notes.txt"},
        f"{base}/old": {"state": "absent"},
    }

    def run(
        changes: Any = None, check: bool = False, diff: bool = False, sabotage: str = ""
    ) -> Any:
        wish = {**entries, **{f"{base}/{name}": value for name, value in (changes or {}).items()}}
        args = {
            "entries": wish,
            "owner": UID,
            "group": GID,
            "restart_mark": str(tmp_path / "run" / "restart-pending"),
        }
        return run_module("files", args, check=check, diff=diff, sabotage=sabotage)

    return run


def contents(path: Path) -> Any:
    return {
        str(found.relative_to(path)): (
            str(found.readlink()) if found.is_symlink() else found.is_file() and found.read_bytes(),
            oct(found.lstat().st_mode),
        )
        for found in sorted(path.rglob("*"))
    }


def test_check_mode_tells_what_the_real_run_does_and_writes_nothing(
    tree: Run, tmp_path: Path
) -> None:
    before = contents(tmp_path)
    planned = tree(check=True, diff=True)
    assert contents(tmp_path) == before
    real = tree(diff=True)
    for key in ("changed", "changed_paths", "changed_keys", "restart_needed", "diff"):
        assert planned[key] == real[key], key
    assert real["changed"]
    assert len(real["changed_paths"]) == 5
    assert real["changed_keys"] == {str(tmp_path / "etc/server.properties"): ["a", "b"]}
    assert "hunter2" not in json.dumps(real)
    assert (tmp_path / "etc/current").read_text() == "ä\n"
    modes = {
        name: stat.S_IMODE((tmp_path / "etc" / name).stat().st_mode) for name in ("", "secret")
    }
    assert modes == {"": 0o750, "secret": 0o600}

    after = contents(tmp_path)
    again = tree(diff=True)
    assert (again["changed"], again["changed_paths"], again["diff"]) == (False, [], [])
    assert contents(tmp_path) == after


def test_changes_are_seen_one_by_one(tree: Run, tmp_path: Path) -> None:
    tree()
    (tmp_path / "etc/old").write_text("x")
    (tmp_path / "etc/notes.txt").chmod(0o600)
    changed = tree(
        {
            "server.properties": {"content": "b=3\nc=4\n", "mode": "0640", "restart": True},
            "current": {"state": "link", "target": "secret"},
        }
    )
    names = [path.removeprefix(f"{tmp_path}/etc/") for path in changed["changed_paths"]]
    assert names == ["current", "notes.txt", "server.properties", "old"]
    assert list(changed["changed_keys"].values()) == [["a", "b", "c"]]
    assert not (tmp_path / "etc/old").exists()


def test_a_service_that_does_not_run_is_not_marked(tree: Run, tmp_path: Path) -> None:
    assert tree()["restart_needed"] is False
    assert not (tmp_path / "run").exists()


def test_marks_add_up_until_they_are_cleared(tree: Run, tmp_path: Path) -> None:
    tree()
    mark = tmp_path / "run" / "restart-pending"
    mark.parent.mkdir()
    path = str(tmp_path / "etc/server.properties")

    def write(text: Any, **options: Any) -> Any:
        entry = {"content": text, "mode": "0640", "restart": True}
        return tree({"server.properties": entry}, **options)

    planned = write("a=2\nb=2\n", check=True)
    assert planned["restart_needed"]
    assert not mark.exists()
    assert write("a=2\nb=2\n")["restart_needed"]
    assert json.loads(mark.read_text()) == {"paths": {path: ["a"]}}
    assert write("a=2\nb=5\n")["restart_needed"]
    assert json.loads(mark.read_text()) == {"paths": {path: ["a", "b"]}}
    again = write("a=2\nb=5\n")
    assert (again["changed"], again["restart_needed"]) == (False, True)
    mark.unlink()
    assert write("# only a note\na=2\nb=5\n")["restart_needed"] is False
    assert not mark.exists()


def test_each_running_service_has_its_own_mark(tmp_path: Path) -> None:
    """A restart of one service, which clears its mark, says nothing of the others."""
    marks = [tmp_path / name / "restart-pending" for name in ("master", "worker", "stopped")]
    for mark in marks[:2]:
        mark.parent.mkdir()
    entry = {"content": "a=1\n", "restart": True}
    args = {"owner": UID, "group": GID, "restart_mark": [str(mark) for mark in marks]}
    wish = {**args, "entries": {str(tmp_path / "it.properties"): entry}}
    assert run_module("files", wish)["restart_needed"]
    assert [mark.exists() for mark in marks] == [True, True, False]
    marks[0].unlink()
    again = run_module("files", wish)
    assert (again["changed"], again["restart_needed"]) == (False, True)
    marks[1].unlink()
    assert run_module("files", wish)["restart_needed"] is False


def test_an_abort_leaves_the_mark_and_whole_files(tree: Run, tmp_path: Path) -> None:
    tree()
    (tmp_path / "run").mkdir()
    before = contents(tmp_path / "etc")
    broken = (
        "def fail(change): raise OSError(28, 'No space left on device')\n"
        "module.file_apply.apply = fail"
    )
    wish = {"server.properties": {"content": "a=9\n", "mode": "0640", "restart": True}}
    result = tree(wish, sabotage=broken)
    assert result["failed"]
    assert "server.properties could not be written: No space left on device" in result["msg"]
    assert contents(tmp_path / "etc") == before
    assert (tmp_path / "run" / "restart-pending").is_file()
    retried = tree(wish)
    assert (retried["changed"], retried["restart_needed"]) == (True, True)


def test_a_file_is_private_until_it_is_complete_and_leaves_nothing(
    tree: Run, tmp_path: Path
) -> None:
    tree()
    look = (
        "import os\n"
        "real = os.fchown\n"
        "def spy(number, *ids):\n"
        "    mode = os.fstat(number).st_mode & 0o777\n"
        "    assert mode == 0o600, oct(mode)\n"
        "    raise OSError(5, 'Input/output error')\n"
        "os.fchown = spy"
    )
    result = tree({"notes.txt": {"content": "new\n"}}, sabotage=look)
    assert "notes.txt could not be written: Input/output error" in result["msg"]
    assert (tmp_path / "etc/notes.txt").read_text() == "ä\n"
    assert not list((tmp_path / "etc").glob(".*"))


def test_nothing_is_written_if_anything_is_wrong(tree: Run, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    result = tree(
        {
            "missing/file": {"content": ""},
            "bad-mode": {"content": "", "mode": 644},
            "stranger": {"content": "", "owner": "no-such-user", "group": "no-such-group"},
        }
    )
    assert result["failed"]
    for text in (
        "4 problems",
        "etc/missing does not exist",
        "mode is 644",
        "owner no-such-user does not exist",
        "group no-such-group does not exist",
    ):
        assert text in result["msg"]
    assert list((tmp_path / "etc").iterdir()) == []


def test_check_mode_knows_that_users_and_mounts_come_later(tree: Run) -> None:
    late = {"disk/notes.txt": {"content": "", "owner": "no-such-user"}}
    assert "disk does not exist" in tree(late)["msg"]
    result = tree(late, check=True)
    assert not result.get("failed")
    assert result["changed"]


def test_ansible_runs_it_and_shows_no_secret(tmp_path: Path) -> None:
    task = {
        "millrace.streaming.files": {
            "owner": UID,
            "group": GID,
            "entries": {f"{tmp_path}/s": {"content": "hunter2", "secret": True}},
        }
    }
    first = run_playbook(tmp_path, task, "--diff", "-v")
    assert first["changed"]
    assert "hunter2" not in json.dumps(first)
    assert (tmp_path / "s").read_text() == "hunter2"
    assert run_playbook(tmp_path, task)["changed"] is False
