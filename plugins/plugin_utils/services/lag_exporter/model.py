"""The exporter of consumer lag on a monitoring host: its program, and how it logs in to Kafka."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ....module_utils.formats.values import by_name
from ...cluster import files
from ...cluster.files import Entry
from ...cluster.resolution import Resolution
from ...cluster.service import LOOPBACK
from ..kafka.node import any_broker
from ..kafka.security import AUTHORITY_FILE, Certificate, Grant, User
from ..monitoring import GROUP, KAFKA_USER
from ..monitoring.python_program import PythonProgram

PRODUCT = "lag_exporter"
ADDRESS = "127.0.0.1"
CLIENT = f"{PRODUCT}_client_config"
INCLUDED, EXCLUDED = f"{PRODUCT}_groups", f"{PRODUCT}_excluded_groups"
AUTHORITY = f"/etc/{PRODUCT}/{AUTHORITY_FILE}"


@dataclass(frozen=True)
class LagExporter(PythonProgram):
    """The exporter of a host."""

    product = PRODUCT
    title = "Exporter of consumer lag"
    address_variable = "ansible_host"
    connecting = (LOOPBACK,)
    library_version = "3.0.12"  # of kafka-python, which is all that is unpacked for it
    service = "millrace-lag-exporter"
    package = "apps.lag_exporter"
    sources = ("apps/lag_exporter/*.py",)
    # These are tried alone by test_lag_exporter_host.py.
    stop_timeout = 10

    @property
    def certificates(self) -> list[Certificate]:
        """None: only the host itself connects."""
        return []

    @property
    def client(self) -> dict[str, Any]:
        """Its client properties."""
        broker, defaults = self.broker, {}
        if broker:
            servers = ",".join(broker.clients.user_bootstrap)
            defaults = {**broker.clients.config, "bootstrap.servers": servers}
        return {**(self.login or defaults), **by_name(self.settings[CLIENT])}

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        if not self.login:
            return []
        return [*self.missing_password, *([] if self.secrets.authority else [AUTHORITY_FILE])]

    def own_files(self) -> dict[str, Entry]:
        """Return its files."""
        authority = files.text(self.secrets.authority, restart=True)
        return {
            **self.program_files(),
            self.settings_file: files.text(self._settings_text(), restart=True),
            **({self.authority: authority} if self.login else {}),
        }

    def _settings_text(self) -> str:
        settings = {
            "client": self.properties_file,
            "library": self.distribution.home,
            "address": ADDRESS,
            "port": self.settings[f"{PRODUCT}_port"],
            "groups": self.settings[INCLUDED],
            "excluded": self.settings[EXCLUDED],
            "interval": self.settings[f"{PRODUCT}_interval"],
            "max_groups": self.settings[f"{PRODUCT}_max_groups"],
        }
        return json.dumps(settings, indent=2) + "\n"


def kafka_users(resolution: Resolution) -> list[User]:
    """Return the user that monitoring hosts are, who may see all that is read, and no record."""
    grants: list[Grant] = [
        {"cluster": True, "operations": ["describe"]},
        {"topic": "*", "operations": ["describe", "describe_configs"]},
        {"group": "*", "operations": ["describe"]},
    ]
    return [User(KAFKA_USER, grants)] if resolution.members(GROUP) else []


def resolve(resolution: Resolution) -> dict[str, LagExporter]:
    """Return host -> exporter of the hosts of the group monitoring, none without brokers."""
    broker, secrets = any_broker(resolution), resolution.inventory.secrets
    hosts = resolution.members(GROUP) if broker else {}
    return {name: LagExporter(host, secrets, broker) for name, host in hosts.items()}
