"""The console on a monitoring host: its program, its page, and how it reads the cluster.

It runs in Python, from the collection's own modules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

from . import files, report_page
from .artifacts import HOMES, Distribution, cache_directory
from .files import Entry
from .host import HostSettings
from .inventory import GROUPS, Inventory
from .kafka import KafkaNode
from .lag_exporter import GROUP, KAFKA_USER
from .monitoring import PROMETHEUS, Monitoring
from .packaged import Packaged
from .security import AUTHORITY_FILE, Certificate
from .service import ADMINS

PRODUCT = "console"
TITLE = "Console of the cluster"
PORT, USERS, VIEWERS = f"{PRODUCT}_port", f"{PRODUCT}_users", f"{PRODUCT}_viewers"
LIBRARY_VERSION = "1.10.0"
"""The version of Starlette, by which what is unpacked for it is named."""
UNIT = "millrace-console"
CONFIG, PROGRAM = f"/etc/{PRODUCT}", f"{HOMES}/{PRODUCT}-program"
SETTINGS, PROPERTIES = f"{CONFIG}/settings.json", f"{CONFIG}/client.properties"
AUTHORITY, STORE, PAGE = (
    f"{CONFIG}/{AUTHORITY_FILE}",
    f"{CONFIG}/console.pem",
    f"{CONFIG}/page.html",
)
_ADAPTER = "ansible_collections/millrace/streaming"
_MODULES = "plugins/module_utils"
# What its modules import of the collection; it is tried alone by test_console_host.py.
_IMPORTED = (
    *("kafka/__init__.py", "kafka/answers.py", "kafka/client.py", "kafka/clients.py"),
    *("kafka/connection.py", "kafka/contents.py", "kafka/features.py", "kafka/library.py"),
    *("kafka/groups.py", "kafka/messages.py", "kafka/snapshot.py", "kafka/users.py"),
    *("host/__init__.py", "host/connect_rest.py"),
    *("host/network.py", "host/registry_rest.py", "host/rest.py", "model/__init__.py"),
    *("model/properties.py", "model/schemas.py", "model/values.py", "operations/__init__.py"),
    *("operations/connect_health.py", "operations/gate.py", "operations/gate_texts.py"),
    *("operations/health.py", "operations/kafka_report.py", "operations/spark_health.py"),
)


@dataclass(frozen=True)
class Console(Packaged):
    """The console of a host.

    `broker` is one of the cluster that it reads, `servers` are the Prometheus of its host, `hosts`
    what the page shows of the inventory's hosts, `cluster_name` is its title.
    """

    broker: KafkaNode | None = None
    servers: Monitoring | None = None
    hosts: Sequence[Mapping[str, Any]] = ()
    cluster_name: str = ""
    product = PRODUCT
    title = TITLE
    address_variable = "monitoring_host"
    programs: ClassVar[Mapping[str, str]] = {}

    @property
    def ports(self) -> dict[str, int]:
        """Variable -> port."""
        return {PORT: self.settings[PORT]}

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: people with a browser."""
        return (ADMINS,)

    @property
    def is_open(self) -> bool:
        """Never: it asks for a password, over TLS."""
        return False

    @property
    def certificates(self) -> list[Certificate]:
        """What it shows to browsers."""
        name = f"{self.name}/{PRODUCT}"
        return [Certificate(name, STORE, self.name[:64], self.certificate_names, client=False)]

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
        return dict(self._login or (self.broker.client_config if self.broker else {}))

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        found = self.lacking({AUTHORITY_FILE: self.secrets.authority})
        if self._login and self.broker:
            without = {one.name for one in self.broker.users_without_password}
            found += [f"the password of {KAFKA_USER}"] if KAFKA_USER in without else []
        return [*found, *(self.servers.missing_secrets if self.servers else [])]

    def own_files(self) -> dict[str, Entry]:
        """Return its files."""
        own = {"mode": "0640", "group": self.user, "secret": True}
        environment = {
            "PYTHONPATH": f"{PROGRAM}:{self.distribution.home}",
            "PYTHONUNBUFFERED": "1",
        }
        command = f"/usr/bin/python3 -m {PRODUCT} {SETTINGS}"
        more = {"environment_file": f"{CONFIG}/environment", "stop_timeout": 15}
        return {
            HOMES: files.directory(),
            self.distribution.link: files.link(self.distribution.home),
            SETTINGS: files.text(self._settings_text(), restart=True, **own),
            PROPERTIES: files.property_file(self.client, **own),
            PAGE: files.text(report_page.page(), restart=True),
            AUTHORITY: files.text(self.secrets.authority, restart=True),
            f"{CONFIG}/environment": files.environment(environment),
            **self.certificate_files(restart=True),
            **program(PROGRAM),
            **self.unit(UNIT, TITLE, command, **more),
        }

    def _settings_text(self) -> str:
        broker = self.broker
        kafka: dict[str, Any] = {
            "client_config": PROPERTIES,
            "library": self.distribution.home,
            "mechanism": str(self._login.get("sasl.mechanism") or ""),
        }
        if broker:
            kafka |= {
                "bootstrap": broker.client_bootstrap,
                "expect_brokers": [one.id for one in broker.brokers],
                "expect_voters": [one.id for one in broker.voters],
            }
        found = {
            **{"name": self.cluster_name, "page": PAGE, "certificate": STORE, "kafka": kafka},
            **{"address": "", "port": self.settings[PORT], "hosts": list(self.hosts)},
            "users": {str(one["name"]): str(one["hash"]) for one in self.settings[USERS]},
            "viewers": list(self.settings[VIEWERS]),
            "refresh_seconds": self.settings[f"{PRODUCT}_interval"],
            "prometheus": self._prometheus(),
        }
        return json.dumps(found, indent=2) + "\n"

    def _prometheus(self) -> dict[str, Any]:
        if self.servers is None:
            return {}
        found = {"address": f"localhost:{self.servers.settings[PROMETHEUS]}"}
        if self.servers.is_open:
            return found
        return {**found, "authority": AUTHORITY, "login": self.servers.login}

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
    own = sorted((files.COLLECTION / PRODUCT).glob("*.py"))
    modules = {
        **{f"{PRODUCT}/{path.name}": f"{PRODUCT}/{path.name}" for path in own},
        **{f"{_ADAPTER}/{_MODULES}/{name}": f"{_MODULES}/{name}" for name in _IMPORTED},
    }
    folders = {str(one) for place in modules for one in PurePosixPath(place).parents}
    return {
        directory: files.directory(),
        **{f"{directory}/{one}": files.directory() for one in sorted(folders - {"."})},
        **{
            f"{directory}/{place}": files.text(files.read(source), restart=True)
            for place, source in modules.items()
        },
    }


def resolve(
    inventory: Inventory,
    hosts: Mapping[str, HostSettings],
    broker: KafkaNode | None,
    servers: Mapping[str, Monitoring],
) -> dict[str, Console]:
    """Return host -> console of the hosts of the group monitoring, none without brokers."""
    shown = [
        {
            "name": name,
            "address": str(host.settings["ansible_host"] or name),
            "groups": [group for group in GROUPS if name in inventory.members(group)],
            **{"rack": "", "products": [], "error": ""},
        }
        for name, host in hosts.items()
    ]
    title = PurePosixPath(inventory.directory).name or "cluster"
    found = inventory.members(GROUP) if broker else []
    return {
        name: Console(hosts[name], inventory.secrets, broker, servers.get(name), shown, title)
        for name in found
    }
