"""What a service was started with is kept before a change, and put back when it does not start."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import operation_file, restart

from tests.unit.in_process import call_module
from tests.unit.module_runner import OWN


class Kept:
    """A tree with a state to put back, of a service that runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file, self.link, self.extra = path / "server.properties", path / "home", path / "extra"
        self.mark, self.previous = path / "run" / "mark", path / "keep" / "previous.json"
        self.mark.parent.mkdir()

    def write(self, text: str, home: str = "v1", extra: Any = None, *, check: bool = False) -> Any:
        """Write the tree with the real module."""
        entries = {
            str(self.file): {
                **OWN,
                "content": text,
                "mode": "0640",
                "restart": True,
                "secret": True,
                "dynamic": ["fast"],
            },
            str(self.link): {"state": "link", "target": home},
            str(self.extra): {**OWN, "restart": True, **(extra or {"state": "absent"})},
            str(self.path / "notes"): {**OWN, "content": text},
        }
        options = {
            "files": entries,
            "restart_marks": [str(self.mark)],
            "previous": str(self.previous),
        }
        return call_module("service", options, check=check)

    def state(self) -> Any:
        """What a service would start with."""
        return (
            self.file.read_bytes(),
            oct(self.file.stat().st_mode),
            str(self.link.readlink()),
            self.extra.exists(),
        )

    def restore(self) -> list[str]:
        return restart.restore(self.previous, [self.mark])


@pytest.fixture
def tree(tmp_path: Path) -> Kept:
    tree = Kept(tmp_path)
    assert tree.write("a=1\n")["restart_needed"]
    tree.mark.unlink()
    return tree


def test_what_does_not_start_is_put_back(tree: Kept) -> None:
    good = tree.state()
    tree.write("a=2\n", "v2", {"content": "x"})
    # Further changes before the restart: the process still runs with the first state.
    tree.write("a=3\n", "v3")
    tree.write("a=4\n", "v3", {"content": "y"})
    assert stat.S_IMODE(tree.previous.stat().st_mode) == 0o600
    planned = [change.entry.path for change in restart.kept_changes(tree.previous)]
    changed = tree.restore()
    assert sorted(changed) == sorted(map(str, (tree.file, tree.link, tree.extra)))
    assert planned == changed
    assert tree.state() == good
    assert (tree.path / "notes").read_text() == "a=4\n"
    assert not tree.mark.exists()
    assert not restart.can_restore(tree.previous)
    assert tree.restore() == []


@pytest.mark.parametrize("gone", ["mark", "previous"], ids=["restarted", "lost"])
def test_after_a_restart_or_a_loss_the_state_of_now_is_kept(tree: Kept, gone: str) -> None:
    tree.write("a=2\n")
    getattr(tree, gone).unlink()
    good = tree.state()
    tree.write("a=3\n")
    tree.restore()
    assert tree.state() == good


def test_check_mode_keeps_nothing(tree: Kept) -> None:
    before = tree.previous.read_bytes()
    assert tree.write("a=1\nfast=2\n", "v2", check=True)["changed"]
    tree.write("a=2\n", check=True)
    assert tree.previous.read_bytes() == before


def test_what_the_service_takes_online_is_kept_too(tree: Kept) -> None:
    """The service may refuse it, and then only a restart brings it."""
    good = tree.file.read_bytes()
    assert tree.write("a=1\nfast=2\n")["restart_needed"] is False
    tree.mark.write_text("refused")
    tree.write("a=3\nfast=2\n")
    tree.restore()
    assert tree.file.read_bytes() == good


def test_of_a_service_that_does_not_run_nothing_is_kept(tree: Kept) -> None:
    """A first installation has nothing to go back to; a node that is down has what it ran on."""
    before = tree.previous.read_bytes()
    tree.mark.parent.rmdir()
    tree.write("a=2\n", "v2")
    assert tree.previous.read_bytes() == before


def test_a_file_that_is_no_properties_text_is_put_back_as_it_was(tree: Kept) -> None:
    broken = b"a=\\u1\n\xff\n"
    tree.file.write_bytes(broken)
    tree.write("a=2\n")
    tree.restore()
    assert tree.file.read_bytes() == broken


def test_without_its_unit_a_service_has_nothing_to_go_back_to(tree: Kept) -> None:
    assert restart.can_restore(tree.previous)
    state = {"entries": {str(tree.path / "it.service"): {"state": "absent"}}}
    (tree.path / "it.service").touch()
    tree.previous.write_text(json.dumps(state))
    assert not restart.can_restore(tree.previous)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries": 3}', '{"entries": {"/a": 1}}'])
def test_what_is_not_a_kept_state_is_not_put_back(tree: Kept, text: str) -> None:
    tree.previous.write_text(text)
    with pytest.raises(ValueError, match=r"previous\.json"):
        tree.restore()
    assert tree.previous.exists()


# Marks


@pytest.mark.parametrize("existing", ["", "garbage", "[]", '{"paths": 3}', '{"paths": {"/a": 1}}'])
def test_a_broken_mark_counts_as_empty(existing: str) -> None:
    assert json.loads(restart.merged_mark(existing, {})) == {"paths": {}}
    assert json.loads(restart.merged_mark(existing, {"/b": ["y", "x"]})) == {
        "paths": {"/b": ["x", "y"]}
    }


def test_nothing_is_changed_while_an_operation_that_began_since_has_the_lock(tree: Kept) -> None:
    record = tree.path / "operation.json"
    operation_file.take(record, {"id": "roll", "state": operation_file.RUNNING, "what": "roll"})
    options = {
        "files": {str(tree.path / "more"): {**OWN, "content": "x"}},
        "operation_record": str(record),
    }
    for check in (True, False):
        refused = call_module("service", {**options, "judged_operations": ["own"]}, check=check)
        assert "roll" in refused["msg"]
        assert not (tree.path / "more").exists()
    assert call_module("service", {**options, "judged_operations": ["roll"]})["changed"]
