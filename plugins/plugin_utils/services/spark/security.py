"""What keeps Spark on a host to those who may use it: secrets, and tokens of web interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats import secret_texts
from ...cluster.inventory import Secrets
from ...cluster.service import Service
from ..kafka.security import (
    SPARK_CONNECT,
    SPARK_METASTORE,
    SPARK_SECRET,
    SPARK_SESSION_UI_KEY,
    SPARK_UI_KEY,
    bearer_token,
)

SECRET = "spark.authenticate.secret"  # noqa: S105 - the name of a key
UI_FILTERS, _UI_FILTER = "spark.ui.filters", "org.apache.spark.ui.JWSFilter"
UI_KEY = f"spark.{_UI_FILTER}.param.secretKey"
# Whoever does not have the secret can submit no job and be no worker, and reads nothing that Spark
# sends or spills; without the token nobody opens a web interface.
_STANDARD: Mapping[str, Any] = {
    "spark.authenticate": True,
    "spark.network.crypto.enabled": True,
    "spark.network.crypto.authEngineVersion": 2,
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.network.crypto.saslFallback": False,
    "spark.io.encryption.enabled": True,
    # The web interfaces of services and drivers show plans and settings, and end jobs.
    UI_FILTERS: _UI_FILTER,
    "spark.master.ui.decommission.allow.mode": "DENY",
}


@dataclass(frozen=True)
class Security:
    """The secrets of a host and of the sessions there, and what its web interfaces ask for."""

    service: Service
    """The host, whose properties may be the inventory's instead."""
    secrets: Secrets = field(repr=False)
    """What Millrace keeps; a secret is empty there until it is made."""
    has_catalog: bool
    """Whether sessions log in to a server of the catalog."""
    has_connect: bool
    """Whether clients of a Connect server log in on this host."""

    def secret(self, name: str) -> str:
        """Return one of the secrets that Millrace keeps, empty if it is open or not made yet."""
        return self.secrets.texts.get(name, "") if self.service.is_secured else ""

    @property
    def config(self) -> dict[str, Any]:
        """The properties that close it, below the inventory's."""
        secret = self.secret(SPARK_SECRET)
        return {**_STANDARD, SECRET: secret} if self.service.is_secured else {}

    def ui_config(self, name: str) -> dict[str, str]:
        """Return the property with the key of web interfaces, by the name of its secret."""
        return {UI_KEY: self.secret(name)} if self.service.is_secured else {}

    @property
    def of_sessions(self) -> list[str]:
        """The names of the secrets of sessions, their catalog and Connect; Millrace makes all."""
        names = {
            SPARK_SESSION_UI_KEY: True,
            SPARK_METASTORE: self.has_catalog,
            SPARK_CONNECT: self.has_connect,
        }
        return [name for name, needed in names.items() if needed and self.service.is_secured]

    @property
    def missing(self) -> list[str]:
        """The names of the secrets that Millrace has to make for it, and has not made yet."""
        service, texts = self.service, self.secrets.texts
        keys = {SPARK_SECRET: SECRET, SPARK_UI_KEY: UI_KEY}
        of_cluster = [
            name for name, key in keys.items() if service.is_secured and not service.config[key]
        ]
        return of_cluster + [name for name in self.of_sessions if not texts.get(name)]

    @property
    def has_secrets(self) -> bool:
        """Whether one of the host's properties holds a secret."""
        config = self.service.config
        return any(secret_texts.of_property(key, value) for key, value in config.items())

    @property
    def ui_token(self) -> str:
        """What its web interfaces ask for, empty where they are open or have another filter."""
        return ui_token(self.service.config)


def ui_token(config: Mapping[str, Any]) -> str:
    """Return what web interfaces with these properties ask for, empty if that is not a token."""
    key = str(config.get(UI_KEY) or "")
    filtered = _UI_FILTER in str(config.get(UI_FILTERS))
    return bearer_token(key) if key and filtered else ""
