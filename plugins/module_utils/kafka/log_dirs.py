"""The log directories of running brokers that have failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import library

_STORAGE_ERROR = 56  # KAFKA_STORAGE_ERROR: the broker has taken it out of use


def failed(admin: Any, brokers: Iterable[int]) -> dict[int, list[str]]:
    """Return broker -> its directories that are out of use; each of the brokers is asked.

    One that does not answer is left out: whether it serves is not what is asked here.
    """
    directories = {broker: _failed_on(admin, broker) for broker in sorted(brokers)}
    return {broker: paths for broker, paths in directories.items() if paths}


def _failed_on(admin: Any, broker: int) -> list[str]:
    try:
        [description] = admin.describe_log_dirs(brokers=[broker])
    except (library.errors.KafkaError, OSError):  # the latter in its TLS handshake
        return []
    return sorted(
        str(directory["log_dir"])
        for directory in description["log_dirs"]
        if directory["error_code"] == _STORAGE_ERROR
    )
