"""Which keys and options are secrets, and which texts these are."""

from __future__ import annotations

import functools
import re

from . import key_table
from .values import property_text, sequence

_NAME = r"(?:password|passwd|passphrase|secret|secret[._]?(?:access[._]?)?key)"
# Of object stores (hadoop-aws, hadoop-azure) too; what follows in Azure's is the account.
_KEY = re.compile(
    rf"{_NAME}$|(?:session|access|auth|authenticate|bearer)[._]?token$"
    r"|\.azure\.(?:account\.key|account\.oauth2\.client\.secret|sas)(?:\.|$)",
    re.IGNORECASE,
)
# Of JAAS, which quotes values, and of Java, which begins them with -D.
_OPTION = re.compile(
    rf"(?:{_NAME}|token|\buser_[^\s=]+)\s*=\s*"
    r"""(?:"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'|(?P<bare>[^\s"';]*))""",
    re.IGNORECASE | re.DOTALL,
)
_WITH_OPTIONS = ("sasl.jaas.config", "JavaOptions")
# Kafka hides these like passwords, although certificates are public.
_CERTIFICATES = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
_ELSEWHERE = "${"  # a config provider of Kafka, a variable of Spark's environment


def of_property(key: str, value: object) -> list[str]:
    """Return the secrets in the value of a property of Kafka, a client of it, ZooKeeper or Spark.

    What the service itself reads elsewhere is none.
    """
    text = property_text(value)
    if text is None or isinstance(value, bool):
        return []
    if key.endswith(_WITH_OPTIONS):
        return of_options(text)
    name = key_table.table_key(key)
    is_secret = bool(_KEY.search(key)) or name in _passwords()
    return [text] if is_secret and name not in _CERTIFICATES and _ELSEWHERE not in text else []


def of_options(given: object) -> list[str]:
    """Return the secrets among options of JAAS or of a JVM, which are a text or a list."""
    text = given if isinstance(given, str) else " ".join(map(str, sequence(given)))
    found = (match[match.lastgroup or 0] for match in _OPTION.finditer(text))
    return [one for one in found if _ELSEWHERE not in one]


@functools.cache
def _passwords() -> frozenset[str]:
    """Return the keys that any recorded version of Kafka takes for passwords."""
    tables = (key_table.load(path.stem) for path in key_table.TABLES.glob("*.json"))
    return frozenset(
        key for table in tables for key, entry in table.items() if entry.get("type") == "password"
    )
