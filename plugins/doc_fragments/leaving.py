"""Documentation that the modules have in common which check a service that a member leaves."""


class ModuleDocFragment:
    """Option of such a module."""

    DOCUMENTATION = r"""
options:
  leaving:
    description: With C(before) it is checked whether the service can do without the member of this
      host. With C(after), whether it does without it.
    type: str
    choices: [before, after]
"""
