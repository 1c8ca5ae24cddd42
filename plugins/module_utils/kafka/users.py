"""SCRAM credentials of a cluster's users (KIP-554), and logging in with them.

The admin client's own methods drop error codes, and take a refusal without a message for none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..host.network import connect
from . import library
from .answers import check, refusal
from .client import REQUEST_MS, UnavailableError
from .connection import Connection, ConnectionDescriptionError
from .requests import complete, send, send_to_controller

MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""Their numbers in Kafka's protocol."""
ITERATIONS = range(4096, 16384 + 1)
"""What Kafka takes (ScramMechanism, ScramControlManager)."""
_RESOURCE_NOT_FOUND = 91
_ASKED = 3
"""Brokers that are asked why none of them lets a client in."""


@dataclass(frozen=True)
class Credential:
    """A credential to set."""

    user: str
    mechanism: str
    iterations: int
    password: str = field(repr=False)


def read(admin: Any, users: Collection[str]) -> dict[str, dict[str, int]]:
    """Return user -> mechanism -> iterations, of these users.

    Raises:
        RefusedError: Kafka refuses to show them.

    """
    if not users:
        return {}  # Kafka would return all.
    credentials = _described(admin, [(name,) for name in users])
    complete(users, credentials)
    return credentials


def read_all(admin: Any) -> dict[str, dict[str, int]]:
    """Return user -> mechanism -> iterations, of all users with a credential; as `read`."""
    # A list that is null means all too, but to a client that may not see them Kafka never answers.
    return _described(admin, [])


def _described(admin: Any, users: Sequence[tuple[str]]) -> dict[str, dict[str, int]]:
    response = send(admin, library.DescribeUserScramCredentialsRequest(users=users))
    check(response)
    words = {number: name for name, number in MECHANISMS.items()}
    credentials: dict[str, dict[str, int]] = {}
    for result in response.results:
        if result.error_code != _RESOURCE_NOT_FOUND:
            check(result)
        infos = result.credential_infos or ()
        credentials[result.user] = {
            words.get(info.mechanism, str(info.mechanism)): info.iterations for info in infos
        }
    return credentials


def set_credentials(admin: Any, credentials: Sequence[Credential]) -> dict[str, str]:
    """Set a credential of each of some users; return user -> why Kafka refuses."""
    salted = [
        library.UserScramCredentialUpsertion(
            credential.user,
            credential.mechanism,
            credential.password,
            iterations=credential.iterations,
        )
        for credential in credentials
    ]
    upsertions = [
        (
            credential.user,
            int(credential.mechanism),
            credential.iterations,
            credential.salt,
            credential.salted_password,
        )
        for credential in salted
    ]
    return _alter(admin, [credential.user for credential in credentials], upsertions=upsertions)


def delete_credentials(admin: Any, users: Sequence[str], mechanism: str) -> dict[str, str]:
    """Delete the credentials of a mechanism; return user -> why Kafka refuses.

    One request alters a user once, hence one mechanism at a time. A user who has none any more is
    no refusal: the answer to an earlier request may have been lost.
    """
    number = MECHANISMS[mechanism]
    deletions = [(name, number) for name in users]
    return _alter(admin, users, deletions=deletions, passed=(_RESOURCE_NOT_FOUND,))


def _alter(
    admin: Any,
    users: Collection[str],
    *,
    deletions: Sequence[Any] = (),
    upsertions: Sequence[Any] = (),
    passed: Sequence[int] = (),
) -> dict[str, str]:
    request = library.AlterUserScramCredentialsRequest(
        deletions=list(deletions), upsertions=list(upsertions)
    )
    # With ZooKeeper only the controller takes it.
    response = send_to_controller(admin, request)
    reasons = {
        result.user: "" if result.error_code in passed else refusal(result)
        for result in response.results
    }
    complete(users, reasons)
    return {user: reason for user, reason in reasons.items() if reason}


class Logins:
    """Logging in at the listener of a cluster's clients."""

    def __init__(self, connection: Connection, mechanism: str) -> None:
        """Keep the listener's addresses, how to connect to it, and the mechanism.

        Raises:
            ConnectionDescriptionError: the properties do not lead to a listener with SASL.

        """
        self._connection, self._mechanism = connection, mechanism
        protocol = connection.properties.get("security.protocol", "")
        if not protocol.startswith("SASL_"):
            text = f"security.protocol is {protocol or 'not set'}: it must be SASL_SSL or "
            raise ConnectionDescriptionError(text + "SASL_PLAINTEXT, else any password would do")
        connection.as_user(mechanism, "u", "p").security()

    def accepted(self, user: str, password: str, *, everywhere: bool = False) -> bool:
        """Return whether the first broker that answers accepts the password, or every such one.

        Raises:
            UnavailableError: no broker answers.

        """
        reasons: list[str] = []
        answered = False
        connection = self._connection.as_user(self._mechanism, user, password)
        for address in connection.bootstrap:
            try:
                if not _log_in(connection.at(address)):
                    return False
            except library.errors.UnsupportedSaslMechanismError:
                reasons.append(f"{address}: {self._mechanism} is not enabled there")
            except (library.errors.KafkaError, OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                reasons.append(f"{address}: {reason}")
            else:
                answered = True
                if not everywhere:
                    break
        if not answered:
            raise UnavailableError("; ".join(reasons))
        return True


def refuses_login(connection: Connection) -> bool:
    """Return whether a broker refuses the user of a connection, which is no user of SASL else.

    An admin client does not tell a wrong password from a broker that does not answer.
    """
    if not connection.properties.get("security.protocol", "").startswith("SASL_"):
        return False
    for address in connection.bootstrap[:_ASKED]:
        try:
            return not _log_in(connection.at(address))
        except (library.errors.KafkaError, OSError, ValueError):
            continue
    return False


def _log_in(connection: Connection) -> bool:
    """Return whether the broker at the only address of a connection accepts its user.

    An admin client would try again until its timeout, and not tell that the password is wrong.
    """
    connect(connection.bootstrap[0])
    client = library.KafkaNetClient(**connection.settings(), request_timeout_ms=REQUEST_MS)
    manager = client._manager
    (broker, *_) = manager.cluster.bootstrap_brokers()

    async def attempt() -> None:
        made = manager.get_connection(broker.node_id, refresh_metadata_on_err=False)
        _keep_last_answer(made)
        await manager.wait_for(made.init_future, REQUEST_MS)

    try:
        manager.run(attempt)
    except library.errors.SaslAuthenticationFailedError:
        return False
    finally:
        client.close()
    return True


def _keep_last_answer(connection: Any) -> None:
    """Read what a broker says before it closes a connection, as it does at a wrong password.

    kafka-python drops an answer that it reads together with the end of the connection.
    """
    begin = connection.connection_made

    def connection_made(transport: Any) -> None:
        receive = transport._sock_recv

        def received() -> tuple[bytes, Any]:
            data, error = receive()
            return data, None if data else error

        transport._sock_recv = received
        begin(transport)

    connection.connection_made = connection_made
