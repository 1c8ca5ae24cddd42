"""Programs of systemd for a test: what they are asked to do is remembered and taken for done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

_SYSTEMCTL = """\
#!/bin/sh
echo "$*" >> {log}
for unit; do :; done
unit={units}/${{unit%.service}}
case $1 in
  show)
    unit={units}/$2
    echo LoadState=loaded
    if [ -e "$unit.running" ]; then echo ActiveState=active
    elif [ -e "$unit.failed" ]; then echo ActiveState=failed
    else echo ActiveState=inactive; fi
    [ -e "$unit.enabled" ] && echo UnitFileState=enabled || echo UnitFileState=disabled
    [ -e "$unit.outdated" ] && echo NeedDaemonReload=yes || echo NeedDaemonReload=no
    ;;
  start)
    rm -f "$unit.failed"
    if [ ! -e "$unit.program" ] || sh "$unit.program"; then touch "$unit.running"
    else touch "$unit.failed"; fi
    ;;
  stop) rm -f "$unit.running" ;;
  enable) touch "$unit.enabled" ;;
  disable) rm -f "$unit.enabled" "$unit.running" ;;
  daemon-reload) rm -f {units}/*.outdated ;;
esac
"""
_SYSUSERS = """\
#!/bin/sh
echo "$*" >> {sysusers}
"""


_JOURNALCTL = """\
#!/bin/sh
case "$*" in *--unit*) echo "ERROR: no such page" ;; esac
"""


@dataclass(frozen=True)
class Systemd:
    """Units with their state, and a log of commands."""

    place: Path

    @property
    def log(self) -> Path:
        return self.place / "log"

    @property
    def sysusers(self) -> Path:
        """The log of systemd-sysusers."""
        return self.place / "sysusers"

    def set(self, unit: str, *states: str) -> None:
        """Give a unit its states: running, enabled, outdated (its file is another one now)."""
        for state in states:
            (self.place / "units" / f"{unit}.{state}").touch()

    def run(self, unit: str, program: str) -> None:
        """Let a unit run a script of the shell as it starts; it fails where the script fails."""
        (self.place / "units" / f"{unit}.program").write_text(program)

    def commands(self) -> list[str]:
        """Return what changed something, and forget it."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line for line in lines if not line.startswith(("show ", "reset-failed "))]


def install(place: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    """Put the programs before those of this machine."""
    (place / "units").mkdir(parents=True)
    (place / "bin").mkdir()
    systemd = Systemd(place)
    scripts = {
        "systemctl": _SYSTEMCTL.format(log=systemd.log, units=place / "units"),
        "journalctl": _JOURNALCTL,
        "systemd-sysusers": _SYSUSERS.format(sysusers=systemd.sysusers),
    }
    for name, text in scripts.items():
        (place / "bin" / name).write_text(text)
        (place / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    return systemd
