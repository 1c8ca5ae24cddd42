"""Plugins that an inventory adds to a service: jars of Maven, of a URL or of a file."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from ...module_utils.host.distribution import sha256_of
from .artifacts import HOMES

PROVIDED: Mapping[str, tuple[str, ...]] = {
    "connect": ("org.apache.kafka", "org.slf4j"),
    "kafka": ("org.apache.kafka", "org.slf4j"),
    "spark": ("org.apache.spark", "org.apache.kafka", "org.scala-lang", "org.slf4j"),
}
"""Product -> the groups of Maven that its own distribution has: none of them comes along as a
dependency."""
SUFFIXES = (".jar", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
"""The ends of the names of files that can be read."""
_SHORT = 12
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>millrace.plugins</groupId><artifactId>plugin</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
{coordinates}
    <exclusions>
{exclusions}
    </exclusions>
  </dependency></dependencies>
</project>
"""


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of Maven, in the order of its own `dependency:get`."""

    group: str
    artifact: str
    version: str
    packaging: str = "jar"
    classifier: str = ""

    @classmethod
    def of(cls, text: str) -> Coordinates | None:
        """Return the coordinates of a text, None for any other text."""
        words = text.split(":")
        if 3 <= len(words) <= 5 and all(re.fullmatch(r"[\w.+-]+", word) for word in words):
            return cls(*words)
        return None

    @property
    def is_pinned(self) -> bool:
        """True if they name one version, of which the content does not change."""
        return self.version not in ("LATEST", "RELEASE") and not self.version.endswith("-SNAPSHOT")

    def pom(self, provided: tuple[str, ...]) -> str:
        """Return a project with this one dependency; those of an archive are in the archive."""
        groups = provided if self.packaging == "jar" else ("*",)
        elements = {
            "groupId": self.group,
            "artifactId": self.artifact,
            "version": self.version,
            "type": self.packaging,
            "classifier": self.classifier,
        }
        lines = [f"    <{tag}>{escape(text)}</{tag}>" for tag, text in elements.items() if text]
        exclusions = [
            f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>"
            for group in groups
        ]
        return _POM.format(coordinates="\n".join(lines), exclusions="\n".join(exclusions))


@dataclass(frozen=True)
class Plugin:
    """A plugin of a service as the inventory describes it."""

    product: str
    """The service that loads it."""
    name: str
    cache: str
    """The directory for what is packed on the control node."""
    maven: str = ""
    """`group:artifact:version`, with `:packaging:classifier` where they are not those of a jar."""
    url: str = ""
    file: str = ""
    """A path on the control node."""
    recorded: str = ""
    """The sha256 of its file, or of the list of its jars if they come from Maven; empty before it
    is recorded."""
    exclude: tuple[str, ...] = ()
    """Patterns of the names of jars that are left out."""
    remote_storage: bool = False
    """Whether it is loaded for the remote storage of Kafka alone."""
    variable: str = ""
    """The list of the inventory that has it."""

    @property
    def source(self) -> str:
        """Its coordinates, URL or file."""
        return self.maven or self.url or self.file

    @property
    def where(self) -> str:
        """Its entry in the inventory."""
        return f"{self.variable or variable(self.product)}[{self.name}]"

    @property
    def version(self) -> str:
        """A few digits that differ from one content of it to another."""
        text = "\n".join([self.recorded or self.source, *self.exclude])
        return hashlib.sha256(text.encode()).hexdigest()[:_SHORT]

    @property
    def home(self) -> str:
        """The directory on a host, named by its content."""
        return f"{directory(self.product)}/{self.name}-{self.version}"

    @property
    def jars(self) -> str:
        """Its jars on a host, as an entry of a class path."""
        return f"{self.home}/{self.name}/*"

    @property
    def tarball(self) -> Path:
        """The file that is packed on the control node."""
        name = f"{self.product}-plugin-{self.name}-{self.version}.tar"
        return Path(self.cache) / "artifacts" / name

    @property
    def checksum_file(self) -> Path:
        """The file that records the tarball's sha256."""
        return self.tarball.with_suffix(".tar.sha256")

    @property
    def contents_file(self) -> Path:
        """The file that lists its classes and parts."""
        return self.tarball.with_suffix(".tar.json")

    @property
    def sha256(self) -> str:
        """The sha256 of the tarball, empty before it is packed."""
        try:
            return self.checksum_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return ""

    @property
    def unpacked(self) -> dict[str, str]:
        """An entry of the option `plugins` of the module `service`."""
        return {"home": self.home, "tarball": str(self.tarball), "sha256": self.sha256}


def variable(product: str) -> str:
    """Return the variable with the plugins of a product."""
    return f"{product}_plugins"


def directory(product: str) -> str:
    """Return the directory of a product's plugins on a host."""
    return f"{HOMES}/{product}-plugins"


def of_entries(
    product: str, entries: Iterable[Mapping[str, Any]], cache: str, place: str = ""
) -> list[Plugin]:
    """Return the plugins of a list in the inventory, in their order.

    `place` is that list, by default the product's variable.
    """
    return [
        Plugin(
            product,
            str(entry["name"]),
            cache,
            str(entry.get("maven") or ""),
            str(entry.get("url") or ""),
            str(entry.get("file") or ""),
            str(entry.get("sha256") or "").lower(),
            tuple(str(pattern) for pattern in entry.get("exclude") or ()),
            bool(entry.get("remote_storage")),
            place or variable(product),
        )
        for entry in entries
    ]


@functools.lru_cache(maxsize=64)
def file_sum(path: str, modified: int, size: int) -> str:
    """Return the sha256 of a file, which is read again once it has changed."""
    del modified, size
    return sha256_of(Path(path))
