"""A controller leaves its quorum: the request, the judgement before it, and what decides."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import messages
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.options import (
    FailedError,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_remove_voter as module

from tests.unit.kafka.answering_admin import AnsweringAdmin
from tests.unit.operations.gate_cases import state, voters

DIRECTORY = str(uuid.UUID(int=7 << 64))


def described(*ids: int) -> dict[str, Any]:
    members = [{"replica_id": number, "replica_directory_id": DIRECTORY} for number in ids]
    return {"topics": [{"partitions": [{"leader_id": 1, "current_voters": members}]}]}


class Quorum:
    """A quorum of controllers 1 to 4 that answers `refusals` first, then removes."""

    def __init__(self, *refusals: str | Exception, lost: bool = False) -> None:
        self.voters, self.refusals, self.lost = [1, 2, 3, 4], list(refusals), lost
        self.removed: list[tuple[int, str]] = []

    def read(self) -> Any:
        return state(quorum=voters(0, *([0] * (len(self.voters) - 1))))

    def ask(self, question: Any) -> Any:
        if question is module.described:
            return described(*self.voters)
        self.removed.append((question.keywords["node_id"], question.keywords["directory"]))
        answer = self.refusals.pop(0) if self.refusals else ""
        if not answer or self.lost:
            self.voters.remove(4)
        if isinstance(answer, Exception):
            raise answer
        return answer


def work(quorum: Quorum, node_id: int = 4, *, check: bool = False, wait: float = 60) -> Any:
    params = {"node_id": node_id, "wait": wait}
    fake: Any = SimpleNamespace(params=params, check_mode=check)
    return module.work(fake, quorum)  # type: ignore[arg-type]  # as much of a cluster as it needs


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)


def test_it_is_removed_with_the_directory_id_that_the_quorum_knows() -> None:
    quorum = Quorum()
    assert work(quorum) == {
        "changed": True,
        "voter": True,
        "lines": ["controller 4 leaves the quorum: 1, 2, 3 carry it then"],
    }
    assert quorum.removed == [(4, DIRECTORY)]
    assert not work(quorum)["changed"], "it is no voter any more"


def test_check_mode_removes_nothing() -> None:
    quorum = Quorum()
    assert work(quorum, check=True)["changed"]
    assert quorum.removed == []


def test_the_quorum_decides_though_the_answer_is_lost() -> None:
    quorum = Quorum(UnavailableError("timed out"), lost=True)
    assert work(quorum)["changed"]


def test_a_refusal_is_tried_again_until_the_time_is_over() -> None:
    quorum = Quorum(UnavailableError("a change before it is not committed"))
    assert work(quorum)["changed"]
    assert len(quorum.removed) == 2
    with pytest.raises(FailedError, match="could not be removed from the quorum: not allowed"):
        work(Quorum("not allowed"), wait=-1)


def test_the_others_must_be_a_majority(monkeypatch: pytest.MonkeyPatch) -> None:
    quorum = Quorum()
    behind = state(quorum=voters(0, None, None, 0))
    monkeypatch.setattr(quorum, "read", lambda: behind)
    with pytest.raises(FailedError, match="nothing was changed: of the 3 controllers") as error:
        work(quorum)
    assert "start 2, 3 first" in str(error.value)
    assert quorum.removed == []


def test_the_request_is_kafkas() -> None:
    request = messages.remove_raft_voter(4, uuid.UUID(DIRECTORY))
    assert (request.API_KEY, request.voter_id) == (81, 4)
    assert request.voter_directory_id == uuid.UUID(DIRECTORY)
    # By RemoveRaftVoterRequest.json: no cluster id, the voter, its directory, no tagged fields.
    expected = b"\x00" + b"\x00\x00\x00\x04" + uuid.UUID(DIRECTORY).bytes + b"\x00"
    assert bytes(request.encode(version=0)) == expected


def test_an_answer_may_pass_or_refuse_it() -> None:
    answers = [
        SimpleNamespace(error_code=0, error_message=None),
        SimpleNamespace(error_code=31, error_message=None),
    ]
    admin = AnsweringAdmin({"RemoveRaftVoterRequest": answers})
    assert module.remove(admin, node_id=4, directory=DIRECTORY) == ""
    assert "ClusterAuthorization" in module.remove(admin, node_id=4, directory=DIRECTORY)
