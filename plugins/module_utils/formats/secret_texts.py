"""Which keys and options are secrets, and which texts these are."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from . import key_table
from .values import property_text, sequence

_NAME = r"(?:password|passwd|passphrase|secret|secret[._]?(?:access[._]?)?key)"
# Of object stores (hadoop-aws, hadoop-azure) too; what follows in Azure's is the account.
_KEY = re.compile(
    rf"{_NAME}$|(?:session|access|auth|authenticate|bearer)[._]?token$"
    r"|(?:api|private)[._-]?key$|basic\.auth\.(?:user\.info|credentials)$"
    r"|\.azure\.(?:account\.key|account\.oauth2\.client\.secret|sas)(?:\.|$)",
    re.IGNORECASE,
)
# Of JAAS, which quotes values, and of Java, which begins them with -D.
_OPTION = re.compile(
    rf"(?:{_NAME}|token|\buser_[^\s=]+)\s*=\s*"
    r"""(?:"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'|(?P<bare>[^\s"';]*))""",
    re.IGNORECASE | re.DOTALL,
)
# In an address: of a user, as a parameter, and as Oracle's driver writes it.
_IN_ADDRESS = (
    re.compile(r"//[^/@:\s]*:(?P<text>[^/@\s]+)@"),
    re.compile(rf"[?&;][\w.-]*(?:{_NAME}|token|api_?key)=(?P<text>[^&;\s]+)", re.IGNORECASE),
    re.compile(r"^jdbc:oracle:\w+:[^/@\s]+/(?P<text>[^@\s]+)@"),
)
_WITH_OPTIONS = ("sasl.jaas.config", "JavaOptions")
# Kafka hides these like passwords, although certificates are public.
_CERTIFICATES = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
# Which Alertmanager hides when it shows its configuration.
_OF_RECEIVER = re.compile(
    r"(?:.*\.)?(?:auth_password|auth_secret|password|credentials|bearer_token|bot_token|token"
    r"|user_key|api_key|service_key|secret_key|api_secret|client_secret|webhook_url"
    r"|(?:pagerduty_configs\.)routing_key|(?:slack_configs\.)api_url)"
)
# Of a config provider of Kafka, or of Spark's environment.
_ELSEWHERE = re.compile(r"(?:\$\{[^{}]+\})+")


def of_property(key: str, value: object) -> list[str]:
    """Return the secrets in the value of a property of Kafka, a client of it, ZooKeeper or Spark.

    What the service itself reads elsewhere is none.
    """
    text = property_text(value)
    if text is None or isinstance(value, bool):
        return []
    if key.endswith(_WITH_OPTIONS):
        return of_options(text)
    if not _is_secret(key):
        return of_address(text)
    return [text] if not _ELSEWHERE.fullmatch(text) else []


def _is_secret(key: str) -> bool:
    """Return whether the whole value of a property is a secret.

    Connectors have keys of Kafka's clients with prefixes of their own.
    """
    name = key_table.table_key(key)
    named = any(
        name == password_key or name.endswith(f".{password_key}") for password_key in _passwords()
    )
    return bool(_KEY.search(key) or named) and not name.endswith(_CERTIFICATES)


def of_receivers(value: object, key: str = "") -> list[tuple[str, str]]:
    """Return key and text of each secret in receivers of Alertmanager, with the keys above it.

    These are passwords, tokens, and addresses by which whoever knows them may write.
    """
    if isinstance(value, Mapping):
        entries = [(f"{key}.{name}".lstrip("."), entry) for name, entry in value.items()]
        return [secret for name, entry in entries for secret in of_receivers(entry, name)]
    if isinstance(value, (list, tuple)):
        return [secret for item in value for secret in of_receivers(item, key)]
    if value is None or isinstance(value, bool):
        return []
    if _OF_RECEIVER.fullmatch(key):
        return [(key, str(value))]
    return [(key, text) for text in of_address(str(value))]


def of_address(text: str) -> list[str]:
    """Return the secrets in addresses, such as those of a database or of a registry."""
    texts = (match["text"] for pattern in _IN_ADDRESS for match in pattern.finditer(text))
    return [secret for secret in texts if not _ELSEWHERE.fullmatch(secret)]


def of_options(options: object) -> list[str]:
    """Return the secrets among options of JAAS or of a JVM, which are a text or a list."""
    text = options if isinstance(options, str) else " ".join(map(str, sequence(options)))
    texts = (match[match.lastgroup or 0] for match in _OPTION.finditer(text))
    return [secret for secret in texts if not _ELSEWHERE.fullmatch(secret)]


@functools.cache
def _passwords() -> frozenset[str]:
    """Return the keys that any recorded version of Kafka takes for passwords."""
    tables = (key_table.load(path.stem) for path in key_table.TABLES.glob("*.json"))
    return frozenset(
        key for table in tables for key, entry in table.items() if entry.get("type") == "password"
    )
