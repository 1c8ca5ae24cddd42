"""Files below directories in which an account other than root can put links.

Root follows no link there, or the account would choose what root reads, gives away or removes: a
path is opened name by name (O_NOFOLLOW), and everything is done relative to the open directory, so
that nothing that is exchanged meanwhile is followed either. Links in directories of root alone,
for instance an operator's /srv -> /data, are followed. Whoever is not root has no rights of which
a link could make use.

Every OSError names the path.
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Union

AnyPath = Union[str, Path]
_Check = Callable[[int], bool]
# A control node may have a system without O_PATH; on a host it spares the right to read.
_SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LARGEST = 64 * 2**20
"""Bytes of a file, where its reader names no other number: root reads it into memory."""
_MOST_LINKS = 40  # as many as the system itself follows
_ROOT = 0


class UnsafePathError(OSError):
    """A path leads to where an account other than root has chosen."""

    def __init__(self, path: str, reason: str) -> None:
        """Name the path and what is to be done."""
        super().__init__(errno.ELOOP, reason, path)

    def __str__(self) -> str:
        """Return the message, which is no message of the system."""
        return f"{self.filename}: {self.strerror}"


@dataclass(frozen=True)
class Directory:
    """A directory that is held open."""

    descriptor: int
    path: str
    writer: str = ""
    """Who besides root can put something into it."""
    protects: bool = False
    """Whether nobody but root replaces in it what belongs to root (a sticky one)."""

    @contextmanager
    def enter(self, name: str) -> Iterator[Directory]:
        """Open a directory in it; a link is none."""
        child = self.child(name, _open(name, _READ | os.O_DIRECTORY, self))
        try:
            yield child
        finally:
            os.close(child.descriptor)

    def child(self, name: str, descriptor: int) -> Directory:
        """Return a directory in it that has been opened."""
        status = os.fstat(descriptor)
        path = self.path if name == "." else os.path.join(self.path, name)  # noqa: PTH118 - a text
        writer = _writer(status)
        inherited = "" if self.protects and status.st_uid == _ROOT else self.writer
        sticky = bool(status.st_mode & stat.S_ISVTX)
        protects = not inherited and sticky and status.st_uid == _ROOT
        return Directory(descriptor, path, inherited or writer, protects)

    def names(self) -> list[str]:
        """Return what is in it; it must have been opened to be read."""
        with naming(self.path), os.scandir(self.descriptor) as entries:
            return [entry.name for entry in entries]


@dataclass(frozen=True)
class Place:
    """A name in a directory that is held open: what is done to it is done there."""

    directory: Directory
    name: str

    @property
    def path(self) -> str:
        """Where it is, without the links on the way."""
        return os.path.normpath(os.path.join(self.directory.path, self.name))  # noqa: PTH118 - a text

    def status(self) -> os.stat_result:
        """Return what lies there, a link as itself."""
        return os.stat(self.name, dir_fd=self.directory.descriptor, follow_symlinks=False)

    def is_link(self) -> bool:
        """Return whether a link lies there."""
        try:
            return stat.S_ISLNK(self.status().st_mode)
        except FileNotFoundError:
            return False

    def target(self) -> str:
        """Return what the link there says."""
        return os.readlink(self.name, dir_fd=self.directory.descriptor)

    @property
    def link_reason(self) -> str:
        """Why no link is followed there, empty where one is."""
        return _link_reason(self.directory)

    def open(self, flags: int, mode: int = 0o600) -> int:
        """Return a descriptor of what lies there, which is not a link."""
        return _open(self.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, self.directory, mode)

    def read(self, largest: int = LARGEST) -> bytes:
        """Return the content of the file there.

        Raises:
            OSError: it is no file, or has more bytes than `largest` (EFBIG).

        """
        with os.fdopen(self.open(_READ), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is not a file", self.path)
            content = stream.read(largest + 1)
            if len(content) > largest:
                raise OSError(errno.EFBIG, f"it has more than {largest} bytes", self.path)
            return content

    def write(self, content: bytes, mode: int, owner: int = -1, group: int = -1) -> None:
        """Replace what lies there by a file, atomically.

        It is a new one also where mode or owner alone differ: the name could be another one of a
        file elsewhere (a hard link). Until it is complete only its writer can read it.
        """
        with self._replacement() as new, os.fdopen(self._create(new), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchown(stream.fileno(), owner, group)
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())

    def write_link(self, target: str) -> None:
        """Replace what lies there by a link, atomically."""
        with self._replacement() as new:
            os.symlink(target, new, dir_fd=self.directory.descriptor)

    def make_directory(self, mode: int, owner: int = -1, group: int = -1) -> None:
        """Make a directory, or give the one that is there its owner and mode.

        Raises:
            UnsafePathError: it is a link, or root's own.

        """
        # Hosts that share a file system may make the same directory at the same moment.
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.name, 0o700, dir_fd=self.directory.descriptor)
        with self.directory.enter(self.name) as made:
            if reason := self._foreign_reason(made, owner):
                raise UnsafePathError(self.path, reason)
            os.fchown(made.descriptor, owner, group)
            os.fchmod(made.descriptor, mode)

    def foreign_reason(self, owner: int) -> str:
        """Return why the directory there must not be given to an account, empty if it may."""
        if not self.directory.writer or self.status().st_uid != _ROOT:
            return ""
        with self.directory.enter(self.name) as directory:
            return self._foreign_reason(directory, owner)

    def _foreign_reason(self, directory: Directory, owner: int) -> str:
        """Return it of the open directory.

        An account can rename root's directories that lie in its own. One that is empty may be what
        an interrupted run has made, and a disk that is mounted cannot be renamed.
        """
        status = os.fstat(directory.descriptor)
        keeps_owner = owner in (-1, status.st_uid)
        if keeps_owner or status.st_uid != _ROOT or not self.directory.writer:
            return ""
        if status.st_dev != os.fstat(self.directory.descriptor).st_dev or not directory.names():
            return ""
        return (
            f"it belongs to root and is not empty, below {self.directory.path}, a directory that "
            f"{self.directory.writer} can write: it may be another one that was renamed. Give it "
            "to its account (chown) if it is right, or move it away"
        )

    def rename(self, name: str) -> None:
        """Give what lies there another name in its directory."""
        at = self.directory.descriptor
        os.rename(self.name, name, src_dir_fd=at, dst_dir_fd=at)

    def remove_file(self) -> None:
        """Remove what lies there, which is no directory."""
        with naming(self.path):
            os.unlink(self.name, dir_fd=self.directory.descriptor)

    def remove_directory(self) -> None:
        """Remove the empty directory there."""
        with naming(self.path):
            os.rmdir(self.name, dir_fd=self.directory.descriptor)

    def _create(self, name: str) -> int:
        return os.open(name, _NEW, 0o600, dir_fd=self.directory.descriptor)

    @contextmanager
    def _replacement(self) -> Iterator[str]:
        """Yield a name beside this one; what is written there then replaces it."""
        new, at = f".{self.name}.millrace-new", self.directory.descriptor
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=at)
        try:
            yield new
            os.rename(new, self.name, src_dir_fd=at, dst_dir_fd=at)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new, dir_fd=at)


@contextmanager
def at(path: AnyPath, *, follow: bool = False) -> Iterator[Place]:
    """Open the directory of a path, and yield the place in it.

    With `follow` a path that is a link itself is the place to which it leads.

    Raises:
        UnsafePathError: a link on the way lies where an account other than root can put one.
        OSError: a directory on the way is not there.

    """
    with naming(path):
        directory, name = _walk(str(path), follow=follow)
        try:
            yield Place(directory, name)
        finally:
            os.close(directory.descriptor)


def read_bytes(path: AnyPath, largest: int = LARGEST) -> bytes:
    """Return the content of a file of at most so many bytes."""
    with at(path, follow=True) as place:
        return place.read(largest)


def read_text(path: AnyPath, errors: str = "strict", largest: int = LARGEST) -> str:
    """Return the text of a file in UTF-8 of at most so many bytes."""
    return read_bytes(path, largest).decode("utf-8", errors)


def is_file(path: AnyPath) -> bool:
    """Return whether a file is there; raises UnsafePathError."""
    return _is(path, stat.S_ISREG)


def is_directory(path: AnyPath) -> bool:
    """Return whether a directory is there; raises UnsafePathError."""
    return _is(path, stat.S_ISDIR)


def exists(path: AnyPath) -> bool:
    """Return whether something is there, a link included that leads nowhere."""
    try:
        with at(path) as place:
            place.status()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def names(path: AnyPath) -> list[str]:
    """Return the names in a directory."""
    with at(path, follow=True) as place, place.directory.enter(place.name) as directory:
        return directory.names()


def directories(path: AnyPath) -> list[str]:
    """Return the names of directories in a directory; a link is none."""
    with at(path, follow=True) as place, place.directory.enter(place.name) as directory:
        places = [Place(directory, name) for name in directory.names()]
        return [entry.name for entry in places if _mode_is(entry, stat.S_ISDIR)]


def make_parents(path: AnyPath) -> None:
    """Make the directories above a path that are missing."""
    for parent in reversed(Path(path).parents):
        if not is_directory(parent):
            # An account may put another directory there at any time, so no mode is changed.
            with at(parent, follow=True) as place, contextlib.suppress(FileExistsError):
                before = os.umask(0o022)
                try:
                    os.mkdir(place.name, 0o755, dir_fd=place.directory.descriptor)
                finally:
                    os.umask(before)


def remove_file(path: AnyPath) -> None:
    """Remove a file or link, if it is there."""
    with contextlib.suppress(FileNotFoundError), at(path) as place:
        place.remove_file()


def _is(path: AnyPath, check: _Check) -> bool:
    try:
        with at(path, follow=True) as place:
            return _mode_is(place, check)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _mode_is(place: Place, check: _Check) -> bool:
    try:
        return check(place.status().st_mode)
    except FileNotFoundError:
        return False


def _walk(path: str, *, follow: bool) -> tuple[Directory, str]:
    """Return the last directory of a path, open, and the name in it."""
    if not path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    remaining = _parts(os.path.join(os.getcwd(), path))  # noqa: PTH109, PTH118 - texts
    opened = [_root()]
    links = 0
    try:
        while remaining:
            name = remaining.pop()
            if name == "..":
                if len(opened) > 1:
                    os.close(opened.pop().descriptor)
                continue
            if not remaining and not follow:
                return opened.pop(), name
            try:
                descriptor = os.open(name, _SEARCH, dir_fd=opened[-1].descriptor)
            except FileNotFoundError:
                if remaining:
                    raise
                return opened.pop(), name  # what is not there is to be made there
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISLNK(mode):
                links += 1
                remaining += _target(descriptor, name, opened, links)
            elif not remaining:
                os.close(descriptor)
                return opened.pop(), name
            elif stat.S_ISDIR(mode):
                opened.append(opened[-1].child(name, descriptor))
            else:
                os.close(descriptor)
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return opened.pop(), "."
    finally:
        for directory in opened:
            os.close(directory.descriptor)


def _target(descriptor: int, name: str, opened: list[Directory], links: int) -> list[str]:
    """Return the parts of a link's target; where that is absolute the way begins at the root."""
    try:
        target = os.readlink("", dir_fd=descriptor)
    finally:
        os.close(descriptor)
    if opened[-1].writer:
        raise UnsafePathError(Place(opened[-1], name).path, _link_reason(opened[-1]))
    if links > _MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.startswith("/"):
        while len(opened) > 1:
            os.close(opened.pop().descriptor)
    return _parts(target)


