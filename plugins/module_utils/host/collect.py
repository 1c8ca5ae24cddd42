"""What a host says of itself, read within bounds of time and size, all of it at the same time.

A command or a file that does not answer, as on a file system whose server is gone, costs its own
piece alone.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable

from ..formats.redaction import without_private_keys
from . import paths

THREADS = 6
_CHUNK = 2**16
_NO_ANSWER = "not read: there was no answer in time"
_ENVIRONMENT = {
    "LC_ALL": "C",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


@dataclass(frozen=True)
class Piece:
    """A text of a host."""

    name: str
    """Its path among those of the host."""
    text: str = ""
    note: str = ""
    """Why there is no more of it."""


@dataclass(frozen=True)
class Bounds:
    """What may be used to read."""

    ends: float
    """When all is over, by time.monotonic."""
    largest: int
    """Bytes of a text."""

    def left(self, seconds: float) -> float:
        """Return so many seconds, or those that are left."""
        return max(0.0, min(seconds, self.ends - time.monotonic()))


Job = Callable[[Bounds], "list[Piece]"]


def collect(jobs: Sequence[tuple[str, Job]], bounds: Bounds, total: int) -> list[Piece]:
    """Return the pieces of all jobs in their order, of at most so many bytes together.

    A job has a name for what is said if it does not end.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, list[Piece]]] = queue.SimpleQueue()
    for number in range(len(jobs)):
        waiting.put(number)

    def work() -> None:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            name, job = jobs[number]
            try:
                pieces = job(bounds)
            except (OSError, ValueError) as error:
                pieces = [Piece(name, note=f"not read: {error}")]
            done.put((number, pieces))

    for _ in range(THREADS):
        threading.Thread(target=work, daemon=True).start()
    results: dict[int, list[Piece]] = {}
    while len(results) < len(jobs):
        try:
            number, pieces = done.get(timeout=bounds.left(float("inf")) or 0.01)
        except queue.Empty:
            break
        results[number] = pieces
    missing = [[Piece(name, note=_NO_ANSWER)] for name, _ in jobs]
    all_pieces = [
        piece for number in range(len(jobs)) for piece in results.get(number, missing[number])
    ]
    return _bounded(all_pieces, total)


def _bounded(pieces: Sequence[Piece], total: int) -> list[Piece]:
    bounded, remaining = [], total
    for piece in pieces:
        size = len(piece.text.encode("utf-8", "replace"))
        if size > remaining:
            note = "left out: what is read of this host has its greatest size"
            bounded.append(Piece(piece.name, note=note))
            continue
        remaining -= size
        bounded.append(piece)
    return bounded


def output(command: Sequence[str], seconds: float, bounds: Bounds) -> tuple[str, str]:
    """Return the end of what a command writes, whole lines, and why there is no more of it."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        return "", f"not read: {error.strerror} ({command[0]})"
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    ends = time.monotonic() + bounds.left(seconds)
    tail, cut, note = bytearray(), False, ""
    with process.stdout as stream:
        descriptor = stream.fileno()
        while True:
            remaining = ends - time.monotonic()
            if remaining <= 0 or not select.select([descriptor], [], [], remaining)[0]:
                note = f"cut: {command[0]} did not end in time"
                break
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                break
            tail += chunk
            if len(tail) > 2 * bounds.largest:
                del tail[: -bounds.largest]
                cut = True
    _end(process)
    content = bytes(tail)
    if len(content) > bounds.largest:
        content, cut = content[-bounds.largest :], True
    return _text(content, cut=cut), note or ("cut: the end of it" if cut else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command; one that waits for a disk that does not answer stays behind."""
    try:
        process.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        try:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=0.5)
        except (OSError, subprocess.TimeoutExpired):
            return


def file_end(path: str, bounds: Bounds) -> tuple[str, str]:
    """Return the last lines of a file, and why there is no more of it.

    Raises:
        OSError: it cannot be read, or an account has put a link on the way to it.

    """
    with paths.at(path) as place:
        flags = os.O_RDONLY | os.O_NONBLOCK
        with os.fdopen(place.open(flags), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return "", "not read: it is not a file"
            cut = status.st_size > bounds.largest
            if cut:
                stream.seek(-bounds.largest, os.SEEK_END)
            content = stream.read(bounds.largest)
    return _text(content, cut=cut), "cut: the end of it" if cut else ""


def _text(content: bytes, *, cut: bool) -> str:
    """Return a text without private keys; of one that was cut without its first, partial line."""
    if cut:
        # Half of a secret would not be known as one.
        _, _, content = content.partition(b"\n")
    return without_private_keys(content.decode("utf-8", "replace").replace("\0", " "))


def of_command(name: str, command: Sequence[str], seconds: float = 8) -> tuple[str, Job]:
    """Return the job that reads the output of a command."""
    return name, lambda bounds: [Piece(name, *output(command, seconds, bounds))]


def of_commands(name: str, *commands: Sequence[str]) -> tuple[str, Job]:
    """Return the job that reads the output of several commands into one text."""

    def job(bounds: Bounds) -> list[Piece]:
        outputs, notes = [], []
        for command in commands:
            text, note = output(command, 5, bounds)
            outputs.append(f"$ {' '.join(command)}\n{text}\n")
            notes += [note] if note else []
        return [Piece(name, "\n".join(outputs), "; ".join(notes))]

    return name, job


def of_file(name: str, path: str) -> tuple[str, Job]:
    """Return the job that reads the end of a file; one that is not there is none."""

    def job(bounds: Bounds) -> list[Piece]:
        try:
            return [Piece(name, *file_end(path, bounds))]
        except FileNotFoundError:
            return []

    return name, job
