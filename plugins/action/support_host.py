"""Ansible action: what a host says of itself, for a support bundle."""

import functools
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils.action import Action
from ..plugin_utils.deadline import within
from ..plugin_utils.operations import report, support


class ActionModule(Action):
    """The control node's part of the module of this name: what there is on the host."""

    OWN = frozenset({"window"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Read the host; what does not answer in time fails nothing."""
        try:
            window = support.window_seconds(args["window"])
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        options = support.host_options(self.cluster, self.host, window)
        result = within(support.CALL_SECONDS, functools.partial(self.call, options))
        state = report.host_options(self.cluster, self.host)
        call = functools.partial(self.call, state, "report_host")
        return {**result, "changed": False, "report": within(support.STATE_SECONDS, call)}
