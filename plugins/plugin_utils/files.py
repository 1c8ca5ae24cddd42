"""Files that runs write on the control node."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.host.paths import naming


def write(path: str | None, text: str, what: str) -> None:
    """Write a file that the caller asked for, its name relative to the caller's directory.

    Raises:
        AnsibleActionFail: it cannot be written; names it, and says `what` it is.

    """
    if path:
        try:
            with naming(path):
                Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            message = f"{what} cannot be written: {error}"
            raise AnsibleActionFail(message) from error


def create(path: Path, text: str) -> bool:
    """Create a file together with its content, unless it exists; return whether it was created."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as directory:
        draft = Path(directory, "draft")
        with naming(path), draft.open("w", encoding="utf-8") as new:
            new.write(text)
            new.flush()
            os.fchmod(new.fileno(), 0o644)
            os.fsync(new.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
    return True


def write_event(path: str, event: Mapping[str, Any]) -> None:
    """Add a change and its times to the file of a ledger."""
    with naming(path), Path(path).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(dict(event)) + "\n")
