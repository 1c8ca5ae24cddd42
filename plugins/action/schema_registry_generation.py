"""An archive of the schema registry takes its place among earlier ones, on the control node."""

import shutil
import time
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.operations import registry_archive
from ..module_utils.operations.registry_archive import ArchiveError, Held
from ..plugin_utils.action import LocalAction

_TIME = "%Y%m%dT%H%M%SZ"
_DATE = "[0-9]" * 8 + "T" + "[0-9]" * 6 + "Z"
_PARTIAL = "partial"


class ActionModule(LocalAction):
    """Move the new archive to its place, unless the one that is there has more."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        received, path = Path(args["received"]), Path(args["path"])
        try:
            archive = _read(received)
            if path.is_file() and not args["fewer"]:
                _refuse_partial(archive, received, path, args["keep"])
            changed = not path.is_file() or path.read_bytes() != received.read_bytes()
            if changed and path.is_file():
                # A copy, which every file system allows, and whole before it has its name.
                draft = received.with_suffix(".earlier")
                shutil.copy2(path, draft)
                draft.replace(_dated(path, path.stat().st_mtime))
            received.replace(path)
            _prune(path, args["keep"])
        except OSError as error:
            message = f"the archive cannot be kept: {error}"
            raise AnsibleActionFail(message) from error
        return {
            "changed": changed,
            "earlier": [str(earlier_path) for earlier_path in _earlier(path)],
        }


def _read(path: Path) -> Held:
    try:
        return registry_archive.read(path.read_bytes())
    except ArchiveError as error:
        message = f"{path}: {error}"
        raise AnsibleActionFail(message) from error


def _refuse_partial(archive: Held, received: Path, path: Path, keep: int) -> None:
    """Refuse an archive that lacks what the last one has, and keep it under another name."""
    try:
        missing = registry_archive.read(path.read_bytes()).missing(archive)
    except ArchiveError:
        return  # what is there is no archive: it is an earlier file all the same
    if not missing:
        return
    partial = _dated(path, time.time(), _PARTIAL)
    received.replace(partial)
    _prune(path, keep, _PARTIAL)
    message = (
        f"The registry lacks what {path} has, which is left as it is; what the registry has is in "
        f"{partial}. If that is right, run this again with -e fewer=true.\n- "
        f"{registry_archive.shown(missing)}"
    )
    raise AnsibleActionFail(message)


def _dated(path: Path, seconds: float, *words: str) -> Path:
    date = time.strftime(_TIME, time.gmtime(seconds))
    return path.with_name("-".join([path.stem, date, *words]) + path.suffix)


def _earlier(path: Path, *words: str) -> list[Path]:
    pattern = "-".join([_escaped(path.stem), _DATE, *words]) + _escaped(path.suffix)
    return sorted(path.parent.glob(pattern))


def _escaped(text: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)


def _prune(path: Path, keep: int, *words: str) -> None:
    earlier = _earlier(path, *words)
    for earlier_path in earlier[: max(0, len(earlier) - keep)]:
        earlier_path.unlink()
