"""Ansible action: write a file by which clients on the control node reach the Kafka cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.model import files
from ..module_utils.model.kafka import KafkaNode
from ..module_utils.model.values import listing
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
        client = brokers[0].local_client_config(args["user"])
        self._refuse_unknown(brokers[0], args["user"])
        text = files.properties({**client, **plain(args["properties"])})
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

    def _refuse_unknown(self, broker: KafkaNode, user: str) -> None:
        """Refuse a user that clients cannot log in as, where they have to log in."""
        names = [one.name for one in broker.users if one.present and one.scram]
        known = {one.name for one in broker.users if one.name in names and one.password}
        if broker.clients_log_in and user not in known:
            message = f"Kafka has no user {user}; there are {listing(names)}"
            if user in names:
                message = (
                    f"{broker.secrets.directory} has no password of {user}: run site.yml, or copy "
                    "the directory from the control node that made it"
                )
            raise AnsibleActionFail(message)
