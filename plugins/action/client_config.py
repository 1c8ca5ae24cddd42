"""Ansible action: write a file by which clients on the control node reach the Kafka cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.model import files
from ..plugin_utils.action import Action
from ..plugin_utils.inventory import plain


class ActionModule(Action):
    """The action; it runs only on the control node."""

    _requires_connection = False

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Write the file, in check mode too; return what a topic of the cluster has by default."""
        brokers = self.cluster.brokers
        if not brokers:
            message = "the group kafka_brokers is missing or empty; add hosts to it"
            raise AnsibleActionFail(message)
        text = files.properties({**brokers[0].local_client_config, **plain(args["properties"])})
        path = Path(args["path"])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # It may hold a password.
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as one:
                os.fchmod(one.fileno(), 0o600)  # one that was there before
                one.write(text)
        except OSError as error:
            message = f"the client properties cannot be written: {error}"
            raise AnsibleActionFail(message) from error
        return {
            "changed": False,
            "brokers": len(brokers),
            "replication_factor": brokers[0].replication_factor,
            "min_insync_replicas": brokers[0].number("min.insync.replicas"),
        }
