"""What to do so that the connectors of a group are those of the inventory.

Pure: the caller asks the workers and sends what follows from it.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..formats import secret_texts
from ..formats.config_providers import references
from ..host.files import shown_diff
from .connect_health import FAILED, PAUSED, RUNNING, STOPPED, UNASSIGNED, connectors

HIDDEN = "(hidden)"
_STATES = {"running": RUNNING, "paused": PAUSED, "stopped": STOPPED}
_VERBS = {"running": "resume", "paused": "pause", "stopped": "stop"}
_CLASS = "connector.class"
_POSTGRESQL_SOURCES = (
    "io.debezium.connector.postgresql.PostgresConnector",
    "PostgresConnector",
    "Postgres",
)


@dataclass(frozen=True)
class Wanted:
    """A connector of the inventory; `state` is running, paused, stopped or absent."""

    name: str
    config: Mapping[str, str]
    state: str


@dataclass(frozen=True)
class Found:
    """A connector of the group: its configuration, its state, and those of its tasks."""

    config: Mapping[str, str]
    state: str
    tasks: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A request about a connector, and what it does in words."""

    name: str
    what: str
    method: str
    path: str
    body: Any = None

    def is_early(self, status: int, why: str) -> bool:
        """Return whether it is refused only since tasks of the connector have not ended yet."""
        ending = status == 400 or (status == 500 and "safely retried" in why)
        return self.method == "DELETE" and self.path.endswith("/offsets") and ending


def path(name: str, rest: str = "") -> str:
    """Return the path of a connector."""
    return f"/connectors/{urllib.parse.quote(name, safe='')}{rest}"


def read(answer: Mapping[str, Any]) -> dict[str, Found]:
    """Read what a worker answers to `GET /connectors?expand=info&expand=status`.

    Raises:
        LookupError, TypeError, AttributeError: it is not an answer of a worker.

    """
    return {
        name: Found(
            _config(answer[name]["info"]),
            one.own.state,
            {number: task.state for number, task in one.tasks.items()},
        )
        for name, one in connectors(answer).items()
    }


def without_status(info: Mapping[str, Any]) -> Found:
    """Read what a worker answers to `GET /connectors/NAME` of one that no worker has started yet.

    Raises:
        LookupError, AttributeError: it is not an answer of a worker.

    """
    return Found(_config(info), UNASSIGNED)


def _config(info: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in info["config"].items()}


