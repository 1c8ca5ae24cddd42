"""ACLs: what Kafka is asked, and what its answers mean."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import acls
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import RefusedError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from tests.unit.kafka.fake_admin import ANY, FakeAdmin

NOT_CONTROLLER, NOT_ALLOWED, INVALID, NO_AUTHORIZER = 41, 31, 42, 54
READ = Acl("User:a", "topic", "flights", "literal", "read")
PREFIXED = Acl("User:a", "group", "app-", "prefixed", "all")
DENIED = Acl("User:b", "cluster", "kafka-cluster", "literal", "alter", "deny", "10.0.0.1")


def test_acls_are_created_read_and_deleted() -> None:
    admin = FakeAdmin()
    assert acls.create(admin, [READ, PREFIXED, DENIED]) == {}
    assert admin.acls == {
        (2, "flights", 3, "User:a", "*", 3, 3),
        (3, "app-", 4, "User:a", "*", 2, 3),
        (4, "kafka-cluster", 3, "User:b", "10.0.0.1", 7, 2),
    }
    assert set(acls.read(admin, ["User:a"]) or ()) == {READ, PREFIXED}
    assert set(acls.read(admin, ["User:a", "User:b"]) or ()) == {READ, PREFIXED, DENIED}
    assert acls.delete(admin, [READ, DENIED]) == {}
    assert set(acls.read(admin, ["User:a", "User:b"]) or ()) == {PREFIXED}


def test_the_acls_of_all_principals_are_read() -> None:
    admin = FakeAdmin()
    acls.create(admin, [READ, PREFIXED, DENIED])
    assert acls.read_all(admin) == frozenset([READ, PREFIXED, DENIED])
    assert acls.read_all(FakeAdmin(acls_whole=NO_AUTHORIZER)) is None
    with pytest.raises(RefusedError, match="not today"):
        acls.read_all(FakeAdmin(whole=NOT_ALLOWED))


def test_many_acls_are_created_and_deleted_in_batches() -> None:
    admin = FakeAdmin(codes={"User:599": INVALID})
    many = [replace(READ, principal=f"User:{number}") for number in range(600)]
    assert list(acls.create(admin, many)) == [many[-1]]
    assert [len(request.creations) for request in admin.requests] == [250, 250, 100]
    assert len(admin.acls) == 599
    admin.requests.clear()
    assert acls.delete(admin, many) == {}
    assert [len(request.filters) for request in admin.requests] == [250, 250, 100]
    assert admin.acls == set()


def test_all_acls_of_a_principal_are_asked_for() -> None:
    admin = FakeAdmin()
    acls.read(admin, ["User:a"])
    (request,) = admin.requests
    assert {
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    } == {ANY}
    assert (request.resource_name_filter, request.host_filter) == (None, None)


def test_what_is_newer_than_the_adapter_is_passed_on() -> None:
    admin = FakeAdmin(acls={(99, "x", 98, "User:a", "*", 97, 3)})
    read_acls = acls.read(admin, ["User:a"])
    assert read_acls == frozenset([Acl("User:a", "99", "x", "98", "97")])
    assert acls.delete(admin, list(read_acls)) == {}
    assert admin.acls == set()


def test_a_cluster_without_authorizer_has_no_acls_at_all() -> None:
    assert acls.read(FakeAdmin(acls_whole=NO_AUTHORIZER), ["User:a"]) is None


def test_what_is_not_shown_is_not_taken_for_nothing() -> None:
    with pytest.raises(RefusedError, match="not today"):
        acls.read(FakeAdmin(whole=NOT_ALLOWED), ["User:a"])
    with pytest.raises(errors.NotControllerError):
        acls.read(FakeAdmin(whole=NOT_CONTROLLER), ["User:a"])


@pytest.mark.parametrize("message", ["not today", None])
def test_each_refusal_is_returned(message: str | None) -> None:
    admin = FakeAdmin(codes={"User:b": INVALID}, message=message)
    (refused,) = acls.create(admin, [READ, DENIED]).items()
    assert refused[0] == DENIED
    assert message is None or refused[1] == message
    assert set(acls.read(admin, ["User:a", "User:b"]) or ()) == {READ}
    acls.create(FakeAdmin(acls=admin.acls), [DENIED])
    # An ACL that the filter finds, and that is not deleted.
    assert list(acls.delete(admin, [READ, DENIED])) == [DENIED]
    assert set(acls.read(admin, ["User:a", "User:b"]) or ()) == {DENIED}


def test_a_filter_that_is_refused_is_returned() -> None:
    admin: Any = FakeAdmin()
    result = admin.part(INVALID, matching_acls=[])
    admin.send = lambda _: SimpleNamespace(filter_results=[result])
    assert acls.delete(admin, [READ]) == {READ: "not today"}


def test_an_answer_that_is_too_short_is_no_success() -> None:
    admin: Any = FakeAdmin()
    admin.send = lambda _: SimpleNamespace(results=[admin.part(0)])
    with pytest.raises(LookupError):
        acls.create(admin, [READ, DENIED])


def test_an_error_that_may_pass_is_raised() -> None:
    admin = FakeAdmin(codes={"User:a": NOT_CONTROLLER})
    with pytest.raises(errors.NotControllerError):
        acls.create(admin, [READ])
