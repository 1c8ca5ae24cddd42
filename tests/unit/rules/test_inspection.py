"""What was found on a host, beside what the model wants of it."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    Certificate,
    Directory,
    Inspection,
    is_below,
)

from tests.unit.rules.host_draft import CONTAINER, DATA, DATA2, ROCKY_9, host, mounted


def test_a_modules_answer_is_read_back() -> None:
    inspection = Inspection(
        python=(3, 9, 2),
        swap=("/dev/sda2",),
        directories=(Directory(DATA, names=("a/",), options=("rw",)),),
        certificates=(Certificate("/k.pem", names=("k1",)),),
    )
    result = {name: value for name, value in asdict(inspection).items() if name != "clock_offset"}
    assert Inspection.of({**result, "python": [3, 9, 2]}, 1.5) == Inspection(
        **{**vars(inspection), "clock_offset": 1.5}
    )


def test_facts_of_the_model_are_taken_from_it() -> None:
    facts = Inspection(cores=8, memory_mb=4096, container="lxc", **ROCKY_9).facts
    assert (facts.cores, facts.memory_mb, facts.container) == (8, 4096, True)
    assert facts.family is not None
    assert Inspection(**ROCKY_9).os_name == "Rocky Linux 9.4"


def test_a_directory_of_two_services_is_one() -> None:
    [node] = host(lambda d: d.variable("kafka_metadata_dir", DATA))
    assert [desired.variable for desired, _ in node.data()] == ["kafka_data_dirs"]
    assert len(node.cluster.directories("k1")) == 2


def test_a_disk_that_is_yet_to_be_mounted_holds_nothing() -> None:
    change = mounted({"path": "/data", "src": "/dev/sdb"})
    [pending] = host(change)
    assert list(pending.on_present_disks()) == []
    [present] = host(change, mount_points=("/", "/data"))
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
