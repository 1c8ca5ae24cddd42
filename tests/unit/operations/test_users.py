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
SECRET = "hunter2"
READ = Acl("User:a", "topic", "flights", "literal", "read")
WRITE = Acl("User:a", "topic", "flights", "literal", "write")
DENIED = Acl("User:a", "topic", "flights", "literal", "read", "deny", "10.0.0.1")
OTHERS = Acl("User:b", "topic", "flights", "literal", "read")


def grant(
    operations: tuple[str, ...] = ("read",), pattern: str = "literal", **resource: Any
) -> Any:
    """A grant as a module has it in its parameters."""
    resources = {**dict.fromkeys(users.RESOURCES), **resource}
    return {**resources, "operations": list(operations), "pattern": pattern}


def given(name: str = "a", **options: Any) -> dict[str, Any]:
    """A user as a module has it in its parameters."""
    return {
        "name": name,
        "password": None,
        "replace": True,
        "state": "present",
        "grants": [],
        **options,
    }


def change(user: User, existing: Any, *acls: Acl, accepted: bool = True) -> Change:
    return users.change(user, existing, acls, SCRAM, accepted=accepted)


# From the options


def test_grants_are_acls_of_the_users_principal() -> None:
    grants = [
        grant(("read", "write"), topic="flights"),
        grant(("read",), "prefixed", group="g"),
        grant(("write",), transactional_id="t"),
        grant(("all",), cluster=True),
        grant(("read",), topic="flights"),
    ]
    (user,) = users.users_of([given(grants=grants)])
    assert user.acls == {
        READ,
        WRITE,
        Acl("User:a", "group", "g", "prefixed", "read"),
        Acl("User:a", "transactional_id", "t", "literal", "write"),
        Acl("User:a", "cluster", "kafka-cluster", "literal", "all"),
    }


def test_a_user_that_is_absent_has_nothing() -> None:
    entry = given(state="absent", password=SECRET, grants=[grant(topic="flights")])
    assert users.users_of([entry]) == [User("a", absent=True)]


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
    problems = users.problems([given(password=SECRET)], scram, ["k1:9092"])
    assert (problems == []) is fits
    assert all("4096" in problem and "16384" in problem for problem in problems)
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
    granted = User("granted", acls=frozenset([READ]))
    problem = users.without_authorizer([granted, User("plain", SECRET)])
    assert "granted" in problem
    assert "plain" not in problem
    assert not users.without_authorizer([User("b", SECRET)])


# Credentials


@pytest.mark.parametrize(
    ("existing", "accepted", "changed", "deleted"),
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
    existing: Any, accepted: bool, changed: bool, deleted: tuple[str, ...]
) -> None:
    planned = change(User("a", SECRET), existing, accepted=accepted)
    assert (planned.set, planned.deleted) == (changed, deleted)
    assert bool(planned) is bool(changed or deleted)


@pytest.mark.parametrize("existing", [{}, NOW, {SHA_256: 4096, **NOW}])
def test_a_user_without_a_password_keeps_its_credentials(existing: Any) -> None:
    planned = change(User("a"), existing, accepted=False)
    assert (planned.set, planned.deleted) == (False, ())


def test_a_login_is_needed_only_for_what_nothing_else_shows() -> None:
    user = User("a", SECRET)
    assert users.needs_login(user, NOW, SCRAM)
    assert not users.needs_login(user, {}, SCRAM)
    assert not users.needs_login(user, {SHA_512: 4096}, SCRAM)
    assert not users.needs_login(user, {SHA_256: 8192}, SCRAM)
    assert not users.needs_login(User("a"), NOW, SCRAM)
    assert not users.needs_login(User("a", absent=True), NOW, SCRAM)


# A password that may not replace another one

KEPT = User("a", SECRET, may_replace=False, acls=frozenset([WRITE]))


def test_a_password_that_may_not_replace_another_changes_nothing() -> None:
    for existing in (NOW, {SHA_256: 4096, **NOW}, {SHA_512: 4096}):
        planned = change(KEPT, existing, READ, accepted=False)
        assert planned.refused
        assert not planned
        assert (planned.set, planned.deleted, planned.granted, planned.revoked) == (
            False,
            (),
            (),
            (),
        )
        assert users.summary(planned)["credential"] == "refused"
        assert users.summary(planned)["changed"] is False


@pytest.mark.parametrize(
    ("user", "existing", "accepted"),
    [
        (KEPT, {}, False),  # there is none
        (KEPT, {SHA_256: 4096}, False),  # nobody can log in with it
        (KEPT, NOW, True),  # it is the same
        (User("a", SECRET, acls=frozenset([WRITE])), NOW, False),  # it may
        (User("a", may_replace=False, acls=frozenset([WRITE])), NOW, False),  # it has none
    ],
)
def test_any_other_password_is_not_refused(user: User, existing: Any, accepted: bool) -> None:
    planned = change(user, existing, accepted=accepted)
    assert not planned.refused
    assert planned.granted == (WRITE,)
    assert planned.set is (user.password is not None and not accepted)


def test_options_say_whether_a_password_may_replace_another() -> None:
    both = users.users_of([given(password=SECRET, replace=replace) for replace in (True, False)])
    assert [user.may_replace for user in both] == [True, False]
    assert User("a", SECRET).may_replace


# ACLs


