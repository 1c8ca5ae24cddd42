"""Ansible action: write files by which clients on the control node reach the Kafka cluster."""

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.host.files import write_own
from ..module_utils.kafka.connection import ConnectionDescriptionError
from ..plugin_utils import memory
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import files
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.secrets.users import password_problem
from ..plugin_utils.services.kafka.client_formats import client_files
from ..plugin_utils.services.kafka.node import KafkaNode
from ..plugin_utils.services.kafka.security import AUTHORITY_FILE
from ..plugin_utils.services.schema_registry.model import Registry

REGISTRY = "schema-registry.conf"


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Write the files, in check mode too; return what a topic of the cluster has by default.

        Only a file that is removed counts as a change.
        """
        brokers = self.cluster.brokers
        if not brokers:
            message = "the group kafka_brokers is missing or empty; add hosts to it"
            raise AnsibleActionFail(message)
        refuse_unknown(brokers[0], args["user"])
        path = Path(args["path"]).absolute()
        properties = plain(args["properties"])
        removed = False
        try:
            if args["all_formats"]:
                registry = next(iter(self.cluster.schema_registry.values()), None)
                written = _all(brokers[0], registry, args["user"], path, properties)
                # The user may have had a login there.
                former = path / REGISTRY
                removed = former not in written and former.exists()
                if removed and not self._task.check_mode:
                    former.unlink()
            else:
                client = {**brokers[0].clients.local_config(args["user"]), **properties}
                written = {path: files.properties(client)}
            keep = memory.write if self._in_memory(args) else write_own
            for file, text in written.items():
                keep(file, text)
        except (OSError, ConnectionDescriptionError) as error:
            message = f"the client properties cannot be written: {error}"
            raise AnsibleActionFail(message) from error
        return {
            "changed": removed,
            "files": [str(file) for file in written],
            "brokers": len(brokers),
            "replication_factor": brokers[0].replication_factor,
            "min_insync_replicas": brokers[0].properties.number("min.insync.replicas"),
        }

    def _in_memory(self, args: dict[str, Any]) -> bool:
        """Return whether files of Millrace's own programs keep passwords out of the disk."""
        return self.cluster.inventory.secrets.cipher is not None and not args["all_formats"]


def refuse_unknown(broker: KafkaNode, user: str) -> None:
    """Refuse a user that clients cannot log in as, where they have to log in.

    Raises:
        AnsibleActionFail: Kafka has no such user, or its password is not known here.

    """
    problem = password_problem(broker, user)
    if broker.clients.log_in and problem:
        raise AnsibleActionFail(problem)


def _all(
    broker: KafkaNode, registry: Registry | None, user: str, folder: Path, own: dict[str, Any]
) -> dict[Path, str]:
    """Return the files of a user in all forms, with the CA's certificate beside them."""
    authority = folder / AUTHORITY_FILE
    login = broker.clients.user_config(user, str(authority))
    contents = client_files({**(login or broker.clients.local_config(user)), **own})
    if schemas := registry.client_config(user, str(authority)) if registry else {}:
        contents[REGISTRY] = files.plain_properties(schemas)
    if (login or schemas) and broker.secrets.authority:
        contents[AUTHORITY_FILE] = broker.secrets.authority
    return {folder / name: text for name, text in contents.items()}
