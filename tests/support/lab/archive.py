"""An official archive of Kafka, made from the jars of a packed home, and a server that has it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OTHER_FILES = ("LICENSE", "NOTICE", "config/server.properties", "licenses/zstd-jni-BSD-2-clause")


def pack(home: Path, version: str, out: Path) -> str:
    """Write `kafka_2.13-<version>.tgz` from the tarball of a home; returns its sha512."""
    top = f"kafka_2.13-{version}"
    with tarfile.open(home) as packed, tarfile.open(out, "w:gz", compresslevel=1) as archive:
        for member in packed:
            kind, _, name = member.name.removeprefix("./").partition("/")
            if kind == "libs" and member.isfile():
                member.name = f"{top}/libs/{name}"
                archive.addfile(member, packed.extractfile(member))
            elif kind == "bin" and name.endswith(".sh"):
                _add(archive, f"{top}/bin/{name}", 0o755)
        for name in OTHER_FILES:
            _add(archive, f"{top}/{name}", 0o644)
    return hashlib.sha512(out.read_bytes()).hexdigest()


def _add(archive: tarfile.TarFile, name: str, mode: int) -> None:
    """Add a file that holds its name."""
    content = f"# {name}\n".encode()
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: Any) -> None:
        pass


@contextlib.contextmanager
def serve(directory: Path) -> Iterator[str]:
    """Serve a directory on loopback; yields its URL."""
    handler = functools.partial(_Quiet, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
