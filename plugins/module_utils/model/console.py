"""The console on a monitoring host: its program, its page, and how it reads the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from . import files, report_page
from .files import Entry
from .host import HostSettings
from .inventory import GROUPS, Inventory
from .kafka import KafkaNode
from .lag_exporter import GROUP
from .monitoring import PROMETHEUS, Monitoring
from .python_program import PythonProgram
from .security import AUTHORITY_FILE, Certificate
from .service import ADMINS

PRODUCT = "console"
PORT, USERS, VIEWERS = f"{PRODUCT}_port", f"{PRODUCT}_users", f"{PRODUCT}_viewers"
_CONFIG = f"/etc/{PRODUCT}"
AUTHORITY = f"{_CONFIG}/{AUTHORITY_FILE}"
_STORE, _PAGE = f"{_CONFIG}/console.pem", f"{_CONFIG}/page.html"


@dataclass(frozen=True)
class Console(PythonProgram):
    """The console of a host.

    `servers` are the Prometheus of its host, `hosts` what the page shows of the inventory's hosts,
    `cluster_name` is its title.
    """

    servers: Monitoring | None = None
    hosts: Sequence[Mapping[str, Any]] = ()
    cluster_name: str = ""
    product = PRODUCT
    title = "Console of the cluster"
    address_variable = "monitoring_host"
    library_version = "1.10.0"  # of Starlette
    service = "millrace-console"
    package = PRODUCT
    sources = (f"{PRODUCT}/*.py",)
    # It is tried alone by test_console_host.py.
    imported = (
        *("kafka/__init__.py", "kafka/answers.py", "kafka/client.py", "kafka/clients.py"),
        *("kafka/connection.py", "kafka/contents.py", "kafka/features.py", "kafka/library.py"),
        *("kafka/groups.py", "kafka/messages.py", "kafka/snapshot.py", "kafka/users.py"),
        *("host/__init__.py", "host/connect_rest.py"),
        *("host/network.py", "host/registry_rest.py", "host/rest.py", "model/__init__.py"),
        *("model/properties.py", "model/schemas.py", "model/values.py", "operations/__init__.py"),
        *("operations/connect_health.py", "operations/gate.py", "operations/gate_texts.py"),
        *("operations/health.py", "operations/kafka_report.py", "operations/spark_health.py"),
    )
    stop_timeout = 15

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: people with a browser."""
        return (ADMINS,)

    @property
    def certificates(self) -> list[Certificate]:
        """What it shows to browsers."""
        name = f"{self.name}/{PRODUCT}"
        return [Certificate(name, _STORE, self.name[:64], self.certificate_names, client=False)]

    @property
    def python_path(self) -> str:
        """Where Python finds its modules, and libraries that are unpacked as packages."""
        return f"{self.directory}:{self.distribution.home}"

    @property
    def client(self) -> dict[str, Any]:
        """Its client properties."""
        return dict(self.login or (self.broker.client_config if self.broker else {}))

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        found = self.lacking({AUTHORITY_FILE: self.secrets.authority})
        of_servers = self.servers.missing_secrets if self.servers else []
        return [*found, *self.missing_password, *of_servers]

    @property
    def operated(self) -> dict[str, Any]:
        """How modules on its host reach it."""
        address = f"localhost:{self.settings[PORT]}"
        return {"console": address, "console_authority": self.authority}

    def own_files(self) -> dict[str, Entry]:
        """Return its files."""
        own = {"mode": "0640", "group": self.user, "secret": True}
        return {
            **self.program_files(),
            self.settings_file: files.text(self._settings_text(), restart=True, **own),
            _PAGE: files.text(report_page.page(), restart=True),
            self.authority: files.text(self.secrets.authority, restart=True),
            **self.certificate_files(restart=True),
        }

    def _settings_text(self) -> str:
        broker = self.broker
        kafka: dict[str, Any] = {
            "client_config": self.properties_file,
            "library": self.distribution.home,
            "mechanism": str(self.login.get("sasl.mechanism") or ""),
        }
        if broker:
            kafka |= {
                "bootstrap": broker.client_bootstrap,
                "expect_brokers": [one.id for one in broker.brokers],
                "expect_voters": [one.id for one in broker.voters],
            }
        found = {
            **{"name": self.cluster_name, "page": _PAGE, "certificate": _STORE, "kafka": kafka},
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
