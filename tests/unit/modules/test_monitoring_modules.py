"""A new configuration that tools refuse, servers that load files again, and what is not asked."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.unit.module_runner import run_module

FILES = {
    "prometheus.yml": "rule_files: [alerts/*.yml]\n",
    "alertmanager.yml": "route: {}\n",
    "alerts/site.yml": "groups: []\n",
}
# Refuses a file of rules with `wrong` in it, as promtool does: on stdout, with the path.
PROMTOOL = """#!/bin/sh
echo "$@" >> "$ASKED"
directory=$(dirname "$3")
if grep -q wrong "$directory"/alerts/site.yml; then
  echo "Checking $directory/alerts/site.yml"
  echo "  FAILED: $directory/alerts/site.yml: 1:2: unknown function"
  exit 1
fi
echo "  SUCCESS: 1 rule files found"
"""
AMTOOL = """#!/bin/sh
echo "$@" >> "$ASKED"
grep -q wrong "$2" && { echo 'undefined receiver "wrong" used in route' >&2; exit 1; }
exit 0
"""
SYSTEMCTL = '#!/bin/sh\necho "$@" >> "$ASKED"\ndate +%s.%N > "$LOADED"\n'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the tools were asked, a line each; they are the only ones besides those of a shell."""
    for name, text in (("promtool", PROMTOOL), ("amtool", AMTOOL), ("systemctl", SYSTEMCTL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("LOADED", str(tmp_path / "loaded"))
    return tmp_path / "asked"


def checked(**files: str) -> dict[str, Any]:
    files_by_name = {
        name.replace("__", "/").replace("_yml", ".yml"): text for name, text in files.items()
    }
    return run_module("monitoring_check", {"files": {**FILES, **files_by_name}})


def test_both_tools_check_a_new_configuration(tools: Path) -> None:
    result = checked()
    assert result["checked"] == ["promtool", "amtool"]
    commands = tools.read_text().splitlines()
    assert [line.rpartition("/")[2] for line in commands] == ["prometheus.yml", "alertmanager.yml"]
    assert not Path(commands[0].split()[-1]).exists(), "its directory is left"


def test_what_promtool_refuses_is_shown_by_its_place(tools: Path) -> None:
    result = checked(alerts__site_yml="wrong")
    assert result["failed"]
    assert "promtool refuses it:\nFAILED: alerts/site.yml: 1:2: unknown function" in result["msg"]
    assert "the former one stays in force" in result["msg"]
    assert not Path(tools.read_text().split()[2]).exists()


def test_what_amtool_refuses_is_shown(tools: Path) -> None:
    result = checked(alertmanager_yml="route: {receiver: wrong}")
    assert result["failed"]
    assert 'amtool refuses it:\nundefined receiver "wrong"' in result["msg"]
    assert "promtool refuses" not in result["msg"]


@pytest.mark.parametrize("tool", ["promtool", "amtool"])
def test_without_tools_nothing_is_checked(tools: Path, tool: str) -> None:
    (tools.parent / tool).unlink()
    assert tool not in checked()["checked"]


class Server(HTTPServer):
    """Both servers in one; `answers` is path -> text, `loaded` a file with a time."""

    answers: Mapping[str, str]
    loaded: Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        text = server.answers.get(self.path)
        if self.path == "/metrics":
            when = server.loaded.read_text().strip()
            text = "".join(
                f"# TYPE {name} gauge\n{name}_config_last_reload_success_timestamp_seconds {when}\n"
                f"{name}_config_last_reload_successful 1\n"
                for name in ("prometheus", "alertmanager")
            )
        self.send_response(503 if text is None else 200)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def server(tools: Path) -> Iterator[Server]:
    httpd = Server(("127.0.0.1", 0), Handler)
    httpd.loaded = tools.with_name("loaded")
    httpd.loaded.write_text("0")
    httpd.answers = {"/-/ready": "ready"}
    Thread(target=httpd.serve_forever, daemon=True).start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


def at(server: Server) -> dict[str, Any]:
    address = f"127.0.0.1:{server.server_port}"
    return {"prometheus": address, "alertmanager": address}


def reload(server: Server, directory: Path, *, check: bool = False) -> dict[str, Any]:
    options = {**at(server), "directory": str(directory), "wait": 5}
    return run_module("monitoring_reload", options, check=check)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    etc = tmp_path / "etc"
    (etc / "alerts").mkdir(parents=True)
    (etc / "alerts/site.yml").write_text("groups: []\n")
    return etc


def test_servers_load_files_that_are_newer_than_what_they_have(
    server: Server, directory: Path, tools: Path
) -> None:
    assert reload(server, directory)["changed"]
    commands = tools.read_text().splitlines()
    assert commands[0] == "reload millrace-prometheus"
    assert not reload(server, directory)["changed"]
    assert tools.read_text().splitlines() == commands


def test_a_removed_file_counts_as_a_change(server: Server, directory: Path) -> None:
    server.loaded.write_text(str(time.time()))
    (directory / "alerts/site.yml").unlink()
    later = time.time() + 5
    os.utime(directory / "alerts", (later, later))
    assert reload(server, directory, check=True)["changed"]


def test_in_check_mode_no_server_is_signalled(server: Server, directory: Path, tools: Path) -> None:
    assert reload(server, directory, check=True)["reloaded"] == ["prometheus", "alertmanager"]
    assert not tools.exists()


def test_a_server_that_does_not_load_its_files_fails_the_task(
    server: Server, directory: Path, tools: Path
) -> None:
    tools.with_name("systemctl").write_text("#!/bin/sh\n")
    options = {**at(server), "directory": str(directory), "wait": 0.5}
    result = run_module("monitoring_reload", options)
    assert result["failed"]
    assert "prometheus has not loaded its files" in result["msg"]


def target(job: str, host: str, health: str = "up", why: str = "") -> dict[str, Any]:
    return {"labels": {"job": job, "host": host}, "health": health, "lastError": why}


def healthy(server: Server, active_targets: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    alerts = [{"state": "firing", "labels": {"alertname": "HostDown"}}, {"state": "pending"}]
    server.answers = {
        **server.answers,
        "/api/v1/alerts": json.dumps({"data": {"alerts": alerts}}),
        "/api/v1/targets?state=active": json.dumps({"data": {"activeTargets": active_targets}}),
    }
    return run_module("monitoring_health", {**at(server), "targets": ["node/k1"], **options})


def test_all_exporters_answer(server: Server) -> None:
    result = healthy(server, [target("node", "k1")])
    assert result["healthy"]
    assert result["alerts"] == ["HostDown"]


@pytest.mark.parametrize(
    ("active_targets", "text"),
    [
        ([], "Prometheus does not ask node of k1"),
        ([target("node", "k1", "down", "refused")], "node of k1 does not answer Prometheus: ref"),
        ([target("node", "k1", "unknown")], "it has not been asked yet"),
    ],
)
def test_an_exporter_that_does_not_answer_is_named(
    server: Server, active_targets: list[dict[str, Any]], text: str
) -> None:
    result = healthy(server, active_targets)
    assert result["failed"]
    assert text in result["msg"]
    assert healthy(server, active_targets, exporters=False)["healthy"]


def test_a_server_that_is_not_ready_is_named(server: Server) -> None:
    server.answers = {}
    result = run_module("monitoring_health", {**at(server), "targets": []})
    assert result["failed"]
    assert "journalctl -u millrace-alertmanager" in result["msg"]


def test_a_console_that_does_not_serve_its_page_is_named(server: Server) -> None:
    console = f"127.0.0.1:{server.server_port}"
    active_targets = [target("node", "k1")]
    result = healthy(server, active_targets, console=console)
    assert result["failed"]
    assert "journalctl -u millrace-console" in result["msg"]
    assert healthy(server, active_targets, console=console, exporters=False)["healthy"]
    server.answers = {**server.answers, "/": "page"}
    assert healthy(server, active_targets, console=console)["healthy"]
