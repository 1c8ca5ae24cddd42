"""What programs of a system's packages run on a host, as a unit of ours each.

It is no service in the sense of `service.py`: no JVM, and no properties in layers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
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
    def own_programs(self) -> Mapping[str, str]:
        """Those of `programs` that the host has."""
        return self.programs

    @property
    def own_directories(self) -> list[str]:
        """The directories that are removed with it, whatever is in them."""
        return [self.distribution.home] if self.distribution else []

    @property
    def binaries(self) -> list[str]:
        """The paths of its programs."""
        return [self.binary(program) for program in self.own_programs]

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return list(self.own_programs.values())

    def missing_packages(self, present: Collection[str]) -> list[str]:
        """Return the packages of which the programs are not `present`, by their paths."""
        names = self.host.family.monitoring
        return [
            names[program]["package"]
            for program in self.own_programs
            if names[program]["binary"] not in present
        ]

    def binary(self, program: str) -> str:
        """Return the path of a program."""
        return str(self.host.family.monitoring[program]["binary"])

    def masks(self) -> dict[str, Entry]:
        """Return what keeps the packages from starting services of their own, open to all."""
        masks = self._masks(self.host.family, self.own_programs)
        return dict.fromkeys(masks, files.link(_DEVICE))

    @classmethod
    def all_masks(cls) -> list[str]:
        """Return what `masks` may be, on a system of which the family is not known."""
        families = systems.families().values()
        paths = (path for family in families for path in cls._masks(family, cls.programs))
        return list(dict.fromkeys(paths))

    @classmethod
    def _masks(cls, family: Family, programs: Iterable[str]) -> list[str]:
        units = (family.monitoring[program]["unit"] for program in programs)
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
    def former_programs(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options of the module `service` that remove what was there of programs it has no more.

        The masks of their packages, which the site may run now, and then the units.
        """
        programs = self.programs.keys() - self.own_programs.keys()
        families = systems.families().values()
        masks = [path for family in families for path in self._masks(family, sorted(programs))]
        units = [self.programs[program] for program in sorted(programs)]
        absent = {"state": "absent"}
        return {**absent, "masks": list(dict.fromkeys(masks))}, {**absent, "units": units}

    @property
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it; the packages stay, and do not run."""
        entries = {path: entry for path, entry in self.files().items() if path not in self.masks()}
        paths = [path for path, entry in entries.items() if entry.get("state") != "directory"]
        paths.remove(self.account_file)
        data = [path for _, path in self.data_directories]
        return {
            "state": "absent",
            # The inventory may have given it fewer programs since it was deployed.
            "units": list(dict.fromkeys([*self.units, *self.programs.values()])),
            "masks": self.all_masks(),
            "removed": [
                *paths,
                *(f"{self.config_dir}/{name}" for name in (*self.leftovers, "")),
                *self.own_directories,
                *(data if self.settings.get(f"{self.product}_remove_data") else []),
                self.account_file,
            ],
        }
