"""Each alert fires at its fault, is quiet without it and afterwards, and is explained."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.rules import (
    LONGEST_INTERVAL,
)

from tests.support import promtool
from tests.support.lab.topology import ROOT
from tests.unit.monitoring.alert_rules import ALERTS, FILES, FOLDER, alerts
from tests.unit.tree import load

CASES = {file: load(Path(__file__).parent / "alerts" / f"{file}.yml") for file in FILES}
PAGE = "docs/operate/alerts.md"


def name_of(case: str) -> str:
    """The alert that a case is about: `Name` or `Name, what is different`."""
    return case.partition(",")[0]


def checks(name: str, case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What promtool is to expect of an alert, and when."""
    rule = ALERTS[name]
    tests = [{"eval_time": at, "alertname": name, "exp_alerts": []} for at in case["quiet"]]
    if fires := case.get("fires"):
        expected = {
            "exp_labels": {**rule["labels"], **fires["labels"]},
            "exp_annotations": {**rule["annotations"], "summary": fires["summary"]},
        }
        tests.append({"eval_time": fires["at"], "alertname": name, "exp_alerts": [expected]})
    return tests


def refused(file: str, cases: Mapping[str, Any], folder: Path) -> str:
    """What promtool has against the cases."""
    intervals = {title: case.get("interval", "15s") for title, case in cases.items()}
    return "".join(
        refused_at(
            interval,
            file,
            {title: case for title, case in cases.items() if intervals[title] == interval},
            folder,
        )
        for interval in sorted({*intervals.values()})
    )


def refused_at(interval: str, file: str, cases: Mapping[str, Any], folder: Path) -> str:
    """What promtool has against cases whose metrics and rules have an interval."""
    tests = [
        {
            "name": title,
            "interval": interval,
            "input_series": [
                {"series": series, "values": values} for series, values in case["series"].items()
            ],
            "alert_rule_test": checks(name_of(title), case),
        }
        for title, case in cases.items()
    ]
    document = {
        "rule_files": [str(FOLDER / f"{file}.yml")],
        "evaluation_interval": interval,
        "tests": tests,
    }
    return promtool.run("test", "rules", file=folder / "test.yml", document=document)


@pytest.mark.parametrize("file", FILES)
def test_alerts_fire_and_clear(file: str, tmp_path: Path) -> None:
    assert not refused(file, CASES[file], tmp_path)


def test_what_does_not_fire_is_noticed(tmp_path: Path) -> None:
    case = CASES["registry"]["RegistryDown"]
    late = {**case, "fires": {**case["fires"], "at": "4m"}}
    assert "RegistryDown" in refused("registry", {"RegistryDown": late}, tmp_path)


@pytest.mark.parametrize("file", FILES)
def test_each_alert_has_a_case_in_which_it_fires_and_is_quiet_before_and_after(file: str) -> None:
    proven = {
        name_of(title)
        for title, case in CASES[file].items()
        if case.get("fires") and len(case["quiet"]) > 1
    }
    assert proven == set(alerts(file))


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_what_it_means_and_where_to_read_on(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"{PAGE}#{name.lower()}"
    assert "{{" not in rule["annotations"]["description"], "the cases compare it as it is"


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_looks_at_two_readings_at_least(name: str) -> None:
    minutes = [int(number) for number in re.findall(r"\[(\d+)m[]:]", ALERTS[name]["expr"])]
    assert all(60 * window >= 2 * LONGEST_INTERVAL for window in minutes)


def test_names_are_unique() -> None:
    assert len(ALERTS) == sum(len(alerts(file)) for file in FILES)


def test_the_page_has_a_section_and_a_row_for_each_alert() -> None:
    text = (ROOT / PAGE).read_text()
    assert re.findall(r"(?m)^### (\w+)$", text) == list(ALERTS)
    rows = re.findall(r"(?m)^\| \[(\w+)\]\(#(\w+)\) \| (\w+) \|", text)
    assert rows == [
        (name, name.lower(), rule["labels"]["severity"]) for name, rule in ALERTS.items()
    ]


def test_no_value_of_a_case_is_a_hexadecimal_number() -> None:
    """promtool reads `0x19` as 25, where twenty times 0 is meant: `0+0x19`."""
    values = [
        text
        for cases in CASES.values()
        for case in cases.values()
        for text in case["series"].values()
    ]
    assert not [text for text in values if re.search(r"(?:^|\s)0x", text)]
