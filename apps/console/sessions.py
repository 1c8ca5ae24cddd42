"""Who is signed in. All of it is in memory: a restart signs everybody out."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

MOST = 1000
MOST_OF_USER = 20
CHECK_SECONDS = 180.0
"""After which Kafka is asked again whether it accepts the user."""
_TOKEN_BYTES = 32


@dataclass
class Session:
    """A user who is signed in."""

    user: str
    password: str = field(default="", repr=False)
    """That of a user of Kafka, empty for another one.

    Records are read with it: the console itself may read none.
    """
    begun: float = 0.0
    used: float = 0.0
    checked: float = 0.0

    @property
    def is_of_kafka(self) -> bool:
        """Whether Kafka accepts the user."""
        return bool(self.password)


class Sessions:
    """The sessions by the hashes of their tokens, so that no token can be read from memory."""

    def __init__(
        self, seconds: float, idle: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Keep for how long a session is valid, and for how long without a request."""
        self._seconds, self._idle, self._clock = seconds, idle, clock
        self._found: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, user: str, password: str = "") -> str:
        """Begin a session, and return its token; the oldest ones make room for it."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = self._clock()
        with self._lock:
            self._forget(now)
            keys = [key for key, session in self._found.items() if session.user == user]
            for key in keys[: max(0, len(keys) - MOST_OF_USER + 1)]:
                del self._found[key]
            while len(self._found) >= MOST:
                self._found.popitem(last=False)
            self._found[_key(token)] = Session(user, password, now, now, now)
        return token

    def find(self, token: str) -> Session | None:
        """Return a session by its token, None if there is none or it is over."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            session = self._found.get(_key(token))
            if session:
                session.used = now
        return session

    def begin_check(self, session: Session) -> bool:
        """Return whether it is time to check a session again; then it counts as checked."""
        now = self._clock()
        with self._lock:
            is_due = session.is_of_kafka and now - session.checked >= CHECK_SECONDS
            if is_due:
                session.checked = now
        return is_due

    def end(self, token: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            self._found.pop(_key(token), None)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._found)

    def _forget(self, now: float) -> None:
        over = [
            key
            for key, session in self._found.items()
            if now - session.begun >= self._seconds or now - session.used >= self._idle
        ]
        for key in over:
            del self._found[key]


def _key(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
