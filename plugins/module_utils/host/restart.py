"""Which services run with files that have changed since, and the files of their last start.

A restart mark is a file in the service's runtime directory, which exists while the process runs: a
start clears it, and an aborted run leaves it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import files, paths
from .files import Change, Entry


def add_to_mark(mark: Path, changed: Mapping[str, Iterable[str]]) -> None:
    """Add changed paths and their keys to a service's restart mark.

    A service that does not run has no directory for the mark, and needs none.
    """
    with contextlib.suppress(FileNotFoundError):
        existing = _text_of(mark)
        files.write(mark, merged_mark(existing, changed).encode(), 0o644)


def _text_of(mark: Path) -> str:
    """Return the text of a mark, none where there is no file: what is there is replaced."""
    try:
        return paths.read_text(mark, errors="replace")
    except OSError:
        return ""


def merged_mark(existing: str, changed: Mapping[str, Iterable[str]]) -> str:
    """Return a mark's text: the paths and keys that it named so far, and those of `changed`.

    Anything that is not such a mark counts as empty: that a mark exists is what matters.
    """
    try:
        recorded = json.loads(existing or "{}")["paths"]
        paths = {str(path): {str(key) for key in keys} for path, keys in recorded.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        paths = {}
    for path, keys in changed.items():
        paths.setdefault(path, set()).update(keys)
    text = {path: sorted(keys) for path, keys in sorted(paths.items())}
    return json.dumps({"paths": text}, indent=2) + "\n"


def make(
    changes: Sequence[Change],
    marks: Sequence[Path],
    previous: Path | None,
    former: Mapping[str, Any],
) -> None:
    """Make all changes; if one needs a restart, write the marks first.

    First the current state of the files of a running service is kept (it runs while a mark's
    directory exists). What was kept is not replaced as long as a mark exists, since the running
    process was started with it.

    Raises:
        ApplyError: names what was done and what was not.

    """
    needed = {change.entry.path: change.restart_keys for change in changes if change.needs_restart}
    current = str(previous)
    try:
        read = any(change.entry.restart and change.content for change in changes)
        runs = any(mark.parent.is_dir() for mark in marks)
        marked = any(mark.exists() for mark in marks)
        if previous and read and runs and not (previous.exists() and marked):
            keep(previous, former)
        for mark in marks if needed else ():
            current = str(mark)
            add_to_mark(mark, needed)
        files.make(changes)
        # A process that started in between may have read an old file; its directory is new.
        for mark in marks if needed else ():
            current = str(mark)
            if not mark.exists():
                add_to_mark(mark, needed)
    except OSError as error:
        raise files.ApplyError(current, error.strerror or str(error), []) from error


def current_state(entries: Iterable[Entry], read: files.Read) -> dict[str, Any]:
    """Return the state of what a process reads: entries that restart it, and all links.

    Restoring them makes the process start as it last did. Devices and sockets are left out.
    """
    return {
        entry.path: _former(entry, existing)
        for entry, existing in ((entry, read(entry.path)) for entry in entries)
        if (entry.restart or entry.state == "link") and existing.kind != "other"
    }


def _former(entry: Entry, existing: files.Found) -> dict[str, Any]:
    return {
        "state": existing.kind,
        "target": existing.target,
        "mode": f"{existing.mode:04o}",
        "owner": existing.owner,
        "group": existing.group,
        # As text, since what Kafka refuses must be put back as well.
        "content": existing.content.decode("utf-8", "surrogateescape"),
        "format": "text",
        "secret": entry.secret,
    }


def keep(previous: Path, states: Mapping[str, Any]) -> None:
    """Write what `restore` needs; only root may read it, since secrets are among it."""
    files.write_own(previous, json.dumps({"entries": states}, indent=2) + "\n")


def forget_superseded(previous: Path, mark: Path) -> None:
    """Remove what was kept, unless a mark exists: else the running process works as its files say.

    A later start that fails, for another reason, must not bring back files of long ago.
    """
    if not mark.exists():
        previous.unlink(missing_ok=True)


def kept_changes(previous: Path) -> list[Change]:
    """Return what `restore` would change, nothing where nothing was kept.

    Raises:
        ValueError: the file is not what `keep` wrote.

    """
    try:
        text = paths.read_text(previous)
        entries = files.entries_of(json.loads(text)["entries"])
    except FileNotFoundError:
        return []
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        message = f"{previous} is not a record of previous files: {error}"
        raise ValueError(message) from error
    return files.plan(entries, files.Host(entries).read)


def can_restore(previous: Path) -> bool:
    """Return whether there are files to put back that a service can run on."""
    return previous.is_file() and not any(
        change.entry.state == "absent" and change.entry.path.endswith(".service")
        for change in kept_changes(previous)
    )


def restore(previous: Path, marks: Sequence[Path] = ()) -> list[str]:
    """Put back the files and links that were kept, and return the changed paths.

    The marks and what was kept are removed at the end, so an abort can be run again.

    Raises:
        ValueError: the file is not what `keep` wrote.
        ApplyError: a path could not be written.

    """
    changes = kept_changes(previous)
    files.make(changes)
    for path in (*marks, previous):
        paths.remove_file(path)
    return [change.entry.path for change in changes]
