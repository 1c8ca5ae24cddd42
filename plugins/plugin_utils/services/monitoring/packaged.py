"""What programs of a system's packages run on a host, as a unit of ours each.

It is no service in the sense of `service.py`: no JVM, and no properties in layers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...cluster import files, systems
from ...cluster.files import Entry
from ...cluster.host import HostSettings
from ...cluster.inventory import Secrets
from ...cluster.service import Certified
from ...cluster.systems import Family

_DEVICE = "/dev/null"


@dataclass(frozen=True)
class Packaged(Certified):
    """Packages and units of a host; a new kind is one more such class."""

    host: HostSettings
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    programs: ClassVar[Mapping[str, str]]
    """Name of a package, as `systems` has it -> our unit that runs its program."""
    leftovers: ClassVar[tuple[str, ...]]
    """What another inventory may have brought to the directory of its configuration.

    With a slash at the end it is a directory that is removed only if it is empty.
    """

    @abstractmethod
    def own_files(self) -> dict[str, Entry]:
        """Return its files, without those that all of its kind have."""

    @property
    def account_file(self) -> str:
        """The file of its account: written first, removed last, so that it says what is there."""
        return f"/etc/sysusers.d/millrace-{self.product}.conf"

    @property
    def own_directories(self) -> list[str]:
        """The directories that are removed with it, whatever is in them."""
        return [self.distribution.home] if self.distribution else []

    @property
    def binaries(self) -> list[str]:
        """The paths of its programs."""
        return [self.binary(program) for program in self.programs]

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return list(self.programs.values())

    def missing_packages(self, present: Collection[str]) -> list[str]:
        """Return the packages of which the programs are not `present`, by their paths."""
        names = self.host.family.monitoring
        return [
            names[program]["package"]
            for program in self.programs
            if names[program]["binary"] not in present
        ]

    def binary(self, program: str) -> str:
        """Return the path of a program."""
        return str(self.host.family.monitoring[program]["binary"])

    def masks(self) -> dict[str, Entry]:
        """Return what keeps the packages from starting services of their own, open to all."""
        return dict.fromkeys(self._masks(self.host.family), files.link(_DEVICE))

    @classmethod
    def all_masks(cls) -> list[str]:
        """Return what `masks` may be, on a system of which the family is not known."""
        paths = (path for family in systems.families().values() for path in cls._masks(family))
        return list(dict.fromkeys(paths))

    @classmethod
    def _masks(cls, family: Family) -> list[str]:
        units = (family.monitoring[program]["unit"] for program in cls.programs)
        return [f"/etc/systemd/system/{unit}.service" for unit in units]

    def files(self) -> dict[str, Entry]:
        """Return its files; `restart` marks what only a restart brings."""
        account = f'u {self.user} - "{self.title}" /nonexistent /usr/sbin/nologin\n'
        return {
            "/etc/sysusers.d": files.directory(),
            self.account_file: files.text(account),
            self.config_dir: files.directory(),
            **self.masks(),
            **self.own_files(),
        }

    @property
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it; the packages stay, and do not run."""
        entries = {path: entry for path, entry in self.files().items() if path not in self.masks()}
        paths = [path for path, entry in entries.items() if entry.get("state") != "directory"]
        paths.remove(self.account_file)
        data = [path for _, path in self.data_directories]
        return {
            "state": "absent",
            "units": self.units,
            "masks": self.all_masks(),
            "removed": [
                *paths,
                *(f"{self.config_dir}/{name}" for name in (*self.leftovers, "")),
                *self.own_directories,
                *(data if self.settings.get(f"{self.product}_remove_data") else []),
                self.account_file,
            ],
        }
