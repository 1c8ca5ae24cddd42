"""Programs of ours on a monitoring host, which run in Python from the collection's own modules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

from ...cluster import files
from ...cluster.artifacts import HOMES, Distribution, cache_directory
from ...cluster.files import Entry
from ..kafka.node import KafkaNode
from ..kafka.security import AUTHORITY_FILE
from . import KAFKA_USER
from .imports import NAMESPACE, import_closure
from .packaged import Packaged

_COLLECTION = NAMESPACE.replace(".", "/")


@dataclass(frozen=True)
class PythonProgram(Packaged):
    """Such a program."""

    broker: KafkaNode | None = None
    """One of the cluster that it reads."""
    programs: ClassVar[Mapping[str, str]] = {}
    library_version: ClassVar[str]
    """What names the unpacked libraries."""
    service: ClassVar[str]
    """Its unit."""
    package: ClassVar[str]
    """What Python runs, with the settings as its argument."""
    sources: ClassVar[tuple[str, ...]]
    """Patterns of its own modules, by their paths in the collection.

    What these import comes with them.
    """
    stop_timeout: ClassVar[int]
    leftovers: ClassVar[tuple[str, ...]] = (
        AUTHORITY_FILE,
        "client.properties",
        "environment",
        "settings.json",
    )
    environment: ClassVar[Mapping[str, str]] = {}
    """Of its process, in addition to what Python needs."""
    memory: ClassVar[str] = ""
    """The most that the unit may use, as systemd has it, empty for any."""

    @property
    @abstractmethod
    def client(self) -> dict[str, Any]:
        """Its client properties for Kafka."""

    @property
    def ports(self) -> dict[str, int]:
        """Variable -> port."""
        name = f"{self.product}_port"
        return {name: self.settings[name]}

    @property
    def is_open(self) -> bool:
        """Never: what is reached from other hosts asks for a password, over TLS."""
        return False

    @property
    def distribution(self) -> Distribution:
        """The libraries that are unpacked for it."""
        cache = cache_directory(self.settings["service_cache"])
        return Distribution(self.product, self.library_version, cache, {})

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [self.service]

    @property
    def authority(self) -> str:
        """The file with the CA of the brokers."""
        return f"{self.config_dir}/{AUTHORITY_FILE}"

    @property
    def settings_file(self) -> str:
        """The file with its settings."""
        return f"{self.config_dir}/settings.json"

    @property
    def properties_file(self) -> str:
        """The file with its client properties."""
        return f"{self.config_dir}/client.properties"

    @property
    def directory(self) -> str:
        """Where its modules are."""
        return f"{HOMES}/{self.product}-program"

    @property
    def own_directories(self) -> list[str]:
        """The directories that are removed with it, whatever is in them."""
        return [*super().own_directories, self.directory]

    @property
    def python_path(self) -> str:
        """Where Python finds modules."""
        return self.directory

    @property
    def login(self) -> Mapping[str, Any]:
        """The client properties with which it logs in to Kafka, empty if it need not."""
        return self.broker.clients.user_config(KAFKA_USER, self.authority) if self.broker else {}

    @property
    def missing_password(self) -> list[str]:
        """The password with which it logs in, by a name, if it is not there."""
        without = self.broker.security.users_without_password if self.broker and self.login else []
        return [f"the password of {user.name}" for user in without if user.name == KAFKA_USER]

    def program_files(self) -> dict[str, Entry]:
        """Return its modules and libraries, its client properties, and its unit."""
        access = {"mode": "0640", "group": self.user, "secret": True}
        environment = f"{self.config_dir}/environment"
        python = {"PYTHONPATH": self.python_path, "PYTHONUNBUFFERED": "1"}
        command = f"/usr/bin/python3 -m {self.package} {self.settings_file}"
        options = {"environment_file": environment, "stop_timeout": self.stop_timeout}
        if self.memory:
            options["memory_max"] = self.memory
        return {
            HOMES: files.directory(),
            self.distribution.link: files.link(self.distribution.home),
            self.properties_file: files.property_file(self.client, **access),
            environment: files.environment({**python, **self.environment}),
            **self.modules(self.directory),
            **self.unit(self.service, self.title, command, **options),
        }

    @property
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it."""
        # So the task ends with the journal of a program that does not start.
        return {**super().state, "ready": {self.service: f"/run/{self.service}/ready"}}

    @classmethod
    def modules(cls, directory: str) -> dict[str, Entry]:
        """Return the modules below a directory, which is to be on PYTHONPATH."""
        modules = dict(cls._modules())
        folders = {str(folder) for place in modules for folder in PurePosixPath(place).parents}
        return {
            directory: files.directory(),
            **{f"{directory}/{folder}": files.directory() for folder in sorted(folders - {"."})},
            **{
                f"{directory}/{place}": files.text(files.read(source), restart=True)
                for place, source in modules.items()
            },
        }

    @classmethod
    def _modules(cls) -> Iterator[tuple[str, str]]:
        """Yield place below the directory, and path in the collection, of each module."""
        for path in import_closure(*cls.sources):
            yield (f"{_COLLECTION}/{path}" if path.startswith("plugins/") else path), path
