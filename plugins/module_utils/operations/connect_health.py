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


def states(found: Mapping[str, Connector]) -> dict[str, dict[str, Any]]:
    """Return the state of each connector and of its tasks, as plain data."""
    return {
        name: {
            "connector": one.own.state,
            "tasks": {str(number): task.state for number, task in one.tasks.items()},
        }
        for name, one in found.items()
    }


def reason(trace: str) -> str:
    """Return the last cause in a stack trace, in one line."""
    lines = [line.strip() for line in trace.splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else next(iter(lines), ""))[:_LONGEST]


def problems(
    not_ready: Mapping[str, str],
    workers: Collection[str],
    found: Mapping[str, Connector],
    names: Collection[str] = (),
    known_failures: Collection[str] = (),
) -> list[str]:
    """Return everything that is wrong.

    `not_ready` is worker -> why it is not ready, `workers` are all of the inventory, `host:port`,
    and `names` all connectors, those among them of which no worker has reported a status. What is
    named in `known_failures` may have failed.
    """
    wrong = [
        f"the worker at {name} is not ready: {why}; see journalctl -u connect there"
        for name, why in not_ready.items()
    ]
    wrong += [f"{no_status(name)}: no worker has started it" for name in names if name not in found]
    for name, connector in found.items():
        wrong += problems_of(name, connector, known_failures)
    having = {part.worker for one in found.values() for part in (one.own, *one.tasks.values())}
    wrong += [
        f"the worker at {name} has connectors or tasks, and the inventory does not have it"
        for name in sorted(having - {*workers} - {""})
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
    return [_problem(what, part) for what, part in _parts(name, connector) if part.state == FAILED]


def without_tasks(found: Mapping[str, Connector]) -> list[str]:
    """Return the connectors that run and have nothing to do, as one whose topics do not exist."""
    return [name for name, one in found.items() if one.own.state == RUNNING and not one.tasks]


def differences(name: str, connector: Connector, state: str) -> list[str]:
    """Return what of a connector is not as its state says: RUNNING, PAUSED or STOPPED.

    A task that has failed before it was to pause stays so.
    """
    wrong = []
    for what, part in _parts(name, connector):
        is_task = part is not connector.own
        if is_task and state == STOPPED:
            wrong.append(f"{what} has not ended yet")
        elif problem := _problem(what, part):
            wrong += [] if is_task and (part.state, state) == (FAILED, PAUSED) else [problem]
        elif part.state != state:
            wrong.append(f"{what} is {part.state.lower()}")
    return wrong


def _parts(name: str, connector: Connector) -> list[tuple[str, Part]]:
    """Return a connector and its tasks, each with what to call it."""
    tasks = connector.tasks.items()
    return [
        (f"connector {name}", connector.own),
        *((f"task {number} of connector {name}", task) for number, task in tasks),
    ]


def _problem(what: str, part: Part) -> str:
    """Return what is wrong with a connector or a task, empty if nothing is."""
    if part.state == FAILED:
        return f"{what} has failed at {part.worker}: {reason(part.trace)}"
    if part.state == UNASSIGNED:
        return f"{what} is not assigned to a worker"
    return f"{what} is being restarted" if part.state == RESTARTING else ""
