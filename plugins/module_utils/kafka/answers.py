"""What error codes in Kafka's answers mean: try again, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from . import library

UNKNOWN_TOPIC, INVALID_REQUEST, UNSUPPORTED_VERSION, THROTTLED = 3, 42, 35, 89
"""Error codes that more than one caller tells apart."""
_INTERNALS = re.compile(
    r"^(?:Request ?){2}\(.*\) (?:needs (\w+) permission|is not authorized)\.$", re.DOTALL
)
"""What Kafka says to a client that lacks a permission on the cluster."""


class RefusedError(Exception):
    """Kafka refuses a whole request, and will again; the text says why."""


class UnsupportedError(Exception):
    """The version of Kafka does not have what a request is about; the text says what."""


def refusal(response: Any, *, lasting: Collection[int] = ()) -> str:
    """Return why Kafka refuses what an answer, or a part of one, is about; empty if it does not.

    `lasting` are error codes that will not pass here, although they may elsewhere.

    Raises:
        KafkaError: the error may pass.

    """
    code = response.error_code
    if not code:
        return ""
    error = library.errors.for_code(code)
    message = getattr(response, "error_message", None)
    if error.retriable and code not in lasting:
        raise error(message)
    text = str(message or f"{error.__name__}: {error.description}")
    denied = _INTERNALS.match(text)
    if denied:
        return f"this client lacks the permission {denied[1] or ''} on the cluster".replace(
            "  ", " "
        )
    return text


def check(response: Any) -> None:
    """Check the answer to a whole request.

    Raises:
        RefusedError: Kafka refuses it.
        KafkaError: the error may pass.

    """
    if reason := refusal(response):
        raise RefusedError(reason)
