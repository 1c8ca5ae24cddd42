"""The control node's part of the module kafka_node: the options that come from the model."""

from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.host.certificate_expiry import LEAST_DAYS
from ..module_utils.host.operation_file import FINISHED, RUNNING
from ..plugin_utils import operation
from ..plugin_utils.action import Action
from ..plugin_utils.cluster.x509 import ends_within
from ..plugin_utils.services.kafka.security import pem_stores


class ActionModule(Action):
    """Ask the node; with `what`, a name of the operation, its host takes part in the lock."""

    OWN = frozenset({"what", "host", "complete", "finish", "verdict"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        if args["complete"]:
            operation.save({**operation.current(""), "state": FINISHED})
            return {"changed": False}
        if args["verdict"]:
            if not operation.has_begun():
                return {"changed": False}
            operation.save({**operation.current(""), "verdict": args["verdict"]})
        name, operation_name = args["host"] or self.host, args["what"]
        lock_hosts = operation.lock_hosts(self.cluster)
        options = {key: value for key, value in args.items() if key not in self.OWN}
        node = self.cluster.kafka[name]
        options["home"] = node.distribution.home
        options["keystores"] = [
            path for path, is_key_store in pem_stores(node.config).items() if is_key_store
        ]
        if args["finish"]:
            options["operation"] = operation.ended(operation.current(operation_name))
        elif operation_name and name in lock_hosts:
            # Where a run rolls twice, the first roll has finished this record.
            record = {**operation.current(operation_name), "state": RUNNING}
            options |= {"operation": record, "take": True}
        try:
            result = self.call(options)
        except AnsibleConnectionFailure as error:
            if name in self.hosts("ansible_play_hosts"):
                raise
            # With any_errors_fatal Ansible would end the play, though it ignores such a host.
            result = {"changed": False, "not_reached": str(error)}
        shown = result.pop("certificates", None)
        if shown is not None:
            result["expiring"] = ends_within(shown, LEAST_DAYS)
        return {**result, "lock_hosts": lock_hosts}
