"""What the actions of the collection have in common: their options, the cluster, their module."""

import functools
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ..module_utils.formats.values import listing
from . import ansible_internals, memory, operation, run
from .cluster.cluster import Cluster, NoServiceError
from .cluster.files import parse_yaml
from .inventory import reading as inventory

STORE = ("secrets", "sealed")
"""The kinds of findings about the directory of secrets."""
_SSH = ("ssh", "paramiko")
"""The connections that open a file by its path. Others follow or copy the link that it is."""
PLUGINS = Path(__file__).resolve().parents[1]


@functools.cache
def options(module: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the options that a task with a module may have: those that its page documents."""
    page = _documentation(f"modules/{module}.py")
    names = [
        fragment.rpartition(".")[2] for fragment in page.get("extends_documentation_fragment", ())
    ]
    fragments = [_documentation(f"doc_fragments/{name}.py") for name in names]
    return {
        key: option
        for document in (*fragments, page)
        for key, option in document.get("options", {}).items()
    }


def _documentation(path: str) -> Mapping[str, Any]:
    match = re.search(r'DOCUMENTATION = r"""(.+?)"""', (PLUGINS / path).read_text(), re.S)
    return dict(parse_yaml(match[1])) if match else {}


class Action(ActionBase):
    """An action with the cluster of the run; `act` does its work.

    Its options are those that the page of the module of its name documents.
    """

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Check the task's options, and act.

        Raises:
            AnsibleActionFail: an option is unknown or invalid, or the host lacks the service.

        """
        super().run(tmp, task_vars)
        self.variables = task_vars or {}
        self.host = str(self.variables.get("inventory_hostname", ""))
        self.name = str(self._task.action).rpartition(".")[2]
        checked = ArgumentSpecValidator(options(self.name)).validate(self._task.args)
        if checked.error_messages:
            prefix = "unsupported options: " if checked.unsupported_parameters else ""
            message = f"{self.name}: {prefix}{'; '.join(checked.error_messages)}"
            raise AnsibleActionFail(message)
        try:
            return self.act(checked.validated_parameters)
        except NoServiceError as error:
            raise AnsibleActionFail(str(error)) from error

    @abstractmethod
    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Do the task with its options, and return its result."""

    needs_all_sources = True
    """Whether it is wrong to act on what is left of an inventory that Ansible read in part."""

    @functools.cached_property
    def cluster(self) -> Cluster:
        """The cluster of this run.

        Raises:
            AnsibleActionFail: Ansible could not read a source of the inventory.

        """
        cluster = run.current(self.variables)
        if self.needs_all_sources:
            refuse_misread(cluster)
        return cluster

    def refuse_part(self, names: Iterable[str], hosts: str = "ansible_play_hosts") -> None:
        """Refuse a run that leaves out some of these hosts, or tags, where all are needed.

        `hosts` is Ansible's variable with the hosts of the play.

        Raises:
            AnsibleActionFail: names those that are left out.

        """
        left_out = [name for name in names if name not in self.hosts(hosts)]
        tags = list(self.variables.get("ansible_skip_tags") or ())
        if left_out or tags:
            omitted = f"hosts {listing(left_out)}" if left_out else f"tags {listing(tags)}"
            message = (
                f"the run leaves out the {omitted}, and every host must have a phase before the "
                "next one: run it without --limit and --skip-tags"
            )
            raise AnsibleActionFail(message)

    def judged_operations(self) -> dict[str, list[str]]:
        """Return the option with the operations that do not forbid this run to change the host.

        These are its own, and that whose record was there when the run inspected the host. A run
        that has not inspected it has no such option.
        """
        answer = inventory.plain(self.variables.get(run.INSPECTION) or {})
        inspection = answer.get("inspection") or {}
        if "operation" not in inspection:
            return {}
        operation_id = operation.current("")["id"] if operation.has_begun() else ""
        names = (str(operation_id), str(inspection["operation"].get("id", "")))
        return {"judged_operations": [name for name in names if name]}

    def hosts(self, variable: str) -> list[str]:
        """Return the hosts that a variable of Ansible names."""
        return [str(host) for host in self.variables.get(variable) or ()]

    def _transfer_data(self, remote_path: str | bytes, data: str | bytes) -> str | bytes:
        """Send a module with its options, which hold secrets, without a file on the disk.

        Ansible writes one where the connection does not pipeline modules.
        """
        content = data.encode(errors="surrogateescape") if isinstance(data, str) else data
        if getattr(self._connection, "transport", "") in _SSH:
            with memory.unnamed(content) as path:
                if path:
                    ansible_internals.send_file(self, path, remote_path)
                    return remote_path
        return super()._transfer_data(remote_path, content)

    def call(self, args: Mapping[str, Any], module: str = "") -> dict[str, Any]:
        """Return the answer of a module on the host, by default of the one of the same name.

        Its options hold the content of files, among them keys and passwords: the host's journal
        does not get them.
        """
        result: dict[str, Any] = self._execute_module(
            module_name=f"millrace.streaming.{module or self.name}",
            module_args=dict(args),
            task_vars={**self.variables, "ansible_no_target_syslog": True},
        )
        return result


def refuse_misread(cluster: Cluster) -> None:
    """Refuse to act on what is left of an inventory that was read in part.

    Raises:
        AnsibleActionFail: says what was not read, and what to do.

    """
    findings = cluster.inventory.misread
    if not findings:
        return
    stores = [finding for finding in findings if finding.kind in STORE and finding.value]
    if len(stores) == len(findings):
        raise AnsibleActionFail("; ".join(f"{entry.text}. {entry.value}" for entry in stores))
    reasons = "; ".join(f"{finding.where}: {finding.text}" for finding in findings)
    message = f"the inventory was read in part only ({reasons}): run validate.yml"
    raise AnsibleActionFail(message)


class LocalAction(Action):
    """An action that does all its work on the control node."""

    _requires_connection = False
