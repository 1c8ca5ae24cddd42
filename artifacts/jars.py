"""List the jars of a packed distribution, and what is shaded into them, as CycloneDX.

    python artifacts/jars.py TARBALL OUT

For a distribution whose jars come in a package of another kind, as Spark's do in PyPI's pyspark:
no pom.xml names them. Maven leaves group, name and version in a jar; of others there is only the
file's name. The licence is that of the jar's manifest or of the pom.xml in it, if they name one.
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
from typing import Any

_LICENSE = re.compile(r"<licenses>\s*<license>.*?<name>\s*([^<]*?)\s*</name>", re.DOTALL)
_NAME = re.compile(r"(?P<name>.+)-(?P<version>\d+\.[\w.+-]*)\.jar")
Part = tuple[str, str, str, str]
"""Group, name, version and licence."""


def parts_of(name: str, jar: zipfile.ZipFile) -> Iterator[Part]:
    """Yield a jar and what is in it; group and licence may be empty."""
    names = []
    declared = bundle_license(jar)
    for path in jar.namelist():
        if re.fullmatch(r"META-INF/maven/[^/]+/[^/]+/pom\.properties", path):
            text = jar.read(path).decode(errors="replace")
            properties = dict(re.findall(r"(?m)^(groupId|artifactId|version)=(.*?)\s*$", text))
            if len(properties) == 3:
                pom = path.removesuffix("properties") + "xml"
                stated = _LICENSE.search(read(jar, pom))
                part = (properties["groupId"], properties["artifactId"], properties["version"])
                yield (*part, stated[1] if stated else declared)
                names.append(properties["artifactId"])
    written = _NAME.fullmatch(name)
    if written and written["name"] not in names:
        yield "", written["name"], written["version"], declared


def bundle_license(jar: zipfile.ZipFile) -> str:
    """Return what the manifest of a jar names as its licence; empty if it names none."""
    manifest = re.sub(r"\r?\n ", "", read(jar, "META-INF/MANIFEST.MF"))
    stated = re.search(r"(?m)^Bundle-License:\s*([^;\r\n]*)", manifest)
    return stated[1].strip().strip('"') if stated else ""


def read(jar: zipfile.ZipFile, path: str) -> str:
    """Return the text of a file in a jar; empty if there is none."""
    return jar.read(path).decode(errors="replace") if path in jar.namelist() else ""


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


def component(group: str, name: str, version: str, license_name: str) -> dict[str, Any]:
    """Return a part as a component of CycloneDX."""
    purl = f"pkg:maven/{group}/{name}@{version}" if group else f"pkg:generic/{name}@{version}"
    return {
        "type": "library",
        **({"group": group} if group else {}),
        "name": name,
        "version": version,
        "purl": purl,
        **({"licenses": [{"license": {"name": license_name}}]} if license_name else {}),
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
