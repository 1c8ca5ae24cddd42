"""The storage of a node that is formatted already is checked by what the inspection found."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.action import kafka_storage
from ansible_collections.millrace.streaming.plugins.module_utils.model.uuids import directory_id
from ansible_collections.millrace.streaming.plugins.plugin_utils import run

from tests.unit.actions.bare_task import Tasks
from tests.unit.in_process import no_module
from tests.unit.model import small

OTHER = "Qg3OEVBNTcwNTJENDM2MkA"
DATA, METADATA = "/var/lib/kafka/data", "/var/lib/kafka/metadata"
GROUPS = {"kafka_brokers": ["k1", "k2"], "kafka_controllers": ["k1"]}
IDS = {"k1": {"kafka_node_id": 1}, "k2": {"kafka_node_id": 2}}


def cluster(**variables: Any) -> Any:
    settings = {"kafka_data_dirs": [DATA], "kafka_metadata_dir": METADATA, **variables}
    return small.cluster(GROUPS, IDS, cluster_id=small.CLUSTER_ID, **settings)


def disk(path: str, meta: str | None) -> dict[str, Any]:
    return {"path": path, "exists": True, "meta": meta}


def meta(node: int = 1, cluster_id: str = small.CLUSTER_ID, directory: str = "") -> str:
    own = directory or directory_id(small.CLUSTER_ID, node)
    return f"version=1\ncluster.id={cluster_id}\nnode.id={node}\ndirectory.id={own}\n"


def storage(
    monkeypatch: pytest.MonkeyPatch,
    *disks: dict[str, Any],
    host: str = "k1",
    asked: bool = False,
    **variables: Any,
) -> dict[str, Any]:
    """Run the task of a host where these disks were found."""
    answer = {"changed": True, "formatted": ["it"]}
    module = (lambda *_: answer) if asked else no_module
    tasks = Tasks(monkeypatch, cluster(**variables), module)
    found = {run.INSPECTION: {"found": {"directories": list(disks)}}} if disks else {}
    result = tasks.run(kafka_storage, {}, {"inventory_hostname": host, **found})
    assert bool(tasks.calls) is asked
    return result


def test_nothing_is_asked_of_a_host_whose_disks_are_formatted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = storage(monkeypatch, disk(DATA, meta()), disk(METADATA, meta()))
    assert result == {"changed": False, "formatted": [], "observer": False}
    broker = storage(monkeypatch, disk(DATA, meta(2)), disk(METADATA, meta(2)), host="k2")
    assert broker["observer"] is False


def test_a_controller_with_another_directory_id_is_an_observer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = meta(directory=OTHER)
    assert storage(monkeypatch, disk(DATA, meta()), disk(METADATA, own))["observer"] is True
    assert storage(monkeypatch, disk(DATA, own), disk(METADATA, meta()))["observer"] is False


@pytest.mark.parametrize(
    "disks",
    [
        pytest.param([], id="not-inspected"),
        pytest.param([disk(DATA, None), disk(METADATA, None)], id="new"),
        pytest.param([disk(DATA, meta()), disk(METADATA, None)], id="replaced-disk"),
        pytest.param([disk(DATA, meta())], id="unknown-directory"),
        pytest.param([disk(DATA, meta(9)), disk(METADATA, meta())], id="of-another-node"),
        pytest.param(
            [disk(DATA, meta(cluster_id=OTHER)), disk(METADATA, meta())], id="of-another-cluster"
        ),
    ],
)
def test_any_other_storage_state_calls_the_module(
    monkeypatch: pytest.MonkeyPatch, disks: list[dict[str, Any]]
) -> None:
    assert storage(monkeypatch, *disks, asked=True)["formatted"] == ["it"]


def test_brokers_on_zookeeper_write_their_own_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"kafka_brokers": ["k1"], "zookeeper": ["k1"]}
    own = {"k1": {"kafka_node_id": 1, "zookeeper_id": 1}}
    tasks = Tasks(monkeypatch, small.cluster(groups, own, kafka_version="3.9.2"))
    result = tasks.run(kafka_storage, {}, {"inventory_hostname": "k1"})
    assert (result["changed"], result["formatted"], result["observer"]) == (False, [], False)
