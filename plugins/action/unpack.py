"""The controller's half of the unpack module: check the tarball, ship it where it is missing."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

MODULE = "millrace.streaming.unpack"


class ActionModule(ActionBase):
    """Ask the host, then transfer the tarball only if the host lacks the tree."""

    TRANSFERS_FILES = True
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task.

        Raises:
            AnsibleActionFail: the tarball is missing or is not the one that was asked for.

        """
        super().run(tmp, task_vars)
        _, checked = self._base.validate_argument_spec(
            argument_spec={
                "src": {"type": "path", "required": True},
                "sha256": {"type": "str", "required": True},
                "dest": {"type": "path", "required": True},
                "link": {"type": "path"},
            }
        )
        args = {key: value for key, value in checked.items() if value is not None}
        if not re.fullmatch(r"[0-9a-f]{64}", args["sha256"]):
            message = f"sha256 is {args['sha256']!r}; write 64 hexadecimal digits in lower case"
            raise AnsibleActionFail(message)
        source = Path(args["src"])
        if source.is_file():
            args["size"] = source.stat().st_size
        answer: dict[str, Any] = self._execute_module(
            module_name=MODULE, module_args=args, task_vars=task_vars
        )
        if answer.get("failed") or not answer.get("unpacked"):
            return answer
        # In check mode the task that builds the tarball has not run either.
        if source.is_file() or not self._task.check_mode:
            verify(source, args["sha256"])
        if not answer.pop("needs_archive", False):
            return answer
        try:
            args["archive"] = self._ship(source)
            return dict(
                self._execute_module(module_name=MODULE, module_args=args, task_vars=task_vars)
            )
        finally:
            self._base._remove_tmp_path(self._connection._shell.tmpdir)

    @property
    def _base(self) -> Any:  # noqa: ANN401  ansible-core gives these methods no types
        return self

    def _ship(self, source: Path) -> str:
        """Copy the tarball into the host's temporary directory and return its path there."""
        directory = self._connection._shell.tmpdir or self._make_tmp_path()
        remote = self._connection._shell.join_path(directory, "archive.tar")
        try:
            self._base._transfer_file(str(source), remote)
        except AnsibleError as error:
            needed = -(-source.stat().st_size // 2**20)
            message = (
                f"{source} could not be copied to {remote} on the host ({error}). It needs "
                f"{needed} MiB there: see `df -h {directory}`; remote_tmp sets another place"
            )
            raise AnsibleActionFail(message) from error
        self._base._fixup_perms2((directory, remote), execute=False)
        return str(remote)


def verify(source: Path, sha256: str) -> None:
    """Check the tarball on the controller.

    Raises:
        AnsibleActionFail: it is missing, or its checksum is another one.

    """
    if not source.is_file():
        message = f"the tarball {source} does not exist on the controller; build it first"
        raise AnsibleActionFail(message)
    with source.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        message = (
            f"{source} has sha256 {found}, wanted is {sha256}. No host was changed: "
            "remove the file and build it again, or correct the recorded checksum"
        )
        raise AnsibleActionFail(message)
