"""What was found on a host, beside what the model wants of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    Certificate,
    Inspection,
    is_below,
)

from tests.unit.inspections import answer_with, directory_at, inspection_with
from tests.unit.rules.host_draft import CONTAINER, DATA, DATA2, ROCKY_9, host, mounted


def test_a_modules_answer_is_read_back() -> None:
    changes: dict[str, Any] = {
        "system_python": (3, 9, 2),
        "system_swap": ("/dev/sda2",),
        "network_addresses": {"k1": ["10.0.0.1"]},
        "disks_directories": (directory_at(DATA, names=("a/",), options=("rw",)),),
        "software_programs": ("/usr/bin/prometheus",),
        "kafka_certificates": (Certificate("/k.pem", names=("k1",)),),
        "zookeeper_clients": ("a",),
        "spark_python": (3, 11, 2),
        "operation": {"id": "a"},
        "secrets": {"name": "b"},
    }
    inspected = inspection_with(**changes, clock_offset=1.5)
    assert Inspection.of(answer_with(**changes), 1.5) == inspected


def places(answer: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where each part and each field of an answer is."""
    parts = {field.name for field in fields(Inspection)} - {"operation", "secrets"}
    for name, value in answer.items():
        yield (*before, name)
        if not before and name in parts:
            yield from places(value, (name,))


@pytest.mark.parametrize("place", [*places(answer_with())], ids=".".join)
def test_a_field_that_the_answer_lacks_is_named(place: tuple[str, ...]) -> None:
    answer = answer_with()
    part = answer[place[0]] if len(place) > 1 else answer
    del part[place[-1]]
    with pytest.raises(ValueError, match=rf"preflight lacks {re.escape('.'.join(place))}$"):
        Inspection.of(answer, 0.0)


def test_all_fields_that_a_directory_lacks_are_named() -> None:
    answer = answer_with()
    answer["disks"]["directories"] = [{"path": DATA}]
    with pytest.raises(ValueError, match=r"lacks disks\.directories\.exists, .* and disks\."):
        Inspection.of(answer, 0.0)


def test_facts_of_the_model_are_taken_from_it() -> None:
    size = {"system_cores": 8, "system_memory_mb": 4096}
    disk = directory_at(DATA, size=3 * 2**20)
    facts = inspection_with(
        **size,
        **ROCKY_9,
        system_container="lxc",
        disks_directories=(disk,),
        spark_python=(3, 11, 2),
    ).facts
    assert (facts.cores, facts.memory_mb, facts.container) == (8, 4096, True)
    assert facts.family is not None
    assert (facts.disk_mb, facts.python) == ({DATA: 3}, "3.11")
    assert inspection_with(**ROCKY_9).system.name == "Rocky Linux 9.4"


def test_a_directory_of_two_services_is_one() -> None:
    [node] = host(lambda d: d.variable("kafka_metadata_dir", DATA))
    assert [desired.variable for desired, _ in node.data()] == ["kafka_data_dirs"]
    assert len(node.cluster.directories("k1")) == 2


def test_a_disk_that_is_yet_to_be_mounted_holds_nothing() -> None:
    change = mounted({"path": "/data", "src": "/dev/sdb"})
    [pending] = host(change)
    assert list(pending.on_present_disks()) == []
    [present] = host(change, disks_mount_points=("/", "/data"))
    [without_source] = host(mounted({"path": "/data"}))
    for node in (present, without_source):
        assert [directory.path for _, directory in node.on_present_disks()] == [DATA]


def test_the_kernel_of_a_container_is_its_machines() -> None:
    [machine], [contained] = host(), host(**CONTAINER)
    assert (machine.kernel_is_its_own, contained.kernel_is_its_own) == (True, False)


@pytest.mark.parametrize(
    ("path", "parent", "below"),
    [
        (DATA, "/data", True),
        (DATA, "/data/", True),
        ("/data", "/data", True),
        (DATA2, "/data", False),
        (DATA, "/", True),
    ],
)
def test_paths_below_one(path: str, parent: str, below: bool) -> None:
    assert is_below(path, parent) is below
