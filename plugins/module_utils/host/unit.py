"""A systemd service on this host: its state, and asking it to stop or to start.

What is asked for is not waited for here: the caller polls the state until its own deadline.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from dataclasses import dataclass
from typing import Any

SYSTEMCTL_SECONDS = 60
_REASON = re.compile(r"\b(ERROR|FATAL)\b|Exception|^Caused by")
_FIELDS = {
    "load": "LoadState",
    "active": "ActiveState",
    "sub": "SubState",
    "result": "Result",
    "pid": "MainPID",
    "restarts": "NRestarts",
    "file_state": "UnitFileState",
    "needs_reload": "NeedDaemonReload",
}


@dataclass(frozen=True)
class State:
    """A unit's properties as systemd shows them."""

    load: str = "not-found"
    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    pid: int = 0
    restarts: int = 0
    file_state: str = ""
    needs_reload: bool = False

    @property
    def running(self) -> bool:
        """Tell whether its process runs and nobody asked it to stop."""
        return self.active == "active"

    @property
    def stopped(self) -> bool:
        """Tell whether no process is left, and systemd will not start one by itself."""
        return self.active in ("inactive", "failed") and self.pid == 0

    @property
    def stopping(self) -> bool:
        """Tell whether it was asked to stop and its process is still there."""
        return self.active == "deactivating"


class Unit:
    """One service."""

    def __init__(self, name: str) -> None:
        """Name it, without `.service`."""
        self.name = name

    def state(self) -> State:
        """Return the state of now."""
        text = _systemctl("show", self.name, "--property=" + ",".join(_FIELDS.values()))
        found = dict(line.partition("=")[::2] for line in text.splitlines())
        shown: dict[str, Any] = {name: found.get(key, "") for name, key in _FIELDS.items()}
        for name in ("pid", "restarts"):
            shown[name] = int(shown[name] or 0)
        return State(**{**shown, "needs_reload": shown["needs_reload"] == "yes"})

    def enable(self) -> None:
        """Let it start at each boot."""
        _systemctl("enable", "--quiet", self.name)

    def disable(self) -> None:
        """Let it start at no boot, and end it now."""
        _systemctl("disable", "--quiet", "--now", self.name)

    def kill(self) -> None:
        """Kill its processes, if there are any."""
        command = ["systemctl", "kill", "--signal=KILL", self.name]
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - fixed words

    def stop(self) -> None:
        """Ask it to stop."""
        _systemctl("stop", "--no-block", self.name)

    def start(self) -> None:
        """Ask it to start, from its file as it is now, whatever failed before.

        Raises:
            OSError: systemd refuses.

        """
        if self.state().needs_reload:
            _systemctl("daemon-reload")
        subprocess.run(["systemctl", "reset-failed", self.name], check=False, capture_output=True)  # noqa: S603, S607 - nothing to reset is no error
        _systemctl("start", "--no-block", self.name)

    def journal(self, lines: int = 12) -> list[str]:
        """Return the last lines that give the reason of its end, or the last lines."""
        # The last lines of a process may reach the journal after its end.
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                ["journalctl", "--sync"],  # noqa: S607 - systemd's own place differs between systems
                check=False,
                capture_output=True,
                timeout=SYSTEMCTL_SECONDS,
            )
        command = ["journalctl", "--unit", self.name, "--lines=2000", "--output=cat"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - fixed words
        output = done.stdout.splitlines()
        return [line for line in output if _REASON.search(line)][-lines:] or output[-lines:]


def reload() -> None:
    """Let systemd read the files of all units."""
    _systemctl("daemon-reload")


def _systemctl(*words: str) -> str:
    done = subprocess.run(  # noqa: S603 - fixed words and the unit's name
        ["systemctl", *words],  # noqa: S607 - systemd's own place differs between systems
        check=False,
        capture_output=True,
        text=True,
        timeout=SYSTEMCTL_SECONDS,
    )
    if done.returncode:
        text = f"systemctl {' '.join(words)}: {done.stderr.strip() or done.returncode}"
        raise OSError(text)
    return done.stdout
