"""Look at a host's files, change them atomically, and put them back as they were before."""

from __future__ import annotations

import contextlib
import dataclasses
import grp
import json
import os
import pwd
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils import file_tree
from ansible_collections.millrace.streaming.plugins.module_utils.file_tree import (
    Change,
    Entry,
    Found,
)


class ApplyError(Exception):
    """A path could not be written; `done` are those that were changed before it."""

    def __init__(self, path: str, reason: str, done: Sequence[str]) -> None:
        """Put the reason into words."""
        self.done = list(done)
        super().__init__(
            f"{path} could not be written: {reason}. "
            f"Changed before it: {', '.join(done) or 'nothing'}. "
            "Remove the cause and run again: what is done stays, the rest follows."
        )


class Host:
    """The files of this host."""

    def __init__(self, entries: list[Entry]) -> None:
        """Look once at each path that an entry names."""
        self._listed = {entry.path for entry in entries if entry.state == "absent"}
        self._found: dict[str, Found] = {}

    def look(self, path: str) -> Found:
        """Return what lies at a path."""
        if path not in self._found:
            self._found[path] = self._look(Path(path))
        return self._found[path]

    def _look(self, path: Path) -> Found:
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return Found()
        target, leads_to_directory = "", False
        if kind_of(status) == "link":
            target = str(path.readlink())
            leads_to_directory = path.is_dir()
            if leads_to_directory:
                status = path.stat()
        children: tuple[str, ...] = ()
        if str(path) in self._listed and kind_of(status) == "directory" and not target:
            children = tuple(child.name for child in path.iterdir())
        return Found(
            kind="link" if target else kind_of(status),
            content=path.read_bytes() if kind_of(status) == "file" else b"",
            mode=stat.S_IMODE(status.st_mode),
            owner=user_name(status.st_uid),
            group=group_name(status.st_gid),
            target=target,
            leads_to_directory=leads_to_directory,
            children=children,
        )


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a file status in the words of `Found`."""
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(status.st_mode), "other")


def user_name(uid: int) -> str:
    """Return the name of a user, or the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return the name of a group, or the number where it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def user_id(name: str) -> int:
    """Return the number of a user given by name or number; KeyError if there is none."""
    return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid


def group_id(name: str) -> int:
    """Return the number of a group given by name or number; KeyError if there is none."""
    return int(name) if name.isdecimal() else grp.getgrnam(name).gr_gid


def with_names(entry: Entry) -> Entry:
    """Return the entry with the names of an owner and group that are given as numbers."""
    owner, group = entry.owner, entry.group
    return dataclasses.replace(
        entry,
        owner=user_name(int(owner)) if owner.isdecimal() else owner,
        group=group_name(int(group)) if group.isdecimal() else group,
    )


def unknown_accounts(entries: list[Entry]) -> list[str]:
    """Name each user and group that the host does not have, with the first path that wants it."""
    problems = []
    for what, lookup in (("owner", user_id), ("group", group_id)):
        seen: set[str] = set()
        for entry in entries:
            name = getattr(entry, what)
            if name in seen or entry.state in ("absent", "link"):
                continue
            seen.add(name)
            try:
                lookup(name)
            except KeyError:
                problems.append(
                    f"{entry.path}: {what} {name} does not exist on this host; create it first"
                )
    return problems


