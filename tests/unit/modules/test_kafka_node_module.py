"""The state of one node, its part in the lock, and whether its host asks for a reboot."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import bodies
from ansible_collections.millrace.streaming.plugins.module_utils.host import (
    dynamic_record,
    operation_file,
    restart,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_node
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    issue,
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.in_process import call_module
from tests.unit.modules.fake_systemd import Systemd, install

# Which hosts ask for a reboot

BOOKWORM = "6.1.0-44-cloud-amd64"
TRIXIE = "6.12.48+deb13-cloud-amd64"


def reboot_required(
    path: Path, monkeypatch: pytest.MonkeyPatch, running: str, *kernels: str
) -> bool:
    """Ask a host where these kernels are installed."""
    boot = path / "boot"
    boot.mkdir()
    for name in (running, *kernels):
        (boot / f"vmlinuz-{name}").touch()
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=running))
    return kafka_node.reboot_required(boot, path / "reboot-required")


@pytest.mark.parametrize(
    ("running", "newer"),
    [
        (BOOKWORM, "6.1.0-45-cloud-amd64"),
        (BOOKWORM, "6.1.0-100-cloud-amd64"),
        (BOOKWORM, "6.12.9+bpo-cloud-amd64"),
        (BOOKWORM, TRIXIE),
        (TRIXIE, "6.12.57+deb13-cloud-amd64"),
        ("6.12.48+deb13-amd64", "6.12.57+deb13-amd64"),
        ("6.8.0-45-generic", "6.8.0-110-generic"),
        ("6.12.48", "6.13.1"),
    ],
)
def test_a_newer_kernel_asks_for_a_reboot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: str, newer: str
) -> None:
    assert reboot_required(tmp_path, monkeypatch, running, newer)


@pytest.mark.parametrize(
    ("running", "installed"),
    [
        (BOOKWORM, "6.1.0-9-cloud-amd64"),
        (BOOKWORM, "6.1.0-45-amd64"),
        (BOOKWORM, "6.1.0-45-rt-amd64"),
        (BOOKWORM, "6.1.0-45-cloud-amd64.old"),
        (TRIXIE, "6.12.57+deb13-amd64"),
        ("6.1.0-44-amd64", "6.1.0-45-cloud-amd64"),
        ("6.8.0-45-generic", "6.8.0-110-aws"),
    ],
)
def test_an_older_one_or_one_of_another_flavour_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: str, installed: str
) -> None:
    assert not reboot_required(tmp_path, monkeypatch, running, installed)


def test_the_file_that_ubuntu_leaves_asks_for_a_reboot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reboot-required").touch()
    assert reboot_required(tmp_path, monkeypatch, BOOKWORM)


def test_a_host_without_kernels_of_its_own_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=BOOKWORM))
    assert not kafka_node.reboot_required(tmp_path / "none", tmp_path / "reboot-required")


# The module


class Host:
    """A host with a node; its module's options lead into a directory of the test."""

    def __init__(self, path: Path, systemd: Systemd) -> None:
        self.path, self.systemd = path, systemd
        self.mark, self.previous = path / "run/restart-pending", path / "previous.json"
        self.record, self.link = path / "operation.json", path / "kafka"
        self.reboot_required = path / "reboot-required"
        self.mark.parent.mkdir()
        for home in ("kafka-1", "kafka-2"):
            (path / home).mkdir()
        self.link.symlink_to("kafka-1")
        systemd.set("kafka", "running")

    def run(self, *, check: bool = False, home: str = "kafka-1", **options: Any) -> Any:
        args = {
            "mark": str(self.mark),
            "previous": str(self.previous),
            "home": str(self.path / home),
            "link": str(self.link),
            "record": str(self.record),
            **options,
        }
        return call_module(kafka_node, args, check=check)

    def take(self, name: str, *, check: bool = False, **options: Any) -> Any:
        record = {"id": name, "state": operation_file.RUNNING}
        return self.run(check=check, operation=record, take=True, **options)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    fake_host = Host(tmp_path, install(tmp_path / "systemd", monkeypatch))
    monkeypatch.setattr(kafka_node, "REBOOT_REQUIRED", fake_host.reboot_required)
    monkeypatch.setattr(kafka_node, "reboot_required", fake_host.reboot_required.exists)
    return fake_host


def test_a_node_that_runs_with_its_distribution_is_settled(host: Host) -> None:
    result = host.run()
    assert (result["running"], result["marked"], result["home"]) == (True, False, "kafka-1")
    assert (result["settled"], result["changed"]) == (True, False)
    assert host.run(home="kafka-2")["settled"] is False
    host.mark.touch()
    marked = host.run()
    assert (marked["marked"], marked["settled"]) == (True, False)


def test_the_keys_that_were_set_online_are_reported(host: Host) -> None:
    record = host.path / "dynamic.json"
    assert host.run(dynamic_record=str(record))["dynamic_keys"] == []
    dynamic_record.write(record, {"num.io.threads", "log.retention.ms"})
    result = host.run(dynamic_record=str(record))
    assert result["dynamic_keys"] == ["log.retention.ms", "num.io.threads"]


def test_a_node_without_a_distribution_is_not_settled(host: Host) -> None:
    host.link.unlink()
    result = host.run()
    assert (result["home"], result["settled"]) == ("", False)


