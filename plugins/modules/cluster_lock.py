#!/usr/bin/python
"""Documentation of the action cluster_lock, which runs on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_lock
short_description: Whether this run holds the lock of the cluster, and where its module runs
description:
  - Says whether the hosts on which M(millrace.streaming.kafka_node) has taken the lock are a
    majority of those that hold it. An operation that changes the cluster without a roll needs it
    too, so that neither runs beside the other.
options:
  nodes:
    description: Host to the result of M(millrace.streaming.kafka_node), of the hosts of the play.
    type: dict
    required: true
  other_nodes:
    description: Results of that module for hosts outside the play that hold the lock too, each with
      the host as C(item).
    type: list
    elements: dict
    default: []
  leaving:
    description: Host of a node that is to leave the cluster. The operation is refused where that
      cannot be done.
    type: str
    default: ""
  replaced:
    description: Host of a node that gets a new machine, or empty disks, and is the only one of the
      play.
    type: str
    default: ""
attributes:
  check_mode:
    description: Answers the same and records nothing.
    support: full
"""

RETURN = r"""
lock:
  description: C(taken), C(held) by another operation, C(abandoned) by a dead one, whose id is then
    in C(holder), or C(incomplete).
  returned: always
  type: str
refused:
  description: Why this operation may not go on; empty if it may.
  returned: always
  type: str
host:
  description: The host where the module of the operation runs.
  returned: always
  type: str
node_id:
  description: Node id of O(leaving), with C(broker) and C(controller) as its roles. Also
    C(vote_ends_first), which says whether a controller of its version leaves the quorum before it
    is stopped.
  returned: always
  type: int
"""
