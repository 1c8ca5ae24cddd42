"""Requests about reassignments, throttles and registrations, and what their answers mean."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import (
    answers,
    configs,
    library,
    messages,
    reassignments,
    resource_configs,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import THROTTLES

OK, UNKNOWN_TOPIC, NO_REASSIGNMENT, NOT_NEEDED, NOT_REGISTERED = 0, 3, 85, 84, 102
INVALID_REPLICAS = 39
ANSWER = "no broker 9"


class Admin:
    """An admin client whose every request gets one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.requests = answer, list[Any]()

    @property
    def _manager(self) -> Admin:
        return self

    def run(self, send: Callable[..., Any], *request: Any) -> Any:
        if not request:  # to a certain broker
            with pytest.raises(StopIteration) as ended:
                send().send(None)
            return ended.value.value
        return send(*request)

    async def _to_broker(self, request: Any) -> Any:
        self.requests.append(request)
        return self.answer

    def send(self, request: Any, node_id: int | None = None) -> Any:
        if node_id is not None:
            return self._to_broker(request)
        return self._send_request_to_controller(request)

    def _send_request_to_controller(self, request: Any) -> Any:
        self.requests.append(request)
        return self.answer


def part(index: int, code: int = OK, **more: Any) -> Any:
    fields = {"partition_index": index, "error_code": code, "error_message": None, **more}
    return SimpleNamespace(**fields)


def whole(**fields: Any) -> Any:
    return SimpleNamespace(error_code=OK, error_message=None, **fields)


def test_the_target_is_what_stays_and_the_former_replicas_what_was() -> None:
    moving = part(2, replicas=[4, 2, 3, 1], adding_replicas=[4], removing_replicas=[1])
    topics = [SimpleNamespace(name="t", partitions=[moving])]
    [(name, move)] = reassignments.ongoing(Admin(whole(topics=topics))).items()
    assert name == ("t", 2)
    assert (move.target, move.former) == ((4, 2, 3), (2, 3, 1))


def test_a_refused_partition_is_named_and_others_are_not() -> None:
    answered = [part(0), part(1, INVALID_REPLICAS, error_message=ANSWER)]
    admin = Admin(whole(responses=[SimpleNamespace(name="t", partitions=answered)]))
    refused = reassignments.alter(admin, {("t", 0): [1, 2], ("t", 1): [9]})
    assert refused == {("t", 1): ANSWER}
    [topic] = admin.requests[0].topics
    assert [(p.partition_index, p.replicas) for p in topic.partitions] == [(0, [1, 2]), (1, [9])]


@pytest.mark.parametrize("code", [NO_REASSIGNMENT, UNKNOWN_TOPIC])
def test_what_is_not_on_its_way_needs_no_cancellation(code: int) -> None:
    def answer() -> Any:
        return whole(responses=[SimpleNamespace(name="t", partitions=[part(0, code)])])

    assert reassignments.alter(Admin(answer()), {("t", 0): None}) == {}
    assert list(reassignments.alter(Admin(answer()), {("t", 0): [1]})) == [("t", 0)]


def test_an_answer_that_lacks_a_partition_is_an_error() -> None:
    with pytest.raises(LookupError, match="t-1"):
        reassignments.alter(Admin(whole(responses=[])), {("t", 1): [1]})


def test_sizes_are_by_directory_and_moves_between_disks_apart() -> None:
    parts = [
        part(0, partition_size=7, is_future_key=False),
        part(1, partition_size=5, is_future_key=True),
    ]
    results = [
        whole(
            log_dir="/b",
            topics=[SimpleNamespace(name="t", partitions=parts)],
            total_bytes=100,
            usable_bytes=60,
            is_cordoned=True,
        ),
        SimpleNamespace(log_dir="/a", error_code=56, topics=[]),
    ]
    first, second = reassignments.log_dirs(Admin(whole(results=results)), [1])[1]
    assert (first.path, first.failed) == ("/a", True)
    assert (second.sizes, second.future) == ({("t", 0): 7}, {("t", 1): 5})
    assert (second.total, second.usable, second.cordoned) == (100, 60, True)


def test_throttled_replicas_are_by_topic_and_marked() -> None:
    values = reassignments.throttled_replicas(
        {("t", 10): [2, 1], ("t", 9): [3]}, {("t", 10): [4], ("t", 9): []}
    )
    assert set(values) == {"t"}
    leaders, followers = (values["t"][key].split(",") for key in THROTTLES)
    assert sorted(leaders) == ["10:1", "10:2", "9:3"]
    assert followers == ["10:4", reassignments.MARK]


@pytest.mark.parametrize(("code", "refused"), [(OK, False), (NOT_REGISTERED, False), (31, True)])
def test_a_registration_that_is_gone_is_no_refusal(code: int, refused: bool) -> None:
    admin = Admin(SimpleNamespace(error_code=code, error_message=None))
    assert bool(reassignments.unregister(admin, 4)) is refused
    assert admin.requests[0].broker_id == 4
    assert admin.requests[0].API_KEY == messages.unregister_broker(4).API_KEY == 64


def test_a_preferred_replica_that_leads_already_is_no_refusal() -> None:
    results = [
        SimpleNamespace(partition_id=0, error_code=NOT_NEEDED, error_message=None),
        SimpleNamespace(partition_id=1, error_code=80, error_message="not in sync"),
    ]
    topics = [SimpleNamespace(topic="t", partition_result=results)]
    admin = Admin(whole(replica_election_results=topics))
    assert reassignments.elect_preferred(admin, [("t", 0), ("t", 1)]) == {("t", 1): "not in sync"}


@pytest.mark.parametrize("error", [library.errors.KafkaTimeoutError(), ConnectionResetError()])
def test_a_broker_that_does_not_answer_leaves_the_throttles_of_others(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: Any, broker: int, keys: list[str]) -> Any:
        if broker == 2:
            raise error
        return {key: SimpleNamespace(entry="5") for key in keys}

    default = whole(configs=[])
    monkeypatch.setattr(configs, "read", read)
    monkeypatch.setattr(resource_configs, "describe", lambda _, kind, *__: [default] * (kind == 4))
    assert set(reassignments.throttles(Admin(None), [], [1, 2, 3]).rates) == {1, 3}


def test_a_refused_request_is_one_error() -> None:
    admin = Admin(SimpleNamespace(error_code=31, error_message="not for you"))
    with pytest.raises(answers.RefusedError, match="not for you"):
        reassignments.ongoing(admin)
