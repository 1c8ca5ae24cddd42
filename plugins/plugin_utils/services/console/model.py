"""The console on a monitoring host: its program, its page, and how it reads the cluster."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, ClassVar

from ...cluster import files
from ...cluster.files import Entry
from ...cluster.registry import GROUPS
from ...cluster.resolution import Resolution
from ...cluster.service import ADMINS
from ..kafka.node import any_broker
from ..kafka.security import AUTHORITY_FILE, Certificate
from ..metrics.model import Metrics
from ..monitoring import GROUP
from ..monitoring.model import PROMETHEUS, Monitoring
from ..monitoring.python_program import PythonProgram
from ..schema_registry.model import MONITORING, Registry, any_instance, secret_name
from . import report_page

PRODUCT = "console"
PORT, USERS, VIEWERS = f"{PRODUCT}_port", f"{PRODUCT}_users", f"{PRODUCT}_viewers"
_CONFIG = f"/etc/{PRODUCT}"
AUTHORITY = f"{_CONFIG}/{AUTHORITY_FILE}"
_STORE, _PAGE, VIEWS = (f"{_CONFIG}/{name}" for name in ("console.pem", "page.html", "views.json"))
_PANELS = "apps/console/panels.yml"
_AT_WORK = frozenset({"certificate", "connector", "debezium", "sink", "source", "stream"})
"""What panels may need that does not follow from the inventory."""


@dataclass(frozen=True)
class Console(PythonProgram):
    """The console of a host."""

    servers: Monitoring | None = None
    """The Prometheus of its host."""
    registry: Registry | None = None
    """An instance of the schema registry."""
    exporters: Mapping[str, Metrics] = field(default_factory=dict)
    """The exporters of all hosts."""
    hosts: Sequence[Mapping[str, Any]] = ()
    """What the page shows of the inventory's hosts."""
    cluster_name: str = ""
    """The title of the page."""
    product = PRODUCT
    title = "Console of the cluster"
    address_variable = "monitoring_host"
    connecting = (ADMINS,)
    library_version = "1.10.0"  # of Starlette
    service = "millrace-console"
    package = "apps.console"
    leftovers = (*PythonProgram.leftovers, "console.pem", "page.html", "views.json")
    environment: ClassVar[Mapping[str, str]] = {
        # Not the compiled part of another version, which the host may have.
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
        # Each reading of records is a process of its own: it need not compile its modules again.
        "PYTHONPYCACHEPREFIX": "/run/millrace-console/python",
    }
    memory = "1G"  # of itself, and of the processes that read records
    sources = ("apps/console/*.py",)  # tried alone by test_console_host.py
    stop_timeout = 15

    @property
    def certificates(self) -> list[Certificate]:
        """What it shows to browsers."""
        return [self.server_certificate(_STORE)]

    @property
    def python_path(self) -> str:
        """Where Python finds its modules, and libraries that are unpacked as packages."""
        return f"{self.directory}:{self.distribution.home}"

    @property
    def client(self) -> dict[str, Any]:
        """Its client properties."""
        return dict(self.login or (self.broker.clients.config if self.broker else {}))

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        missing = self.lacking({AUTHORITY_FILE: self.secrets.authority})
        of_servers = self.servers.missing_secrets if self.servers else []
        of_registry = self.registry.users_without_password if self.registry else []
        return [
            *missing,
            *self.missing_password,
            *of_servers,
            *(f"passwords/{name}" for name in of_registry if name == secret_name(MONITORING)),
        ]

    @property
    def operated(self) -> dict[str, Any]:
        """How modules on its host reach it."""
        address = f"localhost:{self.settings[PORT]}"
        return {"console": address, "console_authority": self.authority}

    def own_files(self) -> dict[str, Entry]:
        """Return its files."""
        access = {"mode": "0640", "group": self.user, "secret": True}
        return {
            **self.program_files(),
            self.settings_file: files.text(self._settings_text(), restart=True, **access),
            _PAGE: files.text(report_page.page(), restart=True),
            VIEWS: files.text(json.dumps(self._views(), indent=1) + "\n", restart=True),
            self.authority: files.text(self.secrets.authority, restart=True),
            **self.certificate_files(),
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
                "bootstrap": broker.clients.user_bootstrap,
                "expect_brokers": [peer.id for peer in broker.brokers],
                "expect_voters": [peer.id for peer in broker.voters],
            }
        settings = {
            "name": self.cluster_name,
            "page": _PAGE,
            "views": VIEWS,
            "certificate": _STORE,
            "kafka": kafka,
            "address": "",
            "port": self.settings[PORT],
            "hosts": list(self.hosts),
            "users": {str(user["name"]): str(user["hash"]) for user in self.settings[USERS]},
            "viewers": list(self.settings[VIEWERS]),
            "refresh_seconds": self.settings[f"{PRODUCT}_interval"],
            "prometheus": self._prometheus(),
            "registry": self._registry(),
        }
        return json.dumps(settings, indent=2) + "\n"

    def _prometheus(self) -> dict[str, Any]:
        if self.servers is None:
            return {}
        connection = {"address": f"localhost:{self.servers.settings[PROMETHEUS]}"}
        if self.servers.is_open:
            return connection
        return {**connection, "authority": AUTHORITY, "login": self.servers.login}

    def _registry(self) -> dict[str, Any]:
        if self.registry is None:
            return {}
        connection = {"instances": list(self.registry.rest_addresses.values())}
        if not self.registry.is_secured:
            return connection
        return {**connection, "authority": AUTHORITY, "login": self.registry.login_of(MONITORING)}

    def _views(self) -> list[Any]:
        """Return the views with the panels of which this cluster can have data."""
        jobs = {job for metrics in self.exporters.values() for job in metrics.modules}
        mode = {"kraft" if self.broker.voters else "zookeeper_brokers"} if self.broker else set()
        provided = {*jobs, *_AT_WORK, *mode}

        def fits(entry: Mapping[str, Any]) -> bool:
            return provided.issuperset(entry.get("needs", ()))

        return [
            {**view, "panels": [panel for panel in view["panels"] if fits(panel)]}
            for view in _all_views()
            if fits(view)
        ]


@functools.cache
def _all_views() -> list[dict[str, Any]]:
    views: list[dict[str, Any]] = files.parse_yaml(files.read(_PANELS))
    return views


def resolve(resolution: Resolution) -> dict[str, Console]:
    """Return host -> console of the hosts of the group monitoring, none without brokers."""
    inventory, broker = resolution.inventory, any_broker(resolution)
    servers, exporters = resolution.parts("monitoring"), resolution.parts("metrics")
    shown = [
        {
            "name": name,
            "address": str(host.settings["ansible_host"] or name),
            "groups": [group for group in GROUPS if name in inventory.members(group)],
            "rack": "",
            "products": [],
            "error": "",
        }
        for name, host in resolution.hosts.items()
    ]
    title = PurePosixPath(inventory.directory).name or "cluster"
    hosts = resolution.members(GROUP) if broker else {}
    return {
        name: Console(
            host,
            inventory.secrets,
            broker,
            servers.get(name),
            any_instance(resolution),
            exporters,
            shown,
            title,
        )
        for name, host in hosts.items()
    }
