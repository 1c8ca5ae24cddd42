"""The module zookeeper_health, asked of a server that speaks TLS as a closed member does."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    Authority,
    issue,
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.in_process import call_module

ANSWER = b"Zookeeper version: 3.9.5\nMode: standalone\n"


def pem(folder: Path, name: str, authority: Authority) -> str:
    """A key and a certificate that an authority has signed."""
    path = folder / f"{name}.pem"
    path.write_text(issue(authority, Certificate(name, "", "zookeeper", ("localhost",), True)))
    return str(path)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = new_authority("Ensemble")
    (tmp_path / "ca.pem").write_text(made.certificate)
    return made


@pytest.fixture
def member(tmp_path: Path, authority: Authority) -> Iterator[str]:
    """A server that answers whoever has a certificate."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.pem"))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(pem(tmp_path, "member", authority))
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            plain, _ = server.accept()
            plain.settimeout(5)
            try:
                with tls.wrap_socket(plain, server_side=True) as link:
                    if link.recv(4) == b"srvr":
                        link.sendall(ANSWER)
            except OSError:
                plain.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"localhost:{server.getsockname()[1]}"
        thread.join(10)


def ask(folder: Path, member: str, certificate: str) -> dict[str, Any]:
    files = {"certificate": certificate, "authority": str(folder / "ca.pem")}
    return call_module("zookeeper_health", {"members": [member], "fail": False, **files})


def test_a_member_is_asked_with_a_certificate(
    tmp_path: Path, authority: Authority, member: str
) -> None:
    result = ask(tmp_path, member, pem(tmp_path, "own", authority))
    assert result["modes"] == {member: "standalone"}


def test_another_ca_is_a_problem_of_the_member(tmp_path: Path, member: str) -> None:
    result = ask(tmp_path, member, pem(tmp_path, "other", new_authority("Other")))
    assert result["modes"] == {}
    (problem,) = result["problems"]
    assert member in problem


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path, authority: Authority) -> None:
    result = ask(tmp_path, "localhost:1", f"{tmp_path}/absent.pem")
    assert result["failed"]
    assert "certificate" in result["msg"]
