"""Judge a host at first contact, before anything is changed on it, and put it into words.

The module `preflight` takes the snapshot on the host; the action of that name judges it here. A new
check is one function with `@check` in one of the modules preflight_<subject>.py and one row in the
table of tests/unit/preflight_cases.py; `python docs/generate.py errors` documents it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import (
    preflight_storage,
    preflight_system,
    preflight_versions,
)
from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    REGISTERED,
    Check,
    Host,
    Problem,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    listing,
    mapping,
    sequence,
)

CHECKS: list[Check] = [
    one
    for module in (preflight_storage, preflight_versions, preflight_system)
    for one in REGISTERED
    if one.function.__module__ == module.__name__
]


def judge(host: Host) -> list[Problem]:
    """Return every problem of a host, errors first."""
    found = [
        Problem(
            one.name,
            one.severity if host.kernel_is_ours else one.container,
            finding.where,
            finding.what,
            one.why,
            finding.fix,
        )
        for one in CHECKS
        for finding in one.function(host)
    ]
    return sorted(found, key=lambda problem: problem.severity)


def report(problems: Sequence[Problem]) -> str:
    """Return the message of a refusal: each error with what, where, why and fix, then warnings."""
    errors = [problem for problem in problems if problem.severity == "error"]
    count = f"{len(errors)} problem{'s' if len(errors) != 1 else ''}"
    lines = [f"The host has {count}; nothing was changed."]
    for number, problem in enumerate(errors, start=1):
        lines += [
            "",
            f"{number}. {problem.what} [{problem.check}]",
            f"   where: {problem.where}",
            f"   why:   {problem.why}",
            f"   fix:   {problem.fix}",
        ]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    lines += ["", "Beside that:"] if warnings else []
    lines += [f"- {one.what} {one.fix} [{one.check}]" for one in warnings]
    return "\n".join(lines)


def summary(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each warning, of all hosts together; `results` is host -> result."""
    merged: dict[str, list[str]] = {}
    for name, result in results.items():
        for problem in map(mapping, sequence(result.get("problems"))):
            if problem.get("severity") == "warning":
                line = f"{problem['what']} {problem['fix']} [{problem['check']}]"
                merged.setdefault(line, []).append(name)
    lines = [f"{listing(hosts)}: {line}" for line, hosts in merged.items()]
    javas: dict[int, list[str]] = {}
    for name, result in results.items():
        if result.get("java"):
            javas.setdefault(int(result["java"]), []).append(name)
    if len(javas) > 1:
        parts = [f"Java {major} on {listing(hosts)}" for major, hosts in sorted(javas.items())]
        lines.append(f"{listing(parts)}: run one Java on all nodes. [java-differs]")
    return lines
