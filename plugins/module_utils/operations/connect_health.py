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
    """A connector or one of its tasks."""

    state: str
    worker: str = ""
    """The worker that has it."""
    trace: str = ""
    """Why it failed."""


@dataclass(frozen=True)
class Connector:
    """A connector of a group and its tasks."""

    own: Part
    tasks: Mapping[int, Part] = field(default_factory=dict)
    """Its tasks, by their numbers."""


def connectors(response: Mapping[str, Any]) -> dict[str, Connector]:
    """Read what a worker answers about all connectors, by their names.

    Raises:
        LookupError, TypeError, AttributeError: it is not an answer of a worker.

    """
    return {
        str(name): Connector(
            _part(entry["status"]["connector"]),
            {int(task["id"]): _part(task) for task in entry["status"]["tasks"]},
        )
        for name, entry in response.items()
    }


def _part(status: Mapping[str, Any]) -> Part:
    trace = str(status.get("trace") or "")
    return Part(str(status["state"]), str(status.get("worker_id") or ""), trace)


def states(connectors: Mapping[str, Connector]) -> dict[str, dict[str, Any]]:
    """Return the state of each connector and of its tasks, as plain data."""
    return {
        name: {
            "connector": connector.own.state,
            "tasks": {str(number): task.state for number, task in connector.tasks.items()},
        }
        for name, connector in connectors.items()
    }


def reason(trace: str) -> str:
    """Return the last cause in a stack trace, in one line."""
    lines = [line.strip() for line in trace.splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else next(iter(lines), ""))[:_LONGEST]


def problems(
    not_ready: Mapping[str, str],
    workers: Collection[str],
    connectors: Mapping[str, Connector],
    names: Collection[str] = (),
    known_failures: Collection[str] = (),
    former: str = "",
) -> list[str]:
    """Return everything that is wrong.

    `not_ready` is worker -> why it is not ready, `workers` are all of the inventory, `host:port`,
    and `names` all connectors, those among them of which no worker has reported a status. What is
    named in `known_failures` may have failed. `former` is a worker that has left.
    """
    wrong = [
        f"the worker at {name} is not ready: {why}; see journalctl -u connect there"
        for name, why in not_ready.items()
    ]
    wrong += [
        f"{no_status(name)}: no worker has started it" for name in names if name not in connectors
    ]
    for name, connector in connectors.items():
        wrong += problems_of(name, connector, known_failures)
    used = {
        part.worker
        for connector in connectors.values()
        for part in (connector.own, *connector.tasks.values())
    }
    wrong += [
        f"the worker at {name} has left, and no other one has its connectors and tasks yet"
        if name == former
        else f"the worker at {name} has connectors or tasks, and the inventory does not have it"
        for name in sorted(used - {*workers} - {""})
    ]
    return wrong


def no_status(name: str) -> str:
    """Return what is wrong with a connector that a list of all states leaves out."""
    return f"connector {name} has no status yet"


def problems_of(name: str, connector: Connector, known_failures: Collection[str] = ()) -> list[str]:
    """Return what is wrong with a connector and its tasks."""
    return [
        text
        for title, part in _parts(name, connector)
        if (text := _problem(title, part))
        and not (part.state == FAILED and title in known_failures)
    ]


def failed(connectors: Mapping[str, Connector]) -> list[str]:
    """Name the connectors and tasks that have failed."""
    return [
        title
        for name, connector in connectors.items()
        for title, part in _parts(name, connector)
        if part.state == FAILED
    ]


def failures(name: str, connector: Connector) -> list[str]:
    """Return what has failed of a connector, which stays so until it is restarted."""
    return [
        _problem(title, part) for title, part in _parts(name, connector) if part.state == FAILED
    ]


def without_tasks(connectors: Mapping[str, Connector]) -> list[str]:
    """Return the connectors that run and have nothing to do, as one whose topics do not exist."""
    return [
        name
        for name, connector in connectors.items()
        if connector.own.state == RUNNING and not connector.tasks
    ]


def differences(name: str, connector: Connector, state: str) -> list[str]:
    """Return what of a connector is not as its state says: RUNNING, PAUSED or STOPPED.

    A task that has failed before it was to pause stays so.
    """
    wrong = []
    for title, part in _parts(name, connector):
        is_task = part is not connector.own
        if is_task and state == STOPPED:
            wrong.append(f"{title} has not ended yet")
        elif problem := _problem(title, part):
            wrong += [] if is_task and (part.state, state) == (FAILED, PAUSED) else [problem]
        elif part.state != state:
            wrong.append(f"{title} is {part.state.lower()}")
    return wrong


def _parts(name: str, connector: Connector) -> list[tuple[str, Part]]:
    """Return a connector and its tasks, each with what to call it."""
    tasks = connector.tasks.items()
    return [
        (f"connector {name}", connector.own),
        *((f"task {number} of connector {name}", task) for number, task in tasks),
    ]


def _problem(title: str, part: Part) -> str:
    """Return what is wrong with a connector or a task, empty if nothing is."""
    if part.state == FAILED:
        return f"{title} has failed at {part.worker}: {reason(part.trace)}"
    if part.state == UNASSIGNED:
        return f"{title} is not assigned to a worker"
    return f"{title} is being restarted" if part.state == RESTARTING else ""
