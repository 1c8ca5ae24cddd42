"""Services that say when they work, by the real module: restarts, and files that are put back."""

from __future__ import annotations

import grp
import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.in_process import call_module
from tests.unit.modules.fake_systemd import Systemd, install

OWN = {"owner": pwd.getpwuid(os.geteuid()).pw_name, "group": grp.getgrgid(os.getegid()).gr_name}


@dataclass
class Host:
    """A host with a service that works if its file says `good`, and then makes a file."""

    systemd: Systemd
    place: Path

    @property
    def file(self) -> Path:
        return self.place / "program"

    @property
    def ready(self) -> Path:
        return self.place / "run/ready"

    @property
    def mark(self) -> Path:
        return self.place / "run/restart-pending"

    def apply(self, content: str, **overrides: Any) -> dict[str, Any]:
        check = overrides.pop("check", False)
        options = {
            "files": {str(self.file): {**OWN, "content": content, "restart": True}},
            "units": ["one"],
            "started": True,
            "restart_marks": [str(self.mark)],
            "ready": {"one": str(self.ready)},
            "previous": str(self.place / "previous.json"),
        }
        return call_module("service", {**options, **overrides}, check=check)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    fake_host = Host(install(tmp_path / "systemd", monkeypatch), tmp_path)
    run = fake_host.ready.parent
    fake_host.systemd.run(
        "one",
        f"rm -rf {run}; grep -q good {fake_host.file} || exit 1; mkdir {run}; touch {fake_host.ready}",
    )
    return fake_host


def test_a_service_is_started_and_waited_for(host: Host) -> None:
    result = host.apply("good")
    assert result["changed"]
    assert result["running"]
    assert host.ready.exists()


def test_one_that_works_is_left_alone(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    result = host.apply("good")
    assert not result["changed"]
    assert result["waiting"] == []
    assert host.systemd.commands() == []


def test_a_change_restarts_it(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    assert host.apply("as good")["changed"]
    commands = [
        command for command in host.systemd.commands() if command.split()[0] in ("stop", "start")
    ]
    assert commands == ["stop --no-block one", "start one"]
    assert not host.mark.exists()
    assert not (host.place / "previous.json").exists()


def test_one_that_does_not_start_gets_its_previous_files_back(host: Host) -> None:
    host.apply("good")
    result = host.apply("bad")
    assert result["failed"]
    assert "no such page" in result["msg"]
    assert host.file.read_text() == "good"
    assert host.ready.exists()
    assert not host.mark.exists()
    again = host.apply("bad")
    assert again["failed"], "the same files were refused once, and taken the second time"
    assert host.file.read_text() == "good"


def test_one_that_never_started_has_nothing_to_go_back_to(host: Host) -> None:
    result = host.apply("bad")
    assert result["failed"]
    assert "no such page" in result["msg"]
    assert host.file.read_text() == "bad"
    assert host.apply("good")["running"]


def test_one_that_is_left_failed_is_started_again_and_reported(host: Host) -> None:
    host.apply("bad")
    assert host.apply("bad")["failed"]


def test_a_second_task_can_wait(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    result = host.apply("as good", wait=False)
    assert result["waiting"] == ["one"]
    assert host.mark.exists()
    assert not [command for command in host.systemd.commands() if command.startswith("stop")]
    result = host.apply("as good")
    assert result["changed"]
    assert not host.mark.exists()


def test_check_mode_restarts_nothing(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    assert host.apply("as good", check=True)["changed"]
    assert host.systemd.commands() == []
    assert host.file.read_text() == "good"
