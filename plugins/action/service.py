"""The controller's half of the module service: check a tarball, transfer it where it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.millrace.streaming.plugins.plugin_utils import artifacts

MODULE = "millrace.streaming.service"


class ActionModule(ActionBase):
    """Ask the host, and transfer the tarball only if it is not unpacked there."""

    TRANSFERS_FILES = True
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task.

        Raises:
            AnsibleActionFail: the tarball is missing, is another one, or cannot be transferred.

        """
        super().run(tmp, task_vars)
        args = dict(self._task.args)
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
