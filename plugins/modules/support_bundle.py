#!/usr/bin/python
"""Documentation of the action support_bundle, which runs on the control node."""

DOCUMENTATION = r"""
module: support_bundle
short_description: Write a support bundle of a cluster, without secrets
description:
  - Writes one archive (tar.gz) on the control node that only its owner can read, from the results of
    M(millrace.streaming.support_host) and M(millrace.streaming.report_parts). Its C(index.html)
    leads to all that is in it.
  - Before anything is written it removes all secrets that the control node knows. These are those
    of the directory of secrets, of the inventory and of vaults, also where a program has quoted,
    escaped or encoded them. It then removes private keys, and values of what is called a password,
    a secret or a token.
  - Hosts and services without a result are named with the reason.
options:
  path:
    description: File on the control node for the archive.
    type: path
    required: true
  window:
    description: How far the bundle looks back, for instance C(90m), C(24h) or C(7d).
    type: str
    default: 24h
  hosts:
    description: Variable in which M(millrace.streaming.support_host) was registered. Without it only
      C(path) and C(window) are checked.
    type: str
  parts:
    description: Variable in which M(millrace.streaming.report_parts) was registered.
    type: str
    default: ""
attributes:
  check_mode:
    description: Changes no host, so it does the same.
    support: full
"""

EXAMPLES = r"""
- name: Write the bundle
  millrace.streaming.support_bundle:
    path: support.tar.gz
    hosts: support_hosts
    parts: support_parts
  run_once: true
"""

RETURN = r"""
path:
  description: The archive.
  returned: when it was written
  type: str
size:
  description: Its bytes.
  returned: when it was written
  type: int
problems:
  description: The hosts and services that were not read, and what is wrong with the others.
  returned: when it was written
  type: list
  elements: str
"""
