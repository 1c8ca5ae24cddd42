"""Connections to the console that ask for nothing, or never end, are ended."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from apps.console.connections import Connection, Listener
from tests.support.wait import wait_for

SECONDS = 0.3
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"0\r\n\r\n"
"""At the end of each answer."""


class Short(Connection):
    first_seconds = seconds = SECONDS


class Small(Listener):
    most, most_of_network = 8, 5


class Patient(Connection):
    """Does not end in the time of a test."""

    first_seconds = seconds = 600.0


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/waits":
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


@contextlib.contextmanager
def serving(http: type[Connection], listener: type[Listener] = Listener) -> Iterator[int]:
    with listener.at("127.0.0.1", 0) as server:
        config = uvicorn.Config(
            application,
            loop="asyncio",
            http=http,
            lifespan="off",
            log_level="error",
            timeout_keep_alive=60,
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [server]})
        thread.start()
        wait_for(lambda: running.started, seconds=30, what="the server")
        try:
            yield server.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(Short) as number:
        yield number


@pytest.fixture
def half_open() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def connect(stack: contextlib.ExitStack, port: int, address: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), 30, source_address=(address, 0))
    return stack.enter_context(made)


def answered(connection: socket.socket) -> bool:
    """Whether a whole answer comes before the other side ends the connection."""
    received = b""
    while not received.endswith(LAST):
        if not (chunk := connection.recv(4096)):
            return False
        received += chunk
    return b"done" in received


def is_answered(port: int, address: str) -> bool:
    with contextlib.ExitStack() as stack:
        connection = connect(stack, port, address)
        try:
            connection.sendall(REQUEST)
            return answered(connection)
        except ConnectionError:
            return False


def ends(connection: socket.socket) -> bytes:
    """What is answered until the other side ends the connection."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(4096):
            received += chunk
    return received


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
            assert answered(connection)
        assert ends(connection) == b""


def test_half_open_requests_of_an_address_shut_nobody_else_out(
    half_open: contextlib.ExitStack,
) -> None:
    with serving(Patient) as port:
        for _ in range(200):
            connection = connect(half_open, port, "127.0.0.2")
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET / HT")
        assert not is_answered(port, "127.0.0.2")
        assert is_answered(port, "127.0.0.3")
        half_open.close()
        wait_for(lambda: is_answered(port, "127.0.0.2"), seconds=30, what="its own turn")


def test_half_open_requests_end_so_that_their_address_gets_in_again(
    half_open: contextlib.ExitStack, port: int
) -> None:
    for _ in range(Listener.most_of_network):
        connect(half_open, port, "127.0.0.2").sendall(b"GET / HT")
    wait_for(lambda: is_answered(port, "127.0.0.2"), seconds=30, what="the end of the first")


def test_half_open_requests_of_many_addresses_shut_nobody_else_out(
    half_open: contextlib.ExitStack,
) -> None:
    with serving(Patient, Small) as port:
        first = [connect(half_open, port, "127.0.0.2") for _ in range(Small.most_of_network)]
        for number in range(3, 9):
            connect(half_open, port, f"127.0.0.{number}")
        assert is_answered(port, "127.0.0.9")
        assert ends(first[0]) == b"", "the oldest of those that have most"
        first[-1].sendall(REQUEST)
        assert answered(first[-1])


def test_many_networks_of_a_site_leave_room_for_others(
    half_open: contextlib.ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = iter(["10.0.0.1", *(f"2001:db8:1:{number:x}::1" for number in range(1000))])

    def accept(_: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
        ours, peer = map(half_open.enter_context, socket.socketpair())
        peers.append(peer)
        return ours, (next(addresses), 1)

    peers: list[socket.socket] = []
    monkeypatch.setattr(socket.socket, "accept", accept)
    with Listener.at("127.0.0.1", 0) as listener:
        taken = [listener.accept()]
        with contextlib.suppress(ConnectionAbortedError):
            while len(taken) < Listener.most:
                taken.append(listener.accept())
    assert Listener.most_of_network < len(taken) < Listener.most
    assert taken[0][0].send(b"x"), "that of another network goes on"


def test_a_listener_takes_both_versions_of_ip() -> None:
    with Listener.at("", 0) as listener:
        port = listener.getsockname()[1]
        for host in ("127.0.0.1", "::1") if socket.has_dualstack_ipv6() else ("127.0.0.1",):
            with socket.create_connection((host, port), 30):
                connection, _ = listener.accept()
                connection.close()
