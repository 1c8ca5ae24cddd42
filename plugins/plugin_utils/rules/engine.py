"""What a rule is: what it checks, what it finds, and how findings become problems and a report.

A rule checks the cluster before a host is touched (`rule`), or what was found on one host before
anything is changed there (`host_rule`), or all of those hosts together (`hosts_rule`).
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from ...module_utils.formats.values import one_line
from ..cluster import pages
from ..cluster.cluster import Cluster
from .inspection import InspectedHost

Severity = Literal["error", "warning"]

_SHOWN = 3  # hosts and places of one problem; the result in JSON has all
# What XML 1.0 cannot hold in any form; a value of an inventory may be anything.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Finding:
    """One thing wrong. Findings equal in all but the hosts become one problem."""

    what: str
    """What it is."""
    fix: str
    """The value to set."""
    where: str = ""
    """Where it is, unless its rule says that."""
    hosts: tuple[str, ...] = ()
    """By default the one that was checked."""


Findings = Iterator[Finding]


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, why it is refused and the value to set."""

    rule: str
    severity: Severity
    where: str
    what: str
    """What is wrong."""
    why: str
    """Why it is refused."""
    fix: str
    """The value to set."""
    hosts: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """The files and lines of what `where` names, as far as they are known."""
    entry: str = ""
    """The address of the rule's entry in the documentation."""
    shown: str = ""
    """`where` with groups instead of many hosts."""

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        fields = {**asdict(self), "hosts": list(self.hosts), "places": list(self.places)}
        return {name: value for name, value in fields.items() if name != "shown"}

    @property
    def location(self) -> str:
        """Where it is, with the files and lines that are not said otherwise."""
        where = self.shown or self.where
        places = [place for place in self.places if place not in f"{where} {self.what}"]
        suffix = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        return f"{where} ({', '.join(places[:_SHOWN])}{suffix})" if places else where

    def lines(self) -> list[str]:
        """Return it as lines: what with the rule's name, where, why, what to set, its entry."""
        return [
            f"{self.what} [{self.rule}]",
            f"   where: {self.location}",
            f"   why:   {self.why}",
            f"   fix:   {self.fix}",
            f"   more:  {self.entry}",
        ]


Check = Callable[..., Findings]
Checked = Iterable[tuple[Any, ...]]
"""The name of a host, empty for none, and what is checked there: the arguments of a check."""


@dataclass(frozen=True)
class Rule:
    """A rule; docs/rules.yml describes it."""

    name: str
    why: str
    """Why it finds a problem."""
    module: str
    on_cluster: bool
    """Whether it checks a Cluster, by the inventory alone, or else a sequence of InspectedHost."""
    severity: Severity
    """How severe a problem is. A warning is shown and never refuses."""
    in_container: Severity
    """The severity on a host that is a container, whose kernel and clock are another machine's."""
    findings: Callable[[Any], Findings]

    @property
    def page(self) -> str:
        """The page of docs/ with its entry, without a suffix: of Kafka, another service, or none."""
        service = self.module.partition(".services.")[2].partition(".")[0]
        kind = {"": "", "kafka": "-kafka"}.get(service, "-services")
        return f"reference/errors{kind}"


REGISTERED: list[Rule] = []


def rule(
    name: str,
    *,
    each: Callable[[Any], Checked] = lambda subject: [("", subject)],
    where: str = "",
    severity: Severity = "error",
    in_container: Severity | None = None,
    on_cluster: bool = True,
) -> Callable[[Check], Check]:
    """Register a rule about the cluster as the inventory describes it.

    Its docstring says why, for the messages. `each` gives what it checks, the whole cluster by
    default; `where` is for findings without their own.
    """

    def register(check: Check) -> Check:
        def findings(subject: Any) -> Findings:
            for host, *arguments in each(subject):
                for finding in check(*arguments):
                    hosts = finding.hosts or ((host,) if host else ())
                    # A name with a line break, from the file of a team, is no line of a report.
                    problem, fix = one_line(finding.what), one_line(finding.fix)
                    yield Finding(problem, fix, finding.where or where, hosts)

        why = " ".join((check.__doc__ or "").split())
        contained = in_container or severity
        REGISTERED.append(
            Rule(name, why, check.__module__, on_cluster, severity, contained, findings)
        )
        return check

    return register


def host_rule(
    name: str,
    *,
    each: Callable[[InspectedHost], Checked] = lambda host: [(host,)],
    where: str = "",
    severity: Severity = "error",
    in_container: Severity | None = None,
) -> Callable[[Check], Check]:
    """Register a rule about a host as it was found before anything is changed there."""

    def each_host(hosts: Sequence[InspectedHost]) -> Checked:
        return ((host.name, *arguments) for host in hosts for arguments in each(host))

    return hosts_rule(
        name, each=each_host, where=where, severity=severity, in_container=in_container
    )


hosts_rule = partial(rule, on_cluster=False)
"""Register a rule about all hosts that were inspected, checked once."""


def check_cluster(rules: Iterable[Rule], cluster: Cluster) -> list[Problem]:
    """Return every problem of an inventory, in the order of the rules and of the inventory."""
    problems = [
        problem
        for rule in rules
        if rule.on_cluster
        for problem in _problems(rule, cluster, cluster)
    ]
    parameters = cluster.inventory.parameters
    return [
        replace(problem, where=f"{problem.where} (given with -e)", places=(), shown="")
        if _variable(problem.where) in parameters
        else problem
        for problem in problems
    ]


def _variable(where: str) -> str:
    """Return the variable with which a location begins, empty if with none."""
    match = re.match(r"\w+", where)
    return match[0] if match else ""


