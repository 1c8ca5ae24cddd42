"""The alerts of the role monitoring, as data."""

from __future__ import annotations

from typing import Any

from tests.support.lab.topology import ROOT
from tests.unit.tree import load

FOLDER = ROOT / "roles/monitoring/files/alerts"
FILES = sorted(path.stem for path in FOLDER.glob("*.yml"))


def alerts(file: str) -> dict[str, dict[str, Any]]:
    """Name -> rule."""
    groups = load(FOLDER / f"{file}.yml")["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


ALERTS = {name: rule for file in FILES for name, rule in alerts(file).items()}
