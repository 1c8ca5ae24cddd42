"""The operator guide's own commands, so that a test runs what a reader types."""

from __future__ import annotations

import re

from tests.support.topology import ROOT

GUIDE = ROOT / "docs/guide.md"


def section(title: str) -> str:
    """Return a section with its subsections."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", GUIDE.read_text(), re.M | re.S)
    assert found, f"{GUIDE.name} has no section {title}"
    return found[1]


def blocks(title: str, language: str) -> list[str]:
    """Return the code blocks of one language in a section."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section(title), flags=re.M | re.S)


def commands(title: str) -> list[str]:
    """Return the shell commands of a section, each on one line."""
    text = "".join(blocks(title, "sh"))
    return [" ".join(line.split()) for line in text.replace("\\\n", " ").splitlines() if line]
