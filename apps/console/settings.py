"""What the console is configured with: one JSON file, which only its account can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any


class SettingsError(Exception):
    """The file cannot be used; the text says why."""


@dataclass(frozen=True)
class Settings:
    """The settings; every key of the file is one of these."""

    name: str
    page: str
    """The file of the page."""
    certificate: str
    kafka: Mapping[str, Any] = field(repr=False)
    """Has `bootstrap`, `client_config`, `library` (kafka-python), `mechanism` (empty: users of
    Kafka cannot sign in), `expect_brokers` and `expect_voters`."""
    address: str = "127.0.0.1"
    port: int = 9443
    hosts: tuple[Mapping[str, Any], ...] = ()
    """The hosts of the inventory as the page shows them."""
    registry: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Has `instances`, and `login` and `authority` where they are asked for."""
    prometheus: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Has `address`, and `login` and `authority` where they are asked for."""
    views: str = "[]"
    """The file of the views whose data Prometheus has."""
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Name -> hash of the password (`console.passwords`), of users that Kafka does not have."""
    viewers: tuple[str, ...] = ()
    """The users of Kafka who may sign in."""
    refresh_seconds: float = 15
    session_seconds: float = 8 * 3600
    idle_seconds: float = 1800
    most_records: int = 100
    most_bytes: int = 1_000_000


def read(path: Path) -> Settings:
    """Read the file.

    Raises:
        SettingsError: it cannot be read, or a key is unknown or missing.

    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        text = f"the settings in {path} cannot be read: {error}"
        raise SettingsError(text) from error
    keys = {setting.name for setting in fields(Settings)}
    if not isinstance(values, dict) or {*values} - keys:
        text = f"{path} has unknown keys: {sorted({*values} - keys)}"
        raise SettingsError(text)
    for name in ("hosts", "viewers"):
        values[name] = tuple(values.get(name, ()))
    try:
        settings = Settings(**values)
    except TypeError as error:
        text = f"{path} lacks a key: {error}"
        raise SettingsError(text) from error
    named = {"page": settings.page, **({"views": values["views"]} if "views" in values else {})}
    try:
        texts = {name: Path(file).read_text(encoding="utf-8") for name, file in named.items()}
    except OSError as error:
        text = f"the page or its views cannot be read: {error}"
        raise SettingsError(text) from error
    return replace(settings, page=texts["page"], views=texts.get("views", settings.views))
