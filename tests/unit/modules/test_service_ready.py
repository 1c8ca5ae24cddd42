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

    def apply(self, content: str, **more: Any) -> dict[str, Any]:
        check = more.pop("check", False)
        options = {
            "files": {str(self.file): {**OWN, "content": content, "restart": True}},
            "units": ["one"],
            "started": True,
            "restart_marks": [str(self.mark)],
            "ready": {"one": str(self.ready)},
            "previous": str(self.place / "previous.json"),
        }
        return call_module("service", {**options, **more}, check=check)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host(install(tmp_path / "systemd", monkeypatch), tmp_path)
    run = found.ready.parent
    found.systemd.run(
        "one",
        f"rm -rf {run}; grep -q good {found.file} || exit 1; mkdir {run}; touch {found.ready}",
    )
    return found


def test_a_service_is_started_and_waited_for(host: Host) -> None:
    found = host.apply("good")
    assert found["changed"]
    assert found["running"]
    assert host.ready.exists()


def test_one_that_works_is_left_alone(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    found = host.apply("good")
    assert not found["changed"]
    assert found["waiting"] == []
    assert host.systemd.commands() == []


def test_a_change_restarts_it(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    assert host.apply("as good")["changed"]
    commands = [one for one in host.systemd.commands() if one.split()[0] in ("stop", "start")]
    assert commands == ["stop --no-block one", "start one"]
    assert not host.mark.exists()
    assert not (host.place / "previous.json").exists()


def test_one_that_does_not_start_gets_its_previous_files_back(host: Host) -> None:
    host.apply("good")
    found = host.apply("bad")
    assert found["failed"]
    assert "no such page" in found["msg"]
    assert host.file.read_text() == "good"
    assert host.ready.exists()
    assert not host.mark.exists()
    again = host.apply("bad")
    assert again["failed"], "the same files were refused once, and taken the second time"
    assert host.file.read_text() == "good"


def test_one_that_never_started_has_nothing_to_go_back_to(host: Host) -> None:
    found = host.apply("bad")
    assert found["failed"]
    assert "no such page" in found["msg"]
    assert host.file.read_text() == "bad"
    assert host.apply("good")["running"]


def test_one_that_is_left_failed_is_started_again_and_reported(host: Host) -> None:
    host.apply("bad")
    assert host.apply("bad")["failed"]


def test_a_second_task_can_wait(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    found = host.apply("as good", wait=False)
    assert found["waiting"] == ["one"]
    assert host.mark.exists()
    assert not [one for one in host.systemd.commands() if one.startswith("stop")]
    found = host.apply("as good")
    assert found["changed"]
    assert not host.mark.exists()


def test_check_mode_restarts_nothing(host: Host) -> None:
    host.apply("good")
    host.systemd.commands()
    assert host.apply("as good", check=True)["changed"]
    assert host.systemd.commands() == []
    assert host.file.read_text() == "good"
