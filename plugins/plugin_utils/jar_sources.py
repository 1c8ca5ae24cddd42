"""Where the jars of a plugin come from: Maven, a URL, or a file on the control node.

An archive is read as something that a stranger wrote: nothing is unpacked to a path that it names.
"""

import fnmatch
import hashlib
import http.client
import lzma
import re
import shutil
import stat
import subprocess
import tarfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

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
# Spark separates jars by commas and takes patterns, a class path has colons.
_JAR = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+~@=-]*\.jar")
_HEADERS = b"xgXLK"
"""The types of headers of a tar file that tarfile reads as a whole: names, and records of pax."""
_MOST_HEADER = 2**20
DAMAGES = (
    OSError,
    EOFError,
    RuntimeError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What is raised where an archive or a jar is damaged, encrypted, or packed in an unknown way."""


class SourceError(Exception):
    """What a plugin is made of cannot be had, or is not what it has to be; the text says why."""


class _Header(tarfile.TarInfo):
    """A header of a tar file; one that would fill the memory is refused before it is read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        """Return the header in a block."""
        header = super().frombuf(buf, encoding, errors)
        most = _MOST_HEADER if header.type[0] in _HEADERS else None
        if header.size < 0 or (most and header.size > most):
            message = f"it has a header of {header.size} bytes"
            raise tarfile.HeaderError(message)
        return header


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirection, but to no address that is read without encryption instead."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request of the other address."""
        scheme = urllib.parse.urlsplit(newurl).scheme.lower()
        if scheme != "https" and (scheme, req.type) != ("http", "http"):
            message = f"it redirects to {newurl}, which is not encrypted"
            raise SourceError(message)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


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
    # A copy: what is packed is what the sum is of, whatever becomes of the file meanwhile.
    path = _copied(Path(plugin.file), work) if plugin.file else _download(plugin.url, work)
    digest = sha256_of(path)
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
    members = _of_zip if path.suffix == ".zip" else _of_tar
    try:
        left = MOST_BYTES
        for name, stream in members(path):
            left -= _copy(stream, name, into, left)
    except DAMAGES as error:
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


def _of_zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _check_size(path, len(members), sum(member.file_size for member in members))
        for member in members:
            mode = stat.S_IFMT(member.external_attr >> 16)
            is_plain = mode in (0, stat.S_IFREG, stat.S_IFDIR)
            if _is_jar(path, member.filename, is_plain=is_plain) and not member.is_dir():
                with archive.open(member) as stream:
                    yield PurePosixPath(member.filename).name, stream


def _of_tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    count = size = 0
    with tarfile.open(path, "r:*", tarinfo=_Header) as archive:
        for member in archive:
            if member.size < 0:  # as records of pax say
                message = f"{member.name!r} has {member.size} bytes"
                raise tarfile.HeaderError(message)
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
    if not _JAR.fullmatch(name):
        message = (
            f"{name!r} is no name for a jar on a class path: it may have letters, digits and "
            "_ . + ~ @ = -, and begins with a letter, a digit or _"
        )
        raise SourceError(message)
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


def _copied(source: Path, work: Path) -> Path:
    """Return a copy of a file of the control node."""
    path = work / source.name
    try:
        with source.open("rb") as stream:
            _store(stream, path, str(source))
    except OSError as error:
        message = f"{source} cannot be copied: {error.strerror}"
        raise SourceError(message) from error
    return path


def _download(url: str, work: Path) -> Path:
    path = work / PurePosixPath(url.partition("?")[0].partition("#")[0]).name
    opener = urllib.request.build_opener(_Redirects)
    try:
        with opener.open(url, timeout=_TIMEOUT) as stream:
            size = _store(stream, path, url)
            expected = stream.headers.get("Content-Length")
    except SourceError as error:
        message = f"{url} cannot be fetched: {error}"
        raise SourceError(message) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        message = f"{url} cannot be fetched: {error or type(error).__name__}"
        raise SourceError(message) from error
    if expected is not None and str(size) != expected.strip():
        message = f"{url} ended after {size} of {expected} bytes: run again"
        raise SourceError(message)
    return path


def _store(stream: IO[bytes], path: Path, name: str) -> int:
    """Write a stream to a file, and return its size."""
    size = 0
    with path.open("wb") as file:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > MOST_BYTES:
                message = f"{name} is larger than {MOST_BYTES // 2**20} MiB"
                raise SourceError(message)
            file.write(chunk)
    return size


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
