"""The exporter of consumer lag on a monitoring host: its program, and how it logs in to Kafka.

It runs in Python, from the collection's own modules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

from . import files
from .artifacts import HOMES, Distribution, cache_directory
from .files import Entry
from .host import HostSettings
from .inventory import Inventory
from .kafka import KafkaNode
from .packaged import Packaged
from .security import AUTHORITY_FILE, Certificate, Grant, User
from .service import LOOPBACK
from .values import by_name

PRODUCT = "lag_exporter"
GROUP = "monitoring"
TITLE = "Exporter of consumer lag"
ADDRESS = "127.0.0.1"
PORT, CLIENT = f"{PRODUCT}_port", f"{PRODUCT}_client_config"
INCLUDED, EXCLUDED = f"{PRODUCT}_groups", f"{PRODUCT}_excluded_groups"
KAFKA_USER = "monitoring"
"""The user of Kafka that monitoring hosts are."""
LIBRARY_VERSION = "3.0.12"
"""The version of kafka-python, which is all that is unpacked for it."""
UNIT = "millrace-lag-exporter"
CONFIG, PROGRAM = f"/etc/{PRODUCT}", f"{HOMES}/{PRODUCT}-program"
SETTINGS, PROPERTIES = f"{CONFIG}/settings.json", f"{CONFIG}/client.properties"
AUTHORITY = f"{CONFIG}/{AUTHORITY_FILE}"
_PACKAGE = "monitoring"
_ADAPTER = "ansible_collections/millrace/streaming"
_MODULES = "plugins/module_utils"
# What its modules import of the collection; it is tried alone by test_lag_exporter_program.py.
_IMPORTED = (
    *("kafka/__init__.py", "kafka/clients.py", "kafka/connection.py", "kafka/groups.py"),
    *("kafka/library.py", "kafka/messages.py", "host/__init__.py", "host/network.py"),
    *("model/__init__.py", "model/properties.py", "model/values.py"),
)


@dataclass(frozen=True)
class LagExporter(Packaged):
    """The exporter of a host; `broker` is one of the cluster that it reads."""

    broker: KafkaNode | None = None
    product = PRODUCT
    title = TITLE
    address_variable = "ansible_host"
    programs: ClassVar[Mapping[str, str]] = {}

    @property
    def ports(self) -> dict[str, int]:
        """Variable -> port."""
        return {PORT: self.settings[PORT]}

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: the host itself."""
        return (LOOPBACK,)

    @property
    def is_open(self) -> bool:
        """Never: only the host itself connects."""
        return False

    @property
    def certificates(self) -> list[Certificate]:
        """None, for the same reason."""
        return []

    @property
    def distribution(self) -> Distribution:
        """What is unpacked for it."""
        cache = cache_directory(self.settings["service_cache"])
        return Distribution(PRODUCT, LIBRARY_VERSION, cache, {})

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [UNIT]

    @property
    def _login(self) -> Mapping[str, Any]:
        """The client properties with which it logs in, empty if it need not."""
        return self.broker.user_client_config(KAFKA_USER, AUTHORITY) if self.broker else {}

    @property
    def client(self) -> dict[str, Any]:
        """Its client properties."""
        broker, others = self.broker, {}
        if broker:
            servers = ",".join(broker.client_bootstrap)
            others = {**broker.client_config, "bootstrap.servers": servers}
        return {**(self._login or others), **by_name(self.settings[CLIENT])}

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        if not self._login or not self.broker:
            return []
        without = self.broker.users_without_password
        found = [f"the password of {one.name}" for one in without if one.name == KAFKA_USER]
        return [*found, *([] if self.secrets.authority else [AUTHORITY_FILE])]

    def own_files(self) -> dict[str, Entry]:
        """Return its files."""
        own = {"mode": "0640", "group": self.user, "secret": True}
        environment = {"PYTHONPATH": PROGRAM, "PYTHONUNBUFFERED": "1"}
        authority = files.text(self.secrets.authority, restart=True)
        command = f"/usr/bin/python3 -m {_PACKAGE}.{PRODUCT} {SETTINGS}"
        more = {"environment_file": f"{CONFIG}/environment", "stop_timeout": 10}
        return {
            HOMES: files.directory(),
            self.distribution.link: files.link(self.distribution.home),
            SETTINGS: files.text(self._settings_text(), restart=True),
            PROPERTIES: files.property_file(self.client, **own),
            f"{CONFIG}/environment": files.environment(environment),
            **program(PROGRAM),
            **({AUTHORITY: authority} if self._login else {}),
            **self.unit(UNIT, TITLE, command, **more),
        }

    def _settings_text(self) -> str:
        given = {
            **{"client": PROPERTIES, "library": self.distribution.home},
            **{"address": ADDRESS, "port": self.settings[PORT]},
            **{"groups": self.settings[INCLUDED], "excluded": self.settings[EXCLUDED]},
            "interval": self.settings[f"{PRODUCT}_interval"],
            "max_groups": self.settings[f"{PRODUCT}_max_groups"],
        }
        return json.dumps(given, indent=2) + "\n"

    @property
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it."""
        # So the task ends with the journal of a program that does not start.
        return {**super().state, "ready": {UNIT: f"/run/{UNIT}/ready"}}

    @property
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it."""
        found = super().removal
        return {**found, "removed": [*found["removed"], PROGRAM]}


def program(directory: str) -> dict[str, Entry]:
    """Return the modules of the program below a directory, which is to be on PYTHONPATH."""
    modules = dict(_modules())
    folders = {directory: None, **{f"{directory}/{one}": None for one in _folders(modules)}}
    return {
        **{folder: files.directory() for folder in folders},
        **{
            f"{directory}/{place}": files.text(files.read(source), restart=True)
            for place, source in modules.items()
        },
    }


def _modules() -> Iterator[tuple[str, str]]:
    """Yield place below the directory, and path in the collection, of each module."""
    own = files.COLLECTION / _PACKAGE
    for path in sorted([*own.glob("*.py"), *(own / PRODUCT).glob("*.py")]):
        name = str(path.relative_to(files.COLLECTION))
        yield name, name
    for name in _IMPORTED:
        yield f"{_ADAPTER}/{_MODULES}/{name}", f"{_MODULES}/{name}"


def _folders(modules: Mapping[str, str]) -> list[str]:
    """Return the folders of modules, each after the one that it is in."""
    found = {str(one) for place in modules for one in PurePosixPath(place).parents}
    return sorted(found - {"."})


def kafka_users(hosts: Sequence[str]) -> list[User]:
    """Return the user that monitoring hosts are, who may see all that is read, and no record."""
    grants: list[Grant] = [
        {"cluster": True, "operations": ["describe"]},
        {"topic": "*", "operations": ["describe", "describe_configs"]},
        {"group": "*", "operations": ["describe"]},
    ]
    return [User(KAFKA_USER, grants)] if hosts else []


def resolve(
    inventory: Inventory, hosts: Mapping[str, HostSettings], broker: KafkaNode | None
) -> dict[str, LagExporter]:
    """Return host -> exporter of the hosts of the group monitoring, none without brokers."""
    found = inventory.members(GROUP) if broker else []
    return {name: LagExporter(hosts[name], inventory.secrets, broker) for name in found}
