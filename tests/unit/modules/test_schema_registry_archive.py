"""The module that exports and imports the schemas of a registry, against one that is played."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.unit.host.served import served
from tests.unit.module_runner import run_module
from tests.unit.operations.archives import PLANE, archive, planes

NOBODY = "127.0.0.1:1"
EMPTY = archive()


class Registry(BaseHTTPRequestHandler):
    """Exports `content`; an import replaces it by what it has got, or by `left` where that is set.

    `status` is what it answers to an import.
    """

    content: ClassVar[bytes]
    left: ClassVar[bytes]
    status: ClassVar[int]
    imports: ClassVar[list[bytes]]

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.content)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.imports.append(body)
        type(self).content = self.left or body
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def instance() -> Iterator[str]:
    Registry.content, Registry.left, Registry.status, Registry.imports = EMPTY, b"", 204, []
    with served(Registry) as address:
        yield address


def run(instance: str, path: Path, state: str = "imported", check: bool = False) -> dict[str, Any]:
    options = {"instances": [NOBODY, instance], "path": str(path), "state": state}
    return run_module("schema_registry_archive", options, check=check)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An archive of one version."""
    path = tmp_path / "schemas.zip"
    path.write_bytes(planes())
    return path


def test_what_is_exported_can_be_imported(instance: str, tmp_path: Path) -> None:
    content = Registry.content = planes("wings-value")
    path = tmp_path / "schemas.zip"
    result = run(instance, path, "exported")
    assert (result["changed"], result["subjects"], result["versions"]) == (False, 2, 2)
    assert path.stat().st_mode & 0o777 == 0o600
    Registry.content = EMPTY
    assert run(instance, path)["changed"]
    assert Registry.imports == [content]
    assert not run(instance, path)["changed"]


def test_check_mode_imports_nothing(instance: str, file: Path) -> None:
    assert run(instance, file, check=True)["changed"]
    assert not Registry.imports


@pytest.mark.parametrize(
    "content", [planes("wings-value"), archive(("Content", {"contentId": PLANE["contentId"]}))]
)
def test_a_registry_that_has_something_else_is_left_alone(
    instance: str, file: Path, content: bytes
) -> None:
    Registry.content = content
    result = run(instance, file)
    assert result["failed"]
    assert "nothing was changed" in result["msg"]
    assert not Registry.imports


@pytest.mark.parametrize(("remaining", "status"), [(EMPTY, 204), (b"", 500)])
def test_an_import_that_is_not_complete_is_a_change_and_is_not_repeated(
    instance: str, file: Path, remaining: bytes, status: int
) -> None:
    Registry.left, Registry.status = remaining, status
    result = run(instance, file)
    assert result["failed"]
    assert result["changed"]
    assert len(Registry.imports) == 1


def test_another_file_and_another_server_are_named(instance: str, file: Path) -> None:
    Registry.content = b"<html>"
    assert "exports" in run(instance, file)["msg"]
    file.write_bytes(b"other")
    assert str(file) in run(instance, file)["msg"]
