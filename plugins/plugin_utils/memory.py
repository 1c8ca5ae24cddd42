"""Secrets of the control node in its memory, for programs that need a file of them."""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from ..module_utils.host import paths
from ..module_utils.host.files import write_own

_MEMORY = "/dev/shm"  # noqa: S108 - the directory below it is checked


def write(path: Path, text: str) -> None:
    """Write a file in memory, and make `path` a link to it. Only its owner can read it.

    Raises:
        OSError: there is no memory that has files, or another account has made the directory.

    """
    directory = Path(_MEMORY, f"millrace-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    status = directory.lstat()
    if (status.st_uid, status.st_mode) != (os.geteuid(), stat.S_IFDIR | 0o700):
        raise PermissionError(13, "It is not a directory of this account alone", str(directory))
    # The name says nothing, and is the same in each run, so that none is left behind.
    file = directory / sha256(str(path.absolute()).encode()).hexdigest()[:16]
    write_own(file, text)
    paths.make_parents(path)
    with paths.at(path) as place:
        place.write_link(str(file))


@contextmanager
def unnamed(content: bytes) -> Iterator[str]:
    """Yield the path of a file in memory that is gone with this process, however it ends.

    Where the system has none the path is empty.
    """
    if not hasattr(os, "memfd_create"):
        yield ""
        return
    with open(os.memfd_create("millrace"), "wb") as stream:  # noqa: PTH123 - of a descriptor
        os.fchmod(stream.fileno(), 0o600)  # which sftp gives to the file on the host
        stream.write(content)
        stream.flush()
        path = f"/proc/{os.getpid()}/fd/{stream.fileno()}"
        yield path if Path(path).exists() else ""
