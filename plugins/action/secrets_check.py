"""Ansible action: refuse secrets that are older than those with which hosts were deployed."""

from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils import secret_records
from ..plugin_utils.action import LocalAction


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Compare the records of the hosts with the secrets of this control node."""
        if problems := [*secret_records.problems(self.cluster, args["records"])]:
            raise AnsibleActionFail("\n- ".join(["no host was changed:", *problems]))
        return {"changed": False}
