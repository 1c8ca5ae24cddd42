"""The record of an operation on a cluster, kept on its hosts; it is also the cluster's lock.

The file says who does what, in which order, and what is done and left: anyone can read it there.
While its state is `running` it locks the cluster. Its holder rewrites it while it works; an
operation that has not rewritten it for longer than its record allows counts as dead, which can be
decided only with the files of all hosts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import files, paths

PATH = "/var/lib/millrace/operation.json"
RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"
QUIET_SECONDS = 120
"""Seconds that a holder may let pass between two writes, where its record gives no other number."""

Record = Mapping[str, Any]


class LockedError(Exception):
    """Another operation has the lock; the text says which."""


def read(path: Path) -> dict[str, Any]:
    """Return the record in a file, with its `age` in seconds; empty without one."""
    with contextlib.suppress(OSError, ValueError):
        record = json.loads(paths.read_text(path))
        if isinstance(record, dict):
            return {**record, "age": max(0.0, time.time() - path.stat().st_mtime)}
    return {}


def holder(record: Record, own_id: str) -> dict[str, Any]:
    """Return the record of another operation that holds the lock, empty if none does."""
    held = record.get("state") == RUNNING and record.get("id") != own_id
    return dict(record) if held else {}


def begun_since(record: Record, judged: Collection[str]) -> str:
    """Describe the operation that holds the lock of a host, empty if none does.

    Those in `judged` are known to a run by their ids: its own, and one that it has found dead.
    """
    if not holder(record, "") or record.get("id") in judged or is_silent(record):
        return ""
    return f"{record.get('what')}, started by {record.get('who')} ({record.get('command')})"


def refuse_begun_since(path: Path, judged: Collection[str] | None) -> None:
    """Refuse to go on if an operation has begun since a run inspected this host; None: do not look.

    Raises:
        LockedError: names it.

    """
    description = "" if judged is None else begun_since(read(path), judged)
    if description:
        message = (
            "Another operation has taken the lock of the cluster since this run began: "
            f"{description}. This task has changed nothing. Run this again when that operation has "
            "ended."
        )
        raise LockedError(message)


def is_silent(record: Record) -> bool:
    """Return whether a record was not written on this host for longer than it allows."""
    quiet = float(record.get("quiet_seconds") or QUIET_SECONDS)
    return float(record.get("age", 0.0)) > quiet


def take(path: Path, record: Record, *, over: str = "") -> dict[str, Any]:
    """Write a record unless another operation holds the lock; return what was there before.

    `over` is the id of a holder that is known to be dead. `holder` shows whether it was taken.
    """
    with _alone(path):
        former = read(path)
        if not holder(former, str(record["id"])) or former["id"] == over:
            write(path, record)
        return former


def write(path: Path, record: Record) -> None:
    """Write a record; the file is for everybody to read."""
    text = json.dumps(dict(record), indent=2) + "\n"
    files.write_own(path, text, 0o644)


def update(path: Path, record: Record) -> bool:
    """Write the record of a running operation unless another one runs; return whether written.

    A running operation has the lock of the cluster, so the record of a dead one here is replaced:
    one that is silent, or that it has taken the lock over from (`took_over`).
    """
    with _alone(path):
        other_record = holder(read(path), str(record["id"]))
        taken_over = other_record.get("id") == record.get("took_over")
        if other_record and not taken_over and not is_silent(other_record):
            return False
        write(path, record)
        return True


def end(path: Path, record: Record) -> None:
    """Write how an operation ended into its own record; another operation's record stays."""
    with _alone(path):
        if read(path).get("id") == record["id"]:
            write(path, record)


def close(path: Path, dead: str) -> dict[str, Any]:
    """End the record of an operation that is known to be dead; return what was there before.

    Where it has worked without holding the lock, its record would refuse those that come later.
    """
    with _alone(path):
        former = read(path)
        if former.get("id") == dead and former.get("state") == RUNNING:
            reason = "Ansible was ended; another operation has taken the lock over"
            kept = {key: value for key, value in former.items() if key != "age"}
            write(path, {**kept, "state": STOPPED, "reason": kept.get("reason") or reason})
        return former


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    paths.make_parents(path)
    with paths.at(path.with_name(f".{path.name}.lock")) as place:
        descriptor = place.open(os.O_WRONLY | os.O_CREAT, 0o644)
    with os.fdopen(descriptor, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
