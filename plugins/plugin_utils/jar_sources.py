"""The sources of a plugin's jars: Maven, a URL, or a file on the control node.

An archive is read as something that a stranger wrote: nothing is unpacked to a path that it names.
"""

import fnmatch
import hashlib
import re
import shutil
import stat
import subprocess
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from ..module_utils.host.distribution import sha256_of
from .cluster.jvm_plugins import PROVIDED, SUFFIXES, Coordinates, Plugin

MOST_BYTES = 2 * 2**30
"""The most that an archive, and all jars of a plugin, may have."""
MOST_FILES = 50_000
_TIMEOUT = 60.0
_MAVEN_SECONDS = 1800
_MOST_SHOWN = 500
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_CHUNK = 2**20


class SourceError(Exception):
    """The jars of a plugin cannot be fetched, or are not what they have to be; the text says why."""


def fetch(plugin: Plugin, work: Path) -> tuple[list[Path], str]:
    """Bring the jars of a plugin into a directory; return them, and the sum to record.

    That is the sha256 of its file, and of what Maven resolves that of the lines which
    `sha256sum *.jar` prints, so that each change of a dependency is another sum. What is excluded
    counts, too.

    Raises:
        SourceError: they cannot be had, or the file is another one than the inventory records.

    """
    into = work / "jars"
    into.mkdir()
    if plugin.maven:
        for path in _resolve(plugin, work):
            add(path, into)
        return _kept(plugin, into), listed_sum(sorted(into.glob("*.jar")))
    path = Path(plugin.file) if plugin.file else _download(plugin.url, work)
    try:
        digest = sha256_of(path)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise SourceError(message) from error
    if plugin.recorded and digest != plugin.recorded:
        message = (
            f"{plugin.source} has the sha256 {digest}, and sha256 is {plugin.recorded}: it is not "
            "the file that was reviewed. Fetch the right one, or record the new sum after a review"
        )
        raise SourceError(message)
    add(path, into)
    return _kept(plugin, into), digest


def listed_sum(jars: list[Path]) -> str:
    """Return the sha256 of the lines that sha256sum prints for jars."""
    lines = (f"{sha256_of(jar)}  {jar.name}\n" for jar in sorted(jars))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def add(path: Path, into: Path) -> None:
    """Copy a jar, or all jars in an archive, into a directory.

    Raises:
        SourceError: it cannot be read, or has what no archive of a plugin has.

    """
    if path.suffix == ".jar":
        with path.open("rb") as jar:
            _copy(jar, path.name, into, MOST_BYTES)
        return
    read_jars = _read_zip if path.suffix == ".zip" else _read_tar
    try:
        space = MOST_BYTES
        for name, stream in read_jars(path):
            space -= _copy(stream, name, into, space)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, RuntimeError) as error:
        message = f"{path.name} cannot be read as an archive: {error}"
        raise SourceError(message) from error


def _kept(plugin: Plugin, directory: Path) -> list[Path]:
    """Return the jars that are not excluded; refuse what leaves none, and what excludes none."""
    jars = sorted(directory.glob("*.jar"))
    for pattern in plugin.exclude:
        matching = [jar for jar in jars if fnmatch.fnmatch(jar.name, pattern)]
        if not matching:
            names = ", ".join(jar.name for jar in jars)
            message = f"exclude has {pattern}, which is none of its jars: {names}"
            raise SourceError(message)
        jars = [jar for jar in jars if jar not in matching]
    if not jars:
        message = f"{plugin.source} contains no jar"
        raise SourceError(message)
    for jar in jars:
        if not zipfile.is_zipfile(jar):
            message = f"{jar.name} is no jar, or it is damaged"
            raise SourceError(message)
    return jars


def _read_zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _check_size(path, len(members), sum(member.file_size for member in members))
        for member in members:
            mode = stat.S_IFMT(member.external_attr >> 16)
            is_plain = mode in (0, stat.S_IFREG, stat.S_IFDIR)
            if _is_jar(path, member.filename, is_plain=is_plain) and not member.is_dir():
                with archive.open(member) as stream:
                    yield PurePosixPath(member.filename).name, stream


