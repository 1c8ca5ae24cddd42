"""A broker leaves only without replicas: the module that ends its registration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.options import (
    FailedError,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_decommission as module

from tests.unit.operations.gate_cases import partition, state


class FailJsonError(Exception):
    """The module has failed with a message."""


def snapshot(*, held: bool = False, fenced: bool | None = True) -> Snapshot:
    brokers = [Broker(1), Broker(2), Broker(3)]
    brokers += [] if fenced is None else [Broker(4, fenced=fenced)]
    replicas = (1, 2, 4) if held else (1, 2, 3)
    return state(
        brokers=tuple(brokers), partitions=(partition("__consumer_offsets", 7, replicas=replicas),)
    )


def work(
    *snapshots: Snapshot, check: bool = False, **params: Any
) -> tuple[dict[str, Any], list[str]]:
    remaining, questions = list(snapshots), list[str]()

    def read() -> Snapshot:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    def ask(question: Any) -> Any:
        questions.append(question.func.__name__)
        if question.func.__name__ == "log_dirs":
            return {4: [SimpleNamespace(cordoned=True)]}
        return ""

    def fail_json(msg: str, **_: Any) -> None:
        raise FailJsonError(msg)

    options = {"node_id": 4, "unregister": False, "wait": 0.0, **params}
    fake: Any = SimpleNamespace(params=options, check_mode=check, fail_json=fail_json)
    cluster: Any = SimpleNamespace(read=read, ask=ask)
    return module.work(fake, cluster), questions


@pytest.mark.parametrize("unregister", [False, True])
def test_it_never_leaves_with_a_replica(unregister: bool) -> None:
    with pytest.raises(FailJsonError, match=r"still has 1 replicas \(__consumer_offsets-7\)"):
        work(snapshot(held=True), unregister=unregister)


def test_its_cordon_ends_while_it_still_serves() -> None:
    result, questions = work(snapshot(fenced=False))
    assert (result["changed"], questions) == (True, ["log_dirs", "cordon"])
    assert work(snapshot(fenced=False), check=True)[1] == ["log_dirs"]


def test_a_stopped_broker_loses_its_registration() -> None:
    result, questions = work(snapshot(), snapshot(), snapshot(fenced=None), unregister=True)
    assert (result["changed"], result["registered"], questions) == (True, False, ["unregister"])


def test_what_is_not_registered_needs_nothing() -> None:
    for unregister in (False, True):
        result, questions = work(snapshot(fenced=None), unregister=unregister)
        assert (result["changed"], questions) == (False, [])


def test_one_that_serves_keeps_its_registration() -> None:
    with pytest.raises(FailedError, match="still serves after 0 s"):
        work(snapshot(fenced=False), unregister=True)


def test_check_mode_removes_nothing() -> None:
    result, questions = work(snapshot(fenced=False), unregister=True, check=True)
    assert (result["changed"], questions) == (True, [])
