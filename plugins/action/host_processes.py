"""Ansible action: crashes of the services on a host, and JVMs whose Java was replaced."""

from typing import Any

from ..plugin_utils.action import Action


class ActionModule(Action):
    """The control node's part of the module of this name: the check of its options."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Read it on the host."""
        return self.call(args)
