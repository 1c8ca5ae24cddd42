"""Which variables, keys and options of the inventory hold secrets, and which texts these are."""

from __future__ import annotations

import functools
import re

from . import kafka, key_table, spark, zookeeper
from .values import property_text, sequence

USERS = "kafka_users"
CONFIGS = (
    *(*kafka.LAYERS, *zookeeper.LAYERS, *spark.LAYERS),
    *("kafka_client_config", "kafka_local_client_config", "spark_kafka_client_config"),
)
"""Variables with properties, of which some are secrets."""
OPTIONS = tuple(f"{product}_java_options" for product in ("kafka", "zookeeper", "spark"))
"""Variables with options of a JVM, of which some may be secrets."""
TEXTS = ("kafka_ca_key",)
"""Variables that are a secret as a whole."""
LOGINS = tuple(
    f"ansible_{name}"
    for name in (
        *("password", "ssh_pass", "ssh_password", "become_password", "become_pass", "sudo_pass"),
        *("su_pass", "paramiko_pass", "paramiko_password", "private_key", "ssh_private_key"),
        *("private_key_passphrase", "ssh_private_key_passphrase"),
    )
)
"""Secrets of Ansible itself, which are for Ansible alone to resolve."""
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
