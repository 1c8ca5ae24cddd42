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
    """A connector of the inventory."""

    name: str
    config: Mapping[str, str]
    state: str
    """Running, paused, stopped or absent."""


@dataclass(frozen=True)
class Found:
    """A connector of the group."""

    config: Mapping[str, str]
    state: str
    tasks: Mapping[int, str] = field(default_factory=dict)
    """The states of its tasks."""


@dataclass(frozen=True)
class Step:
    """A request about a connector."""

    name: str
    what: str
    """What it does, in words."""
    method: str
    path: str
    body: Any = None

    def is_early(self, status: int, why: str) -> bool:
        """Return whether it is refused only since tasks of the connector have not ended yet."""
        ending = status == 400 or (status == 500 and "safely retried" in why)
        return self.method == "DELETE" and self.path.endswith("/offsets") and ending


def path(name: str, suffix: str = "") -> str:
    """Return the path of a connector."""
    return f"/connectors/{urllib.parse.quote(name, safe='')}{suffix}"


def read(response: Mapping[str, Any]) -> dict[str, Found]:
    """Read what a worker answers to `GET /connectors?expand=info&expand=status`.

    Raises:
        LookupError, TypeError, AttributeError: it is not an answer of a worker.

    """
    return {
        name: Found(
            _config(response[name]["info"]),
            connector.own.state,
            {number: task.state for number, task in connector.tasks.items()},
        )
        for name, connector in connectors(response).items()
    }


def without_status(info: Mapping[str, Any]) -> Found:
    """Read what a worker answers to `GET /connectors/NAME` of one that no worker has started yet.

    Raises:
        LookupError, AttributeError: it is not an answer of a worker.

    """
    return Found(_config(info), UNASSIGNED)


def _config(info: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in info["config"].items()}


def to_validate(desired: Sequence[Wanted], group: Mapping[str, Found]) -> list[Wanted]:
    """Return the connectors whose configuration is new to the group."""
    return [
        new
        for new in desired
        if new.state != "absent" and (new.name not in group or group[new.name].config != new.config)
    ]


def files_used(desired: Sequence[Wanted], group: Mapping[str, Found]) -> set[str]:
    """Return the files to which the connectors of the group refer once it is as it is wanted."""
    configs = {name: connector.config for name, connector in group.items()}
    configs |= {
        connector.name: {} if connector.state == "absent" else connector.config
        for connector in desired
    }
    return {path for config in configs.values() for _, path, _ in references(config)}


def errors(response: Mapping[str, Any]) -> list[str]:
    """Return what the plugin refuses of a configuration, of what its endpoint answers.

    It answers with success in any case; the errors are those of single properties.

    Raises:
        LookupError, TypeError: it is not an answer of a worker.

    """
    return [
        f"{entry['value']['name']}: {' '.join(str(text).split())}"
        for entry in response["configs"]
        for text in entry["value"]["errors"] or ()
    ]


def unknown_class(desired: Wanted, plugins: Collection[str]) -> bool:
    """Return whether no worker has the class of a connector; its short name is enough, too."""
    class_name = desired.config.get(_CLASS, "")
    short = {name.rpartition(".")[2] for name in plugins}
    return class_name not in plugins and class_name not in {
        *short,
        *(name.removesuffix("Connector") for name in short),
    }


def steps(
    desired: Sequence[Wanted],
    group: Mapping[str, Found],
    restart: str = "none",
) -> list[Step]:
    """Return what to send, in order; `restart` is what is restarted too: none, failed or all."""
    planned: list[Step] = []
    for connector in desired:
        planned += _of(connector, group.get(connector.name), restart)
    return planned


def reset(name: str, group: Mapping[str, Found]) -> tuple[list[Step], dict[str, Found]]:
    """Return what resets the offsets of a connector (KIP-875), and what is found after it."""
    sent = [Step(name, f"reset the offsets of {name}", "DELETE", path(name, "/offsets"))]
    if group[name].state != STOPPED:
        sent.insert(0, Step(name, f"stop {name}", "PUT", path(name, "/stop")))
    return sent, {**group, name: replace(group[name], state=STOPPED, tasks={})}


def _of(connector: Wanted, now: Found | None, restart: str) -> list[Step]:
    if connector.state == "absent":
        return (
            [Step(connector.name, f"remove {connector.name}", "DELETE", path(connector.name))]
            if now
            else []
        )
    state = _STATES[connector.state]
    if now is None:
        body = {"name": connector.name, "config": dict(connector.config), "initial_state": state}
        return [Step(connector.name, f"create {connector.name}", "POST", "/connectors", body)]
    planned: list[Step] = []
    changed = now.config != connector.config
    if changed:
        body = dict(connector.config)
        planned.append(
            Step(
                connector.name,
                f"change {connector.name}",
                "PUT",
                path(connector.name, "/config"),
                body,
            )
        )
    is_state = now.state if now.state in (PAUSED, STOPPED) else RUNNING
    if is_state != state:
        verb = _VERBS[connector.state]
        planned.append(
            Step(
                connector.name, f"{verb} {connector.name}", "PUT", path(connector.name, f"/{verb}")
            )
        )
    elif state == RUNNING and not changed:
        # A changed connector is restarted with its tasks anyway.
        failed = FAILED in (now.state, *now.tasks.values())
        if restart == "all":
            query = "/restart?includeTasks=true&onlyFailed=false"
            planned.append(
                Step(
                    connector.name, f"restart {connector.name}", "POST", path(connector.name, query)
                )
            )
        elif failed and restart == "failed":
            query = "/restart?includeTasks=true&onlyFailed=true"
            planned.append(
                Step(
                    connector.name,
                    f"restart what failed of {connector.name}",
                    "POST",
                    path(connector.name, query),
                )
            )
    return planned


def left_behind(desired: Sequence[Wanted], group: Mapping[str, Found]) -> list[str]:
    """Return what connectors that are removed leave in their databases, and how to remove it.

    Defaults are those of Debezium's connector for PostgreSQL. A database keeps its log for the
    slot of a connector that is gone, until `max_slot_wal_keep_size` or its disk ends that.
    """
    texts = []
    for connector in desired:
        config = group[connector.name].config if connector.name in group else {}
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


def diff(desired: Sequence[Wanted], group: Mapping[str, Found]) -> list[dict[str, str]]:
    """Return before and after of each connector that differs."""
    diffs = []
    for connector in desired:
        now = group.get(connector.name)
        before = f"{text(now.config)}state = {_state(now)}\n" if now else ""
        after = (
            ""
            if connector.state == "absent"
            else f"{text(connector.config)}state = {connector.state}\n"
        )
        if before != after:
            diffs.append(shown_diff(f"connector {connector.name}", before, after))
    return diffs


def _state(now: Found) -> str:
    """Return the state that somebody has asked for: one that failed is to run."""
    return now.state.lower() if now.state in (PAUSED, STOPPED) else "running"
