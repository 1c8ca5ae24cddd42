"""Ansible action: resolve the cluster of a run, and report all its problems at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.utils.display import Display

from ..module_utils.formats.uuids import random_cluster_id
from ..plugin_utils import operation, run, validation
from ..plugin_utils.action import LocalAction, refuse_misread
from ..plugin_utils.cluster import secret_store
from ..plugin_utils.cluster.inventory import CLUSTER_ID_FILE, Secrets
from ..plugin_utils.rules import engine
from ..plugin_utils.rules.catalogue import RULES
from ..plugin_utils.rules.engine import Problem
from ..plugin_utils.rules.inspection import InspectedHost, Inspection
from ..plugin_utils.secrets import cluster_id
from ..plugin_utils.secrets import store as secrets


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    needs_all_sources = False  # what is not read is one of the problems

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Resolve the cluster and check the rules."""
        validation.forget(args["json"], args["junit"])
        cluster, variables = self.cluster, self.variables
        if args["inspected"]:
            return self._check_hosts(args)
        problems: list[Problem] = []
        if args["json"] or args["junit"] or not run.validated(variables).exists():
            problems = validation.check(cluster, args["json"], args["junit"])
            if engine.errors(problems):
                return outcome(problems, *validation.INVENTORY)
            run.validated(variables).touch()
            Display().display(validation.summary(cluster, problems))
        if args["generate"]:
            refuse_misread(self.cluster)  # which may be secrets in a vault without its password
        changed = [self._keep_cluster_id(args)]
        result = outcome(problems)
        if args["generate"]:
            changed.append(self._complete_secrets())
            if waiting := secrets.waiting_requests(self.cluster):
                result["warnings"] = [*result.get("warnings", []), waiting]
        return {**result, "changed": any(changed)}

    def _check_hosts(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the cluster with what was found on the hosts, and check it."""
        all_inspections = run.inspections(self.variables["hostvars"])
        inspections = {
            name: all_inspections[name] for name in args["inspected"] if name in all_inspections
        }
        facts = {name: inspection.facts for name, inspection in inspections.items()}
        accepted = self._accepted(inspections) if args["accept_secrets"] else None
        cluster = run.renew(self.variables, facts, secrets=accepted)
        known_problems = engine.check_cluster(RULES, self.cluster)
        records = {name: inspection.operation for name, inspection in inspections.items()}
        at_work = "" if args["allow_operation"] else operation.at_work(cluster, records)
        outside = tuple(
            InspectedHost(cluster, name, inspection)
            for name, inspection in run.outside(self.variables).items()
        )
        hosts = [
            InspectedHost(cluster, name, inspection, args["allow_version_change"], at_work, outside)
            for name, inspection in inspections.items()
        ]
        problems = [
            problem
            for problem in engine.check_cluster(RULES, cluster)
            if problem not in known_problems
        ]
        problems += engine.check_hosts(RULES, hosts)
        words = validation.CHANGED_HOSTS if args["hosts_changed"] else validation.HOSTS
        return outcome(problems, *words)

    def _accepted(self, inspections: Mapping[str, Inspection]) -> Secrets | None:
        """Return the secrets as those that replace the ones of hosts and the passwords of Kafka.

        None where there is nothing to replace.
        """
        current, cluster = self.cluster.inventory.secrets, self.cluster
        records = [
            secret_store.deployed_with(inspection.secrets, cluster.deployed(name))
            for name, inspection in inspections.items()
        ]
        missing = {
            record
            for record in records
            if record and not secret_store.contains(current.store, record)
        }
        kafka_users = (user for node in cluster.brokers for user in node.security.users)
        users = {user.name for user in kafka_users if user.generated}
        if not missing and not users:
            return None
        return secrets.accept(current, missing, users, store=not self._task.check_mode)

    def _keep_cluster_id(self, args: Mapping[str, Any]) -> bool:
        """Store the cluster id beside the inventory if asked for; return whether it is new."""
        cluster = self.cluster
        kraft = bool(cluster.controllers)
        requested = args["known_cluster_id"] or (args["generate"] and kraft)
        if not requested or any(node.cluster_id for node in cluster.kafka.values()):
            return False
        if self._task.check_mode:
            new_id = args["known_cluster_id"] or random_cluster_id()
        else:
            path = Path(cluster.inventory.directory) / CLUSTER_ID_FILE
            new_id = cluster_id.keep(path, args["known_cluster_id"])
        self.cluster = run.renew(self.variables, {}, new_id)
        return True

    def _complete_secrets(self) -> bool:
        """Make the certificates and passwords that the cluster lacks; return whether any is new."""
        before = self.cluster.inventory.secrets
        given_authority = secrets.given_authority(self.cluster)
        completed = secrets.complete(self.cluster, given_authority, store=not self._task.check_mode)
        if completed == before and completed.store == before.store:
            return False
        self.cluster = run.renew(self.variables, {}, secrets=completed)
        return True


def outcome(problems: Sequence[Problem], subject: str = "", untouched: str = "") -> dict[str, Any]:
    """Return what the task gives back, and a failure if there is an error, of which all are shown.

    Ansible shows the whole result of a failed task, which has the problems again only with -v.
    """
    result: dict[str, Any] = {"changed": False}
    refused = bool(engine.errors(problems))
    if not refused or Display().verbosity:
        result["problems"] = [problem.as_dict() for problem in engine.errors(problems)]
        result["notes"] = [problem.as_dict() for problem in engine.warnings(problems)]
    if lines := engine.warning_lines(problems):
        result["warnings"] = lines
    if refused:
        result |= {"failed": True, "msg": validation.show(problems, subject, untouched)}
    return result
