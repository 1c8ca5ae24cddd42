"""A frame: its format, and how it is read from records or from the shared directory.

A frame is a picture in shades of grey, as a PGM file (P5, 8 bits): a line of text with columns and
rows, then one byte for each pixel. Nothing in it can be executed.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

GOOD, DEFECT = "good", "defect"
LABELS: Final = "labels.csv"
"""The file beside frames with the label of each."""
SENT: Final = "sent"
"""The header of a result with the time of the frame's first record, in milliseconds."""
_HEAD = re.compile(rb"P5\s+(\d{1,5})\s+(\d{1,5})\s+255\s")
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES}


class RefusedFrameError(Exception):
    """A frame cannot be judged; the message is the reason in its dead letters."""


@dataclass(frozen=True)
class Store:
    """The directory with the frames that are too large for records, and the largest it may have."""

    root: str
    max_bytes: int


def encode(picture: NDArray[np.uint8]) -> bytes:
    """Return a picture as a PGM file."""
    rows, columns = picture.shape
    return b"P5 %d %d 255\n" % (columns, rows) + picture.tobytes()


def decode(data: bytes) -> NDArray[np.uint8]:
    """Return the picture of a PGM file.

    Raises:
        RefusedFrameError: it is none.

    """
    head = _HEAD.match(data)
    if not head or int(head[1]) * int(head[2]) != len(data) - head.end():
        message = "not decodable"
        raise RefusedFrameError(message)
    return np.frombuffer(data, np.uint8, offset=head.end()).reshape(int(head[2]), int(head[1]))


def read(
    values: Sequence[bytes], sha256: str, shape: str, reference: str | None, store: Store
) -> NDArray[np.uint8]:
    """Return the picture of a frame from its chunks, or from the store if it has a reference.

    Raises:
        OSError: the store cannot be read.
        RefusedFrameError: the frame is not what its records say.

    """
    data = b"".join(values) if reference is None else stored(reference, store)
    if len(data) > store.max_bytes:
        message = "too large"
        raise RefusedFrameError(message)
    if hashlib.sha256(data).hexdigest() != sha256:
        message = "wrong checksum"
        raise RefusedFrameError(message)
    picture = decode(data)
    if "x".join(map(str, picture.shape)) != shape:
        message = "wrong shape"
        raise RefusedFrameError(message)
    return picture


def stored(reference: str, store: Store) -> bytes:
    """Return a file below the root, to which no link and no `..` may lead away from it.

    Raises:
        OSError: the store cannot be read.
        RefusedFrameError: there is no such file, or none that may be read.

    """
    if not store.root:
        message = "references are not accepted"
        raise RefusedFrameError(message)
    root = Path(store.root).resolve(strict=True)  # without it every frame would be unknown
    try:
        path = (root / reference).resolve()
        if not path.is_relative_to(root):
            message = "reference outside the root"
            raise RefusedFrameError(message)
        # Without waiting for the writer of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in _NOT_THERE:
            raise
        message = "unknown reference"
        raise RefusedFrameError(message) from error
    # Where the open file is: a directory may have been replaced by a link since.
    if not Path(f"/proc/self/fd/{descriptor}").resolve().is_relative_to(root):
        os.close(descriptor)
        message = "reference outside the root"
        raise RefusedFrameError(message)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        message = "unknown reference"
        raise RefusedFrameError(message)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(store.max_bytes + 1)
