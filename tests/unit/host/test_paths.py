"""An account that owns a directory chooses nothing of what root does below it."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import (
    files,
    operation_file,
    paths,
    removal,
    restart,
    storage,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.files import (
    ApplyError,
    Change,
    Entry,
    Found,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.paths import UnsafePathError
from ansible_collections.millrace.streaming.plugins.modules import kafka_storage
from ansible_collections.millrace.streaming.plugins.plugin_utils import files as own_files

from tests.unit.host.attacker import ACCOUNT, GID, NAME, UID, attack, exchange, give, needs_root
from tests.unit.in_process import call_module

TRIES, MOST_TRIES = 100, 5000


def tries(shown: Callable[[], object]) -> Iterator[int]:
    """Yield the numbers of tries: more where a busy machine has not let both sides have a turn."""
    for number in range(MOST_TRIES):
        if number >= TRIES and shown():
            return
        yield number


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A directory of root, with a file."""
    directory = tmp_path / "victim"
    directory.mkdir(mode=0o700)
    for name in ("a", "b"):
        (directory / name).write_text("secret")
    (directory / "a").chmod(0o600)
    return directory


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory of the account."""
    return give(tmp_path / "shared")


def state(victim: Path) -> dict[str, tuple[object, ...]]:
    """Everything that an attack could change."""
    states: dict[str, tuple[object, ...]] = {}
    for path in [victim, *sorted(victim.rglob("*"))]:
        status = path.stat()
        content = path.read_text() if path.is_file() else ""
        mode = stat.S_IMODE(status.st_mode)
        states[path.name] = (status.st_uid, status.st_gid, mode, content)
    return states


def service(desired: dict[Path, dict[str, Any]], *, check: bool = False) -> dict[str, Any]:
    entries = {str(path): entry for path, entry in desired.items()}
    return call_module("service", {"files": entries}, check=check)


def directory(path: Path, mode: str = "0770") -> Entry:
    return Entry.of(str(path), {"state": "directory", "mode": mode, **ACCOUNT})


# Links


@needs_root
@pytest.mark.parametrize("check", [True, False])
def test_a_directory_that_became_a_link_is_refused(
    shared: Path, victim: Path, *, check: bool
) -> None:
    (shared / "warehouse").symlink_to(victim)
    before = state(victim)
    warehouse = {"state": "directory", "mode": "2770", **ACCOUNT}
    second_path = shared.parent / "other"
    result = service({shared / "warehouse": warehouse, second_path: {"content": ""}}, check=check)
    assert result["failed"]
    for text in (f"{shared}/warehouse", "link", "remove it"):
        assert text in result["msg"]
    assert not second_path.exists(), "everything is checked before anything is changed"
    assert state(victim) == before


@needs_root
@pytest.mark.parametrize(
    "entry", [{"content": "x", **ACCOUNT}, {"state": "absent"}, {"state": "directory", **ACCOUNT}]
)
def test_nothing_is_done_beyond_a_link(shared: Path, victim: Path, entry: dict[str, Any]) -> None:
    (shared / "jobs").symlink_to(victim)
    before = state(victim)
    result = service({shared / "jobs/a": entry})
    assert result["failed"]
    assert f"{shared}/jobs" in result["msg"]
    assert state(victim) == before


@needs_root
def test_a_directory_above_that_another_account_owns_counts_as_its_own(
    shared: Path, victim: Path
) -> None:
    """It can be exchanged as a whole."""
    (shared / "root").mkdir()
    (shared / "root/link").symlink_to(victim)
    with pytest.raises(UnsafePathError):
        paths.read_text(shared / "root/link/a")


@needs_root
@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_a_directory_of_root_that_others_can_write_is_as_unsafe(
    tmp_path: Path, victim: Path, mode: int
) -> None:
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(mode)
    (place / "link").symlink_to(victim)
    with pytest.raises(UnsafePathError, match="open"):
        paths.is_directory(place / "link")


@needs_root
def test_in_a_sticky_directory_roots_own_directories_are_safe_and_links_are_not(
    tmp_path: Path, victim: Path
) -> None:
    place = tmp_path / "temporary"
    (place / "own").mkdir(parents=True)
    place.chmod(0o1777)
    (place / "own/link").symlink_to(victim)
    (place / "link").symlink_to(victim)
    assert paths.read_text(place / "own/link/a") == "secret"
    with pytest.raises(UnsafePathError):
        paths.read_text(place / "link/a")
    (give(place / "account") / "link").symlink_to(victim)
    with pytest.raises(UnsafePathError):
        paths.read_text(place / "account/link/a")


@needs_root
def test_links_of_an_operator_are_followed(tmp_path: Path) -> None:
    """/srv -> data/srv, and a data directory that is a link to an absolute path."""
    (tmp_path / "data/srv").mkdir(parents=True)
    (tmp_path / "disk/kafka").mkdir(parents=True)
    (tmp_path / "srv").symlink_to("data/../data/srv")
    (tmp_path / "data/srv/kafka").symlink_to(tmp_path / "disk/kafka")
    desired = {
        tmp_path / "srv/kafka": {"state": "directory", "mode": "0750", **ACCOUNT},
        tmp_path / "srv/kafka/data": {"state": "directory", "mode": "0700", **ACCOUNT},
        tmp_path / "srv/file": {"content": "x"},
    }
    assert service(desired)["changed"]
    assert not service(desired)["changed"]
    for path, mode in ((tmp_path / "disk/kafka", 0o750), (tmp_path / "disk/kafka/data", 0o700)):
        status = path.stat()
        assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (UID, mode)
    assert (tmp_path / "data/srv/kafka").is_symlink()
    assert (tmp_path / "data/srv/file").read_text() == "x"


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        paths.read_text(tmp_path / "a/x")
    (tmp_path / "long-0").mkdir()
    for number in range(20):
        (tmp_path / f"long-{number + 1}").symlink_to(f"long-{number}")
    assert paths.is_directory(tmp_path / "long-20")


def test_the_way_may_begin_at_the_root_again(tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to("/")
    (tmp_path / "up").symlink_to("../../../../../../../../../../etc")
    assert paths.is_directory(tmp_path / "root")
    assert paths.is_file(tmp_path / "root/etc/passwd")
    assert paths.is_file(tmp_path / "up/passwd")
    assert paths.is_directory("/")


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    for name in ("file/x", "link/x", "missing/x"):
        assert not paths.is_file(tmp_path / name)
        assert not paths.exists(tmp_path / name)
    assert paths.is_file(tmp_path / "link")
    assert not paths.is_directory(tmp_path / "link")
    with pytest.raises(NotADirectoryError, match=str(tmp_path)):
        paths.read_text(tmp_path / "file/x")
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        paths.names(tmp_path / "missing")


def test_what_is_there_is_told_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("directory")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    assert sorted(paths.names(tmp_path)) == ["dangling", "directory", "file", "link"]
    assert paths.directories(tmp_path) == ["directory"]
    assert paths.exists(tmp_path / "dangling")
    assert not paths.is_file(tmp_path / "dangling")


# Races


@needs_root
def test_an_exchange_during_a_change_of_owner_reaches_nothing(shared: Path, victim: Path) -> None:
    give(shared / "warehouse")
    (shared / "link").symlink_to(victim)
    before = state(victim)
    change = Change(directory(shared / "warehouse"), Found(), content=True, attributes=True)
    refused: list[ApplyError] = []
    with attack(shared, lambda: exchange("warehouse", "link")):
        for _ in tries(lambda: refused):
            try:
                files.make([change])
            except ApplyError as error:
                refused.append(error)
            assert state(victim) == before
    assert refused, "the attacker was never in time, so nothing was shown"


@needs_root
def test_an_exchange_during_a_removal_reaches_nothing(shared: Path, victim: Path) -> None:
    names = [f"file-{number}" for number in range(50)]
    for name in names:
        (victim / name).touch()
    before = state(victim)

    def act() -> None:
        """Exchange the directory once the removal of what is in it has begun."""
        shutil.rmtree("away", ignore_errors=True)
        directory = Path("data/sub")
        if directory.is_symlink():
            directory.unlink()
        directory.mkdir(parents=True, exist_ok=True)
        for name in names:
            (directory / name).touch()
        while len(list(directory.iterdir())) == len(names):
            pass
        directory.rename("away")
        directory.symlink_to(victim)

    removed: list[bool] = []
    with attack(shared, act):
        for _ in tries(lambda: any(removed)):
            with contextlib.suppress(OSError):
                removed.append(removal.remove(f"{shared}/data"))
            assert state(victim) == before
    assert any(removed), "nothing was removed, so nothing was shown"


@needs_root
def test_an_exchange_during_a_write_and_a_read_reaches_nothing(shared: Path, victim: Path) -> None:
    give(shared / "run")
    (shared / "link").symlink_to(victim)
    before = state(victim)
    texts: set[str] = set()
    with attack(shared, lambda: exchange("run", "link")):
        for number in tries(lambda: len(texts) > 1):
            with contextlib.suppress(OSError):
                files.write(shared / "run/a", str(number).encode(), 0o644, NAME)
            with contextlib.suppress(OSError):
                texts.add(paths.read_text(shared / "run/a"))
            assert state(victim) == before
    assert len(texts) > 1
    assert "secret" not in texts


# Files that have other names, and root's own directories


@needs_root
def test_another_name_of_a_file_of_root_is_replaced_and_not_given_away(
    shared: Path, victim: Path
) -> None:
    os.link(victim / "a", shared / "login")
    before = state(victim)
    desired = {shared / "login": {"content": "secret", "mode": "0644", **ACCOUNT}}
    assert service(desired)["changed"]
    assert state(victim) == before
    assert (shared / "login").stat().st_uid == UID
    assert not service(desired)["changed"]


@needs_root
def test_a_link_in_the_place_of_a_file_is_replaced(shared: Path, victim: Path) -> None:
    (shared / "login").symlink_to(victim / "a")
    before = state(victim)
    assert service({shared / "login": {"content": "new", **ACCOUNT}})["changed"]
    assert not (shared / "login").is_symlink()
    assert state(victim) == before


@needs_root
def test_a_directory_of_root_that_was_renamed_is_not_given_away(shared: Path) -> None:
    private = shared / "warehouse"
    private.mkdir(mode=0o700)
    (private / "file").touch()
    result = service({private: {"state": "directory", "mode": "0770", **ACCOUNT}})
    assert result["failed"]
    assert str(private) in result["msg"]
    with pytest.raises(ApplyError, match="root"):
        files.make([Change(directory(private), Found(), content=True, attributes=True)])
    assert private.stat().st_uid == 0
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@needs_root
def test_a_directory_that_an_interrupted_run_has_made_is_finished(shared: Path) -> None:
    (shared / "warehouse").mkdir(mode=0o700)
    desired = {shared / "warehouse": {"state": "directory", "mode": "2770", **ACCOUNT}}
    assert service(desired)["changed"]
    status = (shared / "warehouse").stat()
    assert (status.st_uid, status.st_gid) == (UID, GID)
    assert stat.S_IMODE(status.st_mode) == 0o2770
    (shared / "warehouse/table").touch()
    assert not service(desired)["changed"]


@needs_root
def test_a_disk_that_is_mounted_is_given_to_its_account(shared: Path) -> None:
    disk = shared / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(disk)], check=False)
    if mount.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        (disk / "lost+found").mkdir()
        os.chown(disk, 0, 0)
        assert service({disk: {"state": "directory", **ACCOUNT}})["changed"]
        assert disk.stat().st_uid == UID
        (disk / "t-0").mkdir()
        assert removal.existing([str(disk)])
        assert removal.remove(str(disk))
        assert list(disk.iterdir()) == []
        assert not removal.existing([str(disk), str(shared)])
        assert not removal.remove(str(shared))
        assert disk.is_mount()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Reading and removing


@needs_root
def test_marks_and_records_are_not_read_through_links(shared: Path, victim: Path) -> None:
    (victim / "mark").write_text('{"paths": {"/secret": ["key"]}}')
    (shared / "mark").symlink_to(victim / "mark")
    restart.add_to_mark(shared / "mark", {"/etc/a": ["b"]})
    assert "secret" not in (shared / "mark").read_text()
    assert not (shared / "mark").is_symlink()
    (victim / "record").write_text('{"id": "x"}')
    (shared / "record").symlink_to(victim / "record")
    assert operation_file.read(shared / "record") == {}


@needs_root
def test_storage_is_not_taken_for_new_because_of_a_link(shared: Path, victim: Path) -> None:
    (shared / "meta.properties").symlink_to(victim / "a")
    with pytest.raises(UnsafePathError, match=storage.META):
        kafka_storage.read(str(shared))


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=f"{tmp_path}/pipe"):
        paths.read_text(tmp_path / "pipe")


@needs_root
def test_a_removal_beyond_a_link_is_refused(shared: Path, victim: Path) -> None:
    (shared / "data").symlink_to(victim)
    with pytest.raises(UnsafePathError):
        removal.existing([f"{shared}/data/a"])
    with pytest.raises(UnsafePathError):
        removal.remove(f"{shared}/data/a")
    result = call_module("service", {"state": "absent", "removed": [f"{shared}/data/a"]})
    assert result["failed"]
    assert f"{shared}/data" in result["msg"]
    assert removal.remove(f"{shared}/data")
    assert sorted(path.name for path in victim.iterdir()) == ["a", "b"]


def test_what_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        for _ in range(2500):
            os.mkdir("d", dir_fd=descriptor)
            below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    finally:
        os.close(descriptor)
    try:
        with pytest.raises(OSError, match=str(tree)):
            removal.remove(str(tree))
    finally:
        subprocess.run(["rm", "-rf", str(tree)], check=True)


# Errors


@pytest.fixture
def small_files() -> Iterator[None]:
    """A limit at which the system refuses to write: it names no path, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_files")
