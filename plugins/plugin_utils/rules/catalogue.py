"""All rules, in the order of their problems. No module with rules may import this one."""

from __future__ import annotations

from importlib import import_module

from ..cluster import registry
from .engine import REGISTERED, Rule

# Those that belong to no service, from what the inventory is to what a property is: the order of
# the problems. Those of services follow.
_SUBJECTS = (
    ".groups",
    ".connection",
    ".files",
    ".variables",
    ".versions",
    ".policy",
    ".services",
    ".jvm",
    ".plugins",
    ".system",
    ".firewall",
    ".directories",
    ".disks",
    ".clear_text",
    ".protection",
)
_NAMES = [f"{__package__}{subject}" for subject in _SUBJECTS] + registry.rule_modules()
for _name in _NAMES:
    import_module(_name)
RULES: tuple[Rule, ...] = tuple(
    rule for name in _NAMES for rule in REGISTERED if rule.module == name
)
