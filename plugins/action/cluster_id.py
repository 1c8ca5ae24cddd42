"""Ansible action: read the cluster id that is kept beside the inventory, or mint it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.millrace.streaming.plugins.module_utils.uuids import (
    is_cluster_id,
    random_cluster_id,
)


def read(path: Path) -> str:
    """Return the id in a file, empty if there is no file.

    Raises:
        AnsibleError: the file holds anything else, or cannot be read; names it and what to do.

    """
    try:
        content = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); make it a readable file."
        raise AnsibleError(message) from error
    found = content.strip()
    if not is_cluster_id(found):
        shown = found if len(found) <= 60 else f"{found[:60]}..."
        message = (
            f"{path} holds {shown!r}, which is no cluster id (22 characters of URL-safe base64). "
            "Restore the file from version control, or write cluster.id from a node's "
            "meta.properties into it. Delete it only if no node was ever formatted: then a new id "
            "is minted."
        )
        raise AnsibleError(message)
    return found


def store(path: Path, minted: str) -> str:
    """Write an id unless another run was faster; return the one that stands.

    The file appears with its content and never replaces one, so two runs agree on one id.
    """
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as directory:
            draft = Path(directory, "draft")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
                new.write(f"{minted}\n")
                new.flush()
                os.fchmod(new.fileno(), 0o644)
                os.fsync(new.fileno())
            try:
                os.link(draft, path)
            except FileExistsError:
                return read(path)
    except OSError as error:
        message = (
            f"{path} cannot be written ({error.strerror}). Make its directory writable, or set "
            "kafka_cluster_id in the inventory."
        )
        raise AnsibleError(message) from error
    return minted


class ActionModule(ActionBase):
    """The action; it runs on the controller alone."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the id of this inventory's cluster."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = ActionBase.validate_argument_spec(
            self, {"path": {"type": "path", "required": True}, "known": {"type": "str"}}
        )
        path = Path(arguments["path"])
        found = read(path)
        if found:
            return {**result, "changed": False, "cluster_id": found}
        minted = arguments["known"] or random_cluster_id()
        standing = minted if self._task.check_mode else store(path, minted)
        return {**result, "changed": standing == minted, "cluster_id": standing}
