#!/usr/bin/python
"""Documentation of the action cluster_id, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_id
short_description: Read the cluster id kept beside the inventory, or mint it
version_added: 0.1.0
description:
  - Reads a Kafka cluster id from a file on the controller.
  - Without the file a random id is minted and stored; an existing file is never replaced.
  - A file with any other content is refused.
options:
  path:
    description: The file, on the controller; its directory exists.
    type: path
    required: true
  known:
    description: An id that stands already, such as ZooKeeper's, to be kept instead of a minted one.
    type: str
attributes:
  check_mode:
    description: Returns a fresh id with C(changed) and stores nothing.
    support: full
  diff_mode:
    description: Shows none.
    support: none
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Know the cluster
  millrace.streaming.cluster_id:
    path: "{{ inventory_dir }}/kafka_cluster_id"
  run_once: true
  register: __cluster
"""

RETURN = r"""
cluster_id:
  description: The id that stands in the file; in check mode one that could.
  returned: success
  type: str
"""
