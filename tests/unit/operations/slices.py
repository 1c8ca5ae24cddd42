"""Results of the module kafka_restart, for tests of the control node's handling of them."""

from __future__ import annotations

from typing import Any


def answer(phase: str, **fields: object) -> dict[str, Any]:
    """Return what the module returns at the end of a slice."""
    empty: dict[str, Any] = {
        "waiting": [],
        "degraded": [],
        "restored": [],
        "start_failed": "",
        "deferred": False,
        "non_retriable": False,
        "signs": {},
        "had_failed_directory": False,
    }
    return {"phase": phase, "seconds": {}, "changed": phase == "done", **empty, **fields}
