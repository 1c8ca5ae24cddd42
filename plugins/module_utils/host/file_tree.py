"""What a tree of small files should be, what is wrong with the wish, and what has to change.

Pure: the caller says what it found on the host (`Found`), nothing here touches a disk.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.properties import (
    changed_keys,
    parse_or_empty,
    parse_properties,
)

STATES = ("file", "directory", "link", "absent")
FORMATS = ("text", "properties")
_KEYS = (
    *("state", "content", "mode", "owner", "group", "target", "format"),
    *("restart", "secret", "dynamic"),
)
_ONLY_FOR = {
    "content": ("file",),
    "target": ("link",),
    "mode": ("file", "directory"),
    "dynamic": ("file",),
}
_MODE = re.compile(r"[0-7]{4}")


@dataclass(frozen=True)
class Entry:
    """The wish for one path; mode is a number, owner and group are names or ids as text.

    `dynamic` are the keys of a properties file that its process takes without a restart.
    """

    path: str
    state: str
    owner: str
    group: str
    mode: int
    content: bytes = field(default=b"", repr=False)
    target: str = ""
    properties: bool = False
    restart: bool = False
    secret: bool = False
    dynamic: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What lies at a path: kind is absent, file, directory, link or other.

    A link to a directory has kind link; `leads_to_directory` tells. `children` are names in a
    directory and only needed where an entry wants it absent.
    """

    kind: str = "absent"
    content: bytes = field(default=b"", repr=False)
    mode: int = 0
    owner: str = ""
    group: str = ""
    target: str = ""
    leads_to_directory: bool = False
    children: tuple[str, ...] = ()

    @property
    def is_directory(self) -> bool:
        """Tell whether a path below this one can exist."""
        return self.kind == "directory" or self.leads_to_directory


@dataclass(frozen=True)
class Change:
    """One path that differs: in what it holds (`content`), in mode or owner, or in both.

    `keys` are those of a properties file that differ, `restart_keys` those of them that only a
    restart brings.
    """

    entry: Entry
    before: Found
    content: bool
    attributes: bool
    keys: tuple[str, ...] = ()
    restart_keys: tuple[str, ...] = ()

    @property
    def needs_restart(self) -> bool:
        """Tell whether the process that reads this must be restarted to see the change.

        Comments and order in a properties file that is merely rewritten do not count.
        """
        if not (self.entry.restart and self.content):
            return False
        return bool(self.restart_keys) or not self._rewritten

    @property
    def _rewritten(self) -> bool:
        return self.entry.properties and self.before.kind == self.entry.state


def parse_entries(
    raw: Mapping[str, object], owner: str, group: str
) -> tuple[list[Entry], list[str]]:
    """Turn the module's mapping into entries, and say everything that is wrong with it."""
    entries: list[Entry] = []
    problems: list[str] = []
    for path, wish in raw.items():
        wrong = [*_path_problems(path), *_wish_problems(wish)]
        if isinstance(wish, Mapping) and not wrong:
            entry = _entry(path, wish, owner, group)
            wrong = _content_problems(entry)
            entries.append(entry)
        problems.extend(f"{path}: {text}" for text in wrong)
    return entries, problems


def tree_problems(
    entries: Iterable[Entry], look: Callable[[str], Found], *, planned: bool = False
) -> list[str]:
    """Say what on the host stands in the way; `look` returns what lies at a path.

    Where it is only `planned`, a parent that is missing may be what an earlier task would make.
    """
    wishes = {entry.path: entry for entry in entries}
    return [
        f"{path}: {text}"
        for path, entry in wishes.items()
        for text in (
            _parent_problem(entry, wishes, look, planned=planned),
            _kind_problem(entry, wishes, look(path)),
        )
        if text
    ]


def plan(entries: Iterable[Entry], look: Callable[[str], Found]) -> list[Change]:
    """Return the changes in the order to make them: parents first, then removals, deepest first."""
    ordered = sorted(entries, key=lambda entry: (_depth(entry.path), entry.path))
    changes = [change for entry in ordered if (change := _change(entry, look(entry.path)))]
    kept = [change for change in changes if change.entry.state != "absent"]
    removed = [change for change in changes if change.entry.state == "absent"]
    return [*kept, *reversed(removed)]


