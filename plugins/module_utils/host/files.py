"""The files of a host: what differs from what is wanted, and making it so.

Wanted are entries, path -> a mapping with `state` (file, directory, link or absent; file by
default), `content`, `mode` (four octal digits), `owner`, `group`, `target` (of a link), `format`
(text or properties; by default by the suffix .properties), `restart` (a change of content needs a
restart), `dynamic` (keys of a properties file that its process takes while it runs) and `secret`
(the content is never shown).
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ..formats.properties import changed_keys, parse_or_empty
from . import paths
from .paths import Place, UnsafePathError

SYSUSERS = "/etc/sysusers.d"
"""Directory of accounts: what is written there is needed before a file can belong to one."""


_NOBODY_YET = -2  # no number of an account
_TOO_LARGE = b"(a file too large to be read)\n"
"""Instead of the content of such a file: it differs from what is desired, and is replaced."""
_STATES = ("file", "directory", "link", "absent")
_KEYS = frozenset(
    (
        "state",
        "content",
        "mode",
        "owner",
        "group",
        "target",
        "format",
        "restart",
        "dynamic",
        "secret",
    )
)


class ApplyError(Exception):
    """A path could not be written; `done` are those that were changed before it."""

    def __init__(self, path: str, reason: str, done: Sequence[str]) -> None:
        """Write the message."""
        self.done = list(done)
        super().__init__(
            f"{path} could not be written: {reason}. "
            f"Changed before it: {', '.join(done) or 'nothing'}. "
            "Fix the cause and run again: completed changes stay, the rest is made then."
        )


@dataclass(frozen=True)
class Entry:
    """What is wanted at one path."""

    path: str
    state: str = "file"
    owner: str = "root"
    """A name."""
    group: str = "root"
    """A name."""
    mode: int = 0o644
    content: bytes = field(default=b"", repr=False)
    target: str = ""
    properties: bool = False
    restart: bool = False
    secret: bool = False
    dynamic: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str, mapping: Mapping[str, Any]) -> Entry:
        """Return the entry of plain data."""
        state = mapping.get("state", "file")
        mode = mapping.get("mode") or ("0755" if state == "directory" else "0644")
        kind = mapping.get("format") or ("properties" if path.endswith(".properties") else "text")
        plain = ("owner", "group", "target", "restart", "secret")
        return cls(
            path,
            state,
            mode=int(mode, 8),
            content=str(mapping.get("content") or "").encode("utf-8", "surrogateescape"),
            properties=kind == "properties" and state in ("file", "absent"),
            dynamic=tuple(mapping.get("dynamic") or ()),
            **{name: mapping[name] for name in plain if mapping.get(name)},
        )


@dataclass(frozen=True)
class Found:
    """What lies at a path."""

    kind: str = "absent"
    """One of absent, file, directory, link and other; a link to a directory has kind link."""
    content: bytes = field(default=b"", repr=False)
    mode: int = 0
    owner: str = ""
    group: str = ""
    target: str = ""
    leads_to_directory: bool = False
    """Whether it is a link to a directory."""
    children: tuple[str, ...] = ()
    """Names in a directory that is wanted absent."""
    unsafe: str = ""
    """Why nothing may be read, given away or removed there."""
    unsafe_directory: str = ""
    """Why it is no directory to be used."""

    @property
    def is_directory(self) -> bool:
        """Return whether a path below this one can exist."""
        return self.kind == "directory" or self.leads_to_directory


@dataclass(frozen=True)
class Change:
    """One path that differs: in what it holds, in mode or owner, or in both."""

    entry: Entry
    before: Found
    content: bool
    """Whether it differs in what it holds."""
    attributes: bool
    """Whether it differs in mode or owner."""
    keys: tuple[str, ...] = ()
    """Those of a properties file that differ."""
    restart_keys: tuple[str, ...] = ()
    """Those of `keys` that only a restart brings."""

    @property
    def needs_restart(self) -> bool:
        """Return whether the process that reads this must be restarted to have the change.

        Comments and order in a properties file that is merely rewritten do not count.
        """
        rewritten = self.entry.properties and self.before.kind == self.entry.state
        return self.entry.restart and self.content and bool(self.restart_keys or not rewritten)


Read = Callable[[str], Found]


def entries_of(mappings: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """Return entries of plain data, path -> mapping."""
    return [Entry.of(path, mapping) for path, mapping in mappings.items()]


def written_problems(mappings: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with entries as a task writes them."""
    wrong = []
    for path, mapping in mappings.items():
        if not path.startswith("/") or str(PurePosixPath(path)) != path or ".." in path.split("/"):
            wrong.append(f"{path}: write an absolute path, no '//', '.', '..' or trailing '/'")
        if not isinstance(mapping, Mapping):
            wrong.append(f"{path}: must be a mapping")
            continue
        state, mode = mapping.get("state") or "file", mapping.get("mode")
        wrong += [f"{path}: unknown key {key}" for key in sorted({*mapping} - _KEYS)]
        if state not in _STATES:
            wrong.append(f"{path}: state is {state!r}; use one of {', '.join(_STATES)}")
        if mode is not None and not re.fullmatch("[0-7]{4}", str(mode)):
            wrong.append(f"{path}: mode is {mode!r}; write four octal digits in quotes")
        if state == "file" and not isinstance(mapping.get("content"), str):
            wrong.append(f"{path}: content must be text; an empty file has ''")
        if state == "link" and not mapping.get("target"):
            wrong.append(f"{path}: a link needs target")
    return wrong


