"""What the tests of delivery look with: batches on a disk, and a proxy that loses an answer."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from socketserver import BaseRequestHandler, TCPServer

import pytest
from kafka.net import KafkaNetSocket  # type: ignore[import-untyped] # no types
from kafka.record.memory_records import MemoryRecordsBuilder  # type: ignore[import-untyped] # no types

from tests.support.proxy import PRODUCE, losing_answers
from tests.support.segments import CODECS, Batch, batches

METADATA = 3


def batch(codec: str, values: list[bytes]) -> bytes:
    builder = MemoryRecordsBuilder(2, CODECS.index(codec), 1 << 20)
    for value in values:
        builder.append(1, None, value, [])
    builder.close()
    return bytes(builder.buffer())


def test_batches_are_told_apart() -> None:
    log = (
        batch("none", [b"x" * 100] * 3)
        + batch("gzip", [b"x" * 100])
        + batch("zstd", [b"y" * 100] * 2)
    )
    found = batches(log)
    assert [(one.records, one.codec) for one in found] == [(3, "none"), (1, "gzip"), (2, "zstd")]
    assert sum(one.size for one in found) == len(log)
    assert found[1].size < 100 < found[0].size
    # The end of a segment that is being written.
    assert batches(log[:-1]) == found[:2]
    assert batches(b"") == []
    assert isinstance(found[0], Batch)


class Echo(BaseRequestHandler):
    """Answers each request with its correlation id alone."""

    def handle(self) -> None:
        with self.request.makefile("rb") as source:
            while length := source.read(4):
                request = source.read(int.from_bytes(length))
                self.server.seen.append(struct.unpack_from("!hhi", request)[::2])  # type: ignore[attr-defined]
                self.request.sendall(struct.pack("!i", 4) + request[4:8])


class Broker(TCPServer):
    seen: list[tuple[int, int]]


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
    way = KafkaNetSocket(url)
    link: socket.socket = way.socket(socket.AF_INET)
    link.settimeout(5)
    assert way.connect_ex(link, broker.server_address) == 0
    return link


def ask(link: socket.socket, key: int, correlation: int) -> bytes:
    link.sendall(struct.pack("!ihhi", 8, key, 9, correlation))
    answer = link.recv(8)
    return answer + link.recv(8 - len(answer)) if 0 < len(answer) < 8 else answer


def test_the_proxy_loses_the_answer_and_not_the_request(broker: Broker) -> None:
    with losing_answers(1) as proxy:
        with connect(proxy.url, broker) as link:
            assert ask(link, METADATA, 7) == struct.pack("!ii", 4, 7)
            assert proxy.lost == 0
            assert ask(link, PRODUCE, 8) == b"", "the connection is cut"
            assert proxy.lost == 1
        with connect(proxy.url, broker) as link:
            assert ask(link, PRODUCE, 9) == struct.pack("!ii", 4, 9)
            assert proxy.lost == 1
    assert broker.seen == [(METADATA, 7), (PRODUCE, 8), (PRODUCE, 9)]
