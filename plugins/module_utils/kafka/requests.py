"""Sending Kafka's own requests through an admin client, in batches and as fast as quotas allow."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from .answers import THROTTLED

BATCH = 250
"""How many resources one request is about: more would block a controller for longer."""
TIMEOUT_MS = 30_000
"""How long a broker may work at one request."""
THROTTLED_SECONDS = 120.0
"""How long quotas, such as that of changes (KIP-599), may delay one batch."""
_SHORTEST_PAUSE = 0.1

T = TypeVar("T")


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`."""
    pending = list(items)
    for start in range(0, len(pending), size):
        yield pending[start : start + size]


def send(admin: Any, request: Any) -> Any:
    """Return the answer of the broker that the client asks."""
    return _unthrottled(admin._manager.run(admin._manager.send, request))


def send_to(admin: Any, broker: int, request: Any) -> Any:
    """Return the answer of a certain broker."""

    async def ask() -> Any:
        return await admin._manager.send(request, node_id=broker)

    return _unthrottled(admin._manager.run(ask))


def send_to_controller(admin: Any, request: Any) -> Any:
    """Return the answer of the controller, which with ZooKeeper alone takes some requests."""
    return _unthrottled(admin._manager.run(admin._send_request_to_controller, request))


def change(
    admin: Any,
    names: Sequence[str],
    request: Callable[[Sequence[str]], Any],
    parts: Callable[[Any], Iterable[tuple[str, Any]]],
) -> dict[str, Any]:
    """Send a change of some topics to the controller; return topic -> part of the answer about it.

    Those that a quota of changes leaves out are sent again when it allows it (KIP-599). `request`
    gets the names that are to be sent, `parts` returns name and part of an answer.

    Raises:
        LookupError: an answer lacks a topic.

    """
    all_results: dict[str, Any] = {}
    pending = list(names)
    deadline = time.monotonic() + THROTTLED_SECONDS
    while pending:
        results = dict(parts(send_to_controller(admin, request(pending))))
        complete(pending, results)
        all_results.update(results)
        pending = [name for name in pending if results[name].error_code == THROTTLED]
        if time.monotonic() > deadline:
            break
        if pending:
            time.sleep(_SHORTEST_PAUSE)
    return all_results


def complete(names: Iterable[str], answered: Collection[str]) -> None:
    """Check that there is an answer about each name.

    Raises:
        LookupError: there is not.

    """
    if missing := sorted(set(names) - set(answered)):
        text = f"no answer about {', '.join(missing[:10])}"
        raise LookupError(text)


def _unthrottled(response: Any) -> Any:
    """Return an answer, after the time for which the broker delays this client (KIP-219).

    kafka-python refuses to send anything in that time. After a longer one than is waited for here
    the next request fails with an error that may pass.
    """
    if seconds := getattr(response, "throttle_time_ms", 0) / 1000:
        time.sleep(min(seconds, THROTTLED_SECONDS) + _SHORTEST_PAUSE)
    return response