def plan(entries: Iterable[Entry], read: Read) -> list[Change]:
    """Return the changes in the order to make them.

    First accounts, then parents before children, then removals, deepest first.
    """
    ordered = sorted(
        entries,
        key=lambda entry: (not entry.path.startswith(SYSUSERS), entry.path.count("/"), entry.path),
    )
    changes = [change for entry in ordered if (change := _change(entry, read(entry.path)))]
    written = [change for change in changes if change.entry.state != "absent"]
    removed = [change for change in changes if change.entry.state == "absent"]
    return [*written, *reversed(removed)]


def problems(entries: Sequence[Entry], read: Read, *, planned: bool = False) -> list[str]:
    """Return what on the host prevents the changes.

    Where it is only `planned`, a parent that is missing may be what an earlier task would make.
    """
    requested = {entry.path: entry for entry in entries}
    return [
        f"{entry.path}: {text}"
        for entry in entries
        for text in (
            _parent_problem(entry, requested, read, planned=planned),
            _kind_problem(entry, requested, read(entry.path)),
        )
        if text
    ]


def unknown_accounts(entries: Iterable[Entry]) -> list[str]:
    """Name each user and group that the host does not have, with the first path that wants it."""
    missing: dict[str, str] = {}
    for entry in entries:
        if entry.state not in ("absent", "link"):
            for kind, name, lookup in (
                ("owner", entry.owner, pwd.getpwnam),
                ("group", entry.group, grp.getgrnam),
            ):
                try:
                    lookup(name)
                except KeyError:
                    missing.setdefault(f"{kind} {name}", entry.path)
    return [f"{path}: {account} does not exist on this host" for account, path in missing.items()]


def diff(change: Change) -> list[dict[str, str]]:
    """Return the change as Ansible shows it; a secret's content appears on neither side."""
    entry, before = change.entry, change.before
    diffs: list[dict[str, str]] = []
    if change.content:
        old = _shown(before.kind, before.content, before.target)
        new = _shown(entry.state, entry.content, entry.target)
        if entry.secret and "file" in (entry.state, before.kind):
            old = "" if before.kind == "absent" else "(secret content before)\n"
            new = "" if entry.state == "absent" else "(secret content after, different)\n"
        diffs.append(shown_diff(entry.path, old, new))
    if change.attributes:
        was = "" if before.kind == "absent" else _attributes(before)
        diffs.append(shown_diff(f"{entry.path} (owner, group, mode)", was, _attributes(entry)))
    return diffs