def test_an_error_of_the_system_names_the_path(tmp_path: Path) -> None:
    path, long = tmp_path / "record", "x" * 4096
    with pytest.raises(OSError, match=str(path)):
        files.write_own(path, long)
    with pytest.raises(OSError, match=str(path)):
        own_files.create(path, long)
    assert list(tmp_path.iterdir()) == [], "nothing half written is left"


def test_errors_of_nested_paths_keep_their_own_name(tmp_path: Path) -> None:
    inner = OSError(28, "No space left on device", "/other/file")
    with pytest.raises(OSError, match="/other/file"), paths.naming(tmp_path):
        raise inner
    with pytest.raises(OSError, match=str(tmp_path)), paths.naming(tmp_path):
        raise OSError(28, "No space left on device")


def test_a_directory_that_appears_in_the_place_of_a_parent_keeps_its_mode(
    victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where an account renames root's directory to the name of the missing one."""
    before = state(victim)
    monkeypatch.setattr(paths, "is_directory", lambda path: path != victim)
    paths.make_parents(victim / "file")
    assert state(victim) == before


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_parents_are_made_for_all_to_enter(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        paths.make_parents(tmp_path / "a/b/file")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")]
    assert modes == [0o755, 0o755]
    assert not (tmp_path / "a/b/file").exists()
    shutil.rmtree(tmp_path / "a")


def test_links_of_root_are_followed_to_directories(tmp_path: Path) -> None:
    """What root alone can write may lie on another disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to("disk")
    paths.make_parents(tmp_path / "data/a/file")
    assert (tmp_path / "disk/a").is_dir()
    assert paths.names(tmp_path / "data") == paths.directories(tmp_path / "data") == ["a"]
    (tmp_path / "disk/file").write_text("x")
    (tmp_path / "file").symlink_to("disk/file")
    assert paths.read_text(tmp_path / "file") == "x"
    (tmp_path / "later").symlink_to("disk/later")
    paths.make_parents(tmp_path / "later/file")
    assert (tmp_path / "disk/later").is_dir()


def test_as_many_links_are_followed_as_the_system_follows(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0/file").write_text("x")
    number = 0
    with contextlib.suppress(OSError):
        while (tmp_path / str(number) / "file").read_text():
            number += 1
            (tmp_path / str(number)).symlink_to(str(number - 1))
    assert paths.read_text(tmp_path / str(number - 1) / "file") == "x"
    with pytest.raises(OSError, match=r".") as raised:
        paths.read_text(tmp_path / str(number) / "file")
    assert raised.value.errno == errno.ELOOP


@needs_root
def test_a_directory_of_an_account_can_be_given_back_to_root(shared: Path) -> None:
    """Only one of root may be another one that was renamed."""
    path = give(shared / "data")
    (path / "x").touch()
    entry = Entry.of(str(path), {"state": "directory", "owner": "root", "group": "root"})
    files.make([Change(entry, Found(), content=True, attributes=True)])
    assert path.stat().st_uid == 0


def test_what_is_read_has_a_limit(tmp_path: Path) -> None:
    """A sparse file takes no space on a disk, but all of root's memory."""
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as stream:
        stream.truncate(paths.LARGEST + 1)
    with pytest.raises(OSError, match=str(sparse)) as raised:
        paths.read_bytes(sparse)
    assert raised.value.errno == errno.EFBIG
    assert len(paths.read_bytes(sparse, paths.LARGEST + 1)) == paths.LARGEST + 1


def test_a_managed_file_that_became_too_large_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as stream:
        stream.truncate(paths.LARGEST + 1)
    entries = [Entry(str(path), content=b"")]
    (change,) = files.plan(entries, files.Host(entries).read)
    assert change.content


# Who owns what is written, and who can read it meanwhile


@needs_root
def test_without_a_group_a_file_gets_that_of_its_directory(shared: Path) -> None:
    shared.chmod(0o2755)
    with paths.at(shared / "file") as place:
        place.write(b"x", 0o600)
    assert ((shared / "file").stat().st_uid, (shared / "file").stat().st_gid) == (0, GID)


@needs_root
def test_without_an_owner_a_directory_keeps_its_own(shared: Path) -> None:
    give(shared / "warehouse")
    (shared / "root").mkdir()
    (shared / "root/file").touch()
    for name, owner, group in (("warehouse", UID, GID), ("root", 0, 0)):
        with paths.at(shared / name) as place:
            assert place.foreign_reason(-1) == ""
            place.make_directory(0o750)
        status = (shared / name).stat()
        assert (status.st_uid, status.st_gid) == (owner, group)
        assert stat.S_IMODE(status.st_mode) == 0o750


@needs_root
def test_only_roots_own_directories_in_those_of_others_are_not_given_away(
    shared: Path, victim: Path
) -> None:
    def reason(path: Path, owner: int = UID) -> str:
        with paths.at(path) as place:
            return place.foreign_reason(owner)

    (shared / "empty").mkdir()
    (shared / "full").mkdir()
    (shared / "full/file").touch()
    (give(shared / "account") / "file").touch()
    assert str(shared) in reason(shared / "full")
    assert NAME in reason(shared / "full")
    assert reason(shared / "full", owner=0) == ""
    assert reason(shared / "empty") == ""
    assert reason(shared / "account") == ""
    assert reason(victim) == "", "no account can have renamed it"


def test_what_is_being_written_is_readable_for_its_writer_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    change = os.fchmod

    def fchmod(descriptor: int, mode: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        change(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", fchmod)
    before = os.umask(0)
    try:
        with paths.at(tmp_path / "file") as place:
            place.write(b"x", 0o644)
        with paths.at(tmp_path / "directory") as place:
            place.make_directory(0o755)
        with paths.at(tmp_path / "opened") as place:
            os.close(place.open(os.O_WRONLY | os.O_CREAT))
    finally:
        os.umask(before)
    assert modes == [0o600, 0o700]
    assert stat.S_IMODE((tmp_path / "opened").stat().st_mode) == 0o600


@needs_root
@pytest.mark.parametrize("number", [4_242_424, UID])
def test_who_could_put_a_link_there_is_named(tmp_path: Path, number: int) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "link").symlink_to("/etc")
    expected = str(number) if number != UID else NAME
    os.chown(place, number, 0)
    with pytest.raises(UnsafePathError, match=expected):
        paths.is_directory(place / "link")
    os.chown(place, 0, number if number != UID else GID)
    place.chmod(0o770)
    with pytest.raises(UnsafePathError, match=expected if number != UID else ACCOUNT["group"]):
        paths.is_directory(place / "link")
    place.chmod(0o757)
    with pytest.raises(UnsafePathError, match="everybody"):
        paths.is_directory(place / "link")
    place.chmod(0o755)
    assert paths.is_directory(place / "link")


@needs_root
def test_an_account_follows_its_own_links(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not root has no rights of which a link could make use."""
    (shared / "link").symlink_to("/etc")
    with pytest.raises(UnsafePathError):
        paths.is_file(shared / "link/passwd")
    monkeypatch.setattr(os, "geteuid", lambda: UID)
    assert paths.is_file(shared / "link/passwd")


@needs_root
@pytest.mark.parametrize("owner", [0, UID])
def test_a_sticky_directory_protects_only_what_root_has_in_one_of_its_own(
    tmp_path: Path, victim: Path, owner: int
) -> None:
    place = tmp_path / "temporary"
    (place / "own").mkdir(parents=True)
    (place / "own/link").symlink_to(victim)
    os.chown(place, owner, 0)
    place.chmod(0o1777)
    if owner:
        with pytest.raises(UnsafePathError):
            paths.is_directory(place / "own/link")
    else:
        assert paths.is_directory(place / "own/link")
    place.chmod(0o777)
    with pytest.raises(UnsafePathError):
        paths.is_directory(place / "own/link")


# Names and errors


def test_a_link_that_appears_in_a_directory_of_root_is_not_entered(tmp_path: Path) -> None:
    """It was none when its directory was read."""
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "file").touch()
    with paths.at(tmp_path / "x") as place:
        with pytest.raises(UnsafePathError) as raised, place.directory.enter("link"):
            pass
        assert raised.value.strerror, "it says what to do"
        with pytest.raises(NotADirectoryError, match="file"), place.directory.enter("file"):
            pass
        with pytest.raises(FileNotFoundError, match=str(tmp_path)), place.directory.enter("gone"):
            pass


def test_a_place_tells_whether_a_link_lies_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").touch()
    for name, is_link in (("link", True), ("file", False), ("missing", False)):
        with paths.at(tmp_path / name) as place:
            assert place.is_link() is is_link
            assert place.path == str(tmp_path / name)
            assert place.link_reason == ""


def test_a_link_is_replaced_at_once(tmp_path: Path) -> None:
    for target in ("a", "b"):
        with paths.at(tmp_path / "link") as place:
            place.write_link(target)
            assert place.target() == target
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_what_an_interrupted_write_has_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".file.millrace-new").write_text("half")
    with paths.at(tmp_path / "file") as place:
        place.write(b"whole", 0o644)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]


def test_a_name_is_changed_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    with paths.at(tmp_path / "old") as place:
        place.rename("new")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_files_and_links_are_removed_if_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    for name in ("link", "missing", "link"):
        paths.remove_file(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["/etc/../etc/passwd", "/usr/./../etc//passwd", "/../etc/passwd"])
def test_ways_with_detours_lead_there(path: str) -> None:
    assert paths.is_file(path)


def test_a_relative_path_begins_where_the_process_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert paths.read_text("file") == "x"
    with pytest.raises(FileNotFoundError):
        paths.read_text("")


def test_a_link_that_leads_nowhere_is_where_something_is_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("made")
    with paths.at(tmp_path / "link", follow=True) as place:
        assert place.path == str(tmp_path / "made")
    (tmp_path / "broken").symlink_to("missing/made")
    with pytest.raises(FileNotFoundError), paths.at(tmp_path / "broken", follow=True):
        pass


def test_text_that_is_not_utf_8_is_an_error_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\xff")
    with pytest.raises(UnicodeDecodeError):
        paths.read_text(tmp_path / "file")
    assert paths.read_text(tmp_path / "file", errors="replace") == "a\ufffd"


def test_an_error_without_a_number_stays_as_it_is(tmp_path: Path) -> None:
    error = OSError("by hand")
    with pytest.raises(OSError, match=r"^by hand$") as raised, paths.naming(tmp_path):
        raise error
    assert raised.value.filename is None


def test_an_error_of_two_names_is_one_of_the_path(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=str(tmp_path)) as raised, paths.naming(tmp_path):
        raise OSError(errno.EXDEV, "refused", "a", None, "b")
    assert raised.value.filename2 is None


def test_any_file_of_ours_can_be_read_and_none_takes_all_memory() -> None:
    assert 16 * 2**20 <= paths.LARGEST <= 256 * 2**20
