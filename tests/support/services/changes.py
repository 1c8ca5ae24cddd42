"""The captured tables of docs/operate/cdc.md on a cluster, and what becomes of their changes."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql.model import (
    STATE,
    Database,
)
from testinfra.host import Host

from changes.schemas import DIMENSIONS, RESULTS, SOURCE, Dimension
from changes.tables import answer
from flights.differences import Row, compare, lines
from flights.kafka_log import Reader
from flights.source import flights
from tests.support.clients import guide
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.services.postgresql import sql
from tests.support.wait import wait_for_none

PAGE = ROOT / "docs/operate/cdc.md"
SOURCE_NAME, SINK_NAME = "flights-source", "flights-results"
LIMIT = 20_000
"""How many flights are published."""
SECONDS = 300
_EVENTS = "(tailnum text, dest text, cancelled boolean, dep_delay bigint, distance bigint)"


def job() -> dict[str, Any]:
    """The job as the page has it."""
    (text,) = guide.blocks("Run it", "yaml", PAGE)
    (description,) = yaml.safe_load(text)["spark_jobs"]
    return {**description, "source": str(ROOT / "spark/changes")}


@dataclass
class Captured:
    """The database, its connectors and the job on a cluster."""

    topology: Topology
    hosts: dict[str, Host]
    plays: Plays
    rest: Rest
    _events: str = field(default="", init=False)

    @property
    def database(self) -> Database:
        return next(iter(self.topology.cluster.databases.values()))

    @property
    def host(self) -> Host:
        return self.hosts[self.database.host.name]

    def sql(self, statements: str) -> list[str]:
        """Run statements as the superuser, and return the lines of their results."""
        return sql(self.host, self.database, statements)

    @property
    def described(self) -> list[dict[str, Any]]:
        """Both connectors as the inventory has them, the source first."""
        worker = next(iter(self.topology.cluster.connect.values()))
        return list(worker.settings["connect_connectors"])

    def connectors(self, state: str = "running", *arguments: str) -> str:
        """Run connectors.yml with both connectors in a state."""
        connectors = [{**connector, "state": state} for connector in self.described]
        return self.plays.succeed(
            "connectors", "-e", json.dumps({"connect_connectors": connectors}), *arguments
        )

    def jobs(self, state: str = "present") -> str:
        variables = {"spark_jobs": [{**job(), **({"state": state} if state != "present" else {})}]}
        return self.plays.succeed("jobs", "-e", json.dumps(variables))

    def begin(self) -> None:
        """Do what the page says."""
        self.plays.succeed("changes", "-e", f"flights_limit={LIMIT}")
        self.connectors()
        self.jobs()

    def end(self) -> None:
        """Remove the job and the connectors, what they have made, and the tables."""
        self.jobs("absent")
        for name in (SOURCE_NAME, SINK_NAME):
            self.connectors("stopped", "-e", f"connector={name}", "-e", "connector_offsets=reset")
        self.plays.succeed("changes_reset", "-e", "changes_reset=true")
        self.connectors("absent")
        captured = [f"{SOURCE}.{dimension.table}" for dimension in DIMENSIONS]
        results = [f"{RESULTS}.{dimension.result}" for dimension in DIMENSIONS]
        self.sql(
            f"DROP TABLE {', '.join([*captured, *results])}; DROP SCHEMA IF EXISTS batch CASCADE"
        )

    def state(self, name: str) -> list[str]:
        """The states of a connector and its tasks; none while no worker answers."""
        try:
            status = self.rest.call("GET", f"/connectors/{name}/status")
        except RestError:
            return []
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    def runs(self, name: str) -> bool:
        """Whether a connector has tasks, and all of them run."""
        states = self.state(name)
        return len(states) > 1 and {*states} == {"RUNNING"}

    def rows(self, query: str, key: str) -> dict[str, Row]:
        """The rows of a query by their key."""
        texts = self.sql(f"SELECT to_json(found) FROM ({query}) AS found")
        return {str(row[key]): row for row in map(json.loads, texts)}

    def expected(self, dimension: Dimension) -> dict[str, Row]:
        """The answer in batch: the database's own, on the flights that were published."""
        self._copy_flights()
        query = answer(dimension).replace("JOIN flights f", "JOIN batch.flights f")
        return self.rows(query, dimension.key)

    def _copy_flights(self) -> None:
        """Copy the flights into a table beside the others, once."""
        if self._events:
            return
        frame = flights(LIMIT)[["tailnum", "dest", "cancelled", "dep_delay", "distance"]]
        self._events = frame.to_csv(index=False, header=False)
        place = f"{STATE}/flights.csv"  # the server has a /tmp of its own
        self._copy(place)
        self.sql(
            f"DROP SCHEMA IF EXISTS batch CASCADE; CREATE SCHEMA batch; CREATE TABLE batch.flights "
            f"{_EVENTS}; COPY batch.flights FROM '{place}' WITH (FORMAT csv)"
        )

    def _copy(self, place: str) -> None:
        """Write the flights on the database's host, in parts that a command line can have."""
        self.host.check_output("rm -f %s", place)
        size = 60_000
        for start in range(0, len(self._events), size):
            self.host.check_output(
                "printf '%%s' %s >> %s", self._events[start : start + size], place
            )
        self.host.check_output("chmod 644 %s", place)

    def actual(self, dimension: Dimension) -> dict[str, Row]:
        """What the sink has written."""
        return self.rows(f"SELECT * FROM {RESULTS}.{dimension.result}", dimension.key)

    def topic(self, name: str, *, payload: bool) -> dict[str, Row]:
        """The newest row of each key of a topic, without those that were deleted.

        With `payload` records have their schema, and are rows themselves.
        """
        rows: dict[str, Row] = {}
        reader = Reader(name, self.topology.connection)
        try:
            for record in reader.read(time.monotonic() + SECONDS):
                key = json.loads(record.key)
                text = next(iter((key["payload"] if payload else key).values()))
                value = json.loads(record.value) if record.value else None
                row = value and (value["payload"] if payload else value["after"])
                rows.pop(text, None)
                if row:
                    rows[text] = row
        finally:
            reader.close()
        return rows

    def differences(self) -> list[str]:
        """Where results, their topics or those of changes are not as the tables say."""
        problems: list[str] = []
        for dimension in DIMENSIONS:
            expected = self.expected(dimension)
            table = self.rows(f"SELECT * FROM {SOURCE}.{dimension.table}", dimension.key)
            captured = self.topic(dimension.topic, payload=False)
            names = {dimension.key, *dimension.columns}
            pairs = [
                (f"{RESULTS}.{dimension.result}", expected, self.actual(dimension)),
                (dimension.topic, _only(table, names), _only(captured, names)),
                (
                    dimension.result,
                    _without(expected, dimension.key),
                    self.topic(dimension.result, payload=True),
                ),
            ]
            for name, desired, actual in pairs:
                problems += [f"{name}: {line}" for line in lines(compare(desired, actual))]
        return problems

    def settled(self) -> None:
        """Wait until everything is as the tables say, row by row."""
        wait_for_none(self.differences, seconds=SECONDS, what="results equal to the tables")


def _only(rows: dict[str, Row], names: set[str]) -> dict[str, Row]:
    return {key: {name: row[name] for name in names} for key, row in rows.items()}


def _without(rows: dict[str, Row], name: str) -> dict[str, Row]:
    return {key: {n: value for n, value in row.items() if n != name} for key, row in rows.items()}
