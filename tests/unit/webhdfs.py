"""A server on the loopback address that answers as the NameNode of some directories."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.unit.host.served import served

PREFIX = "/webhdfs/v1"


class Handler(BaseHTTPRequestHandler):
    """`folders` is directory -> when it was changed, in seconds; `users` are those who asked."""

    folders: ClassVar[Mapping[str, float]] = {}
    users: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        self.users.update(query["user.name"])
        body = self.found(unquote(url.path.removeprefix(PREFIX)), query["op"][0])
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(json.dumps(body or {"RemoteException": {}}).encode())

    def found(self, path: str, operation: str) -> dict[str, Any] | None:
        if path not in self.folders:
            return None
        if operation == "GETFILESTATUS":
            return {"FileStatus": self.status(path, "")}
        directory = PurePosixPath(path)
        children = [
            child for child in map(PurePosixPath, self.folders) if child.parent == directory
        ]
        listed = [self.status(str(child), child.name) for child in children]
        a_file = {"pathSuffix": "metadata", "type": "FILE", "modificationTime": 9_000_000}
        return {"FileStatuses": {"FileStatus": [a_file, *listed]}}

    def status(self, path: str, name: str) -> dict[str, Any]:
        changed = int(self.folders[path] * 1000)
        return {"pathSuffix": name, "type": "DIRECTORY", "modificationTime": changed}

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@contextmanager
def namenode(folders: Mapping[str, float]) -> Iterator[tuple[str, set[str]]]:
    """Serve directories; yields `host:port`, and a set that gets who has asked."""
    with_parents = {
        str(parent): changed
        for path, changed in folders.items()
        for parent in PurePosixPath(path).parents
    }
    users: set[str] = set()
    attributes = {"folders": {**with_parents, **folders}, "users": users}
    with served(type("NameNode", (Handler,), attributes)) as address:
        yield address, users