def _read_tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    count = size = 0
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            count, size = count + 1, size + member.size
            _check_size(path, count, size)
            is_plain = member.isfile() or member.isdir()
            if _is_jar(path, member.name, is_plain=is_plain) and member.isfile():
                stream = archive.extractfile(member)
                if stream:
                    yield PurePosixPath(member.name).name, stream


def _check_size(path: Path, count: int, size: int) -> None:
    if size > MOST_BYTES or count > MOST_FILES:
        message = (
            f"{path.name} has {count} files of {size // 2**20} MiB, at most {MOST_FILES} of "
            f"{MOST_BYTES // 2**20} MiB are unpacked"
        )
        raise SourceError(message)


def _is_jar(path: Path, name: str, *, is_plain: bool) -> bool:
    """Return whether a member is a jar.

    Raises:
        SourceError: it lies outside the archive, or is a link or a device.

    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." in parts or name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        message = (
            f"{path.name} has {name!r}, which lies outside of it: it is no archive of a plugin"
        )
        raise SourceError(message)
    if not is_plain:
        message = f"{path.name} has {name!r}, which is a link or a device: pack it without"
        raise SourceError(message)
    return name.endswith(".jar")


def _copy(stream: IO[bytes], name: str, into: Path, most: int) -> int:
    """Copy a jar into a directory, and return its size."""
    target, size = into / name, 0
    partial = into / f"{name}.part"
    with partial.open("wb") as file:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > most:
                message = f"{name} is larger than its archive says, or than {most // 2**20} MiB"
                raise SourceError(message)
            file.write(chunk)
    if target.exists() and sha256_of(target) != sha256_of(partial):
        message = f"there are two different {name}: pack it without one of them"
        raise SourceError(message)
    partial.replace(target)
    return size


def _download(url: str, work: Path) -> Path:
    path = work / PurePosixPath(url.partition("?")[0].partition("#")[0]).name
    space = MOST_BYTES
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as stream, path.open("wb") as file:  # noqa: S310 - a rule allows http and https, and a sum decides
            while chunk := stream.read(_CHUNK):
                space -= len(chunk)
                if space < 0:
                    message = f"{url} is larger than {MOST_BYTES // 2**20} MiB"
                    raise SourceError(message)
                file.write(chunk)
    except (OSError, ValueError) as error:
        message = f"{url} cannot be fetched: {error}"
        raise SourceError(message) from error
    return path


def _resolve(plugin: Plugin, work: Path) -> list[Path]:
    """Return what Maven resolves."""
    coordinates = Coordinates.of(plugin.maven)
    if coordinates is None:
        message = f"{plugin.maven!r} is no group:artifact:version"
        raise SourceError(message)
    if not shutil.which("mvn"):
        message = "Maven is not installed on the control node: install the package maven"
        raise SourceError(message)
    pom, into = work / "pom.xml", work / "resolved"
    pom.write_text(coordinates.pom(PROVIDED[plugin.product]), encoding="utf-8")
    command = ["mvn", "-q", "-B", "-U", "-Dstyle.color=never", "-f", str(pom)]
    try:
        done = subprocess.run(
            [
                *command,
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={into}",
            ],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_MAVEN_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        message = f"Maven did not resolve {plugin.maven} within {_MAVEN_SECONDS} s"
        raise SourceError(message) from error
    if done.returncode:
        text = _ESCAPE.sub("", done.stdout)
        errors = (line.removeprefix("[ERROR]").strip() for line in text.splitlines())
        reason = next(filter(None, errors), "it does not say why").partition(" -> [Help")[0]
        message = f"Maven cannot resolve {plugin.maven}: {reason[:_MOST_SHOWN]}"
        raise SourceError(message)
    return sorted(path for path in into.iterdir() if path.name.endswith(SUFFIXES))
