"""What the module reads of a node's configuration and of the kernel's connections."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.modules import kafka_listeners as module

from tests.unit.in_process import call_module

PROPERTIES = """\
listeners=CLIENT://:9092,OLD://[::1]:9093,NEW://:9096
listener.security.protocol.map=CLIENT:PLAINTEXT,OLD:PLAINTEXT,NEW:SSL
controller.listener.names=NEW,OLD
inter.broker.listener.name=CLIENT
"""
# As the kernel of a little-endian machine writes them (proc(5)).
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
TABLE = HEAD + (
    "   0: 0A00590A:2384 0200000A:D431 01 00000000:00000000\n"  # 9092
    "   1: 0A00590A:2384 0300000A:D432 06 00000000:00000000\n"  # TIME_WAIT
    "   2: 0A00590A:2385 0400000A:D433 01 00000000:00000000\n"  # 9093
    "   3: 00000000:2384 00000000:0000 0A 00000000:00000000\n"  # LISTEN
)
TABLE6 = HEAD + (
    "   0: 0000000000000000FFFF00000A00590A:2384 0000000000000000FFFF00000500000A:D431 01 0\n"
    "   1: B80D0120000000000000000001000000:2384 B80D0120000000000000000002000000:D431 01 0\n"
)


def test_listeners_have_roles() -> None:
    read_listeners = module.listeners(PROPERTIES)
    client, old, new = (
        {"name": name, "port": port, "protocol": protocol}
        for name, port, protocol in (
            ("CLIENT", 9092, "PLAINTEXT"),
            ("OLD", 9093, "PLAINTEXT"),
            ("NEW", 9096, "SSL"),
        )
    )
    assert read_listeners == {
        "brokers": [client],
        "controllers": [new, old],
        "between_brokers": "CLIENT",
    }


def test_a_host_without_a_node_has_none() -> None:
    assert module.listeners("") == {"brokers": [], "controllers": [], "between_brokers": ""}


def test_who_is_connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("tcp", TABLE), ("tcp6", TABLE6)):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "TABLES", (str(tmp_path / "tcp"), str(tmp_path / "tcp6")))
    monkeypatch.setattr(module, "SERVER_PROPERTIES", str(tmp_path / "server.properties"))
    (tmp_path / "server.properties").write_text(PROPERTIES)
    result = call_module(module, {"ports": [9092], "seconds": 0})
    assert result["peers"] == {"9092": ["10.0.0.2", "10.0.0.5", "2001:db8::2"]}
    assert result["listeners"]["between_brokers"] == "CLIENT"
    assert call_module(module, {"ports": []})["peers"] == {}
