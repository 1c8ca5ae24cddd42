"""What the module support_host reads on a host."""

from __future__ import annotations

import base64
import json
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.in_process import call_module
from tests.unit.module_runner import OWN

REPORT = "# A fatal error\nEnvironment Variables:\nX_PASSWORD=canary\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    now = int(time.time())
    crashes = tmp_path / "crash/kafka"
    crashes.mkdir(parents=True)
    (crashes / "kafka.ends").write_text(f"{now} oom-kill killed KILL\n{now - 9999} x exited 1\n")
    (crashes / "hs_err_pid1.log").write_text(REPORT)
    (crashes / "java_pid1.hprof").write_text("all that was in memory")
    events = tmp_path / "events/eventlog_v2_app-1"
    events.mkdir(parents=True)
    (events / "events_1_app-1").write_text('{"Event":"SparkListenerJobEnd"}\n')
    (events / "events_2_app-1.zstd").write_bytes(b"no zstd")
    (tmp_path / "operation.json").write_text('{"id": "a"}')
    (tmp_path / "authorizer.log").write_text("Principal = User:bob is Denied\n")
    return tmp_path


def read(place: Path, **options: Any) -> dict[str, tuple[str, str]]:
    result = call_module(
        "support_host",
        {
            "seconds_back": 3600,
            "largest": 10_000,
            "total": 10**6,
            "deadline": 20,
            "units": ["kafka"],
            "accounts": [OWN["owner"], "no-such-account"],
            "logs": [str(place / "authorizer.log")],
            "files": ["/etc/passwd"],
            "record": str(place / "operation.json"),
            "crashes": str(place / "crash"),
            "event_logs": str(place / "events"),
            "spark_user": OWN["owner"],
            "spark_group": OWN["group"],
            **options,
        },
    )
    assert result["changed"] is False
    pieces = json.loads(zlib.decompress(base64.b64decode(result["pieces"])))
    return {name: (text, note) for name, text, note in pieces}


def test_a_host_is_read(place: Path) -> None:
    pieces = read(place)
    assert "oom-kill" in pieces["crashes/ends.txt"][0]
    assert "status 1" not in pieces["crashes/ends.txt"][0]
    assert "java_pid1.hprof" in pieces["crashes/ends.txt"][0]
    assert pieces["crashes/kafka/hs_err_pid1.log.txt"][0] == REPORT
    assert not any("all that was in memory" in text for text, _ in pieces.values())
    assert pieces["operation.json"][0] == '{"id": "a"}'
    assert "Denied" in pieces["logs/authorizer.log.txt"][0]
    assert "root:" in pieces["files/etc/passwd.txt"][0]
    assert "Linux" in pieces["versions.txt"][0]
    assert "MemTotal" in pieces["memory.txt"][0]
    assert "Filesystem" in pieces["disks.txt"][0]
    assert "python" in pieces["processes.txt"][0]
    assert {"journal/kernel.txt", "journal/kafka.txt", "units.txt", "clock.txt"} <= pieces.keys()


def test_the_last_events_of_spark_are_read(place: Path) -> None:
    pieces = read(place)
    name = "spark-events/eventlog_v2_app-1-events_1_app-1.txt"
    assert pieces[name] == ('{"Event":"SparkListenerJobEnd"}\n', "")
    # Its content is damaged or there is no program for it: both cost this piece alone.
    assert "spark-events/eventlog_v2_app-1-events_2_app-1.zstd.txt" in pieces


def test_without_services_the_system_is_read(place: Path) -> None:
    pieces = read(place, units=[], accounts=[], logs=[], files=[], event_logs="", record="/none")
    assert "versions.txt" in pieces
    assert not {"units.txt", "processes.txt", "operation.json"} & pieces.keys()
