"""The families of Linux distributions: package names, paths and services, one file of data each."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files import parse_yaml

DEFAULT = "debian"


@dataclass(frozen=True)
class Family:
    """A family of distributions, by their `ids`; the tests run on those that are `tested`.

    `release_field` is the field of /etc/os-release that names a release, `java_releases` release ->
    feature release of its own OpenJDK. `java_package` and `java_home` are patterns, `java_packages`
    a regular expression of the packages that put Java there. `monitoring` is program -> its
    package, its path, and the unit by which the package would run it.
    """

    name: str
    ids: tuple[str, ...]
    tested: tuple[str, ...]
    advice: str
    package_manager: str
    time_service: Mapping[str, str]
    release_field: str
    java_releases: Mapping[str, int]
    java_package: str
    java_packages: str
    java_home: str
    architectures: Mapping[str, str]
    monitoring: Mapping[str, Mapping[str, str]]
    selinux: Mapping[str, Any] = field(default_factory=dict)

    def package_of_java(self, version: int) -> str:
        """Return the package that brings this feature release of Java."""
        return self.java_package.format(version=version)

    def version_of_java(self, package: str) -> int | None:
        """Return the feature release that a package brings, None if it is not of the family."""
        match = re.fullmatch(self.java_packages, package)
        return int(match[1]) if match else None

    def home_of_java(self, version: int, machine: str) -> str:
        """Return where that package puts Java; `machine` as `uname -m` names it."""
        architecture = self.architectures.get(machine, machine)
        return self.java_home.format(version=version, architecture=architecture)


@functools.cache
def families() -> Mapping[str, Family]:
    """Return file name -> family."""
    files = sorted(Path(__file__).parent.glob("*.yml"))
    return {path.stem: Family(**parse_yaml(path.read_text("utf-8"))) for path in files}


def family_of(os_release: Mapping[str, str]) -> Family | None:
    """Return the family of a system by its /etc/os-release, None for one that is not known."""
    names = [os_release.get("ID", ""), *os_release.get("ID_LIKE", "").split()]
    for name in names:
        for family in families().values():
            if name in family.ids:
                return family
    return None
