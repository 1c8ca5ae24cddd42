"""What error codes in Kafka's answers mean: try again, or a refusal."""

from __future__ import annotations

from typing import Any

from . import library


class RefusedError(Exception):
    """Kafka refuses a whole request, and will again; the text says why."""


def refusal(response: Any) -> str:
    """Return why Kafka refuses what an answer, or a part of one, is about; empty if it does not.

    Raises:
        KafkaError: the error may pass.

    """
    error = library.errors.for_code(response.error_code)
    if response.error_code and error.retriable:
        raise error(response.error_message)
    if not response.error_code:
        return ""
    return str(response.error_message or f"{error.__name__}: {error.description}")


def check(response: Any) -> None:
    """Check the answer to a whole request.

    Raises:
        RefusedError: Kafka refuses it.
        KafkaError: the error may pass.

    """
    if reason := refusal(response):
        raise RefusedError(reason)
