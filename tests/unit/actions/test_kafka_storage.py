"""The storage of a node that is formatted already is checked by what the inspection found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.millrace.streaming.plugins.action import kafka_storage
from ansible_collections.millrace.streaming.plugins.module_utils.formats.uuids import directory_id
from ansible_collections.millrace.streaming.plugins.plugin_utils import run
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    Directory,
    Inspection,
)

from tests.unit.actions.bare_task import Tasks
from tests.unit.cluster import small
from tests.unit.in_process import no_module
from tests.unit.inspections import answer_with, directory_at, inspection_with

OTHER = "Qg3OEVBNTcwNTJENDM2MkA"
DATA, METADATA = "/var/lib/kafka/data", "/var/lib/kafka/metadata"
GROUPS = {"kafka_brokers": ["k1", "k2"], "kafka_controllers": ["k1"]}
QUORUM = {"kafka_brokers": ["k2"], "kafka_controllers": ["c1", "c2", "c3"]}
IDS = {
    name: {"kafka_node_id": number} for number, name in enumerate(("k1", "k2", "c1", "c2", "c3"), 1)
}


def cluster(groups: Any = None, **variables: Any) -> Any:
    settings = {"kafka_data_dirs": [DATA], "kafka_metadata_dir": METADATA, **variables}
    groups = groups or GROUPS
    members = {name for names in groups.values() for name in names}
    ids = {name: one for name, one in IDS.items() if name in members}
    return small.cluster(groups, ids, cluster_id=small.CLUSTER_ID, **settings)


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
    inspection = {"disks": {"directories": list(disks)}}
    found = {run.INSPECTION: {"inspection": inspection}} if disks else {}
    # A single controller may vote: there is no other one.
    variables = {"inventory_hostname": host, "hostvars": {}, **found}
    result = tasks.run(kafka_storage, {}, variables)
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


def may_vote(
    monkeypatch: pytest.MonkeyPatch,
    host: str = "c1",
    outside: Mapping[str, bool | None] = {},
    *,
    check: bool = False,
    **held: bool,
) -> bool:
    """Format a host where some hosts were inspected: each with or without records of a quorum."""
    tasks = Tasks(monkeypatch, cluster(QUORUM), lambda *_: {"changed": True})
    inspected = {name: inspection(elected=one) for name, one in held.items()}
    monkeypatch.setattr(run, "inspections", lambda _: inspected)
    asked = {name: answer(elected=one) for name, one in outside.items()}
    variables = {
        "inventory_hostname": host,
        "hostvars": {},
        run.OUTSIDE: {"results": [{"item": name, **one} for name, one in asked.items()]},
    }
    tasks.run(kafka_storage, {}, variables, check=check)
    [(_, options)] = tasks.calls
    return bool(options["may_vote"])


def answer(*, elected: bool | None) -> dict[str, Any]:
    """Return the answer of the module preflight of a host; None: the host is unreachable."""
    if elected is None:
        return {"not_reached": "timed out"}
    inspected = answer_with(disks_directories=(metadata(elected=elected),))
    return {"inspection": inspected, "clock_offset": 0.0}


def inspection(*, elected: bool) -> Inspection:
    return inspection_with(disks_directories=(metadata(elected=elected),))


def metadata(*, elected: bool) -> Directory:
    return directory_at(METADATA, exists=True, elected=elected)


def test_a_first_controller_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_vote(monkeypatch, c1=False, c2=False, c3=False, k2=False)


def test_an_empty_controller_has_no_vote_while_another_node_has_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it runs or not: it may be stopped, and have the only copy of a record."""
    assert not may_vote(monkeypatch, c1=False, c2=True, c3=False)
    assert not may_vote(monkeypatch, c1=False, c2=False, c3=False, k2=True)


def test_hosts_outside_the_run_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not may_vote(monkeypatch, c1=False, c2=False, outside={"c3": True})
    assert may_vote(monkeypatch, c1=False, c2=False, outside={"c3": False, "k2": None})


def test_nothing_is_formatted_where_the_data_of_others_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for outside in ({}, {"c3": None}):
        with pytest.raises(AnsibleActionFail, match="c1"):
            may_vote(monkeypatch, outside=outside, c1=False, c2=False)
    assert may_vote(monkeypatch, check=True, c1=False, c2=False), "nothing is mounted there yet"


def test_a_broker_is_formatted_without_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_vote(monkeypatch, host="k2", c1=True)


def test_a_new_disk_of_data_is_formatted_whatever_is_known_of_other_controllers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with `--limit` to a combined node whose metadata is there: only an empty log asks."""
    groups = {"kafka_brokers": ["k1"], "kafka_controllers": ["k1", "c1", "c2"]}
    new = disk(DATA, None)
    result = storage(monkeypatch, new, disk(METADATA, meta()), asked=True, groups=groups)
    assert result["formatted"] == ["it"]
    with pytest.raises(AnsibleActionFail, match="k1"):
        storage(monkeypatch, new, disk(METADATA, None), asked=True, groups=groups)
