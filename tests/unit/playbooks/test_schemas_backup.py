"""schemas_backup.yml against a registry on this machine: which file it writes, and when."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.unit.host.served import served
from tests.unit.operations.archives import PLANE, archive
from tests.unit.playbooks.runs import run

HOSTS = """\
all:
  vars:
    kafka_security: open
    kafka_rack: a
    schema_registry_security: open
    schema_registry_host: 127.0.0.1
    schema_registry_port: {port}
    ansible_become: false
    ansible_connection: local
kafka_brokers:
  hosts:
    k1: {{kafka_node_id: 1}}
kafka_controllers:
  hosts:
    k1:
schema_registry:
  hosts:
    k1:
"""
FILE = "-e", "path=kept/schemas.zip"


class Exporter(BaseHTTPRequestHandler):
    """A registry that exports an archive."""

    content = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        """Keep stderr for what fails."""


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    with served(Exporter) as address:
        yield HOSTS.format(port=address.rpartition(":")[2])


def test_an_archive_is_kept_and_none_without_schemas_replaces_it(
    tmp_path: Path, inventory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept/schemas.zip"
    monkeypatch.setattr(Exporter, "content", archive(PLANE))
    code, output = run(tmp_path, inventory, *FILE, "--check", playbook="schemas_backup")
    assert code == 0, output
    assert not kept.exists()
    assert f"{kept} has" not in " ".join(output.split())
    code, output = run(tmp_path, inventory, *FILE, playbook="schemas_backup")
    assert code == 0, output
    assert f"{kept} has 1 versions of 1 subjects" in " ".join(output.split())
    with zipfile.ZipFile(io.BytesIO(kept.read_bytes())) as found:
        assert any("planes-value" in name for name in found.namelist())
    before = kept.read_bytes()
    monkeypatch.setattr(Exporter, "content", archive())
    code, output = run(tmp_path, inventory, *FILE, playbook="schemas_backup")
    assert code == 2, output
    assert str(kept) in output
    assert kept.read_bytes() == before
    assert not [*(tmp_path / "temporary").rglob("*.zip")]
