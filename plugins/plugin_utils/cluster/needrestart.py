"""What keeps updates of packages from restarting units, at once and ungated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from . import files
from .files import Entry

_DIRECTORY = "/etc/needrestart/conf.d"
_PARENT = str(Path(_DIRECTORY).parent)
LEFTOVERS = (f"{_DIRECTORY}/", f"{_PARENT}/")
"""What teardown removes if it is empty."""


def settings(product: str, units: Iterable[str]) -> dict[str, Entry]:
    """Return the file of a product by which needrestart leaves units alone, given as patterns."""
    patterns = [re.escape(unit).replace(r"\*", ".*") + r"\.service" for unit in units]
    text = files.render("needrestart.conf.j2", patterns=patterns)
    return {
        _PARENT: files.directory(),
        _DIRECTORY: files.directory(),
        f"{_DIRECTORY}/millrace-{product}.conf": files.text(text),
    }
