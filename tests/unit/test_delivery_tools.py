"""The tools of the tests of delivery: batches on a disk, and a proxy that loses an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from socketserver import BaseRequestHandler, TCPServer

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    KafkaNetSocket,
    MemoryRecordsBuilder,
)

from tests.support.clients.proxy import LARGE, losing_answers
from tests.support.services.segments import CODECS, Batch, batches


def batch(codec: str, values: list[bytes]) -> bytes:
    builder = MemoryRecordsBuilder(2, CODECS.index(codec), 1 << 20)
    for value in values:
        builder.append(1, None, value, [])
    builder.close()
    return bytes(builder.buffer())


def test_batches_are_distinguished() -> None:
    log = (
        batch("none", [b"x" * 100] * 3)
        + batch("gzip", [b"x" * 100])
        + batch("zstd", [b"y" * 100] * 2)
    )
    parsed = batches(log)
    assert [(entry.records, entry.codec) for entry in parsed] == [
        (3, "none"),
        (1, "gzip"),
        (2, "zstd"),
    ]
    assert sum(entry.size for entry in parsed) == len(log)
    assert parsed[1].size < 100 < parsed[0].size
    # The end of a segment that is being written.
    assert batches(log[:-1]) == parsed[:2]
    assert batches(b"") == []
    assert isinstance(parsed[0], Batch)


class Echo(BaseRequestHandler):
    """Answers each request, a length and as many bytes, with the length."""

    def handle(self) -> None:
        with self.request.makefile("rb") as source:
            while length := source.read(4):
                size = int.from_bytes(length)
                assert len(source.read(size)) == size
                self.server.seen.append(size)  # type: ignore[attr-defined]  # of Broker
                self.request.sendall(length)


class Broker(TCPServer):
    seen: list[int]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(("127.0.0.1", 0), Echo) as server:
        server.seen = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def connect(url: str, broker: Broker) -> socket.socket:
    """Connect as kafka-python does."""
    proxied = KafkaNetSocket(url)
    link: socket.socket = proxied.socket(socket.AF_INET)
    link.settimeout(60)  # for a proxy that hangs
    assert proxied.connect_ex(link, broker.server_address) == 0
    return link


def ask(link: socket.socket, size: int) -> bytes:
    link.sendall(size.to_bytes(4) + bytes(size))
    return link.recv(4)


def test_the_proxy_loses_the_answer_and_not_the_request(broker: Broker) -> None:
    with losing_answers(1) as proxy:
        with connect(proxy.url, broker) as link:
            for _ in range(3):
                assert ask(link, LARGE // 2) == (LARGE // 2).to_bytes(4)
            assert proxy.lost == 0
            assert ask(link, LARGE) == b"", "the connection is cut"
            assert proxy.lost == 1
        with connect(proxy.url, broker) as link:
            assert ask(link, LARGE) == LARGE.to_bytes(4)
            assert proxy.lost == 1
    assert broker.seen == [LARGE // 2] * 3 + [LARGE] * 2
