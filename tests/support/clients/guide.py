"""The commands of the documents, so that a test runs what a reader types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from tests.support.lab.topology import ROOT

GUIDE = ROOT / "docs/operate/guide.md"
OPERATIONS = ROOT / "docs/operate/operations.md"
SPARK = ROOT / "docs/develop/spark.md"
JOBS = ROOT / "docs/develop/jobs.md"
STREAMING_SQL = ROOT / "docs/develop/streaming-sql.md"
CLIENTS = ROOT / "docs/develop/clients.md"
IMAGES = ROOT / "docs/develop/images.md"
KAFKA_CLUSTER = ROOT / "docs/deploy/kafka.md"
EXISTING_MONITORING = ROOT / "docs/deploy/existing_monitoring.md"
PIPELINE = ROOT / "docs/deploy/pipeline.md"
SHARED_STATE = ROOT / "docs/deploy/shared_state.md"
SITE_CA = ROOT / "docs/deploy/site_ca.md"
REPOSITORY = ROOT / "docs/deploy/repository.md"
CLOSED_NETWORK = ROOT / "docs/deploy/closed_network.md"
ALERTS = ROOT / "docs/operate/alerts.md"
CONTROL_NODE = ROOT / "docs/operate/control_node.md"
DISK = ROOT / "docs/operate/disk.md"
TEAMS = ROOT / "docs/operate/teams.md"
RESOURCES = ROOT / "docs/operate/resources.md"
FIRST_TOPIC = ROOT / "docs/develop/first_topic.md"
SUPPORT = ROOT / "docs/operate/support.md"
UNREACHABLE = ROOT / "docs/operate/unreachable.md"


def section(title: str, document: Path = GUIDE) -> str:
    """Return a section with its subsections."""
    match = re.search(
        rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", document.read_text(), re.M | re.S
    )
    assert match, f"{document.name} has no section {title}"
    return match[1]


def blocks(title: str, language: str, document: Path = GUIDE) -> list[str]:
    """Return the code blocks of one language in a section."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section(title, document), flags=re.M | re.S)


def commands(title: str, document: Path = GUIDE) -> list[str]:
    """Return the shell commands of a section, each on one line."""
    return _lines(blocks(title, "sh", document))


def page_commands(document: Path) -> list[str]:
    """Return the shell commands of a page, each on one line."""
    return _lines(re.findall(r"^```sh\n(.*?)^```$", document.read_text(), flags=re.M | re.S))


def _lines(texts: list[str]) -> list[str]:
    joined = "".join(texts).replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines() if line]


def rows(title: str, document: Path) -> list[list[str]]:
    """Return the cells of a section's tables without their headings."""
    lines = re.findall(r"^\|(.*)\|$", section(title, document), flags=re.M)
    return [[cell.strip() for cell in line.split("|")] for line in lines if "---" not in line][1:]


def extra_variables(words: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each `-e` of a command."""
    for option, value in pairwise(words):
        if option == "-e" and value.startswith("{"):
            yield from yaml.safe_load(value).items()
        elif option == "-e":
            name, _, setting = value.partition("=")
            yield name, setting