class Host:
    """The files of this host, each read once."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Remember what is wanted, and where directories are wanted absent."""
        self._entries = {entry.path: entry for entry in entries}
        self._found: dict[str, Found] = {}

    def read(self, path: str) -> Found:
        """Return what lies at a path."""
        if path not in self._found:
            self._found[path] = self._read(path)
        return self._found[path]

    def _read(self, path: str) -> Found:
        try:
            with paths.at(path) as place:
                return self._found_at(path, place)
        except (FileNotFoundError, NotADirectoryError):
            return Found()
        except UnsafePathError as error:
            return Found(unsafe=str(error))

    def _found_at(self, path: str, place: Place) -> Found:
        status = place.status()
        kind, target, leads_to_directory, unsafe_directory = _kind(status), "", False, ""
        if kind == "link":
            target = place.target()
            unsafe_directory = place.link_reason
            if not unsafe_directory and paths.is_directory(path):
                leads_to_directory = True
                with paths.at(path, follow=True) as destination:
                    status = destination.status()
        elif kind == "directory":
            unsafe_directory = self._foreign_reason(path, place)
        return Found(
            kind=kind,
            content=self._content(path, place) if kind == "file" else b"",
            mode=stat.S_IMODE(status.st_mode),
            owner=_name(pwd.getpwuid, status.st_uid),
            group=_name(grp.getgrgid, status.st_gid),
            target=target,
            leads_to_directory=leads_to_directory,
            children=self._children(path, kind),
            unsafe_directory=unsafe_directory,
        )

    def _content(self, path: str, place: Place) -> bytes:
        entry = self._entries.get(path)
        try:
            return place.read(max(paths.LARGEST, len(entry.content) if entry else 0))
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            return _TOO_LARGE

    def _foreign_reason(self, path: str, place: Place) -> str:
        entry = self._entries.get(path)
        if entry is None or entry.state != "directory":
            return ""
        try:
            owner = _id(pwd.getpwnam, entry.owner)
        except KeyError:  # which is not made yet
            owner = _NOBODY_YET
        return place.foreign_reason(owner)

    def _children(self, path: str, kind: str) -> tuple[str, ...]:
        entry = self._entries.get(path)
        is_listed = kind == "directory" and entry is not None and entry.state == "absent"
        return tuple(paths.names(path)) if is_listed else ()


def write(path: Path, content: bytes, mode: int, owner: str = "", group: str = "") -> None:
    """Replace a file atomically; it is never readable beyond what owner and mode allow.

    Without an owner and a group it belongs to the user who writes it.
    """
    with paths.at(path) as place:
        place.write(content, mode, _id(pwd.getpwnam, owner), _id(grp.getgrnam, group))


def write_own(path: Path, content: str, mode: int = 0o600) -> None:
    """Replace a file of Millrace's own state, its directory made if need be."""
    paths.make_parents(path)
    write(path, content.encode(), mode)


def make(changes: Iterable[Change]) -> None:
    """Make changes in their order.

    Raises:
        ApplyError: names what was done and what was not.

    """
    done: list[str] = []
    for change in changes:
        try:
            _apply(change)
        except OSError as error:
            reason = "" if isinstance(error, UnsafePathError) else error.strerror
            raise ApplyError(change.entry.path, reason or str(error), done) from error
        done.append(change.entry.path)


def _apply(change: Change) -> None:
    entry = change.entry
    if entry.state == "directory":
        with paths.at(entry.path, follow=True) as place:
            owner, group = _id(pwd.getpwnam, entry.owner), _id(grp.getgrnam, entry.group)
            place.make_directory(entry.mode, owner, group)
    elif entry.state == "file":
        write(Path(entry.path), entry.content, entry.mode, entry.owner, entry.group)
    else:
        with paths.at(entry.path) as place:
            if entry.state == "link":
                place.write_link(entry.target)
            elif change.before.kind == "directory":
                place.remove_directory()
            else:
                place.remove_file()


