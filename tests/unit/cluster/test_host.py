"""What a host needs by its own variables and by what was found on it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import systems
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import (
    SYSCTL_FILE,
    TMPFILES_FILE,
    Facts,
    HostSettings,
    mount_unit,
)

from tests.unit.cluster.small import DEBIAN_12, ROCKY_9, cluster

UBUNTU = {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_CODENAME": "noble"}
DERIVED = {"ID": "derived", "ID_LIKE": "ubuntu debian", "VERSION_CODENAME": "noble"}
FEDORA_LIKE = {"ID": "other", "ID_LIKE": "rhel fedora", "VERSION_ID": "10.1"}
UNKNOWN = {"ID": "plan9"}


def host(facts: Facts | None = None, **variables: Any) -> HostSettings:
    deployment = cluster({"zookeeper": ["z1"]}, facts={"z1": facts} if facts else None, **variables)
    return deployment.hosts["z1"]


# Mounts


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/data", "data.mount"),
        ("/srv/kafka_1/", "srv-kafka_1.mount"),
        ("/data-1/x y", "data\\x2d1-x\\x20y.mount"),
        ("/.hidden", "\\x2ehidden.mount"),
        ("/é", "\\xc3\\xa9.mount"),
    ],
)
def test_a_mount_unit_has_systemds_name(path: str, unit: str) -> None:
    assert mount_unit(path) == unit


def test_mounts_with_a_source_become_units() -> None:
    mounts = [
        {"path": "/data", "src": "UUID=1%2", "fstype": "xfs", "opts": "noatime,nodiratime"},
        {"path": "/data2", "src": "/dev/sdb"},
        {"path": "/others"},
    ]
    settings = host(host_mounts=mounts)
    assert list(settings.mount_units()) == ["data.mount", "data2.mount"]
    units = {path: entry for path, entry in settings.files().items() if path.endswith(".mount")}
    assert list(units) == [f"/etc/systemd/system/{name}" for name in settings.mount_units()]
    first, second = (entry["content"] for entry in units.values())
    assert "What=UUID=1%%2\nWhere=/data\nType=xfs\nOptions=noatime,nodiratime\n" in first
    assert "What=/dev/sdb\nWhere=/data2\nOptions=noatime\n" in second
    assert "WantedBy=local-fs.target" in second


def test_kernel_settings_are_the_inventorys() -> None:
    files = host(host_sysctl={"vm.swappiness": 7}, host_transparent_huge_pages="never").files()
    assert parse_properties(files[SYSCTL_FILE]["content"]) == {"vm.swappiness": "7"}
    assert files[TMPFILES_FILE]["content"].split()[-1] == "never"


# The system


@pytest.mark.parametrize(
    ("release", "family"),
    [
        (DEBIAN_12, "debian"),
        (UBUNTU, "debian"),
        (DERIVED, "debian"),
        (ROCKY_9, "redhat"),
        (FEDORA_LIKE, "redhat"),
        (UNKNOWN, None),
        ({}, None),
    ],
)
def test_a_system_belongs_to_a_family(release: dict[str, str], family: str | None) -> None:
    assert systems.family_of(release) == (systems.families()[family] if family else None)


def test_an_unknown_system_is_treated_as_the_default_one() -> None:
    assert host().family.name == host(Facts(UNKNOWN)).family.name
    assert host(Facts(UNKNOWN)).java.version is None, "a rule refuses it"


@pytest.mark.parametrize(
    ("release", "machine", "version", "package", "home"),
    [
        (
            DEBIAN_12,
            "x86_64",
            17,
            "openjdk-17-jre-headless",
            "/usr/lib/jvm/java-17-openjdk-amd64",
        ),
        (UBUNTU, "aarch64", 21, "openjdk-21-jre-headless", "/usr/lib/jvm/java-21-openjdk-arm64"),
        (ROCKY_9, "x86_64", 17, "java-17-openjdk-headless", "/usr/lib/jvm/jre-17-openjdk"),
        (FEDORA_LIKE, "aarch64", 21, "java-21-openjdk-headless", "/usr/lib/jvm/jre-21-openjdk"),
    ],
)
def test_java_is_the_systems_own(
    release: dict[str, str], machine: str, version: int, package: str, home: str
) -> None:
    java = host(Facts(release, machine)).java
    assert (java.version, java.package, java.home) == (version, package, home)
    assert java.binary == f"{home}/bin/java"


def test_another_java_is_the_inventorys() -> None:
    configured = {"java_home": "/opt/java", "java_package": "temurin-21-jre"}
    for facts in (None, Facts(DEBIAN_12)):
        java = host(facts, **configured).java
        assert (java.home, java.package) == ("/opt/java", "temurin-21-jre")


@pytest.mark.parametrize(
    ("release", "package", "home"),
    [
        (DEBIAN_12, "openjdk-21-jre-headless", "/usr/lib/jvm/java-21-openjdk-amd64"),
        (DEBIAN_12, "openjdk-25-jdk", "/usr/lib/jvm/java-25-openjdk-amd64"),
        (ROCKY_9, "java-21-openjdk", "/usr/lib/jvm/jre-21-openjdk"),
    ],
)
def test_another_package_of_the_system_has_a_home_of_its_own(
    release: dict[str, str], package: str, home: str
) -> None:
    java = host(Facts(release, "x86_64"), java_package=package).java
    assert (java.package, java.home) == (package, home)


@pytest.mark.parametrize("configured", ["/opt/java/", "/opt//java"])
def test_slashes_in_java_home_do_not_matter(configured: str) -> None:
    java = host(Facts(DEBIAN_12), java_home=configured).java
    assert (java.home, java.binary) == ("/opt/java", "/opt/java/bin/java")


def test_before_the_host_was_inspected_java_is_the_one_on_the_path() -> None:
    assert host().java.binary == "/usr/bin/java"


@pytest.mark.parametrize(
    ("release", "configured", "expected"),
    [
        (DEBIAN_12, None, {"package": "systemd-timesyncd", "unit": "systemd-timesyncd"}),
        (ROCKY_9, None, {"package": "chrony", "unit": "chronyd"}),
        (ROCKY_9, "ntpsec", {"package": "ntpsec", "unit": "ntpsec"}),
        (ROCKY_9, "", {}),
    ],
)
def test_the_time_service_is_the_systems_unless_the_inventory_names_one(
    release: dict[str, str], configured: str | None, expected: dict[str, Any]
) -> None:
    variables = {} if configured is None else {"host_time_service": configured}
    assert host(Facts(release), **variables).time_service == expected


@pytest.mark.parametrize(
    ("configured", "measured", "expected"), [(0, None, None), (0, 4096, 4096), (2048, 4096, 2048)]
)
def test_memory_is_as_given_or_as_found(
    configured: int, measured: int | None, expected: int | None
) -> None:
    assert host(Facts(memory_mb=measured), host_memory_mb=configured).memory_mb == expected


def test_every_family_is_complete() -> None:
    for name, family in systems.families().items():
        assert family.java_releases, name
        assert {"x86_64", "aarch64"} <= set(family.architectures), name
        for version in family.java_releases.values():
            assert str(version) in family.package_of_java(version)
            assert str(version) in family.home_of_java(version, "x86_64")
