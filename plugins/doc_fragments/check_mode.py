"""Documentation that modules which change nothing have in common."""


class ModuleDocFragment:
    """What check mode does with such a module."""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Changes nothing, so it does the same.
    support: full
"""