def _parts(path: str) -> list[str]:
    """Return the names of a path, the last one first."""
    return [name for name in path.split("/") if name not in ("", ".")][::-1]


def _root() -> Directory:
    descriptor = os.open("/", _SEARCH | os.O_DIRECTORY)
    return Directory(descriptor, "/", _writer(os.fstat(descriptor)))


def _writer(status: os.stat_result) -> str:
    """Return who besides root can write a directory, by its owner and mode; empty for nobody."""
    if os.geteuid() != _ROOT:
        return ""
    if status.st_uid != _ROOT:
        return _account(status.st_uid)
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    if status.st_mode & stat.S_IWGRP:
        return f"the group {_group(status.st_gid)}"
    return ""


def _account(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"the account {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _link_reason(directory: Directory) -> str:
    if not directory.writer:
        return ""
    return (
        f"it is a link below {directory.path}, a directory that {directory.writer} can write, so "
        "that it is not followed; remove it"
    )


def _open(name: str, flags: int, directory: Directory, mode: int = 0o600) -> int:
    try:
        return os.open(name, flags, mode, dir_fd=directory.descriptor)
    except OSError as error:
        # What was a directory or a file before may be a link by now.
        place = Place(directory, name)
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and place.is_link():
            reason = place.link_reason or "it became a link meanwhile; run again"
            raise UnsafePathError(place.path, reason) from error
        error.filename = place.path
        raise


@contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Name the path in an error that names none, or only a name below an open directory."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and not str(error.filename).startswith("/"):
            error.filename, error.filename2 = str(path), None
        raise
