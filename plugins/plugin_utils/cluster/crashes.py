"""What crashes of a service leave on a host: reports and dumps, and records of how units ended."""

from __future__ import annotations

from dataclasses import dataclass

from . import files
from .artifacts import HOMES
from .files import Entry

STATE = "/var/lib/millrace"
CRASHES = f"{STATE}/crash"
CRASH_DAYS = 30
CRASH_REPORTS = 10
RECORDED_ENDS = 100


@dataclass(frozen=True)
class Crashes:
    """What the crashes of a service leave, which is limited by number and age."""

    product: str
    """The service."""
    user: str
    """Its account, which writes what is left."""

    @property
    def directory(self) -> str:
        """The directory of what its JVMs leave when they crash, and of records of such ends."""
        return f"{CRASHES}/{self.product}"

    @property
    def end_script(self) -> str:
        """Path of what runs at each end of one of its units."""
        return f"{HOMES}/{self.product}-unit-end"

    @property
    def leftovers(self) -> list[str]:
        """What teardown removes if it is empty."""
        return [f"{path}/" for path in (self.directory, CRASHES, STATE)]

    def directories(self) -> dict[str, Entry]:
        """Return its directory, and those above it."""
        return {
            STATE: files.directory(),
            CRASHES: files.directory(),
            # Reports and dumps are closed to others by their modes; that there are any is not.
            self.directory: files.directory(self.user),
        }

    def files(self) -> dict[str, Entry]:
        """Return what limits, by number and age, what crashes leave."""
        limits = {"ends": RECORDED_ENDS, "reports": CRASH_REPORTS}
        script = files.render("unit-end.sh.j2", directory=self.directory, **limits)
        head = "# Written by Millrace; change the inventory, not this file.\n"
        age = f"{head}e {self.directory} - - - {CRASH_DAYS}d\n"
        return {
            "/etc/tmpfiles.d": files.directory(),
            self.end_script: files.text(script, mode="0755"),
            f"/etc/tmpfiles.d/millrace-{self.product}.conf": files.text(age),
        }
