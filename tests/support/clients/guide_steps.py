"""The steps that the guide shows to users of Kafka's tools, and how a version writes them."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import (
    release_numbers,
)

from tests.support.clients import guide

SECTION = "Clients"
# Each step and the words that only its command has.
STEPS = {
    "create": ("kafka-topics.sh", "--create"),
    "produce": ("kafka-console-producer.sh",),
    "consume": ("kafka-console-consumer.sh",),
    "show": ("--reset-offsets", "--dry-run"),
    "earliest": ("--to-earliest", "--execute"),
    "latest": ("--to-latest", "--execute"),
    "shift": ("--shift-by -1", "--execute"),
    "datetime": ("--to-datetime", "--execute"),
}
# What the guide's example names, for a test to put its own in place.
TOPIC, GROUP, TIME, BOOTSTRAP = "orders", "billing", "2026-01-31T12:00:00.000", "k1:9092,k2:9092"


def steps() -> dict[str, list[str]]:
    """Return step -> the guide's commands for it; there should be one each."""
    return {
        step: [line for line in guide.commands(SECTION) if all(word in line for word in words)]
        for step, words in STEPS.items()
    }


def as_of(version: str, command: str) -> str:
    """Return a command as a version's tools take it: before 4.2 (KIP-1147) two options differ."""
    if release_numbers(version) >= (4, 2):
        return command
    for tool in ("producer", "consumer"):
        if f"kafka-console-{tool}.sh" in command:
            return command.replace("--command-config", f"--{tool}.config")
    return command