def diff(change: Change) -> list[dict[str, str]]:
    """Return the change as Ansible shows it; a secret's content appears on neither side."""
    entry, before = change.entry, change.before
    parts: list[dict[str, str]] = []
    if change.content:
        old, new = _shown(before), _shown_wish(entry)
        if entry.secret and "file" in (entry.state, before.kind):
            old, new = (
                ("" if before.kind == "absent" else "(secret content before)\n"),
                ("" if entry.state == "absent" else "(secret content after, different)\n"),
            )
        parts.append(_part(entry.path, old, new))
    if change.attributes:
        old = (
            "" if before.kind == "absent" else _attributes(before.owner, before.group, before.mode)
        )
        new = _attributes(entry.owner, entry.group, entry.mode)
        parts.append(_part(f"{entry.path} (owner, group, mode)", old, new))
    return parts


def merge_mark(existing: str, named: Mapping[str, Iterable[str]]) -> str:
    """Return the restart mark's text: the paths and keys it named so far, and those of `named`.

    Anything that is not such a mark counts as empty: that a mark exists is what matters.
    """
    try:
        known = json.loads(existing or "{}")["paths"]
        paths = {str(path): {str(key) for key in keys} for path, keys in known.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        paths = {}
    for path, keys in named.items():
        paths.setdefault(path, set()).update(keys)
    text = {path: sorted(keys) for path, keys in sorted(paths.items())}
    return json.dumps({"paths": text}, indent=2) + "\n"


def _path_problems(path: str) -> list[str]:
    if not path.startswith("/"):
        return ["the path is not absolute; write it from / on"]
    normal = "/" + str(PurePosixPath(path)).lstrip("/")
    if path != normal or ".." in PurePosixPath(path).parts or path == "/":
        return ["write the path in its plain form, without '//', '.', '..' and a final '/'"]
    return []


def _wish_problems(wish: object) -> list[str]:
    if not isinstance(wish, Mapping):
        return [f"must be a mapping with keys of {', '.join(_KEYS)}; got {_kind_of(wish)}"]
    problems = [_unknown_key(str(key)) for key in wish if key not in _KEYS]
    state = wish.get("state", "file")
    if state not in STATES:
        return [*problems, f"state is {state!r}; use one of {', '.join(STATES)}"]
    for key, states in _ONLY_FOR.items():
        if wish.get(key) is not None and state not in states and state != "absent":
            problems.append(f"{key} has no meaning for state {state}; remove it")
    if state == "file" and not isinstance(wish.get("content"), str):
        problems.append(
            f"content must be text, got {_kind_of(wish.get('content'))}; an empty file has ''"
        )
    if state == "link" and not (isinstance(wish.get("target"), str) and wish["target"]):
        problems.append("a link needs target: the path it leads to")
    mode = wish.get("mode")
    if mode is not None and not (isinstance(mode, str) and _MODE.fullmatch(mode)):
        problems.append(f"mode is {mode!r}; write four octal digits in quotes, such as '0640'")
    if wish.get("format") not in (None, *FORMATS):
        problems.append(f"format is {wish['format']!r}; use one of {', '.join(FORMATS)}")
    problems.extend(
        f"{key} is {wish[key]!r}; use true or false"
        for key in ("restart", "secret")
        if not isinstance(wish.get(key, False), bool)
    )
    dynamic = wish.get("dynamic") or []
    if not isinstance(dynamic, list) or not all(isinstance(key, str) for key in dynamic):
        problems.append(f"dynamic is {_kind_of(dynamic)}; write a list of keys")
    return problems


def _unknown_key(key: str) -> str:
    near = difflib.get_close_matches(key, _KEYS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"use {', '.join(_KEYS)}"
    return f"unknown key {key!r}; {hint}"


def _entry(path: str, wish: Mapping[str, Any], owner: str, group: str) -> Entry:
    state = wish.get("state", "file")
    default_format = "properties" if path.endswith(".properties") else "text"
    default_mode = "0755" if state == "directory" else "0644"
    return Entry(
        path=path,
        state=state,
        owner=str(wish.get("owner") if wish.get("owner") is not None else owner),
        group=str(wish.get("group") if wish.get("group") is not None else group),
        mode=int(wish.get("mode") or default_mode, 8),
        content=str(wish.get("content") or "").encode("utf-8", "surrogateescape"),
        target=str(wish.get("target") or ""),
        properties=(wish.get("format") or default_format) == "properties"
        and state in ("file", "absent"),
        restart=wish.get("restart", False),
        secret=wish.get("secret", False),
        dynamic=tuple(wish.get("dynamic") or ()),
    )


def _content_problems(entry: Entry) -> list[str]:
    if entry.dynamic and not entry.properties:
        return ["dynamic names keys of a properties file; add format: properties or remove it"]
    if not (entry.properties and entry.state == "file"):
        return []
    try:
        parse_properties(_text(entry.content))
    except ValueError as error:
        return [f"the content is not a properties file: {error}"]
    return []


def _parent_problem(
    entry: Entry, wishes: Mapping[str, Entry], look: Callable[[str], Found], *, planned: bool
) -> str | None:
    if entry.state == "absent":
        return None
    parent = str(PurePosixPath(entry.path).parent)
    wish = wishes.get(parent)
    if wish is not None and wish.state in ("directory", "link"):
        return None
    if wish is not None:
        return f"its parent {parent} is to be {_named(wish.state)}; make that a directory entry"
    found = look(parent)
    if found.is_directory or (planned and found.kind == "absent"):
        return None
    if found.kind == "absent":
        return f"its parent directory {parent} does not exist; add an entry with state: directory"
    return f"its parent {parent} is {_named(found.kind)}, not a directory; move it away"


def _kind_problem(entry: Entry, wishes: Mapping[str, Entry], found: Found) -> str | None:
    if found.kind == "absent" or found.kind == entry.state:
        return None
    if entry.state == "absent":
        left = [
            name
            for name in found.children
            if (child := wishes.get(f"{entry.path}/{name}")) is None or child.state != "absent"
        ]
        if left:
            more = ", ..." if len(left) > 3 else ""
            return (
                f"is a directory that holds {', '.join(sorted(left)[:3])}{more}; absent removes "
                "files, links and empty directories only: empty it first"
            )
        return None
    if entry.state == "directory" and found.leads_to_directory:
        return None
    if entry.state == "file" and found.kind == "link":
        return None
    return (
        f"is {_named(found.kind)} on the host, where {_named(entry.state)} should be; "
        "nothing was changed: move it away or correct the entry"
    )


def _change(entry: Entry, found: Found) -> Change | None:
    if entry.state == "absent":
        content, attributes = found.kind != "absent", False
    elif entry.state == "link":
        content, attributes = found.kind != "link" or found.target != entry.target, False
    elif entry.state == "directory":
        content = not found.is_directory
        attributes = content or _attributes_differ(entry, found)
    else:
        content = found.kind != "file" or found.content != entry.content
        attributes = found.kind != "file" or _attributes_differ(entry, found)
    if not (content or attributes):
        return None
    keys: list[str] = []
    if entry.properties and content:
        keys = changed_keys(_text(found.content), _text(entry.content))
    return Change(entry, found, content, attributes, tuple(keys), _restart_keys(keys, entry, found))


def _restart_keys(keys: list[str], entry: Entry, found: Found) -> tuple[str, ...]:
    """Return those of the changed keys that the process does not take while it runs.

    What `${...}` stands for only the process knows, so nobody can say what it should be told.
    """
    if not entry.dynamic or found.kind != "file":
        return tuple(keys)
    texts = [parse_or_empty(_text(content)) for content in (found.content, entry.content)]
    return tuple(
        key
        for key in keys
        if key not in entry.dynamic or any("${" in text.get(key, "") for text in texts)
    )


def _attributes_differ(entry: Entry, found: Found) -> bool:
    return (entry.mode, entry.owner, entry.group) != (found.mode, found.owner, found.group)


def _part(header: str, before: str, after: str) -> dict[str, str]:
    return {"before_header": header, "after_header": header, "before": before, "after": after}


def _shown(found: Found) -> str:
    if found.kind == "file":
        return _text(found.content)
    return _shown_other(found.kind, found.target)


def _shown_wish(entry: Entry) -> str:
    if entry.state == "file":
        return _text(entry.content)
    return _shown_other(entry.state, entry.target)


def _shown_other(kind: str, target: str) -> str:
    return {"absent": "", "link": f"link to {target}\n"}.get(kind, f"{kind}\n")


def _attributes(owner: str, group: str, mode: int) -> str:
    return f"{owner}:{group} {mode:04o}\n"


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _depth(path: str) -> int:
    return path.count("/")


def _named(kind: str) -> str:
    return {"absent": "absent", "other": "a device, socket or pipe"}.get(kind, f"a {kind}")


def _kind_of(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r:.40}"
