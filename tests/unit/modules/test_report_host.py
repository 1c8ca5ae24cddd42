"""The state of a host for a report: units, marks, disks, certificates, the last operation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.unit import State, Unit
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
    tls as zookeeper_tls,
)

from tests.unit.in_process import call_module

NO_BUS = OSError("systemctl: no bus")


def state(unit: Unit) -> State:
    if unit.name == "gone":
        raise NO_BUS
    return State(active="failed" if unit.name == "spark-worker" else "active")


def test_everything_of_a_host_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Unit, "state", state)
    authority = certificates.new_authority("Ensemble")
    stranger = certificates.new_authority("Another")
    certificate = zookeeper_tls.identity("z1", "kafka").certificate
    good, bad = tmp_path / "good.pem", tmp_path / "bad.pem"
    good.write_text(certificates.issue(authority, certificate))
    bad.write_text(certificates.issue(stranger, certificate))
    (tmp_path / "mark").touch()
    (tmp_path / "operation.json").write_text(json.dumps({"id": "a", "state": "finished"}))
    result = call_module(
        "report_host",
        {
            "units": ["kafka", "spark-worker", "gone"],
            "marks": {"kafka": str(tmp_path / "mark"), "spark-worker": str(tmp_path / "none")},
            "directories": [str(tmp_path), str(tmp_path / "none")],
            "stores": [
                {"certificate": str(path), "trusted": authority.certificate}
                for path in (good, bad, tmp_path / "none.pem")
            ],
            "record": str(tmp_path / "operation.json"),
        },
    )
    assert [unit["active"] for unit in result["units"]] == [
        "active",
        "failed",
        "unknown: systemctl: no bus",
    ]
    assert result["pending"] == ["kafka"]
    assert [disk["path"] for disk in result["disks"]] == [str(tmp_path)]
    shown = {Path(entry["place"]).name: entry for entry in result["certificates"]}
    assert shown.keys() == {"good.pem", "bad.pem"}
    assert shown["good.pem"]["days"] > 30
    assert shown["bad.pem"]["wrong"]
    assert result["operation"]["state"] == "finished"


def test_a_host_that_has_nothing_yet_has_nothing(tmp_path: Path) -> None:
    result = call_module("report_host", {"record": str(tmp_path / "none")})
    assert result["operation"] == {}
    assert result["units"] == result["disks"] == result["certificates"] == []
