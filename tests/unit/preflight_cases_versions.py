"""Cases of the preflight about the version that ran on a host's data, and the wanted one."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.preflight import Host

from tests.unit.preflight_cases import KAFKA, Case, host


def upgraded(
    installed: str, wanted: str, meta_text: str | None = "version=1", allow: str = "none"
) -> Host:
    """A host on which one release is installed and another one wanted."""
    kafka = {**KAFKA, "version": wanted}
    return host(
        kafka=kafka,
        installed={"kafka": installed},
        exists=True,
        meta=meta_text,
        allow_version_change=allow,
    )


INSTALLED = "kafka-4.2.1-0123456789ab"

VERSION_CASES = [
    Case(
        "version-goes-back",
        "Kafka 4.3.1 ran on this host's data; the inventory says 4.2.1. Set kafka_version: 4.3.1, "
        "or run playbooks/rollback.yml: it goes back where no more than metadata.version 4.2-IV1",
        upgraded("kafka-4.3.1-0123456789ab", "4.2.1"),
        upgraded("kafka-4.2.1-0123456789ab", "4.3.1"),
    ),
    Case(
        "version-goes-back",
        "Kafka 4.10.0 ran on this host's data; the inventory says 4.3.1.",
        upgraded("kafka-4.10.0-0123456789ab", "4.3.1"),
        upgraded("kafka-4.3.2-0123456789ab", "4.3.1"),
    ),
    Case(
        "version-goes-back",
        "Kafka 4.3.1 ran on this host's data; the inventory says 3.9.2.",
        upgraded("kafka-4.3.1-0123456789ab", "3.9.2"),
        upgraded("kafka-4.3.1-0123456789ab", "3.9.2", None),
    ),
    Case(
        "version-goes-back",
        "Kafka 4.3.1 ran on this host's data; the inventory says 4.1.2.",
        upgraded("kafka-4.3.1-0123456789ab", "4.1.2"),
        upgraded("", "4.1.2"),
    ),
    Case(
        "version-goes-back",
        "Kafka 4.2.1 ran on this host's data; the inventory says 4.1.2.",
        upgraded(INSTALLED, "4.1.2", allow="up"),
        upgraded(INSTALLED, "4.1.2", allow="down"),
    ),
    Case(
        "version-changes",
        "Kafka 4.2.1 is installed on this host's data; the inventory says 4.3.1. "
        "Run playbooks/rolling_upgrade.yml, or set kafka_version: 4.2.1.",
        upgraded(INSTALLED, "4.3.1"),
        upgraded(INSTALLED, "4.3.1", None),
    ),
    Case(
        "version-changes",
        "the inventory says 4.3.1.",
        upgraded(INSTALLED, "4.3.1", allow="down"),
        upgraded(INSTALLED, "4.3.1", allow="up"),
    ),
    Case(
        "version-changes",
        "the inventory says 4.2.2.",
        upgraded(INSTALLED, "4.2.2"),
        upgraded(INSTALLED, "4.2.1"),
    ),
    Case(
        "version-changes",
        "Run playbooks/rollback.yml, or set kafka_version: 4.2.1.",
        upgraded(INSTALLED, "4.2.0", allow="up"),
        upgraded(INSTALLED, "4.2.0", allow="any"),
    ),
    Case(
        "version-changes",
        "the inventory says 4.10.0.",
        upgraded("kafka-4.9.1-0123456789ab", "4.10.0"),
        upgraded("", "4.10.0"),
    ),
]
