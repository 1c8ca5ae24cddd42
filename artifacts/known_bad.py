"""Name the parts of distributions and of Millrace itself that known-bad.yml lists.

    python artifacts/known_bad.py [BOM ...]

Without a file it reads what is pinned: the dependencies in each pom.xml, and requirements. With
CycloneDX files, named PRODUCT-VERSION[-KIND].json, it reads all their parts. A product itself may
be bad in a version that is not its default: that is for an inventory to accept (rule
known-bad-version).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "collections")]  # for a call as a program, without PYTHONPATH

from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import PRODUCTS  # noqa: E402 - sys.path is set before
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import known_bad as model  # noqa: E402 - as above

LIST = ROOT / model.LIST
_POM = "{http://maven.apache.org/POM/4.0.0}"
_PIN = re.compile(r"(?m)^([\w.-]+)==([^\s;\\]+)")
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A part in a version."""

    name: str
    """Written as in known-bad.yml, and `:name` of a jar whose group is not known."""
    version: str
    where: str
    """The file that has it."""
    distribution: str = ""
    """As `kafka-4.3.1`."""


def is_bad(part: Part, entry: Entry) -> bool:
    """Return whether an entry means a part; a version without a number is one before all others."""
    accepted = part.distribution in entry.get("accepted", {})
    return not accepted and model.means(entry, part.name, part.version)


def is_for_the_inventory(part: Part) -> bool:
    """Return whether a part is a product in a version that an inventory has to name."""
    product, _, version = part.distribution.partition("-")
    is_product = model.PARTS.get(product) == part.name and part.version == version
    return is_product and version != PRODUCTS[product].default


def problems(parts: Iterable[Part], entries: Iterable[Entry]) -> list[str]:
    """Return a line for each part that is known to be bad."""
    listed = list(entries)
    return [
        f"{part.where}: {part.name} {part.version} ({entry['id']}: {entry['reason']}); "
        + (f"fixed in {entry['below']}" if "below" in entry else "use another part")
        for part in parts
        for entry in listed
        if is_bad(part, entry) and not is_for_the_inventory(part)
    ]


def of_pom(path: Path, where: str) -> Iterator[Part]:
    """Yield the dependencies of a pom.xml."""
    project = ET.parse(path).getroot()  # noqa: S314 - a file of this repository
    values = {
        f"${{{element.tag.removeprefix(_POM)}}}": element.text or ""
        for element in project.iterfind(f"{_POM}properties/*")
    }
    for dependency in project.iterfind(f"{_POM}dependencies/{_POM}dependency"):
        group, name, version = (
            dependency.findtext(f"{_POM}{tag}", "") for tag in ("groupId", "artifactId", "version")
        )
        yield Part(f"{group}:{name}", values.get(version, version), where, distribution(path))


def of_requirements(path: Path, where: str) -> Iterator[Part]:
    """Yield the packages that a requirements file pins."""
    for name, version in _PIN.findall(path.read_text(encoding="utf-8")):
        yield Part(_package(name), version, where, distribution(path))


def of_bom(path: Path) -> Iterator[Part]:
    """Yield the components of a CycloneDX file."""
    made_for = "-".join(path.stem.split("-")[:2])
    for component in json.loads(path.read_text(encoding="utf-8")).get("components", []):
        python = component.get("purl", "").startswith("pkg:pypi/")
        name = (
            _package(component["name"])
            if python
            else f"{component.get('group', '')}:{component['name']}"
        )
        yield Part(name, component.get("version", ""), path.name, made_for)


def pinned(root: Path) -> Iterator[Part]:
    """Yield all that a clone pins."""
    for path in sorted(root.glob("artifacts/*/*/pom.xml")):
        yield from of_pom(path, str(path.relative_to(root)))
    patterns = ("requirements/*.txt", "artifacts/*/*/req*.txt", "spark/*/req*.txt")
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        yield from of_requirements(path, str(path.relative_to(root)))


def distribution(path: Path) -> str:
    """Return the distribution that a file describes, artifacts/kafka/4.3.1/* -> kafka-4.3.1."""
    return f"{path.parent.parent.name}-{path.parent.name}"


def _package(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 1 if a part is known to be bad."""
    parser = argparse.ArgumentParser(description="Name parts that are known to be bad.")
    parser.add_argument("boms", nargs="*", type=Path, metavar="BOM", help="CycloneDX file")
    options = parser.parse_args(arguments)
    parts = list(
        pinned(ROOT) if not options.boms else (part for bom in options.boms for part in of_bom(bom))
    )
    lines = problems(parts, yaml.safe_load(LIST.read_text(encoding="utf-8")))
    for line in lines:
        sys.stdout.write(f"{line}\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
