"""schemas_backup.yml and schemas_restore.yml against a registry on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    APICURIO,
    CONFLUENT,
)

from tests.support.faults.target import skip_unless_full
from tests.unit.host.served import served
from tests.unit.operations.archives import PLANE, archive, planes
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
EXPORT = f"{APICURIO}/admin/export"
SUBJECT = f"{CONFLUENT}/subjects/planes-value/versions"
FULL = {
    EXPORT: planes(),
    f"{CONFLUENT}/subjects": b'["planes-value"]',
    SUBJECT: b"[1]",
    f"{SUBJECT}/1": json.dumps({"id": PLANE["contentId"]}).encode(),
}
EMPTY = {EXPORT: archive(), f"{CONFLUENT}/subjects": b"[]"}


class Registry(BaseHTTPRequestHandler):
    """One that has a schema or none, and has one after an import."""

    has: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(type(self).has[self.path])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).has = FULL
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep stderr for what fails."""


@pytest.fixture
def inventory(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    # Not below tmp_path: a socket of Ansible would get a name that is too long.
    with TemporaryDirectory() as temporary:
        monkeypatch.setenv("TMPDIR", temporary)
        with served(Registry) as address:
            yield HOSTS.format(port=address.rpartition(":")[2])
        assert not [*Path(temporary).rglob("*.zip")], "what was on the host is there still"


def result(place: Path, inventory: str, name: str, *options: str) -> tuple[int, str]:
    """Exit code and output, without line breaks, with a path from where the user is."""
    path = ("-e", "path=kept/schemas.zip")
    code, output = run(place, inventory, *path, *options, playbook=f"schemas_{name}")
    return code, " ".join(output.split())


def test_an_archive_is_kept_and_none_without_schemas_replaces_it(
    tmp_path: Path, inventory: str
) -> None:
    archive_file = tmp_path / "kept/schemas.zip"
    Registry.has = FULL
    code, output = result(tmp_path, inventory, "backup", "--check")
    assert code == 0, output
    assert not archive_file.exists()
    assert f"{archive_file} has" not in output
    code, output = result(tmp_path, inventory, "backup")
    assert code == 0, output
    assert f"{archive_file} has 1 versions of 1 subjects" in output
    assert archive_file.read_bytes() == FULL[EXPORT]
    Registry.has = EMPTY
    code, output = result(tmp_path, inventory, "backup")
    assert code == 2, output
    assert str(archive_file) in output
    assert archive_file.read_bytes() == FULL[EXPORT]


def test_earlier_archives_are_kept_and_a_partial_one_replaces_none(
    tmp_path: Path, inventory: str
) -> None:
    skip_unless_full()
    archive_file = tmp_path / "kept/schemas.zip"
    complete = planes("gates-value")
    Registry.has = {**FULL, EXPORT: complete}
    assert result(tmp_path, inventory, "backup")[0] == 0
    Registry.has = FULL
    code, output = result(tmp_path, inventory, "backup")
    assert code == 2, output
    assert "gates-value version 1" in output
    assert archive_file.read_bytes() == complete
    [partial] = archive_file.parent.glob("schemas-*-partial.zip")
    assert partial.read_bytes() == FULL[EXPORT]
    code, output = result(tmp_path, inventory, "backup", "-e", "fewer=true")
    assert code == 0, output
    assert archive_file.read_bytes() == FULL[EXPORT]
    [earlier] = set(archive_file.parent.glob("schemas-*.zip")) - {partial}
    assert earlier.read_bytes() == complete


def test_a_registry_without_schemas_needs_no_archive(tmp_path: Path, inventory: str) -> None:
    Registry.has = EMPTY
    code, output = result(tmp_path, inventory, "backup")
    assert code == 0, output
    assert "no archive" in output
    assert not (tmp_path / "kept").exists()


def test_a_restore_claims_nothing_in_check_mode(tmp_path: Path, inventory: str) -> None:
    skip_unless_full()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/schemas.zip").write_bytes(FULL[EXPORT])
    Registry.has = EMPTY
    code, output = result(tmp_path, inventory, "restore", "--check")
    assert code == 0, output
    assert Registry.has is EMPTY
    assert "are restored" not in output
    code, output = result(tmp_path, inventory, "restore")
    assert code == 0, output
    assert Registry.has is FULL
    assert "are restored" in output


def test_a_restore_without_an_archive_is_refused(tmp_path: Path, inventory: str) -> None:
    code, output = result(tmp_path, inventory, "restore")
    assert code == 2, output
    assert str(tmp_path / "kept/schemas.zip") in output
