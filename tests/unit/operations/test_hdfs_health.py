"""Whether HDFS is healthy, by what a NameNode answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import hdfs_health
from ansible_collections.millrace.streaming.plugins.module_utils.operations.hdfs_health import (
    INFO,
    SYSTEM,
)

NODES = ("h2:9866", "h3:9866")
NOW = 2_000_000.0


def datanode(silence: int = 1, state: str = "In Service", used: int = 10) -> dict[str, Any]:
    """Return the NameNode's report of a DataNode with 100 bytes."""
    sizes = {"capacity": 100, "usedSpace": used, "remaining": 90 - used}
    return {"lastContact": silence, "adminState": state, **sizes}


def beans(
    nodes: dict[str, int] | None = None, failed: dict[str, str] | None = None, **changed: Any
) -> dict[str, dict[str, Any]]:
    """What the NameNode answers, which is healthy but for what is changed."""
    live = {name: datanode() for name in NODES} if nodes is None else {}
    live |= {name: datanode(silence) for name, silence in (nodes or {}).items()}
    system = {
        "LastCheckpointTime": (NOW - 100) * 1000,
        **dict.fromkeys(("MissingBlocks", "CorruptBlocks", "LowRedundancyBlocks"), 0),
        "VolumeFailuresTotal": 0,
    }
    info = {
        "ClusterId": "CID-1",
        "Safemode": "",
        "LiveNodes": json.dumps(live),
        "DeadNodes": "{}",
        "DecomNodes": "{}",
        "NameDirStatuses": json.dumps({"active": {}, "failed": failed or {}}),
        "PercentRemaining": 50.0,
        "NNStartedTimeInMillis": (NOW - 50_000) * 1000,
    }
    return {
        SYSTEM: {key: changed.get(key, value) for key, value in system.items()},
        INFO: {key: changed.get(key, value) for key, value in info.items()},
    }


@pytest.mark.parametrize(
    ("response", "listening", "expected"),
    [
        pytest.param(beans(), NODES, [], id="healthy"),
        pytest.param(beans(Safemode="Safe mode is ON."), NODES, [("safe mode",)], id="safe-mode"),
        pytest.param(
            beans({"h2:9866": 0}), NODES, [("h3:9866", "not registered")], id="not-registered"
        ),
        pytest.param(beans(), NODES[:1], [("h3:9866", "no connection")], id="stopped"),
        pytest.param(
            beans({"h2:9866": 0, "h3:9866": 30}), NODES, [("h3:9866", "30 s")], id="silent"
        ),
        pytest.param(
            beans(dict.fromkeys((*NODES, "h4:9866"), 0)), NODES, [("h4:9866",)], id="unexpected"
        ),
        pytest.param(
            beans(MissingBlocks=2, CorruptBlocks=1, LowRedundancyBlocks=3),
            NODES,
            [("2 blocks", "no copy"), ("1 blocks", "damaged"), ("3 blocks", "fewer")],
            id="blocks",
        ),
        pytest.param(beans(failed={"/data/name": ""}), NODES, [("/data/name",)], id="name-dir"),
        pytest.param(beans(VolumeFailuresTotal=1), NODES, [("1 of",)], id="volume"),
        pytest.param(beans(PercentRemaining=4.4), NODES, [("4 %",)], id="full"),
        pytest.param(
            beans(LastCheckpointTime=(NOW - 7200) * 1000),
            NODES,
            [("120 minutes", "hdfs-secondarynamenode")],
            id="checkpoint",
        ),
    ],
)
def test_each_problem_is_named(
    response: dict[str, dict[str, Any]], listening: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    problems = hdfs_health.problems(hdfs_health.state(response, NOW), NODES, listening, 1800)
    assert len(problems) == len(expected), problems
    for text, fragments in zip(problems, expected, strict=True):
        assert all(fragment in text for fragment in fragments), text


def test_a_checkpoint_is_not_missed_before_there_was_time_for_one() -> None:
    """A file system that was down for days is not unhealthy when it starts."""
    response = beans(LastCheckpointTime=0, NNStartedTimeInMillis=(NOW - 20) * 1000)
    assert hdfs_health.state(response, NOW).age == 20


def test_what_is_no_namenode_is_refused() -> None:
    with pytest.raises(LookupError):
        hdfs_health.state({SYSTEM: {}, INFO: {}}, NOW)
