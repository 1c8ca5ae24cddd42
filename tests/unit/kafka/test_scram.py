"""SCRAM credentials: what Kafka is asked, what its answers mean, and logging in."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import users
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import RefusedError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.users import (
    Credential,
    Logins,
)

from tests.unit.kafka.fake_admin import FakeAdmin
from tests.unit.kafka.sasl_broker import SaslBroker

NOT_CONTROLLER, NOT_ALLOWED, UNACCEPTABLE = 41, 31, 93
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


# Credentials


def test_users_have_the_credentials_that_kafka_shows() -> None:
    admin = FakeAdmin()
    admin.set("a", "x", SHA_256, 4096)
    admin.set("a", "x", SHA_512, 8192)
    assert users.read(admin, ["a", "b"]) == {"a": {SHA_256: 4096, SHA_512: 8192}, "b": {}}


def test_all_users_with_a_credential_are_read() -> None:
    admin = FakeAdmin()
    admin.set("a", "x", SHA_256, 4096)
    admin.set("b", "x", SHA_512, 8192)
    assert users.read_all(admin) == {"a": {SHA_256: 4096}, "b": {SHA_512: 8192}}
    # Kafka never answers to a list that is null where this login may not see users.
    assert admin.requests[0].users == []
    with pytest.raises(RefusedError):
        users.read_all(FakeAdmin(whole=NOT_ALLOWED))


def test_no_users_are_not_asked_for() -> None:
    """Kafka would take an empty list for all users."""
    admin = FakeAdmin()
    assert users.read(admin, []) == {}
    assert admin.requests == []


@pytest.mark.parametrize(
    ("admin", "error"),
    [
        (FakeAdmin(whole=NOT_ALLOWED), RefusedError),
        (FakeAdmin(whole=NOT_ALLOWED, message=None), RefusedError),
        (FakeAdmin(whole=NOT_CONTROLLER), errors.NotControllerError),
    ],
)
def test_what_is_not_shown_is_not_taken_for_nothing(admin: FakeAdmin, error: Any) -> None:
    with pytest.raises(error):
        users.read(admin, ["a"])


def test_an_error_of_one_user_is_not_taken_for_no_credentials() -> None:
    admin: Any = FakeAdmin()
    result = admin.part(UNACCEPTABLE, user="a", credential_infos=[])
    admin.send = lambda _: SimpleNamespace(error_code=0, error_message=None, results=[result])
    with pytest.raises(RefusedError, match="not today"):
        users.read(admin, ["a"])


def test_a_user_that_is_missing_in_the_answer_is_named() -> None:
    admin: Any = FakeAdmin()
    admin.send = lambda _: SimpleNamespace(error_code=0, error_message=None, results=[])
    with pytest.raises(LookupError, match="about a, b"):
        users.read(admin, ["b", "a"])
    admin._send_request_to_controller = admin.send
    with pytest.raises(LookupError, match="about a"):
        users.set_credentials(admin, [Credential("a", SHA_512, 4096, "x")])


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_a_credential_is_what_its_password_logs_in_with(mechanism: str) -> None:
    admin = FakeAdmin()
    credentials = [Credential("a", mechanism, 4096, 'p"ä'), Credential("b", mechanism, 5000, "q")]
    assert users.set_credentials(admin, credentials) == {}
    assert admin.accepts("a", 'p"ä', mechanism)
    assert not admin.accepts("a", "q", mechanism)
    assert users.read(admin, ["a", "b"]) == {"a": {mechanism: 4096}, "b": {mechanism: 5000}}
    salts = {credential.salt for credential in admin.credentials.values()}
    assert len(salts) == 2


def test_each_refusal_is_returned() -> None:
    admin = FakeAdmin(codes={"b": UNACCEPTABLE})
    credentials = [Credential(name, SHA_512, 4096, "x") for name in ("a", "b", "c")]
    assert users.set_credentials(admin, credentials) == {"b": "not today"}
    assert users.read(admin, ["a", "b", "c"])["b"] == {}
    admin.codes = {"c": UNACCEPTABLE}
    assert users.delete_credentials(admin, ["a", "c"], SHA_512) == {"c": "not today"}
    assert (admin.has("a"), admin.has("c")) == ({}, {2: 4096})


def test_a_refusal_without_a_message_is_one_too() -> None:
    admin = FakeAdmin(codes={"a": UNACCEPTABLE}, message=None)
    assert users.set_credentials(admin, [Credential("a", SHA_512, 1, "x")])["a"]


def test_an_error_that_may_pass_is_raised() -> None:
    admin = FakeAdmin(codes={"a": NOT_CONTROLLER})
    with pytest.raises(errors.NotControllerError):
        users.set_credentials(admin, [Credential("a", SHA_512, 4096, "x")])


def test_a_credential_that_is_gone_is_deleted() -> None:
    """The answer to an earlier request may have been lost."""
    admin = FakeAdmin()
    admin.set("a", "x", SHA_256)
    assert users.delete_credentials(admin, ["a", "b"], SHA_512) == {}
    assert users.delete_credentials(admin, ["a", "b"], SHA_256) == {}
    assert admin.has("a") == {}


def test_a_password_is_not_shown() -> None:
    assert "hunter2" not in repr(Credential("a", SHA_512, 4096, "hunter2"))


# Logging in


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
@pytest.mark.parametrize("name", ["app", "a,b=c"])
def test_only_the_right_password_is_accepted(mechanism: str, name: str) -> None:
    with SaslBroker({name: 'p"\\ä,='}, mechanism) as broker:
        logins = broker.logins()
        assert logins.accepted(name, 'p"\\ä,=')
        assert not logins.accepted(name, "p")
        assert not logins.accepted("other", 'p"\\ä,=')


def test_a_refused_login_is_told_from_a_broker_that_does_not_answer() -> None:
    with SaslBroker({"a": "x"}) as broker:
        connection = Connection(("127.0.0.1:1", broker.address), broker.properties)
        assert users.refuses_login(connection.as_user("SCRAM-SHA-512", "a", "wrong"))
        assert not users.refuses_login(connection.as_user("SCRAM-SHA-512", "a", "x"))
        assert not users.refuses_login(connection.at("127.0.0.1:1"))
        assert not users.refuses_login(Connection((broker.address,)))


def test_one_broker_or_all_that_answer_must_accept_it() -> None:
    with SaslBroker({"a": "new"}) as new, SaslBroker({"a": "old"}) as old:
        first = Logins(
            Connection((new.address, old.address, "127.0.0.1:1"), new.properties), SHA_512
        )
        assert first.accepted("a", "new")
        assert not first.accepted("a", "new", everywhere=True)
        last = Logins(Connection(("127.0.0.1:1", old.address), old.properties), SHA_512)
        assert last.accepted("a", "old")
        assert last.accepted("a", "old", everywhere=True)
        assert not last.accepted("a", "new")


def test_a_broker_that_is_not_there_says_nothing_about_a_password() -> None:
    logins = Logins(Connection(("127.0.0.1:1",), {"security.protocol": "SASL_PLAINTEXT"}), SHA_512)
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1"):
        logins.accepted("a", "hunter2")


def test_a_listener_without_the_mechanism_is_named() -> None:
    with SaslBroker({"a": "x"}, SHA_256) as broker:
        logins = Logins(Connection((broker.address,), broker.properties), SHA_512)
        with pytest.raises(UnavailableError, match=f"{broker.address}.*{SHA_512}"):
            logins.accepted("a", "x")


def test_a_broker_that_does_not_know_the_password_itself_is_not_believed() -> None:
    with SaslBroker({"a": "x"}, wrong_signature=True) as broker, pytest.raises(UnavailableError):
        broker.logins().accepted("a", "x")


def test_a_broker_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "REQUEST_MS", 200)
    with SaslBroker({}, silent=True) as broker, pytest.raises(UnavailableError):
        broker.logins().accepted("a", "x")


def test_a_listener_that_cannot_be_connected_to_is_refused_at_once() -> None:
    stores = {"security.protocol": "SASL_SSL", "ssl.truststore.location": "/x.jks"}
    with pytest.raises(ConnectionDescriptionError, match="PEM"):
        Logins(Connection(("k1:9092",), stores), SHA_512)


@pytest.mark.parametrize("properties", [{}, {"security.protocol": "SSL"}])
def test_a_listener_that_asks_for_no_password_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(ConnectionDescriptionError, match=r"security\.protocol"):
        Logins(Connection(("k1:9092",), properties), SHA_512)


def test_an_answer_that_comes_with_the_end_of_the_connection_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receive = socket.socket.recv

    def late(connection: socket.socket, size: int) -> bytes:
        time.sleep(0.02)
        return receive(connection, size)

    monkeypatch.setattr(socket.socket, "recv", late)
    with SaslBroker({"a": "x"}) as broker:
        assert broker.logins().accepted("a", "x")
        assert not broker.logins().accepted("a", "y")