def to_validate(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[Wanted]:
    """Return the connectors whose configuration is new to the group."""
    return [
        one
        for one in wanted
        if one.state != "absent" and (one.name not in found or found[one.name].config != one.config)
    ]


def files_used(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> set[str]:
    """Return the files to which the connectors of the group refer once it is as it is wanted."""
    configs = {name: one.config for name, one in found.items()}
    configs |= {one.name: {} if one.state == "absent" else one.config for one in wanted}
    return {path for config in configs.values() for _, path, _ in references(config)}


def errors(answer: Mapping[str, Any]) -> list[str]:
    """Return what the plugin refuses of a configuration, of what its endpoint answers.

    It answers with success in any case; the errors are those of single properties.

    Raises:
        LookupError, TypeError: it is not an answer of a worker.

    """
    return [
        f"{one['value']['name']}: {' '.join(str(text).split())}"
        for one in answer["configs"]
        for text in one["value"]["errors"] or ()
    ]


def unknown_class(wanted: Wanted, plugins: Collection[str]) -> bool:
    """Return whether no worker has the class of a connector; its short name is enough, too."""
    given = wanted.config.get(_CLASS, "")
    short = {name.rpartition(".")[2] for name in plugins}
    return given not in plugins and given not in {
        *short,
        *(name.removesuffix("Connector") for name in short),
    }


def steps(
    wanted: Sequence[Wanted],
    found: Mapping[str, Found],
    restart: str = "none",
) -> list[Step]:
    """Return what to send, in order; `restart` is what is restarted too: none, failed or all."""
    every: list[Step] = []
    for one in wanted:
        every += _of(one, found.get(one.name), restart)
    return every


def reset(name: str, found: Mapping[str, Found]) -> tuple[list[Step], dict[str, Found]]:
    """Return what resets the offsets of a connector (KIP-875), and what is found after it."""
    sent = [Step(name, f"reset the offsets of {name}", "DELETE", path(name, "/offsets"))]
    if found[name].state != STOPPED:
        sent.insert(0, Step(name, f"stop {name}", "PUT", path(name, "/stop")))
    return sent, {**found, name: replace(found[name], state=STOPPED, tasks={})}


def _of(one: Wanted, now: Found | None, restart: str) -> list[Step]:
    if one.state == "absent":
        return [Step(one.name, f"remove {one.name}", "DELETE", path(one.name))] if now else []
    state = _STATES[one.state]
    if now is None:
        body = {"name": one.name, "config": dict(one.config), "initial_state": state}
        return [Step(one.name, f"create {one.name}", "POST", "/connectors", body)]
    found: list[Step] = []
    changed = now.config != one.config
    if changed:
        body = dict(one.config)
        found.append(Step(one.name, f"change {one.name}", "PUT", path(one.name, "/config"), body))
    is_state = now.state if now.state in (PAUSED, STOPPED) else RUNNING
    if is_state != state:
        verb = _VERBS[one.state]
        found.append(Step(one.name, f"{verb} {one.name}", "PUT", path(one.name, f"/{verb}")))
    elif state == RUNNING and not changed:
        # A changed connector is restarted with its tasks anyway.
        failed = FAILED in (now.state, *now.tasks.values())
        if restart == "all":
            query = "/restart?includeTasks=true&onlyFailed=false"
            found.append(Step(one.name, f"restart {one.name}", "POST", path(one.name, query)))
        elif failed and restart == "failed":
            query = "/restart?includeTasks=true&onlyFailed=true"
            found.append(
                Step(one.name, f"restart what failed of {one.name}", "POST", path(one.name, query))
            )
    return found


def left_behind(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[str]:
    """Return what connectors that are removed leave in their databases, and how to remove it.

    Defaults are those of Debezium's connector for PostgreSQL. A database keeps its log for the
    slot of a connector that is gone, until `max_slot_wal_keep_size` or its disk ends that.
    """
    texts = []
    for connector in wanted:
        config = found[connector.name].config if connector.name in found else {}
        if connector.state != "absent" or config.get(_CLASS) not in _POSTGRESQL_SOURCES:
            continue
        if config.get("slot.drop.on.stop", "false").lower() == "true":
            continue
        slot = config.get("slot.name", "debezium")
        where = f"{config.get('database.dbname', '')} at {config.get('database.hostname', '')}"
        texts.append(
            f"{connector.name} leaves its replication slot {slot} in the database {where}, which "
            "keeps its log for it: drop it there with "
            f"SELECT pg_drop_replication_slot('{slot}')"
        )
    return texts


def text(config: Mapping[str, str]) -> str:
    """Return a configuration for people; a secret that somebody wrote into it is hidden."""
    lines = (
        f"{key} = {HIDDEN if secret_texts.of_property(key, value) else value}\n"
        for key, value in sorted(config.items())
    )
    return "".join(lines)


def diff(wanted: Sequence[Wanted], found: Mapping[str, Found]) -> list[dict[str, str]]:
    """Return before and after of each connector that differs."""
    parts = []
    for one in wanted:
        now = found.get(one.name)
        before = f"{text(now.config)}state = {_state(now)}\n" if now else ""
        after = "" if one.state == "absent" else f"{text(one.config)}state = {one.state}\n"
        if before != after:
            parts.append(shown_diff(f"connector {one.name}", before, after))
    return parts


def _state(now: Found) -> str:
    """Return the state that somebody has asked for: one that failed is to run."""
    return now.state.lower() if now.state in (PAUSED, STOPPED) else "running"
