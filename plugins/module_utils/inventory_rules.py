"""Judge an inventory by all rules and put the problems into words.

A new rule is one function with `@rule` in rules_kafka.py or rules_hosts.py and one row in the
table of tests/unit/test_inventory_rules.py; `python docs/generate.py errors` documents it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.millrace.streaming.plugins.module_utils import rules_hosts, rules_kafka
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    RULES,
    Finding,
    Host,
    Inventory,
    Problem,
    Rule,
    problems_of,
    rule,
)

__all__ = [
    "RULES",
    "Finding",
    "Host",
    "Inventory",
    "Problem",
    "Rule",
    "judge",
    "report",
    "rule",
    "rules_hosts",
    "rules_kafka",
]


def judge(inventory: Inventory) -> list[Problem]:
    """Return every problem, in the order of the rules and of the inventory."""
    return [problem for one in RULES for problem in problems_of(one, inventory)]


def report(problems: Sequence[Problem]) -> str:
    """Return the message of a refusal: each problem with what, where, why and what to set."""
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    lines = [f"The inventory has {count}; no host was touched."]
    for number, problem in enumerate(problems, start=1):
        lines += [
            "",
            f"{number}. {problem.what} [{problem.rule}]",
            f"   where: {problem.where}",
            f"   why:   {problem.why}",
            f"   fix:   {problem.fix}",
        ]
    return "\n".join(lines)