@pytest.mark.parametrize("field", ["set", "deleted", "granted", "revoked"])
def test_each_part_alone_is_a_change(field: str) -> None:
    values: dict[str, Any] = {
        "set": True,
        "deleted": (SHA_256,),
        "granted": (READ,),
        "revoked": (READ,),
    }
    assert Change(User("a"), NOW, **{field: values[field]})
    assert not Change(User("a"), NOW)


def test_the_acls_of_a_user_become_its_grants() -> None:
    planned = change(User("a", acls=frozenset([READ, WRITE])), {}, DENIED, READ, OTHERS)
    assert (planned.granted, planned.revoked) == ((WRITE,), (DENIED,))
    assert not change(User("a", acls=frozenset([READ])), {}, READ, OTHERS)


def test_a_user_that_is_absent_loses_everything() -> None:
    planned = change(User("a", absent=True), {SHA_256: 1, **NOW}, READ, DENIED, OTHERS)
    assert (planned.set, planned.deleted) == (False, (SHA_256, SHA_512))
    assert (planned.granted, set(planned.revoked)) == ((), {READ, DENIED})
    assert not change(User("a", absent=True), {}, OTHERS)


# What is shown


def test_a_diff_shows_what_is_changed_and_no_password() -> None:
    user = User("a", SECRET, acls=frozenset([WRITE]))
    planned = change(user, {SHA_256: 4096, **NOW}, DENIED, accepted=False)
    shown = users.diff([planned, change(User("b"), NOW)], SCRAM)
    before, after = shown["before"].splitlines(), shown["after"].splitlines()
    assert len(before) == 3
    assert len(after) == 2
    assert [line for line in before if SHA_256 in line and "4096" in line]
    assert users.acl_line(DENIED) in before
    assert users.acl_line(WRITE) in after
    # The iterations are the same: the lines must not be.
    assert not set(before) & set(after)
    assert SECRET not in repr((shown, users.summary(planned), planned, user))


def test_a_line_says_what_is_not_usual_of_an_acl() -> None:
    prefixed = Acl("User:a", "topic", "flights", "prefixed", "read")
    assert "prefixed" in users.acl_line(prefixed)
    assert "10.0.0.1" in users.acl_line(DENIED)
    for usual in ("literal", "*", " from "):
        assert usual not in users.acl_line(READ)


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
    assert len({users.acl_line(acl) for acl in acls}) == len(acls)


@pytest.mark.parametrize(
    ("user", "existing", "credential"),
    [
        (User("a", SECRET), {}, "set"),
        (User("a", SECRET), {SHA_256: 4096}, "set"),
        (User("a", SECRET), NOW, "unchanged"),
        (User("a", SECRET), {SHA_256: 4096, **NOW}, "deleted"),
        (User("a", absent=True), NOW, "deleted"),
        (User("a"), NOW, "unchanged"),
    ],
)
def test_the_result_of_a_user(user: User, existing: Any, credential: str) -> None:
    result = users.summary(change(user, existing))
    assert (result["name"], result["credential"]) == ("a", credential)
    assert result["changed"] is (credential != "unchanged")


def test_all_that_is_not_yet_there_is_named() -> None:
    user = User("a", SECRET, acls=frozenset([WRITE]))
    planned = change(user, {SHA_256: 4096, **NOW}, DENIED, accepted=False)
    assert len(users.unusable(planned, SCRAM)) == 1
    assert len(users.missing(planned, SCRAM)) == 4
    refused, unset = (
        users.unusable(change(user, existing, accepted=False), SCRAM) for existing in (NOW, {})
    )
    assert "password" in refused[0]
    assert SHA_512 in unset[0]
    assert users.missing(change(User("a", SECRET), NOW), SCRAM) == []


def test_what_is_there_and_is_not_replaced_is_not_shown_before() -> None:
    new = change(User("a", SECRET), {SHA_256: 4096})
    before, after = users.lines(new, SCRAM)
    assert [SHA_256 in line and "4096" in line for line in before] == [True]
    assert [SHA_512 in line and "8192" in line for line in after] == [True]
    fewer = change(User("a", SECRET), {SHA_512: 4096})
    before, after = users.lines(fewer, SCRAM)
    assert [SHA_512 in line and "4096" in line for line in before] == [True]
    first = users.lines(change(User("a", SECRET), {}), SCRAM)
    unreplaced = users.lines(change(User("a", SECRET), NOW, accepted=False), SCRAM)
    assert first[0] == []
    assert first[1] == after, "no other password where another number of iterations shows it"
    assert unreplaced[1] != first[1]


def test_the_result_names_mechanisms_and_acls() -> None:
    result = users.summary(change(User("a", absent=True), NOW, READ))
    assert (result["deleted"], result["revoked"]) == ([SHA_512], [users.acl_line(READ)])
    assert result["granted"] == []
    result = users.summary(change(User("a", acls=frozenset([READ])), {}))
    assert (result["deleted"], result["revoked"]) == ([], [])
    assert result["granted"] == [users.acl_line(READ)]


def test_nothing_hinders_a_user_whose_credential_stays() -> None:
    assert users.unusable(change(User("a", SECRET), NOW), SCRAM) == []
    gone = change(User("a", absent=True), NOW, READ)
    assert users.unusable(gone, SCRAM) == []
    assert len(users.missing(gone, SCRAM)) == 2
