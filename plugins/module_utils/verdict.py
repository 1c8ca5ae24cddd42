"""The verdict on an inventory for machines: JSON, and JUnit's XML for a build server."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from ansible_collections.millrace.streaming.plugins.module_utils.inventory_rules import (
    RULES,
    Problem,
    errors,
    lines_about,
    warnings,
)

# What XML 1.0 cannot hold in any form; a value of an inventory may be anything.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(problems: Sequence[Problem], hosts: int) -> str:
    """Return the verdict as JSON: valid, problems, warnings, and how much was judged."""
    verdict = {
        "valid": not errors(problems),
        "problems": [problem.as_dict() for problem in errors(problems)],
        "warnings": [problem.as_dict() for problem in warnings(problems)],
        "rules": len(RULES),
        "hosts": hosts,
    }
    return json.dumps(verdict, indent=2) + "\n"


def as_junit(problems: Sequence[Problem]) -> str:
    """Return the verdict as JUnit's XML: one test case a rule, warnings as its output."""
    failed = {problem.rule for problem in errors(problems)}
    counts = {"tests": str(len(RULES)), "failures": str(len(failed)), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "inventory", **counts, "skipped": "0"})
    for rule in RULES:
        case = ET.SubElement(suite, "testcase", {"classname": "inventory", "name": rule.name})
        for problem in problems:
            if problem.rule == rule.name:
                _tell(case, problem)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _tell(case: ET.Element, problem: Problem) -> None:
    text = _legal("\n".join(lines_about(problem)))
    if problem.severity == "error":
        ET.SubElement(case, "failure", {"message": _legal(problem.what)}).text = text
    else:
        ET.SubElement(case, "system-out").text = text


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
