"""List the jars of a packed distribution, and what is shaded into them, as CycloneDX.

    python artifacts/jars.py TARBALL OUT

For a distribution whose jars come in a package of another kind, as Spark's do in PyPI's pyspark:
no pom.xml names them. Maven leaves group, name and version in a jar; of others there is only the
file's name. The licence is that of the jar's manifest or of the pom.xml in it, if they name one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "collections")]  # for a call as a program, without PYTHONPATH

from ansible_collections.millrace.streaming.plugins.plugin_utils.jars import (  # noqa: E402 - sys.path is set before
    bom,
    component,
    parts,
    parts_of,
)

__all__ = ["bom", "component", "parts", "parts_of"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="List the jars of a packed distribution.")
    parser.add_argument("tarball", type=Path, help="packed distribution")
    parser.add_argument("out", type=Path, help="CycloneDX file to write")
    options = parser.parse_args(arguments)
    text = json.dumps(bom(parts(options.tarball)), indent=2)
    options.out.write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
