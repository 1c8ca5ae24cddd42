"""Documentation that the modules which check a service have in common."""


class ModuleDocFragment:
    """Options of such a module."""

    DOCUMENTATION = r"""
options:
  wait:
    description: Seconds to wait until it is healthy; with 0 it is checked once.
    type: float
    default: 0
  fail:
    description: Whether the task fails if it is not healthy.
    type: bool
    default: true
"""
