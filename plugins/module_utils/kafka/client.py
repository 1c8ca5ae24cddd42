"""A cluster, asked through one broker for as long as that one answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..host.network import connect
from . import clients, library, snapshot
from .connection import Connection
from .snapshot import Snapshot

REQUEST_MS = 2000
LONG_REQUEST_MS = 30_000
"""For answers about thousands of topics, which take a broker seconds."""
"""How long a broker may take to answer, unless a caller allows more."""

T = TypeVar("T")


class UnavailableError(Exception):
    """No broker answers, or not with what is needed; the text has each one's reason."""


class Cluster:
    """A cluster; a broker that does not answer is skipped."""

    def __init__(self, connection: Connection, *, request_ms: int = REQUEST_MS) -> None:
        """Keep the bootstrap addresses, how to connect, and the limit of each request.

        A broker that cannot be connected to is skipped after REQUEST_MS all the same.
        """
        self._bootstrap = list(connection.bootstrap)
        self._security = connection.security()
        self._request_ms = request_ms
        self._clients: list[Any] = []
        self._admin: Any = None

    def ask(self, question: Callable[[Any], T]) -> T:
        """Return what `question` gets from the admin client of the first broker that answers.

        Raises:
            UnavailableError: no broker answers, or not with what is needed.

        """
        reasons: list[str] = []
        for address in list(self._bootstrap):
            try:
                if self._admin is None:
                    self._admin = self._connect(address)
                return question(self._admin)
            except (library.errors.KafkaError, OSError, LookupError) as error:
                reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                reasons.append(f"{address}: {reason}")
                self.close()
                self._bootstrap.append(self._bootstrap.pop(0))
        raise UnavailableError("; ".join(reasons))

    def read(self, *, gate: bool = False) -> Snapshot:
        """Return the cluster as it is now; with `gate` all that decides whether a node may stop.

        Raises:
            UnavailableError: as `ask`.

        """
        return self.ask(lambda admin: snapshot.read(admin, gate=gate))

    def close(self) -> None:
        """Close the connections, also of clients that could not be made."""
        for client in self._clients:
            client.close()
        self._clients, self._admin = [], None

    def _connect(self, address: str) -> Any:
        connect(address)  # the client waits ten seconds for a host that does not answer at all

        def client(**config: object) -> Any:
            # kafka-python would ask any broker that it knows, also one that does not answer.
            self._clients.append(clients.pinned(**config))
            return self._clients[-1]

        return library.KafkaAdminClient(
            bootstrap_servers=[address],
            bootstrap_timeout_ms=REQUEST_MS,
            request_timeout_ms=self._request_ms,
            reconnect_backoff_max_ms=200,
            kafka_client=client,
            **self._security,
        )
