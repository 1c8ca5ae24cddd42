"""Serves the metrics over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .exposition import CONTENT_TYPE

PATH = "/metrics"
_CLIENT_SECONDS = 10


def server(address: str, port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
    """Return a server, which listens already, that answers with what `text` returns.

    Raises:
        OSError: the port is in use.

    """

    class Handler(BaseHTTPRequestHandler):
        timeout = _CLIENT_SECONDS

        def do_GET(self) -> None:  # the name that http.server calls
            if self.path.partition("?")[0] != PATH:
                self.send_error(HTTPStatus.NOT_FOUND, f"the metrics are at {PATH}")
                return
            body = text().encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # as http.server
            """Log no requests."""

    return ThreadingHTTPServer((address, port), Handler)
