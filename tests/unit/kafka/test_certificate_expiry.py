"""Until when the certificates of listeners are valid, asked of listeners on this machine."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.certificate_expiry import (
    lines,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.certificate_expiry import (
    shown,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

NODE = Certificate("k1/node", "/node.pem", "k1", ("k1", "127.0.0.1"), client=True)


@contextlib.contextmanager
def listener(folder: Path, pem: str) -> Iterator[str]:
    """Show a certificate to everybody who connects with one of the same authority."""
    key = folder / "listener.pem"
    key.write_text(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(key)
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                with client, contextlib.suppress(OSError):
                    context.wrap_socket(client, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.fixture
def authority(tmp_path: Path) -> certificates.Authority:
    new_authority = certificates.new_authority("test")
    (tmp_path / "ca.pem").write_text(new_authority.certificate)
    (tmp_path / "client.pem").write_text(certificates.issue(new_authority, NODE))
    return new_authority


def connection(folder: Path, **overrides: str) -> Connection:
    paths = {"truststore": folder / "ca.pem", "keystore": folder / "client.pem"}
    stores = {f"ssl.{kind}.location": str(path) for kind, path in paths.items()}
    types = {f"ssl.{kind}.type": "PEM" for kind in paths}
    return Connection.of({"security.protocol": "SSL", **stores, **types, **overrides}, ["k1:9094"])


@pytest.mark.parametrize(("days", "wrong", "soon"), [(100, 0, 0), (20, 0, 1), (1, 1, 0)])
def test_the_days_that_are_left_decide(
    days: int,
    wrong: int,
    soon: int,
    tmp_path: Path,
    authority: certificates.Authority,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certificates, "LEAF_DAYS", days)
    with listener(tmp_path, certificates.issue(authority, NODE)) as address:
        (presented,) = shown(connection(tmp_path), [address, "127.0.0.1:1"])
    assert days - 1 < presented.days < days
    sentences = lines([presented])
    assert [len(sentences_of_kind) for sentences_of_kind in sentences] == [wrong, soon]
    assert all(address in line for sentences_of_kind in sentences for line in sentences_of_kind)


def test_an_expired_certificate_is_wrong(
    tmp_path: Path, authority: certificates.Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "LEAF_DAYS", 0)
    with listener(tmp_path, certificates.issue(authority, NODE)) as address:
        wrong, soon = lines(shown(connection(tmp_path), [address]))
    assert address in "".join(wrong)
    assert not soon


def test_one_of_another_authority_is_wrong(
    tmp_path: Path, authority: certificates.Authority
) -> None:
    del authority
    foreign = certificates.issue(certificates.new_authority("other"), NODE)
    with listener(tmp_path, foreign) as address:
        wrong, _ = lines(shown(connection(tmp_path), [address]))
    assert address in "".join(wrong)


def test_one_without_the_name_of_its_host_is_wrong_where_clients_look_at_names(
    tmp_path: Path, authority: certificates.Authority
) -> None:
    other_name = replace(NODE, names=("k2",))
    with listener(tmp_path, certificates.issue(authority, other_name)) as address:
        wrong, _ = lines(shown(connection(tmp_path), [address]))
        unchecked = {"ssl.endpoint.identification.algorithm": ""}
        assert not lines(shown(connection(tmp_path, **unchecked), [address]))[0]
    assert address in "".join(wrong)
