"""Ansible action: write one file with all that a control node in a closed network needs."""

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils import bundle
from ..plugin_utils.action import LocalAction


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Write the bundle if it differs."""
        path = Path(args["path"]).absolute()
        try:
            written = bundle.write(self.cluster, path, check=self._task.check_mode)
        except (bundle.BundleError, OSError) as error:
            message = f"the bundle cannot be written: {error}"
            raise AnsibleActionFail(message) from error
        return {
            "changed": written.changed,
            "path": str(path),
            "sha256": written.sha256,
            "parts": written.parts,
        }