def write_file(path: Path, content: bytes, owner: str, group: str, mode: int) -> None:
    """Replace a file atomically; its content is never readable by more than owner and mode say."""
    temporary = path.with_name(f".{path.name}.millrace-new")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchown(stream.fileno(), user_id(owner), group_id(group))
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_link(path: Path, target: str) -> None:
    """Point a link elsewhere atomically."""
    temporary = path.with_name(f".{path.name}.millrace-new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(path)


def apply(change: Change) -> None:
    """Make one change."""
    entry, path = change.entry, Path(change.entry.path)
    if entry.state == "absent":
        if change.before.kind == "directory":
            path.rmdir()
        else:
            path.unlink()
    elif entry.state == "link":
        write_link(path, entry.target)
    elif entry.state == "file" and change.content:
        write_file(path, entry.content, entry.owner, entry.group, entry.mode)
    else:
        if change.content:
            # Hosts that share a file system may make the same directory at the same moment.
            path.mkdir(mode=0o700, exist_ok=True)
        os.chown(path, user_id(entry.owner), group_id(entry.group))
        path.chmod(entry.mode)


def write_mark(mark: Path, named: Mapping[str, Iterable[str]]) -> None:
    """Add paths and their keys to a service's restart mark.

    A service that does not run has no directory for it and needs none.
    """
    with contextlib.suppress(FileNotFoundError):
        existing = mark.read_text(errors="replace") if mark.is_file() else ""
        content = file_tree.merge_mark(existing, named).encode()
        write_file(mark, content, str(os.geteuid()), str(os.getegid()), 0o644)


def former_state(entries: Iterable[Entry], look: Callable[[str], Found]) -> dict[str, object]:
    """Return as entries what lies where a process reads: all that restart it, and all links.

    With these entries the process would start as it last did. A device or socket is left out.
    """
    states: dict[str, object] = {}
    for entry in entries:
        found = look(entry.path)
        if (entry.restart or entry.state == "link") and found.kind != "other":
            states[entry.path] = _former(entry, found)
    return states


def _former(entry: Entry, found: Found) -> dict[str, object]:
    if found.kind == "absent":
        return {"state": "absent"}
    if found.kind == "link":
        return {"state": "link", "target": found.target}
    wish: dict[str, object] = {
        "state": found.kind,
        "mode": f"{found.mode:04o}",
        "owner": found.owner,
        "group": found.group,
    }
    if found.kind == "file":
        # As text, since what Kafka refuses must be put back as well.
        content = found.content.decode("utf-8", "surrogateescape")
        wish.update(content=content, format="text", secret=entry.secret)
    return wish


def keep(previous: Path, states: Mapping[str, object]) -> None:
    """Write what `restore` needs; only root may read it, since secrets are among it."""
    previous.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = json.dumps({"entries": states}, indent=2) + "\n"
    write_file(previous, content.encode(), str(os.geteuid()), str(os.getegid()), 0o600)


def make(
    changes: Iterable[Change],
    marks: Sequence[Path] = (),
    previous: Path | None = None,
    former: Mapping[str, object] | None = None,
) -> None:
    """Make all changes; if one needs a restart, write the marks first.

    Before, the former state is kept of what a service reads while it runs, that is while a mark's
    directory is there. What was kept stays as long as a mark stands: the running process was
    started with that.

    Raises:
        ApplyError: names what was done and what was not.

    """
    changes = list(changes)
    restarts = {
        change.entry.path: change.restart_keys for change in changes if change.needs_restart
    }
    done: list[str] = []
    current = str(previous)
    try:
        read = any(change.entry.restart and change.content for change in changes)
        runs = any(mark.parent.is_dir() for mark in marks) or not marks
        marked = any(mark.exists() for mark in marks)
        if previous and read and runs and not (previous.exists() and marked):
            keep(previous, former or {})
        for mark in marks if restarts else ():
            current = str(mark)
            write_mark(mark, restarts)
        for change in changes:
            current = change.entry.path
            apply(change)
            done.append(current)
        # A process that started in between may have read an old file; its directory is new.
        for mark in marks if restarts else ():
            current = str(mark)
            if not mark.exists():
                write_mark(mark, restarts)
    except OSError as error:
        raise ApplyError(current, error.strerror or str(error), done) from error


def kept_changes(previous: Path) -> list[Change]:
    """Return what `restore` would change.

    Raises:
        FileNotFoundError: nothing was kept.
        ValueError: the file is not what `keep` wrote.

    """
    try:
        raw = json.loads(previous.read_text(encoding="utf-8"))["entries"]
        entries, problems = file_tree.parse_entries(raw, "root", "root")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        text = f"{previous} is not what Millrace keeps before a change: {error}"
        raise ValueError(text) from error
    if problems:
        raise ValueError("; ".join(problems))
    return file_tree.plan(entries, Host(entries).look)


def restore(previous: Path, marks: Sequence[Path] = ()) -> list[str]:
    """Put back the files and links that `keep` wrote down, and return the changed paths.

    The marks and what was kept are removed at the end, so an abort can be run again.

    Raises:
        FileNotFoundError: nothing was kept.
        ValueError: the file is not what `keep` wrote.
        ApplyError: a path could not be written.

    """
    changes = kept_changes(previous)
    make(changes)
    for path in (*marks, previous):
        path.unlink(missing_ok=True)
    return [change.entry.path for change in changes]