def _change(entry: Entry, existing: Found) -> Change | None:
    other_kind = existing.kind != entry.state
    if entry.state == "directory":
        other_kind = not existing.is_directory
    differences = {
        "file": existing.content != entry.content,
        "link": existing.target != entry.target,
    }
    content = other_kind or differences.get(entry.state, False)
    attributes = entry.state in ("file", "directory") and (
        other_kind or _attributes(entry) != _attributes(existing)
    )
    if not (content or attributes):
        return None
    keys: list[str] = []
    if entry.properties and content:
        keys = changed_keys(_properties(existing.content), _properties(entry.content))
    return Change(
        entry, existing, content, attributes, tuple(keys), _restart_keys(keys, entry, existing)
    )


def _restart_keys(keys: list[str], entry: Entry, existing: Found) -> tuple[str, ...]:
    """Return those of the changed keys that the process does not take while it runs.

    Only the process knows what `${...}` is replaced by, so the value cannot be set online.
    """
    if not entry.dynamic or existing.kind != "file":
        return tuple(keys)
    texts = [parse_or_empty(_properties(content)) for content in (existing.content, entry.content)]
    return tuple(
        key
        for key in keys
        if key not in entry.dynamic or any("${" in text.get(key, "") for text in texts)
    )


def _parent_problem(
    entry: Entry, requested: Mapping[str, Entry], read: Read, *, planned: bool
) -> str | None:
    parent = str(PurePosixPath(entry.path).parent)
    ours = requested.get(parent)
    if entry.state == "absent" or (ours is not None and ours.state in ("directory", "link")):
        return None
    existing = read(parent)
    # What is unsafe on the way to a parent is so on the way to the entry, and said of that.
    unsafe = existing.unsafe or existing.unsafe_directory
    if existing.is_directory or unsafe or (planned and existing.kind == "absent"):
        return None
    if existing.kind == "absent":
        return f"its parent directory {parent} does not exist; create it, or mount its disk"
    return f"its parent {parent} is {_named(existing.kind)}, not a directory; move it away"


def _kind_problem(entry: Entry, requested: Mapping[str, Entry], existing: Found) -> str | None:
    if existing.unsafe or (entry.state == "directory" and existing.unsafe_directory):
        return existing.unsafe or existing.unsafe_directory
    if existing.kind in ("absent", entry.state):
        return None
    if entry.state == "absent":
        remaining = sorted(
            name
            for name in existing.children
            if (child := requested.get(f"{entry.path}/{name}")) is None or child.state != "absent"
        )
        if not remaining:
            return None
        ellipsis = ", ..." if len(remaining) > 3 else ""
        return f"is a directory that holds {', '.join(remaining[:3])}{ellipsis}: empty it first"
    if entry.state == "directory" and existing.leads_to_directory:
        return None
    if entry.state == "file" and existing.kind == "link":
        return None
    return (
        f"is {_named(existing.kind)} on the host, where {_named(entry.state)} should be; "
        "nothing was changed: move it away"
    )


def _attributes(entry: Entry | Found) -> str:
    return f"{entry.owner}:{entry.group} {entry.mode:04o}\n"


def shown_diff(header: str, before: str, after: str) -> dict[str, str]:
    """Return what Ansible shows of a change, by its two texts."""
    return {"before_header": header, "after_header": header, "before": before, "after": after}


def _shown(kind: str, content: bytes, target: str) -> str:
    if kind == "file":
        return _text(content)
    return {"absent": "", "link": f"link to {target}\n"}.get(kind, f"{kind}\n")


def _properties(content: bytes) -> str:
    # As Kafka reads it: a value with letters beyond ASCII, which once was written as it is, was
    # another one for the process.
    return content.decode("iso-8859-1")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _named(kind: str) -> str:
    return {"other": "a device, socket or pipe"}.get(kind, f"a {kind}")


def _kind(status: os.stat_result) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(status.st_mode), "other")


def _name(lookup: Callable[[int], Sequence[Any]], number: int) -> str:
    try:
        return str(lookup(number)[0])
    except KeyError:
        return str(number)


def _id(lookup: Callable[[str], Sequence[Any]], name: str) -> int:
    """Return the number of an account, -1 (which changes nothing) without a name."""
    if not name:
        return -1
    return int(name) if name.isdecimal() else int(lookup(name)[2])
