"""Documentation of the options of every module that judges whether a node may stop."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of module_utils/operations/options.py, EXPECTED and GATE."""

    DOCUMENTATION = r"""
options:
  expect_brokers:
    description: Node ids of all brokers; others or missing ones are a problem. Empty means any.
    type: list
    elements: int
    default: []
  expect_voters:
    description: Node ids of all controllers; others or missing ones are a problem. Empty means any.
    type: list
    elements: int
    default: []
  cluster_id:
    description: The cluster id that must be found.
    type: str
  strict:
    description: Whether every replica of the cluster must be in sync before a node stops.
    type: bool
    default: true
  allow_outage:
    description: Topics that may be unavailable while a node restarts; C(*) means all.
    type: list
    elements: str
    default: []
  allow_unsafe_quorum:
    description: Whether a controller may stop although the quorum then has no majority.
    type: bool
    default: false
"""
