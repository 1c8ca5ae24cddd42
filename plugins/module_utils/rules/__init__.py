"""The rules about inventories and hosts, by subject.

A new rule is one function with `@rule` or `@host_rule` in the module of its subject, and a row in
tests/unit/rules/ that it refuses and one that it lets pass; `python docs/generate.py errors`
documents it.
"""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.rules import groups
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    REGISTERED,
    Rule,
)

# From what the inventory is to what a property is: the order of the problems.
SUBJECTS = (groups,)
RULES: tuple[Rule, ...] = tuple(
    one for subject in SUBJECTS for one in REGISTERED if one.module == subject.__name__
)