def test_a_request_marks_a_node_that_runs_and_forgets_its_former_files(host: Host) -> None:
    """It runs on the files as they are, which are what it would be put back to."""
    host.previous.touch()
    planned = host.run(request_restart=True, check=True)
    assert (planned["marked"], host.mark.exists(), host.previous.exists()) == (True, False, True)
    assert host.run(request_restart=True)["marked"]
    assert (host.mark.exists(), host.previous.exists()) == (True, False)


def test_a_request_leaves_a_mark_and_what_was_kept_with_it(host: Host) -> None:
    host.mark.write_text('{"paths": {"/a": ["x"]}}')
    host.previous.touch()
    assert host.run(request_restart=True)["marked"]
    assert host.previous.exists()
    assert "/a" in host.mark.read_text()


def test_a_node_that_is_down_is_not_marked(host: Host) -> None:
    (host.systemd.place / "units/kafka.running").unlink()
    result = host.run(request_restart=True)
    assert (result["running"], result["marked"]) == (False, False)


def test_a_requested_reboot_is_remembered_by_the_host(host: Host) -> None:
    assert host.run()["reboot_required"] is False
    assert host.run(request_reboot=True, check=True)["reboot_required"] is True
    assert host.run()["reboot_required"] is False
    host.run(request_reboot=True)
    assert host.run()["reboot_required"] is True


def test_the_former_files_are_put_back_only_where_the_node_waits_for_a_restart(host: Host) -> None:
    file = host.path / "server.properties"
    entry = {"content": "a=1\n", "mode": "0644", "restart": True}
    entry |= {"owner": file.parent.owner(), "group": file.parent.group()}
    file.write_text("a=2\n")
    restart.keep(host.previous, {str(file): entry})
    assert host.run(restore=True)["restored"] == []
    host.mark.touch()
    assert host.run(restore=True, check=True)["restored"] == []
    assert file.read_text() == "a=2\n"
    result = host.run(restore=True)
    assert (result["restored"], result["changed"], result["marked"]) == ([str(file)], True, False)
    assert file.read_text() == "a=1\n"
    assert host.run(restore=True)["changed"] is False


def test_a_broken_state_cannot_be_put_back(host: Host) -> None:
    host.mark.touch()
    host.previous.write_text("{")
    result = host.run(restore=True)
    assert result["failed"]
    assert str(host.previous) in result["msg"]


# The lock


def test_one_operation_at_a_time_has_the_lock(host: Host) -> None:
    assert host.take("first", check=True)["holder"] == {}
    assert not host.record.exists()
    assert host.take("first")["holder"] == {}
    refused = host.take("second", request_restart=True, request_reboot=True)
    assert refused["holder"]["id"] == refused["previous_operation"]["id"] == "first"
    assert operation_file.read(host.record)["id"] == "first"
    assert not host.mark.exists(), "nothing is asked for by who does not have the lock"
    assert not host.reboot_required.exists()


@pytest.mark.parametrize("check", [False, True])
def test_the_lock_of_a_dead_holder_is_taken_over(host: Host, check: bool) -> None:
    host.take("dead")
    assert host.take("second", over="somebody else", check=check)["holder"]["id"] == "dead"
    result = host.take("second", over="dead", request_restart=True, check=check)
    assert (result["holder"], result["marked"]) == ({}, True)
    assert result["previous_operation"]["id"] == "dead"
    assert operation_file.read(host.record)["id"] == ("dead" if check else "second")


@pytest.mark.parametrize("check", [False, True])
def test_where_no_lock_is_held_a_dead_operation_ends_as_its_lock_is_taken_over(
    host: Host, check: bool
) -> None:
    host.take("dead")
    result = host.run(over="dead", check=check)
    assert (result["holder"], result["previous_operation"]["state"]) == ({}, "running")
    state = operation_file.read(host.record)["state"]
    assert state == ("running" if check else "stopped")
    assert host.run(request_restart=True)["marked"] != check


def test_an_operation_that_ends_gives_the_lock_back(host: Host) -> None:
    host.take("first")
    host.run(operation={"id": "first", "state": "finished"})
    assert operation_file.read(host.record)["state"] == "finished"
    assert host.take("second")["holder"] == {}
    host.run(operation={"id": "first", "state": "finished"})
    assert operation_file.read(host.record)["id"] == "second"


def test_a_stale_record_outside_the_lock_hosts_blocks_nothing(
    host: Host,
) -> None:
    host.take("dead")
    assert host.run(request_restart=True)["holder"]["id"] == "dead"
    assert not host.mark.exists()
    os.utime(host.record, (time.time() - operation_file.QUIET_SECONDS - 60,) * 2)
    assert host.take("second")["holder"]["id"] == "dead", "here it may be at work elsewhere"
    result = host.run(request_restart=True)
    assert (result["holder"], result["marked"]) == ({}, True)


def test_the_first_certificate_of_each_key_store_is_given(host: Host, tmp_path: Path) -> None:
    node, none = tmp_path / "node.pem", tmp_path / "none.pem"
    authority = new_authority("Millrace")
    node.write_text(issue(authority, Certificate("k1/node", "", "k1", ("k1",), client=True)))
    none.write_text("no certificate")
    certificates = host.run(keystores=[str(node), str(none), f"{tmp_path}/absent"])["certificates"]
    assert certificates == {str(node): bodies(node.read_text())[0]}
    assert host.run()["certificates"] == {}
