"""Connections to the console that ask for nothing, or never end, are ended."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from console.connections import Connection
from tests.support.wait import wait_for

SECONDS = 0.3
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Short(Connection):
    seconds = SECONDS


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/waits":
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = uvicorn.Config(
            application, http=Short, lifespan="off", log_level="error", timeout_keep_alive=60
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [server]})
        thread.start()
        wait_for(lambda: running.started, seconds=30, what="the server")
        yield server.getsockname()[1]
        running.should_exit = True
        thread.join()


def ends(connection: socket.socket) -> bytes:
    """What is answered until the other side ends the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(4096):
            found += part
    return found


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"POST /waits HTTP/1.1\r\nContent-Length: 9\r\n"]
)
def test_without_a_whole_request_it_ends(sent: bytes, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        assert ends(connection) == b""


def test_a_request_that_is_not_answered_ends(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
        assert ends(connection) == b""


def test_one_that_is_used_goes_on_and_then_ends(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for _ in range(3):
            connection.sendall(REQUEST)
            found = b""
            while b"done" not in found:
                found += connection.recv(4096)
        assert ends(connection) == b""
