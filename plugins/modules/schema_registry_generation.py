#!/usr/bin/python
"""Ansible module: an archive of the schema registry takes its place among earlier ones."""

from __future__ import annotations

DOCUMENTATION = r"""
module: schema_registry_generation
short_description: Keep an archive of the schema registry, and some of the earlier ones
description:
  - Works on the control node. O(received) becomes O(path), in one step. The archive that was there
    before stays beside it, with its time in its name; the newest O(keep) of those are kept.
  - An archive that is damaged is refused. One that lacks a version or a level that O(path) has is
    refused too, unless O(fewer) is set, since the registry may have a part of its schemas only. It
    is kept beside O(path) with V(partial) in its name.
options:
  received:
    description: The new archive, which is moved.
    type: path
    required: true
  path:
    description: Where the newest archive is.
    type: path
    required: true
  keep:
    description: How many earlier archives are kept.
    type: int
    default: 10
  fewer:
    description: Whether the new archive may lack what the one at O(path) has.
    type: bool
    default: false
attributes:
  check_mode:
    description: Not supported.
    support: none
"""

EXAMPLES = r"""
- name: Keep the archive
  millrace.streaming.schema_registry_generation:
    received: /backup/.schemas.zip.received
    path: /backup/schemas.zip
"""

RETURN = r"""
earlier:
  description: The earlier archives that are kept, the newest last.
  returned: always
  type: list
  elements: str
"""
