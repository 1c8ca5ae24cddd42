"""What programs of a system's packages run on a host, as a unit of ours each.

It is no service in the sense of `service.py`: no JVM, and no properties in layers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from . import files, systems
from .artifacts import Distribution
from .files import Entry
from .host import HostSettings
from .inventory import Secrets
from .security import OPEN, Certificate
from .service import Listening, restart_mark
from .systems import Family
from .values import canonical

_DEVICE = "/dev/null"


@dataclass(frozen=True)
class Packaged(ABC):
    """Packages and units of a host; a new kind is one more such class.

    `product` begins the names of its variables and paths, `title` is for people. `programs` is
    name of a package, as `systems` has it -> our unit that runs its program.
    """

    host: HostSettings
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    product: ClassVar[str]
    title: ClassVar[str]
    address_variable: ClassVar[str]
    programs: ClassVar[Mapping[str, str]]
    identity: ClassVar[None] = None
    """It shows an ensemble of ZooKeeper nothing."""

    @property
    @abstractmethod
    def ports(self) -> dict[str, int]:
        """Variable -> port."""

    @abstractmethod
    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects to one of `ports`, which is given by its variable."""

    @property
    @abstractmethod
    def certificates(self) -> list[Certificate]:
        """What it shows to those who connect, of the CA of the cluster."""

    @property
    @abstractmethod
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""

    @abstractmethod
    def own_files(self) -> dict[str, Entry]:
        """Return its files, without those that all of its kind have."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The host's variables."""
        return self.host.settings

    @property
    def name(self) -> str:
        """The host's name in the inventory."""
        return self.host.name

    @property
    def address(self) -> str:
        """The name or address under which others reach it."""
        return self.host.address(self.address_variable)

    @property
    def is_open(self) -> bool:
        """Whether the inventory wants it open to everybody who reaches it."""
        return bool(self.settings[f"{self.product}_security"] == OPEN)

    @property
    def listening(self) -> list[Listening]:
        """All that it listens on, and who connects."""
        found = self.ports.items()
        return [Listening(self.product, name, port, self.callers(name)) for name, port in found]

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        return []

    @property
    def distribution(self) -> Distribution | None:
        """What is unpacked besides the packages."""
        return None

    @property
    def user(self) -> str:
        """The account that it runs as; its group has the same name."""
        return self.product

    @property
    def account_file(self) -> str:
        """The file of its account: written first, removed last, so that it says what is there."""
        return f"/etc/sysusers.d/millrace-{self.product}.conf"

    @property
    def config_dir(self) -> str:
        """The directory of its configuration."""
        return f"/etc/{self.product}"

    @property
    def own_directories(self) -> list[str]:
        """The directories that are removed with it, whatever is in them."""
        return [self.config_dir, *([self.distribution.home] if self.distribution else [])]

    @property
    def binaries(self) -> list[str]:
        """The paths of its programs."""
        return [self.binary(program) for program in self.programs]

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return list(self.programs.values())

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names in its certificates."""
        names = (self.name, self.address, "localhost")
        return tuple(dict.fromkeys(canonical(one) for one in names))

    def missing_packages(self, there: Collection[str]) -> list[str]:
        """Return the packages of which the programs are not `there`, by their paths."""
        names = self.host.family.monitoring
        return [names[one]["package"] for one in self.programs if names[one]["binary"] not in there]

    def binary(self, program: str) -> str:
        """Return the path of a program."""
        return str(self.host.family.monitoring[program]["binary"])

    def secret(self, text: str, **options: Any) -> Entry:  # noqa: ANN401 - as `files.text`
        """Return the entry of a file that its account alone can read."""
        own = {"owner": self.user, "group": self.user, "mode": "0400", "secret": True}
        return files.text(text, **{**own, **options})

    def certificate_files(self, **options: Any) -> dict[str, Entry]:  # noqa: ANN401 - as `files.text`
        """Return its keys with their certificates."""
        kept = self.secrets.certificates
        return {
            one.path: self.secret(kept.get(one.name, ""), **options) for one in self.certificates
        }

    def lacking(self, texts: Mapping[str, str]) -> list[str]:
        """Return the names of certificates and of texts, name -> text, that are not there."""
        kept = self.secrets.certificates
        wanted = {**{one.name: kept.get(one.name) for one in self.certificates}, **texts}
        return [name for name, text in wanted.items() if not text]

    def unit(self, name: str, what: str, command: str, **more: Any) -> dict[str, Entry]:  # noqa: ANN401 - what the template takes
        """Return the file of a hardened systemd service."""
        values = {
            **{"name": name, "description": what, "user": self.user, "group": self.user},
            **{"exec": command, "stop_timeout": 60, "write_paths": []},
            **more,
        }
        text = files.render("service.j2", unit=values)
        return {f"/etc/systemd/system/{name}.service": files.text(text, restart=True)}

    def masks(self) -> dict[str, Entry]:
        """Return what keeps the packages from starting services of their own, open to all."""
        return dict.fromkeys(self._masks(self.host.family), files.link(_DEVICE))

    @classmethod
    def all_masks(cls) -> list[str]:
        """Return what `masks` may be, on a system of which the family is not known."""
        found = (path for family in systems.families().values() for path in cls._masks(family))
        return list(dict.fromkeys(found))

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
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it."""
        return {
            **(self.distribution.unpacked if self.distribution else {}),
            "files": self.files(),
            "units": self.units,
            "restart_marks": [restart_mark(unit) for unit in self.units],
        }

    @property
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it; the packages stay, and do not run."""
        there = {path: one for path, one in self.files().items() if path not in self.masks()}
        own = [path for path, one in there.items() if one.get("state") != "directory"]
        own.remove(self.account_file)
        data = [path for _, path in self.data_directories]
        return {
            "state": "absent",
            "units": self.units,
            "masks": self.all_masks(),
            "removed": [
                *own,
                *self.own_directories,
                *(data if self.settings.get(f"{self.product}_remove_data") else []),
                self.account_file,
            ],
        }
