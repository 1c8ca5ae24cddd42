"""Which variables of the inventory hold secrets."""

from __future__ import annotations

from .registry import ENTRIES, JAVA_PRODUCTS

USERS = "kafka_users"
PASSWORDS = {
    variable: key for entry in ENTRIES.values() for variable, key in entry.passwords.items()
}
"""Variables with a list of entries that may have a password -> the key that names an entry."""
CONFIGS = tuple(name for entry in ENTRIES.values() for name in entry.property_variables)
"""Variables with properties, of which some are secrets."""
OPTIONS = tuple(f"{product}_java_options" for product in JAVA_PRODUCTS)
"""Variables with options of a JVM, of which some may be secrets."""
FILES = ("connect_secrets",)
"""Variables with files of secrets: file -> key -> secret."""
RECEIVERS = ("monitoring_receivers",)
"""Variables with receivers of Alertmanager: lists of mappings of any depth, with secrets in some.

Each kind of secret may also be in a file, which a key with `_file` at its end names."""
TEXTS = ("kafka_ca_key",)
"""Variables that are a secret as a whole."""
LOGINS = tuple(
    f"ansible_{name}"
    for name in (
        "password",
        "ssh_pass",
        "ssh_password",
        "become_password",
        "become_pass",
        "sudo_pass",
        "su_pass",
        "paramiko_pass",
        "paramiko_password",
        "private_key",
        "ssh_private_key",
        "private_key_passphrase",
        "ssh_private_key_passphrase",
    )
)
"""Secrets of Ansible itself, which are for Ansible alone to resolve."""
