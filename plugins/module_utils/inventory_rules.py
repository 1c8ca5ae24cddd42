"""Judge an inventory by all rules and put the problems into words.

A new rule is one function with `@rule` in the module of its subject (rules_<subject>.py), one
wrong inventory in tests/unit/inventory_cases*.py and one legal one in
tests/unit/inventory_legal*.py; `python docs/generate.py errors` documents it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.millrace.streaming.plugins.module_utils import (
    rules_archive,
    rules_directories,
    rules_groups,
    rules_hosts,
    rules_keys,
    rules_limits,
    rules_listeners,
    rules_nodes,
    rules_replication,
    rules_security,
    rules_spark,
    rules_tls,
    rules_variables,
    rules_versions,
    rules_zookeeper,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    Problem,
    Rule,
    problems_of,
    rule,
    rules_of,
)

__all__ = [
    "RULES",
    "Finding",
    "Host",
    "Inventory",
    "Problem",
    "Rule",
    "errors",
    "judge",
    "report",
    "rule",
    "warnings",
]

# From what the inventory is to what a property is: the order of the problems.
SUBJECTS = (
    rules_groups,
    rules_variables,
    rules_versions,
    rules_archive,
    rules_hosts,
    rules_directories,
    rules_nodes,
    rules_listeners,
    rules_tls,
    rules_replication,
    rules_keys,
    rules_limits,
    rules_security,
    rules_zookeeper,
    rules_spark,
)
RULES: tuple[Rule, ...] = tuple(one for subject in SUBJECTS for one in rules_of(subject.__name__))


def judge(inventory: Inventory) -> list[Problem]:
    """Return every problem, warnings too, in the order of the rules and of the inventory."""
    return [problem for one in RULES for problem in problems_of(one, inventory)]


def errors(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems for which the inventory is refused."""
    return [problem for problem in problems if problem.severity == "error"]


def warnings(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems that are only shown."""
    return [problem for problem in problems if problem.severity == "warning"]


def lines_about(problem: Problem) -> list[str]:
    """Return a problem as lines: what with the rule's name, where, why and what to set."""
    return [
        f"{problem.what} [{problem.rule}]",
        f"   where: {problem.where}",
        f"   why:   {problem.why}",
        f"   fix:   {problem.fix}",
    ]


def report(problems: Sequence[Problem]) -> str:
    """Return the message of a refusal: each error with what, where, why and what to set."""
    refused = errors(problems)
    count = f"{len(refused)} problem{'s' if len(refused) != 1 else ''}"
    lines = [f"The inventory has {count}; no host was touched."]
    for number, problem in enumerate(refused, start=1):
        first, *rest = lines_about(problem)
        lines += ["", f"{number}. {first}", *rest]
    return "\n".join(lines)
