"""What makes users and their ACLs as they should be."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.operations import users
from ansible_collections.millrace.streaming.plugins.module_utils.operations.users import (
    Change,
    Scram,
    User,
)

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
SCRAM = Scram(SHA_512, 8192)
NOW = {SHA_512: 8192}
SECRET = "hunter2"  # noqa: S105 - nobody has it
READ = Acl("User:a", "topic", "flights", "literal", "read")
WRITE = Acl("User:a", "topic", "flights", "literal", "write")
DENIED = Acl("User:a", "topic", "flights", "literal", "read", "deny", "10.0.0.1")
OTHERS = Acl("User:b", "topic", "flights", "literal", "read")


def grant(operations: tuple[str, ...] = ("read",), pattern: str = "literal", **one: Any) -> Any:
    """A grant as a module has it in its parameters."""
    resources = {**dict.fromkeys(users.RESOURCES), **one}
    return {**resources, "operations": list(operations), "pattern": pattern}


def given(name: str = "a", **more: Any) -> dict[str, Any]:
    """A user as a module has it in its parameters."""
    return {
        "name": name,
        "password": None,
        "replace": True,
        "state": "present",
        "grants": [],
        **more,
    }


def change(user: User, found: Any, *acls: Acl, accepted: bool = True) -> Change:
    return users.change(user, found, acls, SCRAM, accepted=accepted)


# From the options


def test_grants_are_acls_of_the_users_principal() -> None:
    grants = [
        grant(("read", "write"), topic="flights"),
        grant(("read",), "prefixed", group="g"),
        grant(("write",), transactional_id="t"),
        grant(("all",), cluster=True),
        grant(("read",), topic="flights"),
    ]
    (one,) = users.users_of([given(grants=grants)])
    assert one.acls == {
        READ,
        WRITE,
        Acl("User:a", "group", "g", "prefixed", "read"),
        Acl("User:a", "transactional_id", "t", "literal", "write"),
        Acl("User:a", "cluster", "kafka-cluster", "literal", "all"),
    }


def test_a_user_that_is_absent_has_nothing() -> None:
    one = given(state="absent", password=SECRET, grants=[grant(topic="flights")])
    assert users.users_of([one]) == [User("a", absent=True)]


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ([given("")], ["name"]),
        ([given("twice"), given("b"), given("twice")], ["twice"]),
        ([given("c", password="")], ["c", "empty"]),
        ([given("naïve", password=SECRET)], ["naïve", "ASCII"]),
        ([given("d", grants=[grant((), topic="x")])], ["d", "operations"]),
        ([given("d", grants=[grant(topic="")])], ["d", "empty"]),
        ([given("d", grants=[grant(cluster=False)])], ["d", "cluster"]),
        ([given("d", grants=[grant(("all",), "prefixed", cluster=True)])], ["d", "pattern"]),
    ],
)
def test_what_kafka_would_refuse_is_named(wrong: Any, names: list[str]) -> None:
    (problem,) = users.problems(wrong, SCRAM, ["k1:9092"])
    assert all(name in problem for name in names)
    assert SECRET not in problem


def test_all_problems_are_named_at_once() -> None:
    wrong = [given("c", password=""), given("naïve", password=SECRET), given("")]
    assert len(users.problems(wrong, Scram(SHA_512, 4095), [])) == 5


@pytest.mark.parametrize(
    ("iterations", "fits"), [(4095, False), (4096, True), (16384, True), (16385, False)]
)
def test_iterations_are_what_kafka_takes(iterations: int, fits: bool) -> None:
    scram = Scram(SHA_512, iterations)
    assert (users.problems([given(password=SECRET)], scram, ["k1:9092"]) == []) is fits
    assert users.problems([given()], scram, []) == []


@pytest.mark.parametrize(
    "fine",
    [
        given("naïve", grants=[grant(topic="*")]),
        given("CN=a,O=b", password=SECRET, grants=[grant(("alter",), cluster=True)]),
        given("naïve", state="absent", password="", grants=[grant((), topic="")]),
    ],
)
def test_what_kafka_takes_is_no_problem(fine: Any) -> None:
    assert users.problems([fine], SCRAM, ["k1:9092"]) == []


def test_passwords_need_a_listener() -> None:
    assert users.problems([given(password=SECRET)], SCRAM, [])
    assert not users.problems([given(), given("b", state="absent", password=SECRET)], SCRAM, [])


def test_grants_need_an_authorizer() -> None:
    found = users.without_authorizer([User("a", acls=frozenset([READ])), User("b")])
    assert "a" in found
    assert not users.without_authorizer([User("b", SECRET)])


# Credentials


@pytest.mark.parametrize(
    ("found", "accepted", "changed", "deleted"),
    [
        ({}, False, True, ()),
        (NOW, True, False, ()),
        (NOW, False, True, ()),
        ({SHA_512: 4096}, True, True, ()),
        ({SHA_256: 8192}, True, True, (SHA_256,)),
        ({SHA_256: 4096, **NOW}, True, False, (SHA_256,)),
        ({SHA_256: 4096, **NOW}, False, True, (SHA_256,)),
    ],
)
def test_a_user_with_a_password_has_one_credential(
    found: Any, accepted: bool, changed: bool, deleted: tuple[str, ...]
) -> None:
    one = change(User("a", SECRET), found, accepted=accepted)
    assert (one.set, one.deleted) == (changed, deleted)
    assert bool(one) is bool(changed or deleted)


@pytest.mark.parametrize("found", [{}, NOW, {SHA_256: 4096, **NOW}])
def test_a_user_without_a_password_keeps_its_credentials(found: Any) -> None:
    one = change(User("a"), found, accepted=False)
    assert (one.set, one.deleted) == (False, ())


def test_a_login_is_needed_only_for_what_nothing_else_shows() -> None:
    user = User("a", SECRET)
    assert users.needs_login(user, NOW, SCRAM)
    assert not users.needs_login(user, {}, SCRAM)
    assert not users.needs_login(user, {SHA_512: 4096}, SCRAM)
    assert not users.needs_login(user, {SHA_256: 8192}, SCRAM)
    assert not users.needs_login(User("a"), NOW, SCRAM)
    assert not users.needs_login(User("a", absent=True), NOW, SCRAM)


# ACLs


def test_the_acls_of_a_user_become_its_grants() -> None:
    one = change(User("a", acls=frozenset([READ, WRITE])), {}, DENIED, READ, OTHERS)
    assert (one.granted, one.revoked) == ((WRITE,), (DENIED,))
    assert not change(User("a", acls=frozenset([READ])), {}, READ, OTHERS)


def test_a_user_that_is_absent_loses_everything() -> None:
    one = change(User("a", absent=True), {SHA_256: 1, **NOW}, READ, DENIED, OTHERS)
    assert (one.set, one.deleted) == (False, (SHA_256, SHA_512))
    assert (one.granted, set(one.revoked)) == ((), {READ, DENIED})
    assert not change(User("a", absent=True), {}, OTHERS)


# What is shown


def test_a_diff_shows_what_is_changed_and_no_password() -> None:
    user = User("a", SECRET, acls=frozenset([WRITE]))
    one = change(user, {SHA_256: 4096, **NOW}, DENIED, accepted=False)
    shown = users.diff([one, change(User("b"), NOW)], SCRAM)
    before, after = shown["before"].splitlines(), shown["after"].splitlines()
    assert len(before) == 3
    assert len(after) == 2
    assert [line for line in before if SHA_256 in line and "4096" in line]
    assert users.acl_line(DENIED) in before
    assert users.acl_line(WRITE) in after
    # The iterations are the same: the lines must not be.
    assert not set(before) & set(after)
    assert SECRET not in repr((shown, users.summary(one), one, user))


def test_lines_tell_acls_apart() -> None:
    acls = [
        READ,
        WRITE,
        DENIED,
        OTHERS,
        Acl("User:a", "topic", "flights", "prefixed", "read"),
        Acl("User:a", "group", "flights", "literal", "read"),
        Acl("User:a", "topic", "flights", "literal", "read", host="10.0.0.1"),
    ]
    assert len({users.acl_line(one) for one in acls}) == len(acls)


@pytest.mark.parametrize(
    ("user", "found", "credential"),
    [
        (User("a", SECRET), {}, "set"),
        (User("a", SECRET), {SHA_256: 4096}, "set"),
        (User("a", SECRET), NOW, "unchanged"),
        (User("a", SECRET), {SHA_256: 4096, **NOW}, "deleted"),
        (User("a", absent=True), NOW, "deleted"),
        (User("a"), NOW, "unchanged"),
    ],
)
def test_the_result_of_a_user(user: User, found: Any, credential: str) -> None:
    one = users.summary(change(user, found))
    assert (one["name"], one["credential"]) == ("a", credential)
    assert one["changed"] is (credential != "unchanged")


def test_all_that_is_not_yet_there_is_named() -> None:
    user = User("a", SECRET, acls=frozenset([WRITE]))
    one = change(user, {SHA_256: 4096, **NOW}, DENIED, accepted=False)
    assert len(users.unusable(one, SCRAM)) == 1
    assert len(users.missing(one, SCRAM)) == 4
    refused, unset = (users.unusable(change(user, x, accepted=False), SCRAM) for x in (NOW, {}))
    assert refused != unset
    assert users.missing(change(User("a", SECRET), NOW), SCRAM) == []
