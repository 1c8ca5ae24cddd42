"""A service's distribution, files and units on a host, by the real module."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import socket
import stat
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import (
    files,
    network,
    removal,
)
from ansible_collections.millrace.streaming.plugins.modules import service

from tests.support.wait import wait_for
from tests.unit.in_process import call_module
from tests.unit.module_runner import OWN
from tests.unit.modules.fake_systemd import Systemd, install

Run = Callable[..., dict[str, Any]]


def entry(content: str, **overrides: object) -> dict[str, Any]:
    return {**OWN, "content": content, **overrides}


def apply(options: dict[str, Any], *, check: bool = False, diff: bool = False) -> dict[str, Any]:
    return call_module("service", options, check=check, diff=diff)


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    return install(tmp_path / "systemd", monkeypatch)


@pytest.fixture
def tree(tmp_path: Path) -> Run:
    """Write a tree and return the module's result."""
    base = tmp_path / "etc"
    entries = {
        f"{base}": {**OWN, "state": "directory", "mode": "0750"},
        f"{base}/server.properties": entry("a=1\nb=2\n", mode="0640", restart=True),
        f"{base}/secret": entry("hunter2", mode="0600", secret=True),
        f"{base}/notes.txt": entry("ä\n"),
        f"{base}/current": {"state": "link", "target": "notes.txt"},
        f"{base}/old": {"state": "absent"},
    }

    def run(changes: Any = None, **options: bool) -> dict[str, Any]:
        changed = {
            f"{base}/{name}": entry_of_file for name, entry_of_file in (changes or {}).items()
        }
        mark = str(tmp_path / "run" / "restart-pending")
        return apply({"files": {**entries, **changed}, "restart_marks": [mark]}, **options)

    return run


def contents(path: Path) -> dict[str, Any]:
    return {
        str(file.relative_to(path)): (
            str(file.readlink()) if file.is_symlink() else file.is_file() and file.read_bytes(),
            oct(file.lstat().st_mode),
        )
        for file in sorted(path.rglob("*"))
    }


# Files


def test_check_mode_reports_what_the_real_run_does_and_writes_nothing(
    tree: Run, tmp_path: Path
) -> None:
    before = contents(tmp_path)
    planned = tree(check=True, diff=True)
    assert contents(tmp_path) == before
    real = tree(diff=True)
    for key in ("changed", "changed_paths", "changed_keys", "restart_needed", "diff"):
        assert planned[key] == real[key], key
    assert real["changed"]
    names = ["", "/current", "/notes.txt", "/secret", "/server.properties"]
    assert real["changed_paths"] == [f"{tmp_path}/etc{name}" for name in names]
    assert real["changed_keys"] == {f"{tmp_path}/etc/server.properties": ["a", "b"]}
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


def test_changes_are_found_one_by_one(tree: Run, tmp_path: Path) -> None:
    tree()
    (tmp_path / "etc/old").write_text("x")
    (tmp_path / "etc/notes.txt").chmod(0o600)
    changed = tree(
        {
            "server.properties": entry("b=3\nc=4\n", mode="0640", restart=True),
            "current": {"state": "link", "target": "secret"},
        }
    )
    names = [path.removeprefix(f"{tmp_path}/etc/") for path in changed["changed_paths"]]
    assert names == ["current", "notes.txt", "server.properties", "old"]
    assert list(changed["changed_keys"].values()) == [["a", "b", "c"]]
    assert not (tmp_path / "etc/old").exists()


def test_nothing_is_written_if_anything_is_wrong(tree: Run, tmp_path: Path) -> None:
    (tmp_path / "etc/notes.txt").mkdir(parents=True)
    before = contents(tmp_path)
    result = tree({"missing/file": entry("")})
    assert result["failed"]
    for text in ("etc/missing/file: ", "etc/notes.txt: "):
        assert text in result["msg"]
    assert contents(tmp_path) == before


def test_check_mode_knows_that_users_and_mounts_come_later(tree: Run) -> None:
    late = {"disk/notes.txt": {"content": "", "owner": "no-such-user"}}
    assert "disk/notes.txt" in tree(late)["msg"]
    result = tree(late, check=True)
    assert not result.get("failed")
    assert result["changed"]


