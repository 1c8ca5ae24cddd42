"""A systemd service on this host: its state, and asking it to stop or to start.

What is asked for is not waited for here: the caller polls the state until its own deadline.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SYSTEMCTL_SECONDS = 60
_REASON = re.compile(r"\b(ERROR|FATAL)\b|Exception|^Caused by")
_SHOWN = (
    "ActiveState,SubState,Result,MainPID,NRestarts,UnitFileState,NeedDaemonReload,"
    "ActiveEnterTimestampMonotonic,InactiveEnterTimestampMonotonic,InvocationID"
)


@dataclass(frozen=True)
class State:
    """A unit's properties as systemd shows them."""

    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    pid: int = 0
    restarts: int = 0
    file_state: str = ""
    needs_reload: bool = False
    active_at: float = 0
    """Seconds of the monotonic clock at which it last became active, 0 for never since the host
    started."""
    inactive_at: float = 0
    """Seconds of the monotonic clock at which it last became inactive, 0 for never since the host
    started."""
    invocation: str = ""
    """The id of its last start."""

    @property
    def running(self) -> bool:
        """Return whether its process runs and nobody asked it to stop."""
        return self.active == "active"

    @property
    def stopped(self) -> bool:
        """Return whether no process is left, and systemd will not start one by itself."""
        return self.active in ("inactive", "failed") and self.pid == 0

    @property
    def stopping(self) -> bool:
        """Return whether it was asked to stop and its process is still there."""
        return self.active == "deactivating"


class Unit:
    """One service."""

    def __init__(self, name: str) -> None:
        """Name it, without `.service`."""
        self.name = name

    def state(self) -> State:
        """Return the current state."""
        text = _systemctl("show", self.name, f"--property={_SHOWN}")
        properties = defaultdict(str, (line.partition("=")[::2] for line in text.splitlines()))
        return State(
            active=properties["ActiveState"],
            sub=properties["SubState"],
            result=properties["Result"],
            pid=int(properties["MainPID"] or 0),
            restarts=int(properties["NRestarts"] or 0),
            file_state=properties["UnitFileState"],
            needs_reload=properties["NeedDaemonReload"] == "yes",
            active_at=int(properties["ActiveEnterTimestampMonotonic"] or 0) / 1e6,
            inactive_at=int(properties["InactiveEnterTimestampMonotonic"] or 0) / 1e6,
            invocation=properties["InvocationID"],
        )

    def enable(self) -> None:
        """Let it start at each boot."""
        _systemctl("enable", "--quiet", self.name)

    def disable(self) -> None:
        """Disable its start at boot, and stop it now."""
        # systemd kills what does not stop in the unit's own time.
        _systemctl("disable", "--quiet", "--now", self.name, timeout=None)

    def kill(self) -> None:
        """Kill its processes, if there are any."""
        _run("systemctl", "kill", "--signal=KILL", self.name)

    def stop(self) -> None:
        """Ask it to stop."""
        _systemctl("stop", "--no-block", self.name)

    def start(self, *, wait: bool = False) -> None:
        """Ask it to start with its current unit file, whatever failed before.

        With `wait` it returns when systemd has started its process.

        Raises:
            OSError: systemd refuses.

        """
        if self.state().needs_reload:
            _systemctl("daemon-reload")
        _run("systemctl", "reset-failed", self.name)  # nothing to reset is no error
        _systemctl("start", *([] if wait else ["--no-block"]), self.name)

    def journal(self, lines: int = 12) -> list[str]:
        """Return the last lines that give the reason of its end, or the last lines."""
        # The last lines of a process may reach the journal after its end.
        with contextlib.suppress(subprocess.TimeoutExpired):
            _run("journalctl", "--sync", timeout=SYSTEMCTL_SECONDS)
        done = _run("journalctl", "--unit", self.name, "--lines=2000", "--output=cat")
        output = done.stdout.splitlines()
        return [line for line in output if _REASON.search(line)][-lines:] or output[-lines:]

    def logged(self, invocation: str, lines: int) -> list[str]:
        """Return the last lines that it logged since one of its starts, systemd's own left out."""
        done = _run(
            "journalctl",
            f"_SYSTEMD_INVOCATION_ID={invocation}",
            f"--lines={lines}",
            "--output=cat",
        )
        return done.stdout.splitlines()


def is_masked(path: Path) -> bool:
    """Return whether a file of a unit keeps it from starting."""
    return path.is_symlink() and str(path.readlink()) == os.devnull


def boot_link(path: Path) -> Path:
    """Return the link by which a unit starts at boot, of its file in systemd's own directory."""
    return path.parent / "multi-user.target.wants" / path.name


def reload() -> None:
    """Let systemd read the files of all units."""
    _systemctl("daemon-reload")


def _systemctl(*words: str, timeout: float | None = SYSTEMCTL_SECONDS) -> str:
    done = _run("systemctl", *words, timeout=timeout)
    if done.returncode:
        text = f"systemctl {' '.join(words)}: {done.stderr.strip() or done.returncode}"
        raise OSError(text)
    return done.stdout


def _run(*command: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout)
