"""Clients with a password or token send it to nobody to whom a service refers them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import Registry
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import (
    Instances,
    RestError,
)
from ansible_collections.millrace.streaming.plugins.modules import spark_health

import millrace_avro
from tests.unit.apps.test_host_metrics import program as program
from tests.unit.host.served import served

TOKEN = "hunter2-token"
LOGIN = base64.b64encode(b"user:hunter2").decode()


@pytest.fixture
def places() -> Iterator[tuple[str, list[str]]]:
    """A service that refers everybody to another one, and what that was sent."""
    sent: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(str(self.headers))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(Other) as other_address:

        class Refers(Other):
            def do_GET(self) -> None:
                assert "hunter2" in str(self.headers) or LOGIN in str(self.headers)
                self.send_response(302)
                self.send_header("Location", f"http://{other_address}{self.path}")
                self.end_headers()

            do_PUT = do_GET

        with served(Refers) as address:
            yield address, sent


def of_instances(address: str, _: ModuleType) -> None:
    with pytest.raises(RestError) as refusal:
        Instances([address], headers={"Authorization": TOKEN}).send(address, "GET", "/x", None, 5)
    assert refusal.value.status == 302


def of_registry(address: str, _: ModuleType) -> None:
    with pytest.raises(RestError) as refusal:
        Registry([address], login="user:hunter2").call("GET", "/subjects")
    assert refusal.value.status == 302


def of_spark(address: str, _: ModuleType) -> None:
    assert spark_health.ask(address, TOKEN).reason


def of_exporters(address: str, program: ModuleType) -> None:
    with pytest.raises(OSError, match="302"):
        program.fetched(f"http://{address}/json/", TOKEN)


def of_jobs(address: str, _: ModuleType) -> None:
    registry = millrace_avro.Registry([f"http://{address}"], user_info="user:hunter2")
    with pytest.raises(millrace_avro.RegistryError, match="302"):
        registry.schema(1)


CLIENTS: list[Callable[[str, Any], None]] = [
    of_instances,
    of_registry,
    of_spark,
    of_exporters,
    of_jobs,
]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_redirect_is_a_refusal(
    places: tuple[str, list[str]], program: ModuleType, client: Callable[[str, Any], None]
) -> None:
    address, sent = places
    client(address, program)
    assert sent == []