def test_a_file_is_private_until_it_is_complete_and_leaves_nothing(
    tree: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree()
    modes = []

    def fail(number: int, *_: int) -> None:
        modes.append(os.fstat(number).st_mode & 0o777)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fchown", fail)
    result = tree({"notes.txt": entry("new\n")})
    assert modes == [0o600]
    for text in ("notes.txt", "Input/output error"):
        assert text in result["msg"]
    assert (tmp_path / "etc/notes.txt").read_text() == "ä\n"
    assert not list((tmp_path / "etc").glob(".*"))


# Restart marks


def test_a_service_that_does_not_run_is_not_marked(tree: Run, tmp_path: Path) -> None:
    assert tree()["restart_needed"] is False
    assert not (tmp_path / "run").exists()


def test_marks_add_up_until_they_are_cleared(tree: Run, tmp_path: Path) -> None:
    tree()
    mark = tmp_path / "run" / "restart-pending"
    mark.parent.mkdir()
    path = str(tmp_path / "etc/server.properties")

    def write(text: str, **options: bool) -> dict[str, Any]:
        return tree({"server.properties": entry(text, mode="0640", restart=True)}, **options)

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


def test_each_running_unit_has_its_own_mark(tmp_path: Path, systemd: Systemd) -> None:
    """A restart of one unit, which clears its mark, says nothing of the others."""
    units = ["master", "worker", "stopped"]
    marks = [tmp_path / name / "restart-pending" for name in units]
    for mark in marks[:2]:
        mark.parent.mkdir()
    options = {
        "files": {str(tmp_path / "it.properties"): entry("a=1\n", restart=True)},
        "units": units,
        "restart_marks": [str(mark) for mark in marks],
    }
    assert apply(options, check=True)["marked_units"] == ["master", "worker"]
    assert apply(options)["marked_units"] == ["master", "worker"]
    assert [mark.exists() for mark in marks] == [True, True, False]
    marks[0].unlink()
    again = apply(options)
    assert (again["changed"], again["restart_needed"]) == (False, True)
    assert again["marked_units"] == ["worker"]
    marks[1].unlink()
    assert apply(options)["restart_needed"] is False


def test_an_abort_leaves_the_mark_and_whole_files(
    tree: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree()
    (tmp_path / "run").mkdir()
    before = contents(tmp_path / "etc")

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    changes = {"server.properties": entry("a=9\n", mode="0640", restart=True)}
    with monkeypatch.context() as broken:
        broken.setattr(files, "_apply", fail)
        result = tree(changes)
    assert result["failed"]
    for text in ("server.properties", "No space left on device"):
        assert text in result["msg"]
    assert contents(tmp_path / "etc") == before
    assert (tmp_path / "run" / "restart-pending").is_file()
    retried = tree(changes)
    assert (retried["changed"], retried["restart_needed"]) == (True, True)


# Accounts


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of accounts, for the while of a test."""
    place = tmp_path / "sysusers.d"
    place.mkdir()
    monkeypatch.setattr(files, "SYSUSERS", str(place))
    return place


def with_account(accounts: Path, owner: str) -> dict[str, Any]:
    return {
        f"{accounts}/it.conf": entry(f"u {owner} -\n"),
        f"{accounts.parent}/file": entry("x", owner=owner),
    }


def test_an_account_that_is_missing_is_made_before_its_files(
    accounts: Path, systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pwd.getpwnam

    def find(name: str) -> pwd.struct_passwd:
        made = name == "new-user" and systemd.sysusers.exists()
        return real(OWN["owner"] if made else name)

    monkeypatch.setattr(pwd, "getpwnam", find)
    entries = with_account(accounts, "new-user")
    assert apply({"files": entries}, check=True)["changed"]
    assert not systemd.sysusers.exists()
    assert apply({"files": entries})["changed_paths"] == list(entries)
    assert systemd.sysusers.read_text() == f"{accounts}/it.conf\n"
    assert (accounts.parent / "file").read_text() == "x"


def test_accounts_that_are_there_are_not_made_again(accounts: Path, systemd: Systemd) -> None:
    apply({"files": with_account(accounts, OWN["owner"])})
    assert (accounts / "it.conf").exists()
    assert not systemd.sysusers.exists()


def test_without_its_account_no_file_is_written(accounts: Path, systemd: Systemd) -> None:
    """Nobody but root could read it."""
    result = apply({"files": with_account(accounts, "no-such-user")})
    assert "no-such-user" in result["msg"]
    assert systemd.sysusers.exists()
    assert not (accounts.parent / "file").exists()


def test_an_account_that_cannot_be_created_is_reported(accounts: Path, systemd: Systemd) -> None:
    program = systemd.place / "bin/systemd-sysusers"
    program.write_text("#!/bin/sh\necho 'line 1: no such thing' >&2\nexit 1\n")
    result = apply({"files": with_account(accounts, "no-such-user")})
    assert "line 1: no such thing" in result["msg"]


# Units


def test_a_unit_is_enabled_and_started_once(systemd: Systemd) -> None:
    options = {"units": ["one", "two"], "started": True}
    planned = apply(options, check=True)
    assert (planned["changed"], planned["started_units"]) == (True, ["one", "two"])
    assert systemd.commands() == []
    done = apply(options)
    assert (done["started_units"], done["running"], done["enabled"]) == (["one", "two"], True, True)
    assert sorted(systemd.commands()) == [
        "enable --quiet one",
        "enable --quiet two",
        "start --no-block one",
        "start --no-block two",
    ]
    again = apply(options)
    assert (again["changed"], again["started_units"]) == (False, [])
    assert systemd.commands() == []


def test_a_unit_that_runs_is_only_enabled(systemd: Systemd) -> None:
    systemd.set("one", "running")
    assert apply({"units": ["one"], "started": True})["started_units"] == ["one"]
    assert systemd.commands() == ["enable --quiet one"]


def test_units_are_reported_and_left_alone_unless_they_are_to_run(systemd: Systemd) -> None:
    systemd.set("one", "running", "enabled")
    systemd.set("two", "running")
    result = apply({"units": ["one", "two"]})
    assert (result["changed"], result["running"], result["enabled"]) == (False, True, False)
    assert systemd.commands() == []


@pytest.fixture
def addresses() -> Iterator[tuple[str, str]]:
    """An address where nobody listens, and one where somebody does."""
    with socket.socket() as closed, socket.create_server(("127.0.0.1", 0)) as listening:
        closed.bind(("127.0.0.1", 0))
        nobody, somebody = (
            f"127.0.0.1:{endpoint.getsockname()[1]}" for endpoint in (closed, listening)
        )
        yield nobody, somebody


def test_a_unit_is_started_once_an_address_that_it_needs_accepts_connections(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, str]
) -> None:
    started: list[str] = []

    def asked(address: str) -> bool:
        """Note what was started before this question."""
        started.extend(command for command in systemd.commands() if command.startswith("start"))
        return listens(address)

    listens = network.listens
    monkeypatch.setattr(network, "listens", asked)
    monkeypatch.setattr(service, "START_AFTER_SECONDS", 300.0)
    begun = time.monotonic()
    done = apply(
        {"units": ["one", "two"], "started": True, "starts_after": {"two": list(addresses)}}
    )
    assert time.monotonic() - begun < service.START_AFTER_SECONDS
    assert started == ["start --no-block one"], "only the unit with addresses waits for them"
    assert done["started_units"] == ["one", "two"]
    assert "start --no-block two" in systemd.commands()


def test_a_unit_is_started_after_its_wait_although_nobody_listens(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, str]
) -> None:
    monkeypatch.setattr(service, "START_AFTER_SECONDS", 1.0)
    begun = time.monotonic()
    apply({"units": ["one"], "started": True, "starts_after": {"one": [addresses[0]]}})
    assert time.monotonic() - begun >= service.START_AFTER_SECONDS
    assert "start --no-block one" in systemd.commands()


def test_systemd_reads_the_file_of_a_unit_before_it_starts(systemd: Systemd) -> None:
    """The file may have been written by a run that was aborted after it."""
    systemd.set("one", "outdated")
    apply({"units": ["one"], "started": True})
    assert systemd.commands()[0] == "daemon-reload"


# Distribution


def test_without_the_tarball_the_host_asks_for_it(tmp_path: Path, systemd: Systemd) -> None:
    home = tmp_path / "opt/it-1"
    distribution = {"home": str(home), "sha256": "0" * 64, "tarball": "/on/the/controller.tar"}
    options = {
        "distribution": distribution,
        "files": {str(tmp_path / "file"): entry("x")},
        "units": ["one"],
        "started": True,
    }
    assert apply(options)["needs_archive"]
    assert not (tmp_path / "file").exists()
    assert systemd.commands() == []
    planned = apply(options, check=True)
    assert planned["changed"]
    assert "needs_archive" not in planned
    home.mkdir(parents=True)
    (home / ".unpacked").write_text("0" * 64)
    assert "needs_archive" not in apply(options)
    assert (tmp_path / "file").exists()


def test_a_distribution_that_cannot_be_unpacked_leaves_the_files_alone(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    archive.write_bytes(b"damaged")
    distribution: dict[str, Any] = {
        "home": str(tmp_path / "opt/it-1"),
        "sha256": "0" * 64,
        "archive": str(archive),
    }
    wrong = {"distribution": distribution, "files": {str(tmp_path / "file"): entry("x")}}
    assert "0" * 64 in apply(wrong)["msg"]
    assert not (tmp_path / "file").exists()
    distribution["size"] = 2**60
    assert str(tmp_path) in apply(wrong)["msg"]


# Plugins


def packed(folder: Path, name: str) -> dict[str, Any]:
    """Return a plugin whose tarball is there, and the home that it gets."""
    (folder / name).mkdir(parents=True)
    (folder / name / f"{name}.jar").write_text(name)
    path = folder / f"{name}.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(folder / name, name)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    home = str(folder / "opt/plugins" / f"{name}-1")
    return {"home": home, "sha256": sha256, "archive": str(path)}


def test_plugins_are_unpacked_beside_each_other(tmp_path: Path, systemd: Systemd) -> None:
    first, second = packed(tmp_path, "a"), packed(tmp_path, "b")
    not_sent = {key: second[key] for key in ("home", "sha256")}
    options: dict[str, Any] = {
        "plugins": [first, not_sent],
        "plugin_directory": str(tmp_path / "opt/plugins"),
        "files": {str(tmp_path / "file"): entry("x")},
    }
    assert apply(options)["needs_archive"] == [second["home"]]
    assert not Path(first["home"]).exists(), "nothing is unpacked before all of them are there"
    assert not (tmp_path / "file").exists()
    options["plugins"] = [first, second]
    done = apply(options)
    assert done["changed"]
    assert done["former_plugins"] == []
    assert (Path(second["home"]) / "b/b.jar").read_text() == "b"
    assert apply(options)["changed"] is False
    assert systemd.commands() == []


def test_a_former_plugin_goes_only_when_nothing_uses_it(tmp_path: Path, systemd: Systemd) -> None:
    first, second = packed(tmp_path, "a"), packed(tmp_path, "b")
    directory, mark = tmp_path / "opt/plugins", tmp_path / "run/mark"
    options: dict[str, Any] = {"plugins": [first, second], "plugin_directory": str(directory)}
    apply(options)
    (directory / "of-somebody-else").mkdir()
    options["plugins"] = [second]
    done = apply(options)
    assert done["former_plugins"] == [first["home"]]
    assert done["changed"] is False
    removal_options = {**options, "remove_plugins": True, "restart_marks": [str(mark)]}
    mark.parent.mkdir()
    mark.touch()
    assert apply(removal_options)["changed"] is False, "its process runs with it"
    mark.unlink()
    named = ["sh", "-c", f"read line # {first['home']}/a/*"]
    with subprocess.Popen(named, stdin=subprocess.PIPE) as process:
        arguments = Path(f"/proc/{process.pid}/cmdline")
        # The kernel shows them a moment after the program has begun.
        wait_for(arguments.read_bytes, seconds=60, what="the arguments of the process")
        assert apply(removal_options)["changed"] is False
        process.kill()
    assert apply(removal_options, check=True)["changed"]
    assert Path(first["home"]).exists()
    done = apply(removal_options)
    assert (done["changed"], done["former_plugins"]) == (True, [])
    assert {path.name for path in directory.iterdir()} == {"b-1", "of-somebody-else"}
    assert apply(removal_options)["changed"] is False
    assert systemd.commands() == []


# Removal


def test_a_service_is_taken_off_the_host(
    tmp_path: Path, systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "UNITS", tmp_path)
    for name in ("one.service", "two.service"):
        (tmp_path / name).write_text(removal.WRITTEN)
    for name in ("another.service", "twofold.service", "config"):
        (tmp_path / name).touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "certificate").touch()
    (tmp_path / "package.service").symlink_to("/dev/null")
    removed = [f"{tmp_path}/config", f"{tmp_path}/full/", f"{tmp_path}/gone"]
    masks = [f"{tmp_path}/package.service", f"{tmp_path}/another.service"]
    options = {"state": "absent", "units": ["one", "tw*"], "removed": removed, "masks": masks}
    assert apply(options, check=True)["changed"]
    assert systemd.commands() == []
    done = apply(options)
    units = [f"{tmp_path}/one.service", f"{tmp_path}/two.service"]
    assert done["changed_paths"] == [*units, masks[0], f"{tmp_path}/config"]
    assert "disable --quiet --now one.service" in systemd.commands()
    for name in ("another.service", "twofold.service"):
        assert (tmp_path / name).exists(), "a unit of the site is gone"
    assert (tmp_path / "full" / "certificate").exists()
    assert apply(options)["changed"] is False
