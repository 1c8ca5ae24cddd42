"""A product's distribution: where it is on the control node and on a host, and its tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import COLLECTION

RECIPES = COLLECTION / "artifacts"
HOMES = "/opt/millrace"
KEPT_HOMES = 3
"""Homes of a service that stay on a host: the current one, and two to go back to."""


@dataclass(frozen=True)
class Distribution:
    """A product in one version.

    The rules refuse a version without a recipe; nothing here fails on it.
    """

    product: str
    version: str
    cache: str
    archive: Mapping[str, Any]
    """It has url and sha512 where it is an official archive."""

    @property
    def home(self) -> str:
        """The directory on a host, named by the version and what it was made from."""
        return f"{HOMES}/{self.product}-{self.version}-{self._sum[:12]}"

    @property
    def link(self) -> str:
        """The link on a host to the home in use."""
        return f"{HOMES}/{self.product}"

    @property
    def tarball(self) -> Path:
        """The packed distribution on the control node."""
        return Path(self.cache) / "artifacts" / f"{Path(self.home).name}.tar"

    @property
    def unpacked(self) -> dict[str, dict[str, str]]:
        """The options of the module `service` that unpack it."""
        distribution = {"home": self.home, "tarball": str(self.tarball), "sha256": self.sha256}
        return {"distribution": distribution}

    @property
    def checksum_file(self) -> Path:
        """The file that records the tarball's sha256.

        Of an archive it is known once it was packed; the archive's own sum was checked before.
        """
        if self.archive:
            return self.tarball.with_suffix(".tar.sha256")
        return self._recipe / "SHA256"

    @property
    def sha256(self) -> str:
        """The recorded sha256 of the tarball, empty where none is recorded yet."""
        return _read(self.checksum_file).strip()

    @property
    def tools(self) -> list[str]:
        """The names of the command-line tools, as the product's documentation writes them."""
        return [line.split()[0] for line in _read(self._recipe / "tools").splitlines() if line]

    @property
    def _recipe(self) -> Path:
        return RECIPES / self.product / self.version

    @property
    def _sum(self) -> str:
        if self.archive:
            return str(self.archive.get("sha512") or "unknown").lower()
        return _read(self._recipe / "SHA256").strip() or "unknown"


def cache_directory(configured: object) -> str:
    """Return where artifacts are kept on the control node: as configured, or by the environment."""
    if configured:
        return str(Path(str(configured)).expanduser())
    return os.environ.get("MILLRACE_CACHE") or str(Path.home() / ".cache" / "millrace")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
