"""What the engine makes of findings: one registry, one problem, one report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    REGISTERED,
    Problem,
    Severity,
    as_json,
    as_junit,
)

from tests.support.lab.topology import ROOT
from tests.unit.tree import relative

PLUGINS = "ansible_collections.millrace.streaming.plugins.plugin_utils"


def problem(text: str, severity: Severity = "error") -> Problem:
    return Problem("unknown-key", severity, "kafka_config[x]", text, "Why.", "Delete it.", ("k1",))


def test_no_rule_is_left_out_and_no_name_is_given_twice() -> None:
    names = [rule.name for rule in RULES]
    assert sorted(names) == sorted(rule.name for rule in REGISTERED)
    assert len(set(names)) == len(names)
    files = ROOT.glob("plugins/plugin_utils/**/*.py")
    subjects = [
        path for path in files if re.search(r"^@(host_|hosts_)?rule\(", path.read_text(), re.M)
    ]
    modules = {relative(path).removesuffix(".py").replace("/", ".") for path in subjects}
    assert {rule.module.partition(".streaming.")[2] for rule in RULES} == modules


@pytest.mark.parametrize("first", ["services.monitoring.rules", "rules.disks", "rules.catalogue"])
def test_all_rules_are_there_whichever_module_is_imported_first(first: str) -> None:
    program = (
        f"import {PLUGINS}.{first}\n"
        f"from {PLUGINS}.rules.catalogue import RULES\n"
        "print(*(rule.name for rule in RULES))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [rule.name for rule in RULES]


@pytest.mark.parametrize(
    "text", ["bell \x07 nul \x00", "]]> & <a b='\"'>", "\ud800 \uffff", "é\n\t"]
)
def test_verdicts_hold_any_character(text: str) -> None:
    suites = ET.fromstring(as_junit(RULES, [problem(text)]))
    [failure] = suites.iter("failure")
    assert "unknown-key" in str(failure.text)
    assert json.loads(as_json(RULES, [problem(text)], 1))["problems"][0]["what"] == text


def test_junit_has_one_case_a_rule_and_warnings_are_output() -> None:
    problems = [problem("One."), problem("Two."), problem("Three.", "warning")]
    suites = ET.fromstring(as_junit(RULES, problems))
    assert suites.get("failures") == "1"
    assert [case.get("name") for case in suites.iter("testcase")] == [rule.name for rule in RULES]
    [case] = [case for case in suites.iter("testcase") if case.get("name") == "unknown-key"]
    assert [failure.get("message") for failure in case.iter("failure")] == ["One.", "Two."]
    assert "Three." in str(case.findtext("system-out"))
