"""Ansible action: a host's part of the cluster, as plain data for the tasks of a role."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.millrace.streaming.plugins.module_utils.model import desired
from ansible_collections.millrace.streaming.plugins.module_utils.model.spark import Job
from ansible_collections.millrace.streaming.plugins.plugin_utils import run

OPTIONS = {
    "service": {"type": "str", "choices": ["zookeeper", "kafka", "spark"]},
    "job": {
        "type": "dict",
        "options": {
            "name": {"type": "str", "required": True},
            "module": {"type": "str", "required": True},
            "source": {"type": "path", "required": True},
            "arguments": {"type": "list", "elements": "str", "default": []},
            "data": {"type": "list", "elements": "path", "default": []},
        },
    },
}


class ActionModule(ActionBase):
    """The action; it runs on the controller alone."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the desired state of a service, of a job, or of the host itself.

        Raises:
            AnsibleActionFail: the host does not have the service, or a job's file cannot be read.

        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = ActionBase.validate_argument_spec(self, OPTIONS)
        variables = task_vars or {}
        name = str(variables["inventory_hostname"])
        cluster = run.current(variables)
        try:
            if args["job"]:
                state = desired.of_job(cluster.spark[name], Job(**args["job"]))
            elif args["service"]:
                state = desired.of_service(cluster, name, args["service"])
            else:
                state = desired.of_host(cluster.hosts[name])
        except KeyError as error:
            message = f"{name} is in no group that gives it {args['service'] or 'Spark'}"
            raise AnsibleActionFail(message) from error
        except OSError as error:
            message = f"the job's files cannot be read: {error}"
            raise AnsibleActionFail(message) from error
        # Its files may hold secrets.
        return {**result, "changed": False, **state, "_ansible_no_log": True}
