"""What a service takes without a restart; what it was started with is kept and put back."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import file_apply, file_tree
from ansible_collections.millrace.streaming.plugins.module_utils.file_tree import Found

from tests.unit.module_runner import run_module

UID, GID = str(os.geteuid()), str(os.getegid())


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
def test_what_a_process_takes_while_it_runs_is_not_marked(
    before: str | None, after: str, named: list[str]
) -> None:
    wish = {"content": after, "format": "properties", "restart": True, "dynamic": ["a"]}
    entries, problems = file_tree.parse_entries({"/a": wish}, "root", "root")
    assert problems == []
    found = Found() if before is None else Found("file", before.encode())
    (change,) = file_tree.plan(entries, lambda _: found)
    assert change.needs_restart is bool(named)
    assert list(change.restart_keys) == named


class Kept:
    """A tree with a state to put back, of a service that runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file, self.link, self.extra = path / "server.properties", path / "home", path / "extra"
        self.mark, self.previous = path / "run" / "mark", path / "keep" / "previous.json"
        self.mark.parent.mkdir()

    def write(self, text: str, home: str = "v1", extra: Any = None, **options: Any) -> Any:
        """Write the tree with the real module."""
        entries = {
            str(self.file): {
                "content": text,
                "mode": "0640",
                "restart": True,
                "secret": True,
                "dynamic": ["fast"],
            },
            str(self.link): {"state": "link", "target": home},
            str(self.extra): {"restart": True, **(extra or {"state": "absent"})},
            str(self.path / "notes"): {"content": text},
        }
        args = {
            "entries": entries,
            "owner": UID,
            "group": GID,
            "restart_mark": str(self.mark),
            "previous": str(self.previous),
        }
        return run_module("files", args, **options)

    def state(self) -> Any:
        """What a service would start with."""
        return (
            self.file.read_bytes(),
            oct(self.file.stat().st_mode),
            str(self.link.readlink()),
            self.extra.exists(),
        )


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    tree = Kept(tmp_path)
    assert tree.write("a=1\n")["restart_needed"]
    tree.mark.unlink()
    return tree


def test_what_does_not_start_is_put_back(kept: Kept) -> None:
    good = kept.state()
    kept.write("a=2\n", "v2", {"content": "x"})
    # Further changes before the restart: the process still runs with the first state.
    kept.write("a=3\n", "v3")
    kept.write("a=4\n", "v3", {"content": "y"})
    assert stat.S_IMODE(kept.previous.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.previous.parent.stat().st_mode) == 0o700
    planned = [change.entry.path for change in file_apply.kept_changes(kept.previous)]
    changed = file_apply.restore(kept.previous, [kept.mark])
    assert sorted(changed) == sorted(map(str, (kept.file, kept.link, kept.extra)))
    assert planned == changed
    assert kept.state() == good
    assert (kept.path / "notes").read_text() == "a=4\n"
    assert not kept.mark.exists()
    with pytest.raises(FileNotFoundError):
        file_apply.restore(kept.previous)


def test_a_restart_begins_anew(kept: Kept) -> None:
    kept.write("a=2\n")
    kept.mark.unlink()
    good = kept.state()
    kept.write("a=3\n")
    file_apply.restore(kept.previous)
    assert kept.state() == good


def test_check_mode_keeps_nothing(kept: Kept) -> None:
    before = kept.previous.read_bytes()
    assert kept.write("a=1\nfast=2\n", "v2", check=True)["changed"]
    kept.write("a=2\n", check=True)
    assert kept.previous.read_bytes() == before


def test_what_the_service_takes_online_is_kept_too(kept: Kept) -> None:
    """The service may refuse it, and then only a restart brings it."""
    good = kept.file.read_bytes()
    assert kept.write("a=1\nfast=2\n")["restart_needed"] is False
    kept.mark.write_text("refused")
    kept.write("a=3\nfast=2\n")
    file_apply.restore(kept.previous, [kept.mark])
    assert kept.file.read_bytes() == good


def test_of_a_service_that_does_not_run_nothing_is_kept(kept: Kept) -> None:
    """A first installation has nothing to go back to; a node that is down has what it ran on."""
    before = kept.previous.read_bytes()
    kept.mark.parent.rmdir()
    kept.write("a=2\n", "v2")
    assert kept.previous.read_bytes() == before


def test_a_lost_state_is_kept_again(kept: Kept) -> None:
    kept.write("a=2\n")
    kept.previous.unlink()
    good = kept.state()
    kept.write("a=3\n")
    file_apply.restore(kept.previous)
    assert kept.state() == good


def test_a_file_that_is_no_properties_text_is_put_back_as_it_was(kept: Kept) -> None:
    broken = b"a=\\u1\n\xff\n"
    kept.file.write_bytes(broken)
    kept.write("a=2\n")
    file_apply.restore(kept.previous)
    assert kept.file.read_bytes() == broken


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries": 3}', '{"entries": {"a": {}}}'])
def test_what_is_not_a_kept_state_is_not_put_back(kept: Kept, text: str) -> None:
    kept.previous.write_text(text)
    with pytest.raises(ValueError, match=r"previous\.json|not absolute"):
        file_apply.restore(kept.previous)
    assert kept.previous.exists()
