"""What a host needs besides its services: Java, kernel settings, mounts and the time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ...module_utils.formats.values import bracketed
from . import systems
from .files import Entry, properties, render, text
from .systems import Family

SYSCTL_FILE = "/etc/sysctl.d/60-millrace.conf"
TMPFILES_FILE = "/etc/tmpfiles.d/millrace.conf"


@dataclass(frozen=True)
class Facts:
    """What was found on a host, as far as the model follows from it."""

    os_release: Mapping[str, str] = field(default_factory=dict)
    """The fields of /etc/os-release."""
    machine: str = "x86_64"
    """As `uname -m` says."""
    cores: int = 2
    memory_mb: int | None = None
    container: bool = False
    """Whether the kernel and the clock are another machine's."""
    disk_mb: Mapping[str, int] = field(default_factory=dict)
    """Directory with data -> size of the file system that it is on, in MiB."""
    python: str = ""
    """The minor version of /usr/bin/python3, such as 3.11, empty where there is none."""

    @property
    def family(self) -> Family | None:
        """The family of the system, None if it is not known."""
        return systems.family_of(self.os_release)

    @property
    def release(self) -> str:
        """The release of the system, as its family names releases."""
        family = self.family
        release = self.os_release.get(family.release_field, "") if family else ""
        return release.partition(".")[0] if release[:1].isdigit() else release


@dataclass(frozen=True)
class Java:
    """The Java that services run on."""

    home: str = "/usr"
    package: str = ""
    """The package that brings it if it is missing."""
    version: int | None = None

    @property
    def binary(self) -> str:
        """The program."""
        return f"{self.home}/bin/java"


@dataclass(frozen=True)
class HostSettings:
    """A host by its own variables and by what was found on it."""

    name: str
    settings: Mapping[str, Any]
    facts: Facts | None = None
    """What was found on it, None before that."""
    monitored: bool = False
    """Whether it has exporters."""

    def address(self, variable: str) -> str:
        """Return where others reach the host: by a variable, else as Ansible does, else by name."""
        return bracketed(str(self.settings[variable] or self.settings["ansible_host"] or self.name))

    def endpoint(self, address: str, port: str) -> str:
        """Return `host:port` of a service there, by the variables of its address and its port."""
        return f"{self.address(address)}:{self.settings[port]}"

    @property
    def memory_mb(self) -> int | None:
        """Memory in MiB, None while it is not known."""
        configured: int = self.settings["host_memory_mb"]
        return configured or (self.facts.memory_mb if self.facts else None) or None

    @property
    def cores(self) -> int:
        """Number of cores, 2 before the host was inspected."""
        return self.facts.cores if self.facts else 2

    @property
    def family(self) -> Family:
        """The family of its system, the default one before the host was inspected."""
        family = self.facts.family if self.facts else None
        return family or systems.families()[systems.DEFAULT]

    @property
    def java(self) -> Java:
        """The Java that runs its services; the system's own before the host was inspected."""
        java_home, package = self.settings["java_home"], self.settings["java_package"]
        # Compared with what the host reports: without a slash at its end.
        home = str(PurePosixPath(java_home)) if java_home else ""
        if self.facts is None:
            return Java(home or Java.home, package)
        version = self.family.java_releases.get(self.facts.release)
        packaged = version or max(self.family.java_releases.values())
        release = self.family.version_of_java(package) or packaged
        return Java(
            home or self.family.home_of_java(release, self.facts.machine),
            package or self.family.package_of_java(packaged),
            version,
        )

    @property
    def java_homes(self) -> list[str]:
        """The homes of the Java that may run its services: several before it was inspected."""
        if self.facts is not None or self.settings["java_home"]:
            return [self.java.home]
        homes = {
            family.home_of_java(release, machine)
            for family in systems.families().values()
            for release in self._releases_of_java(family)
            for machine in family.architectures
        }
        return sorted(homes)

    def _releases_of_java(self, family: Family) -> set[int]:
        """Return the releases of Java that a family's packages may bring."""
        release = family.version_of_java(self.settings["java_package"])
        return {release} if release else {*family.java_releases.values()}

    @property
    def mounts(self) -> list[Mapping[str, Any]]:
        """The entries of host_mounts."""
        return list(self.settings["host_mounts"])

    @property
    def time_service(self) -> Mapping[str, str]:
        """Package and unit that keep the time, nothing where the inventory wants none."""
        name = self.settings["host_time_service"]
        if name is None:
            return self.family.time_service
        return {"package": name, "unit": name} if name else {}

    def files(self) -> dict[str, Entry]:
        """Return the files with kernel settings, and a unit for each mount that has a source."""
        pages = self.settings["host_transparent_huge_pages"]
        entries = {
            SYSCTL_FILE: text(properties(self.settings["host_sysctl"])),
            TMPFILES_FILE: text(f"w /sys/kernel/mm/transparent_hugepage/enabled - - - - {pages}\n"),
        }
        for unit, mount in self.mount_units().items():
            entries[f"/etc/systemd/system/{unit}"] = text(render("mount.j2", mount=mount))
        return entries

    def mount_units(self) -> dict[str, Mapping[str, Any]]:
        """Return unit -> what it mounts, of the mounts that have a source."""
        return {mount_unit(mount["path"]): mount for mount in self.mounts if mount["src"]}


def mount_unit(path: str) -> str:
    """Return the name of the systemd unit that mounts a path, as `systemd-escape --path` does."""
    components = [component for component in path.split("/") if component]
    escaped = "-".join(
        re.sub(r"[^\w:.]", _escape, component, flags=re.ASCII) for component in components
    )
    return (f"\\x2e{escaped[1:]}" if escaped.startswith(".") else escaped) + ".mount"


def _escape(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode())
