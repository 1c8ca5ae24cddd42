"""Ansible action: write files on the control node for Prometheus and Grafana of the site."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.host.files import write_own
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster.files import COLLECTION, Entry
from ..plugin_utils.services.monitoring import site_files
from ..plugin_utils.services.monitoring.site_files import MissingError

_SECRET = "(secret)\n"  # noqa: S105 - what is shown instead of one
_PUBLIC = "0644"


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Write the files that differ; return which there are, and the differences."""
        folder = Path(args["path"]).absolute()
        try:
            entries = site_files.entries(
                self.cluster,
                dashboards(),
                grafana_dashboards=args["grafana_dashboards"],
                grafana_prometheus=args["grafana_prometheus"],
                with_token=args["with_token"],
            )
        except MissingError as error:
            raise AnsibleActionFail(str(error)) from error
        try:
            changed = {
                path: entry
                for path, entry in entries.items()
                if _present(folder / path) != (entry["content"], _mode(entry))
            }
            differences = [_difference(folder / path, entry) for path, entry in changed.items()]
            for path, entry in {} if self._task.check_mode else changed.items():
                write_own(folder / path, entry["content"], _mode(entry))
        except OSError as error:
            message = f"the files cannot be written: {error}"
            raise AnsibleActionFail(message) from error
        return {
            "changed": bool(changed),
            "files": [str(folder / path) for path in entries],
            "changed_files": [str(folder / path) for path in changed],
            **({"diff": differences} if self._task.diff else {}),
        }


def dashboards() -> Mapping[str, str]:
    """Return the dashboards of Grafana by the names of their files.

    Raises:
        AnsibleActionFail: the library that makes them is not installed on the control node.

    """
    # A process of its own: the library is one of the control node's Python packages.
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [sys.executable, "-m", "apps.dashboards", directory],
            cwd=COLLECTION,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason"])[-1]
            message = (
                f"the dashboards cannot be made: {reason}. Install the packages of "
                "requirements/control-node.txt for the Python of ansible-playbook"
            )
            raise AnsibleActionFail(message)
        return {
            path.name: path.read_text(encoding="utf-8")
            for path in sorted(Path(directory).iterdir())
        }


def _mode(entry: Entry) -> int:
    return int(entry.get("mode", _PUBLIC), 8)


def _present(path: Path) -> tuple[str, int] | None:
    """Return content and mode of a file, None where there is none."""
    try:
        return path.read_text(encoding="utf-8"), path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return "", 0


def _difference(path: Path, entry: Entry) -> dict[str, str]:
    """Return how a file differs, without the content of a secret."""
    present = _present(path)
    texts = (present[0] if present else "", entry["content"])
    before, after = ((_SECRET if text else "") if entry.get("secret") else text for text in texts)
    header = f" ({entry.get('mode', _PUBLIC)})"
    return {
        "before_header": f"{path} ({present[1]:04o})" if present else str(path),
        "after_header": f"{path}{header}",
        "before": before,
        "after": after,
    }
