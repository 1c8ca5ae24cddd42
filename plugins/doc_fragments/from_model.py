"""Documentation of modules whose action takes their options from the model of the cluster."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of plugin_utils/from_model.py."""

    DOCUMENTATION = r"""
options:
  events:
    description: File of the controller that gets each change with its time, for the ledger.
    type: str
    default: ""
notes:
  - An action of the same name takes what a task leaves out from the model of the cluster, options
    that are required by the module too.
"""
