"""List the jars of a packed distribution, and what is shaded into them, as CycloneDX.

    python artifacts/jars.py TARBALL OUT

For a distribution whose jars come in a package of another kind, as Spark's do in PyPI's pyspark:
no pom.xml names them. Maven leaves group, name and version in a jar; of others there is only the
file's name.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(?P<name>.+)-(?P<version>\d+\.[\w.+-]*)\.jar")
Part = tuple[str, str, str]


def parts_of(name: str, jar: zipfile.ZipFile) -> Iterator[Part]:
    """Yield group, name and version of a jar and of what is in it; the group may be empty."""
    names = []
    for path in jar.namelist():
        if re.fullmatch(r"META-INF/maven/[^/]+/[^/]+/pom\.properties", path):
            text = jar.read(path).decode(errors="replace")
            properties = dict(re.findall(r"(?m)^(groupId|artifactId|version)=(.*?)\s*$", text))
            if len(properties) == 3:
                yield properties["groupId"], properties["artifactId"], properties["version"]
                names.append(properties["artifactId"])
    written = _NAME.fullmatch(name)
    if written and written["name"] not in names:
        yield "", written["name"], written["version"]


def parts(tarball: Path) -> list[Part]:
    """Return the parts in all jars of a tar file, each once."""
    distinct: set[Part] = set()
    with tarfile.open(tarball) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith(".jar") else None
            if stream:
                with zipfile.ZipFile(io.BytesIO(stream.read())) as jar:
                    distinct.update(parts_of(Path(member.name).name, jar))
    return sorted(distinct)


def component(group: str, name: str, version: str) -> dict[str, str]:
    """Return a part as a component of CycloneDX."""
    purl = f"pkg:maven/{group}/{name}@{version}" if group else f"pkg:generic/{name}@{version}"
    return {
        "type": "library",
        **({"group": group} if group else {}),
        "name": name,
        "version": version,
        "purl": purl,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="List the jars of a packed distribution.")
    parser.add_argument("tarball", type=Path, help="packed distribution")
    parser.add_argument("out", type=Path, help="CycloneDX file to write")
    options = parser.parse_args(arguments)
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": [component(*part) for part in parts(options.tarball)],
    }
    options.out.write_text(f"{json.dumps(bom, indent=2)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
