"""List the licences of the parts of each distribution, from the CycloneDX files of ./lab sbom.

    python artifacts/licenses.py BOM ...

The result has a line for each licence of a distribution, with its parts; `not stated` is for parts
whose file names none: look into them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOT_STATED = "not stated"


def licenses(component: Mapping[str, Any]) -> str:
    """Return the licences of a component as its file states them, of several each."""
    stated = [
        entry.get("expression") or entry["license"].get("id") or entry["license"].get("name", "")
        for entry in component.get("licenses", [])
    ]
    return ", ".join(sorted({*filter(None, stated)})) or NOT_STATED


def listing(boms: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text for distributions and their CycloneDX documents."""
    lines = []
    for name, bom in sorted(boms.items()):
        components: dict[str, set[str]] = defaultdict(set)
        for component in bom.get("components", []):
            components[licenses(component)].add(
                f"{component['name']} {component.get('version', '')}"
            )
        lines += [
            name,
            *(f"  {key}: {', '.join(sorted(components[key]))}" for key in sorted(components)),
            "",
        ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="List the licences of parts.")
    parser.add_argument("boms", type=Path, nargs="+", metavar="BOM", help="CycloneDX file")
    options = parser.parse_args(arguments)
    sys.stdout.write(
        listing({path.stem: json.loads(path.read_text(encoding="utf-8")) for path in options.boms})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
