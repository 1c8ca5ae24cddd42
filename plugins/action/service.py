"""The controller's half of the module service: its options from the model, and the tarball."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ..module_utils.model import desired
from ..module_utils.model.cluster import NoServiceError
from ..module_utils.model.spark import Job
from ..plugin_utils import artifacts, inventory, run

MODULE = "millrace.streaming.service"
PARTS = {
    "distribution": ("distribution",),
    "files": ("files", "restart_marks", "previous"),
    "units": ("units", "restart_marks"),
}


class ActionModule(ActionBase):
    """Ask the host, and transfer the tarball only if it is not unpacked there."""

    TRANSFERS_FILES = True
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task.

        Raises:
            AnsibleActionFail: the host does not have the service, a job's file cannot be read, or
                the tarball is missing, is another one, or cannot be transferred.

        """
        super().run(tmp, task_vars)
        args = {**self._from_model(task_vars or {}), **self._task.args}
        for own in ("product", "parts", "job"):
            args.pop(own, None)
        wanted = dict(args.get("distribution") or {})
        if not wanted:
            return self._call(args, task_vars)
        tarball = Path(wanted["tarball"])
        if tarball.is_file():
            wanted["size"] = tarball.stat().st_size
        answer = self._call({**args, "distribution": wanted}, task_vars)
        if not answer.pop("needs_archive", False) or answer.get("failed"):
            return answer
        artifacts.verify(tarball, wanted["sha256"])
        try:
            wanted["archive"] = self._transfer(tarball)
            return self._call({**args, "distribution": wanted}, task_vars)
        finally:
            self._untyped._remove_tmp_path(self._connection._shell.tmpdir)

    def _from_model(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the product or the job that the task names."""
        args = inventory.plain(self._task.args)
        product, job = args.get("product"), args.get("job")
        if not (product or job):
            return {}
        cluster, host = run.current(variables), str(variables["inventory_hostname"])
        try:
            if job:
                cluster.service(host, "spark")
                return desired.of_job(cluster.spark[host], Job(**job))
            if args.get("state") == "absent":
                return desired.removal(cluster, host, product)
            options = desired.of_service(cluster, host, product)
        except NoServiceError as error:
            raise AnsibleActionFail(str(error)) from error
        except OSError as error:
            message = f"the job's files cannot be read: {error}"
            raise AnsibleActionFail(message) from error
        parts = args.get("parts") or list(PARTS)
        names = {name for part in parts for name in PARTS[part]}
        return {name: option for name, option in options.items() if name in names}

    @property
    def _untyped(self) -> Any:  # noqa: ANN401  ansible-core gives these methods no types
        return self

    def _call(self, args: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(
            module_name=MODULE, module_args=args, task_vars=task_vars
        )
        return answer

    def _transfer(self, tarball: Path) -> str:
        """Copy the tarball into the host's temporary directory and return its path there."""
        shell = self._connection._shell
        directory = shell.tmpdir or self._make_tmp_path()
        remote: str = shell.join_path(directory, "archive.tar")
        try:
            self._untyped._transfer_file(str(tarball), remote)
        except AnsibleError as error:
            needed = -(-tarball.stat().st_size // 2**20)
            message = (
                f"{tarball} could not be copied to {remote} on the host ({error}). It needs "
                f"{needed} MiB there: see `df -h {directory}`; remote_tmp sets another place"
            )
            raise AnsibleActionFail(message) from error
        self._untyped._fixup_perms2((directory, remote), execute=False)
        return remote
