"""Quotas: what Kafka is asked, and what its answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library, quotas
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import RefusedError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.quotas import Entity

from tests.unit.kafka.answering_admin import AnsweringAdmin, response

DESCRIBED = response(library.DescribeClientQuotasRequest)
ALTERED = response(library.AlterClientQuotasRequest)
NOT_CONTROLLER, DENIED, INVALID = 41, 31, 42
USER: Entity = (("user", "a"),)
BOTH: Entity = (("client-id", None), ("user", "a"))


def described(quotas: Mapping[Entity, Mapping[str, float]], code: int = 0) -> Any:
    """Return the answer to DescribeClientQuotas; the parts of entities come in any order."""
    entry = DESCRIBED.EntryData
    return DESCRIBED(
        error_code=code,
        entries=None
        if code
        else [
            entry(
                entity=[
                    entry.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in reversed(pairs)
                ],
                values=[entry.ValueData(key=key, value=value) for key, value in values.items()],
            )
            for pairs, values in quotas.items()
        ],
    )


def test_all_quotas_are_read() -> None:
    existing = {USER: {"request_percentage": 50.0}, BOTH: {"consumer_byte_rate": 1e6}}
    shown = described(
        {**existing, (("user", "scram"),): {}}
    )  # with ZooKeeper users have others too
    admin = AnsweringAdmin({"DescribeClientQuotasRequest": [shown]})
    assert quotas.read(admin) == existing
    (request,) = admin.requests
    assert (request.components, request.strict) == ([], False)
    assert request.encode(version=1)


def test_what_is_not_shown_is_not_taken_for_nothing() -> None:
    for code, error in ((DENIED, RefusedError), (NOT_CONTROLLER, errors.NotControllerError)):
        admin = AnsweringAdmin({"DescribeClientQuotasRequest": [described({}, code)]})
        with pytest.raises(error):
            quotas.read(admin)


def altered(codes: Mapping[Entity, int]) -> Any:
    """Return a function that answers to AlterClientQuotas, in another order than it was asked."""
    entry = ALTERED.EntryData

    def respond(request: Any) -> Any:
        return ALTERED(
            entries=[
                entry(
                    error_code=codes.get(
                        tuple((part.entity_type, part.entity_name) for part in change.entity), 0
                    ),
                    error_message=None,
                    entity=[
                        entry.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                        for part in reversed(change.entity)
                    ],
                )
                for change in reversed(request.entries)
            ]
        )

    return respond


def test_quotas_are_set_and_removed() -> None:
    admin = AnsweringAdmin({"AlterClientQuotasRequest": altered({BOTH: INVALID})})
    changes: dict[Entity, dict[str, float | None]] = {
        USER: {"producer_byte_rate": 5.0, "request_percentage": None},
        BOTH: {"x": 0.0},
    }
    refused = quotas.alter(admin, changes, validate_only=True)
    assert list(refused) == [BOTH]
    (request,) = admin.requests
    assert request.validate_only
    assert [(op.key, op.value, op.remove) for op in request.entries[0].ops] == [
        ("producer_byte_rate", 5.0, False),
        ("request_percentage", 0.0, True),
    ]
    assert [op.remove for op in request.entries[1].ops] == [False]
    assert request.encode(version=1)


def test_many_quotas_are_set_in_batches() -> None:
    admin = AnsweringAdmin({"AlterClientQuotasRequest": altered({})})
    changes: dict[Entity, dict[str, float]] = {
        (("ip", f"10.0.0.{number}"),): {"connection_creation_rate": 1.0} for number in range(300)
    }
    assert quotas.alter(admin, changes, validate_only=False) == {}
    assert [len(request.entries) for request in admin.requests] == [250, 50]


def test_an_answer_that_lacks_an_entity_is_no_success() -> None:
    respond = ALTERED(entries=[])
    admin = AnsweringAdmin({"AlterClientQuotasRequest": [respond]})
    with pytest.raises(LookupError, match="no answer about the quotas"):
        quotas.alter(admin, {USER: {"x": 1.0}}, validate_only=False)


def test_an_error_that_may_pass_is_raised() -> None:
    admin = AnsweringAdmin({"AlterClientQuotasRequest": altered({USER: NOT_CONTROLLER})})
    with pytest.raises(errors.NotControllerError):
        quotas.alter(admin, {USER: {"x": 1.0}}, validate_only=False)