def check_hosts(rules: Iterable[Rule], hosts: Sequence[InspectedHost]) -> list[Problem]:
    """Return every problem of the hosts that were inspected, in the order of the rules."""
    contained = frozenset(host.name for host in hosts if host.inspection.system.container)
    return [
        problem
        for rule in rules
        if hosts and not rule.on_cluster
        for problem in _problems(rule, hosts, hosts[0].cluster, contained)
    ]


def _problems(
    rule: Rule, subject: object, cluster: Cluster, contained: frozenset[str] = frozenset()
) -> Iterator[Problem]:
    merged: dict[tuple[Severity, str, str, str], list[str]] = {}
    for finding in rule.findings(subject):
        severity = rule.in_container if contained.issuperset(finding.hosts) else rule.severity
        hosts = merged.setdefault((severity, finding.where, finding.what, finding.fix), [])
        hosts += [host for host in finding.hosts if host not in hosts]
    for (severity, where, problem, fix), hosts in merged.items():
        place = f"{where} of {', '.join(hosts)}" if hosts else where
        many = len(hosts) > _SHOWN
        shown = f"{where} of {', '.join(in_groups(cluster, hosts))}" if many else place
        places = tuple(_places(cluster, where, hosts))
        yield Problem(
            rule.name,
            severity,
            one_line(place),
            problem,
            rule.why,
            fix,
            tuple(hosts),
            places,
            pages.address(cluster.docs_url, rule.page, rule.name),
            one_line(shown),
        )


def in_groups(cluster: Cluster, hosts: Sequence[str]) -> list[str]:
    """Return hosts, instead of all those of a group its name: of the largest groups first."""
    individual = dict.fromkeys(hosts)
    named: list[str] = []
    groups = {
        name: frozenset(members)
        for name, members in cluster.inventory.groups.items()
        if len(members) > 1 and name != "ungrouped" and individual.keys() >= {*members}
    }
    for name, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        if members <= individual.keys():
            named.append("all hosts" if name == "all" else name)
            individual = {host: None for host in individual if host not in members}
    return [*named, *individual]


def _places(cluster: Cluster, where: str, hosts: Iterable[str]) -> dict[str, None]:
    """Return the files and lines of what a finding names: part of a variable, a group, hosts."""
    inventory = cluster.inventory
    if where == "groups":
        named = (inventory.places.get(f"host {host}", ()) for host in hosts)
        return dict.fromkeys(place for places in named for place in places)
    by_host = [inventory.hosts[host].places for host in hosts or inventory.hosts]
    name = where
    while name:
        lines = dict.fromkeys(places[name] for places in by_host if name in places)
        if lines:
            return lines
        if name in inventory.places:
            return dict.fromkeys(inventory.places[name])
        # The variable that it is a part of.
        name = name[: max(name.rfind("["), name.rfind("."), 0)]
    return {}


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems for which a run is refused."""
    return [problem for problem in problems if problem.severity == "error"]


def warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that are only shown."""
    return [problem for problem in problems if problem.severity == "warning"]


Kind = Literal["heading", "fix", "detail"]
"""What a line of a report is: it has a colour of its own."""


def report_lines(
    problems: Sequence[Problem], subject: str, untouched: str
) -> Iterator[tuple[Kind, str]]:
    """Yield the lines of a refusal: their number, then each error with what, where, why and fix."""
    refused = errors(problems)
    files = {place.rpartition(":")[0] or place for problem in refused for place in problem.places}
    within = f" in {counted(len(files), 'file', 'files')}" if files else ""
    count = counted(len(refused), "problem", "problems")
    yield "heading", f"{subject} {count}{within}; {untouched}."
    for number, problem in enumerate(refused, start=1):
        first, *details = problem.lines()
        yield "detail", ""
        yield "heading", f"{number}. {first}"
        for line in details:
            yield "fix" if line.lstrip().startswith("fix:") else "detail", line


def counted(number: int, one: str, several: str) -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else several}"


def brief(problems: Sequence[Problem], subject: str, untouched: str) -> str:
    """Return the message of a refusal whose report is shown already."""
    count = len(errors(problems))
    shown = f"{count} problems, which are" if count > 1 else "a problem, which is"
    return f"{subject} {shown} shown above; {untouched}."


def warning_lines(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each warning."""
    return [
        f"{problem.what} {problem.fix} ({problem.location}; {problem.why}) [{problem.rule}] "
        f"{problem.entry}"
        for problem in warnings(problems)
    ]


def as_json(rules: Sequence[Rule], problems: Sequence[Problem], hosts: int) -> str:
    """Return the result as JSON: valid, problems, warnings, and the numbers of rules and hosts."""
    content = {
        "valid": not errors(problems),
        "problems": [problem.as_dict() for problem in errors(problems)],
        "warnings": [problem.as_dict() for problem in warnings(problems)],
        "rules": len(rules),
        "hosts": hosts,
    }
    return json.dumps(content, indent=2) + "\n"


def as_junit(rules: Sequence[Rule], problems: Sequence[Problem]) -> str:
    """Return the result as JUnit XML: one test case per rule, warnings as its output."""
    by_rule = {
        rule.name: [problem for problem in problems if problem.rule == rule.name] for rule in rules
    }
    failed = sum(bool(errors(rule_problems)) for rule_problems in by_rule.values())
    counts = {"tests": str(len(rules)), "failures": str(failed), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "inventory", **counts, "skipped": "0"})
    for name, rule_problems in by_rule.items():
        case = ET.SubElement(suite, "testcase", {"classname": "inventory", "name": name})
        for problem in rule_problems:
            text = _legal("\n".join(problem.lines()))
            if problem.severity == "error":
                ET.SubElement(case, "failure", {"message": _legal(problem.what)}).text = text
            else:
                ET.SubElement(case, "system-out").text = text
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
