"""What a rule is: what it judges, what it finds, and how findings become problems and a report.

A rule judges the cluster before a host is touched (`rule`), or one host by what was found on it
before anything is changed there (`host_rule`), or all of those hosts together (`hosts_rule`).
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)

Severity = Literal["error", "warning"]

# What XML 1.0 cannot hold in any form; a value of an inventory may be anything.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Finding:
    """One thing wrong; findings equal in all but the hosts become one problem."""

    where: str
    what: str
    fix: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, why it is refused and the value to set."""

    rule: str
    severity: Severity
    where: str
    what: str
    why: str
    fix: str
    hosts: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {**asdict(self), "hosts": list(self.hosts)}

    def lines(self) -> list[str]:
        """Return it as lines: what with the rule's name, where, why and what to set."""
        return [
            f"{self.what} [{self.rule}]",
            f"   where: {self.where}",
            f"   why:   {self.why}",
            f"   fix:   {self.fix}",
        ]


ClusterCheck = Callable[[Cluster], Iterable[Finding]]
HostCheck = Callable[[InspectedHost], Iterable[Finding]]
HostsCheck = Callable[[Sequence[InspectedHost]], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """A rule: `when` it finds a problem, `why`, and the `remedy`, in general for docs/errors.md.

    A rule of the severity warning is shown and never refuses. `in_container` is its severity on a
    host that is a container, whose kernel and clock are another machine's.
    """

    name: str
    when: str
    why: str
    remedy: str
    severity: Severity
    in_container: Severity
    on_cluster: ClusterCheck | None = None
    on_host: HostCheck | None = None
    on_hosts: HostsCheck | None = None

    @property
    def module(self) -> str:
        """The name of the module that has it."""
        return str((self.on_cluster or self.on_host or self.on_hosts).__module__)


REGISTERED: list[Rule] = []


def rule(
    name: str, *, when: str, why: str, remedy: str, severity: Severity = "error"
) -> Callable[[ClusterCheck], ClusterCheck]:
    """Register a rule about the cluster as the inventory describes it."""

    def register(check: ClusterCheck) -> ClusterCheck:
        REGISTERED.append(Rule(name, when, why, remedy, severity, severity, on_cluster=check))
        return check

    return register


def host_rule(
    name: str,
    *,
    when: str,
    why: str,
    remedy: str,
    severity: Severity = "error",
    in_container: Severity | None = None,
) -> Callable[[HostCheck], HostCheck]:
    """Register a rule about a host as it was found before anything is changed there."""

    def register(check: HostCheck) -> HostCheck:
        container = in_container or severity
        REGISTERED.append(Rule(name, when, why, remedy, severity, container, on_host=check))
        return check

    return register


def hosts_rule(
    name: str, *, when: str, why: str, remedy: str, severity: Severity = "error"
) -> Callable[[HostsCheck], HostsCheck]:
    """Register a rule about all hosts that were inspected, judged once."""

    def register(check: HostsCheck) -> HostsCheck:
        REGISTERED.append(Rule(name, when, why, remedy, severity, severity, on_hosts=check))
        return check

    return register


def judge_cluster(rules: Iterable[Rule], cluster: Cluster) -> list[Problem]:
    """Return every problem of an inventory, in the order of the rules and of the inventory."""
    return [
        problem
        for one in rules
        if one.on_cluster
        for problem in _merged(one, ((one.severity, found) for found in one.on_cluster(cluster)))
    ]


def judge_hosts(rules: Iterable[Rule], hosts: Sequence[InspectedHost]) -> list[Problem]:
    """Return every problem of the hosts that were inspected, in the order of the rules."""
    return [problem for one in rules for problem in _merged(one, _found(one, hosts))]


def _found(one: Rule, hosts: Sequence[InspectedHost]) -> Iterator[tuple[Severity, Finding]]:
    for host in hosts:
        severity = one.in_container if host.found.container else one.severity
        for found in one.on_host(host) if one.on_host else ():
            yield severity, Finding(found.where, found.what, found.fix, (host.name,))
    for found in one.on_hosts(hosts) if one.on_hosts else ():
        yield one.severity, found


def _merged(one: Rule, findings: Iterable[tuple[Severity, Finding]]) -> Iterator[Problem]:
    merged: dict[tuple[Severity, str, str, str], list[str]] = {}
    for severity, found in findings:
        key = (severity, found.where, found.what, found.fix)
        hosts = merged.setdefault(key, [])
        hosts += [host for host in found.hosts if host not in hosts]
    for (severity, where, what, fix), hosts in merged.items():
        place = f"{where} of {', '.join(hosts)}" if hosts else where
        yield Problem(one.name, severity, place, what, one.why, fix, tuple(hosts))


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems for which a run is refused."""
    return [problem for problem in problems if problem.severity == "error"]


def warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that are only shown."""
    return [problem for problem in problems if problem.severity == "warning"]


def report(problems: Sequence[Problem], subject: str, untouched: str) -> str:
    """Return the message of a refusal: each error with what, where, why and what to set."""
    refused = errors(problems)
    count = f"{len(refused)} problem{'s' if len(refused) != 1 else ''}"
    lines = [f"{subject} {count}; {untouched}."]
    for number, problem in enumerate(refused, start=1):
        first, *rest = problem.lines()
        lines += ["", f"{number}. {first}", *rest]
    return "\n".join(lines)


def warning_lines(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each warning."""
    return [
        f"{one.what} {one.fix} ({one.where}; {one.why}) [{one.rule}]" for one in warnings(problems)
    ]


def as_json(rules: Sequence[Rule], problems: Sequence[Problem], hosts: int) -> str:
    """Return the verdict as JSON: valid, problems, warnings, and how much was judged."""
    verdict = {
        "valid": not errors(problems),
        "problems": [problem.as_dict() for problem in errors(problems)],
        "warnings": [problem.as_dict() for problem in warnings(problems)],
        "rules": len(rules),
        "hosts": hosts,
    }
    return json.dumps(verdict, indent=2) + "\n"


def as_junit(rules: Sequence[Rule], problems: Sequence[Problem]) -> str:
    """Return the verdict as JUnit's XML: one test case a rule, warnings as its output."""
    by_rule: Mapping[str, list[Problem]] = {
        one.name: [problem for problem in problems if problem.rule == one.name] for one in rules
    }
    failed = sum(bool(errors(found)) for found in by_rule.values())
    counts = {"tests": str(len(rules)), "failures": str(failed), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "inventory", **counts, "skipped": "0"})
    for name, found in by_rule.items():
        case = ET.SubElement(suite, "testcase", {"classname": "inventory", "name": name})
        for problem in found:
            text = _legal("\n".join(problem.lines()))
            if problem.severity == "error":
                ET.SubElement(case, "failure", {"message": _legal(problem.what)}).text = text
            else:
                ET.SubElement(case, "system-out").text = text
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
