#!/usr/bin/python
"""Documentation of the action inventory_rules, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: inventory_rules
short_description: Refuse a wrong inventory with every problem at once
version_added: 0.1.0
description:
  - Judges all hosts of the inventory together, on the controller, and fails once with all problems.
  - Each problem says what is wrong, where, why it is refused and which value to set.
  - It reads the fact C(__<role>_described) that each role's C(describe) entry point sets, the
    groups, and every variable that has the prefix of a role.
  - Rules of the severity warning never fail; what they find is shown as Ansible's own warnings.
  - C(docs/errors.md) lists the rules.
options:
  specs:
    description: Mapping of role name to the path of its C(meta/argument_specs.yml).
    type: dict
    required: true
  json:
    description:
      - File on the controller for the verdict as JSON, also when everything is fine.
      - A relative name is taken from the caller's directory.
    type: path
  junit:
    description: The same as XML for JUnit, one test case a rule.
    type: path
attributes:
  check_mode:
    description: Changes nothing but the files that it was asked for, so it does the same.
    support: full
  diff_mode:
    description: Changes nothing.
    support: none
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Judge the inventory
  millrace.streaming.inventory_rules:
    specs:
      kafka: "{{ playbook_dir }}/../roles/kafka/meta/argument_specs.yml"
      host: "{{ playbook_dir }}/../roles/host/meta/argument_specs.yml"
  run_once: true
"""

RETURN = r"""
notes:
  description: What rules of the severity warning found, in the form of RV(problems).
  returned: always
  type: list
  elements: dict
problems:
  description: What is wrong, in a stable order; empty if nothing is.
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: Name of the rule, as in C(docs/errors.md).
      type: str
    where:
      description: Variable, key or group, and the hosts.
      type: str
    what:
      description: What is wrong.
      type: str
    why:
      description: Why it is refused.
      type: str
    fix:
      description: What to set.
      type: str
    hosts:
      description: The hosts, none where the problem is one of groups.
      type: list
      elements: str
    severity:
      description: C(error) or C(warning).
      type: str
"""
