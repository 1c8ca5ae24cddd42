"""Whether Kafka Connect is healthy, by what its workers report over REST.

Pure: the caller asks the workers. The answers are those of `GET /health` (KIP-1017) and of
`GET /connectors?expand=status` (KIP-465).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

RUNNING, FAILED, UNASSIGNED = "RUNNING", "FAILED", "UNASSIGNED"
PAUSED, STOPPED, RESTARTING = "PAUSED", "STOPPED", "RESTARTING"
_LONGEST = 300


@dataclass(frozen=True)
class Part:
    """A connector or one of its tasks: its state, the worker that has it, and why it failed."""

    state: str
    worker: str = ""
    trace: str = ""


@dataclass(frozen=True)
class Connector:
    """A connector of a group and its tasks, by their numbers."""

    own: Part
    tasks: Mapping[int, Part] = field(default_factory=dict)


def connectors(answer: Mapping[str, Any]) -> dict[str, Connector]:
    """Read what a worker answers about all connectors, by their names.

    Raises:
        LookupError, TypeError, AttributeError: it is not an answer of a worker.

    """
    return {
        str(name): Connector(
            _part(one["status"]["connector"]),
            {int(task["id"]): _part(task) for task in one["status"]["tasks"]},
        )
        for name, one in answer.items()
    }


def _part(given: Mapping[str, Any]) -> Part:
    trace = str(given.get("trace") or "")
    return Part(str(given["state"]), str(given.get("worker_id") or ""), trace)


def reason(trace: str) -> str:
    """Return the last cause in a stack trace, in one line."""
    lines = [line.strip() for line in trace.splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else next(iter(lines), ""))[:_LONGEST]


def problems(
    silent: Mapping[str, str],
    workers: Collection[str],
    found: Mapping[str, Connector],
) -> list[str]:
    """Return everything that is wrong.

    `silent` is worker -> why it is not ready, `workers` are all of the inventory, `host:port`.
    """
    wrong = [
        f"the worker at {name} is not ready: {why}; see journalctl -u connect there"
        for name, why in silent.items()
    ]
    for name, connector in found.items():
        wrong += problems_of(name, connector)
    having = {part.worker for one in found.values() for part in (one.own, *one.tasks.values())}
    wrong += [
        f"the worker at {name} has work of the group, and the inventory does not have it"
        for name in sorted(having - {*workers} - {""})
    ]
    return wrong


def problems_of(name: str, connector: Connector) -> list[str]:
    """Return what is wrong with a connector and its tasks."""
    own, tasks = connector.own, connector.tasks
    wrong = [text for text in [_problem(f"connector {name}", own)] if text]
    if own.state == RUNNING and not tasks:
        wrong.append(f"connector {name} has no task: it finds nothing to do")
    wrong += [
        text
        for number, task in tasks.items()
        if (text := _problem(f"task {number} of connector {name}", task))
    ]
    return wrong


def _problem(what: str, part: Part) -> str:
    """Return what is wrong with a connector or a task, empty if nothing is."""
    if part.state == FAILED:
        return f"{what} has failed at {part.worker}: {reason(part.trace)}"
    if part.state == UNASSIGNED:
        return f"{what} runs on no worker"
    return f"{what} is being restarted" if part.state == RESTARTING else ""
