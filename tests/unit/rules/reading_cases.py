"""Wrong inventories and legal variations: what Ansible reads of files, and what it does not."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Draft, Legal

FILES: list[tuple[str, str, str, str, str]] = [
    ("inventory-structure", "below", "kafka_brokers", "all", "children"),
    ("inventory-level", "member", "vars", "hosts", ""),
    ("variables-level", "deep", "vars", "variables", ""),
    ("two-values", "two values", "ansible_host of k1", "3", "10.0.0.2"),
    ("vault-tag", "vault text", "kafka_ca_key", "!vault |", ""),
    ("file-encoding", "bytes", "hosts.ini", "line 3", ""),
    ("inventory-unread", "unread", "ini", "expected key=value", "Write name=value."),
    ("group-cycle", "cycle", "east", "west", ""),
    ("variables-folder", "folder", "group_var", "group_vars", ""),
    ("file-ending", "ending", "kafka.ymal", "kafka.yml", ""),
    ("secrets-directory", "secrets", "kafka_secrets_dir", "it is part of the inventory", ""),
    ("file-link", "link", "kafka.yml", "../common/kafka.yml", ""),
    ("file-of-nobody", "nobody", "dc_west", "group", ""),
]


def lab(draft: Draft, address: str | None = "192.0.2.1") -> Draft:
    """Give a host a setting of the lab, and its address."""
    draft.other("lab_image")
    return draft.connection("ansible_host", address, on=("k1",)) if address else draft


REFUSED: list[Case] = [
    *(
        (
            rule,
            kind,
            lambda d, kind=kind, name=name, text=text, value=value: d.file(kind, name, text, value),
            (text, value) if kind == "unread" else (name.partition(" ")[0], text),
        )
        for rule, kind, name, text, value in FILES
        if kind not in ("deep", "two values", "bytes")
    ),
    ("variables-level", "deep", lambda d: d.file("deep", "vars", "variables"), ("vars",)),
    (
        "two-values",
        "addresses",
        lambda d: d.file("two values", "ansible_host of k1", "3", "10.0.0.2"),
        ("ansible_host of k1", "3"),
    ),
    ("file-encoding", "bytes", lambda d: d.file("bytes", "hosts.ini", "line 3"), ("line 3",)),
    (
        "inventory-unread",
        "a vault",
        lambda d: d.file("unread", "yaml", "no vault secrets found", "Correct it."),
        ("--vault-password-file",),
    ),
    (
        "secrets-sealed",
        "no password",
        lambda d: d.file("sealed", "kafka_secrets_dir", "Ansible has no password", "Give it"),
        ("Ansible has no password", "Give it"),
    ),
    (
        "secrets-directory",
        "a vault",
        lambda d: d.file("secrets", "kafka_secrets_dir", "It is encrypted", "Decrypt it"),
        ("It is encrypted", "Decrypt it"),
    ),
    (
        "similar-variable",
        "a slip",
        lambda d: d.other("kakfa_heap"),
        ("kakfa_heap", "kafka_heap"),
    ),
    (
        "similar-variable",
        "a slip before another name",
        lambda d: d.other("sprak_kafka_client_config"),
        ("sprak_kafka_client_config", "spark_kafka_client_config"),
    ),
    (
        "become-value",
        "a slip",
        lambda d: d.connection("ansible_become", "ture"),
        ("ture", "ansible_become"),
    ),
    (
        "lab-settings",
        "an image",
        lambda d: lab(d).variable("kafka_heap", "1g"),
        ("lab_image",),
    ),
]

LEGAL: list[Legal] = [
    *((rule, "none", lambda d: d) for rule, *_ in FILES),
    *(
        ("similar-variable", name, lambda d, name=name: d.other(name))
        for name in (
            "heap",
            "my_kafka_heap",
            "backup_dir",
            "ansible_kafka_heap",
            "dev_monitoring_receivers",
            "old_schema_registry_subjects",
            "our_connect_connectors",
            "vault_schema_registry_java_options",
            "x_kafka_config",
        )
    ),
    *(
        ("become-value", str(value), lambda d, value=value: d.connection("ansible_become", value))
        for value in (True, "yes", "1", 1)
    ),
    ("lab-settings", "in a lab", lambda d: lab(d, None)),
    (
        "secrets-sealed",
        "a password",
        lambda d: d.variable("kafka_secrets_store", "vault").variable(
            "kafka_secrets_vault_id", "prod"
        ),
    ),
]
