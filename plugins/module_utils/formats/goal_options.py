"""The options of a goal for replicas: which goal they describe, and which contradict each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DRAIN, REPLICATION, HOTTEST, TOPIC = "drain", "replication", "hottest", "topic"
RACKS, SPREAD = "racks", "spread"
USED: Mapping[str, Sequence[str]] = {
    DRAIN: ("drain",),
    REPLICATION: ("topics", "replication"),
    HOTTEST: ("hottest",),
    TOPIC: ("topics",),
    RACKS: (),
    SPREAD: (),
}
"""Kind of a goal -> the options that it is made of."""
_IMPLIED = {"drain": DRAIN, "replication": REPLICATION, "hottest": HOTTEST, "topics": TOPIC}
_COUNTS = ("hottest", "replication")


def kind_of(params: Mapping[str, Any]) -> str:
    """Return the kind of goal that is set, or that the other options imply.

    `params` has goal, topics, hottest, drain and replication as options of `kafka_rebalance`.
    """
    implied = (kind for option, kind in _IMPLIED.items() if params[option])
    return str(params["goal"] or next(implied, SPREAD))


def problems(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is wrong with the options of a goal, all at once, each with what to do.

    `params` is as of `kind_of`, and may have a `rate`.
    """
    kind = kind_of(params)
    used = USED[kind]
    unused = sorted({option for options in USED.values() for option in options} - set(used))
    rate = params.get("rate")
    return [
        *(
            (f"the goal {kind} needs {_called(option)}", f"set {_called(option)}")
            for option in used
            if not params[option]
        ),
        *(
            (
                f"{_called(option)} has no effect on the goal {kind}",
                "leave it out, or choose another goal",
            )
            for option in unused
            if params[option]
        ),
        *(
            (f"{option} {params[option]} is below 1", "set how many")
            for option in _COUNTS
            if params[option] < 0
        ),
        *([(f"rate {rate} is below 1", "set bytes/s")] if rate is not None and rate < 1 else ()),
    ]


def _called(option: str) -> str:
    """Return an option's name among the parameters of the playbook."""
    return {"topics": "topic"}.get(option, option)
