"""Where a cluster is and how to connect to it, described by Kafka's own client properties.

Modules, ledger, jobs and tests all read the same description, which is a properties file that the
tools of Kafka read too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..formats.properties import parse_properties
from ..formats.values import property_text

_JAAS = re.compile(r"""(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_STORES = {
    "truststore": ("ssl_cafile",),
    "keystore": ("ssl_certfile", "ssl_keyfile"),
}


class ConnectionDescriptionError(Exception):
    """The properties do not lead to a cluster; the text says what to correct."""


@dataclass(frozen=True)
class Connection:
    """Where a cluster is, and how to connect to it."""

    bootstrap: tuple[str, ...]
    """Its addresses, `host:port`."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The client properties that say how to connect."""

    @classmethod
    def of(cls, properties: Mapping[str, Any], bootstrap: Sequence[str] = ()) -> Connection:
        """Return the connection of client properties; `bootstrap` replaces their addresses.

        Raises:
            ConnectionDescriptionError: there are no addresses, or they are none.

        """
        written = {str(key): property_text(value) for key, value in properties.items()}
        texts = {key: text for key, text in written.items() if text is not None}
        listed = texts.pop("bootstrap.servers", "").split(",")
        addresses = tuple(bootstrap) or tuple(
            address.strip() for address in listed if address.strip()
        )
        wrong = [address for address in addresses if not address.rpartition(":")[2].isdecimal()]
        if wrong or not addresses:
            text = f"bootstrap.servers needs host:port entries, got {wrong or 'none'}"
            raise ConnectionDescriptionError(text)
        return cls(addresses, texts)

    @classmethod
    def read(cls, path: Path, bootstrap: Sequence[str] = ()) -> Connection:
        """Return the connection that a client properties file describes.

        Raises:
            ConnectionDescriptionError: the file cannot be read, or as `of`.

        """
        try:
            properties = parse_properties(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            text = f"the client properties in {path} cannot be read: {error}"
            raise ConnectionDescriptionError(text) from error
        return cls.of(properties, bootstrap)

    def at(self, *bootstrap: str) -> Connection:
        """Return the same way to connect, to other addresses."""
        return Connection(bootstrap, self.properties)

    def as_user(self, mechanism: str, name: str, password: str) -> Connection:
        """Return the same way to connect, as a user of SCRAM."""
        words = " ".join(
            f'{key}="{_quoted(value)}"'
            for key, value in (("username", name), ("password", password))
        )
        login = {
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{_SCRAM_MODULE} required {words};",
        }
        return Connection(self.bootstrap, {**self.properties, **login})

    def settings(self) -> dict[str, Any]:
        """Return kafka-python's keyword arguments of the addresses and of `security`."""
        return {"bootstrap_servers": list(self.bootstrap), **self.security()}

    def security(self) -> dict[str, Any]:
        """Return kafka-python's keyword arguments of the security that the properties describe.

        Raises:
            ConnectionDescriptionError: a store is not PEM, a mechanism or user is missing, or there
                is no such protocol.

        """
        protocol = self.properties.get("security.protocol") or "PLAINTEXT"
        if protocol not in _PROTOCOLS:
            text = f"security.protocol is {protocol}: it must be one of {', '.join(_PROTOCOLS)}"
            raise ConnectionDescriptionError(text)
        settings: dict[str, Any] = {"security_protocol": protocol}
        if protocol.endswith("SSL"):
            settings |= self.stores()
            if not self.checks_names:
                settings["ssl_check_hostname"] = False
        if protocol.startswith("SASL_"):
            settings |= self._sasl()
        return settings

    @property
    def checks_names(self) -> bool:
        """Whether a certificate must have the name of the host that shows it."""
        return self.properties.get("ssl.endpoint.identification.algorithm", "https") != ""

    def stores(self) -> dict[str, Any]:
        """Return kafka-python's keyword arguments of the PEM stores, whatever the protocol.

        Raises:
            ConnectionDescriptionError: a store is not PEM.

        """
        settings: dict[str, Any] = {}
        for store, names in _STORES.items():
            path = self.properties.get(f"ssl.{store}.location")
            if path and self.properties.get(f"ssl.{store}.type") != "PEM":
                text = f"ssl.{store}.location {path} is not PEM: set ssl.{store}.type: PEM"
                raise ConnectionDescriptionError(text)
            if path:
                settings |= dict.fromkeys(names, path)
        password = self.properties.get("ssl.key.password")
        return {**settings, **({"ssl_password": password} if password else {})}

    def _sasl(self) -> dict[str, Any]:
        mechanism = self.properties.get("sasl.mechanism", "")
        jaas = self.properties.get("sasl.jaas.config", "")
        words = {name: quoted or bare for name, quoted, bare in _JAAS.findall(jaas)}
        if mechanism not in _MECHANISMS or set(words) != {"username", "password"}:
            text = (
                f"sasl.mechanism is {mechanism or 'not set'}: it must be one of "
                f"{', '.join(_MECHANISMS)}, with username and password in sasl.jaas.config"
            )
            raise ConnectionDescriptionError(text)
        name = _unescaped(words["username"])
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": _saslname(name) if mechanism != "PLAIN" else name,
            "sasl_plain_password": _unescaped(words["password"]),
        }


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _quoted(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)


def _saslname(name: str) -> str:
    """Return a name as SCRAM's messages have it (RFC 5802); kafka-python sends what it is given."""
    return name.replace("=", "=3D").replace(",", "=2C")
