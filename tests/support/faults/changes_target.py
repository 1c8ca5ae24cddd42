"""The target of faults under change data capture: a database, its connectors, and a job on Spark.

It is healthy when results are equal to the tables, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from testinfra.host import Host

from tests.support.faults.ledger_run import RUNS
from tests.support.faults.stream_target import SparkTarget
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.changes import SECONDS, SINK_NAME, SOURCE_NAME, Captured
from tests.support.services.connect import by_address

CHANGE = """
INSERT INTO source.planes (tailnum, manufacturer, seats) VALUES ('NEW{number}', 'X', 1);
UPDATE source.planes SET seats = coalesce(seats, 0) + {number} WHERE tailnum LIKE '%{digit}UA';
DELETE FROM source.planes WHERE tailnum LIKE 'N{digit}%' AND seats < 100;
UPDATE source.planes SET tailnum = tailnum || '-{number}' WHERE tailnum LIKE '%{digit}AA';
UPDATE source.airports SET lat = lat + {number} WHERE faa LIKE '{letter}%'
"""


@dataclass(kw_only=True)
class Changes(SparkTarget):
    """The captured tables, which change before and during each fault."""

    captured: Captured
    changed: int = 0
    """How many times the tables were changed."""

    def change(self) -> None:
        """Insert, update, delete, and change primary keys, each time of other rows."""
        self.changed += 1
        digit = self.changed % 10
        letter = "ABCDEFGHIJ"[digit]
        self.captured.sql(CHANGE.format(number=self.changed, digit=digit, letter=letter))

    @property
    def both_run(self) -> bool:
        return self.captured.runs(SOURCE_NAME) and self.captured.runs(SINK_NAME)

    def worker_of(self, name: str) -> str:
        """The host whose worker has the first task of a connector."""
        tasks = self.captured.rest.call("GET", f"/connectors/{name}/status")["tasks"]
        return by_address(self.topology.cluster.connect)[tasks[0]["worker_id"]]

    def missing(self) -> list[str]:
        return [*super().missing(), *([] if self.both_run else ["a connector does not run"])]

    def heal(self) -> None:
        """Restart tasks that have failed, too, once the database is there."""
        super().heal()
        states = [*self.captured.state(SOURCE_NAME), *self.captured.state(SINK_NAME)]
        if "FAILED" in states:
            self.captured.connectors("running", "-e", "connector_restart=failed")

    def wait_for_acks(self, count: int = 0, seconds: float = SECONDS) -> None:
        """What was changed has to be in the results."""
        del count, seconds
        self.captured.settled()


@contextmanager
def changes(
    topology: Topology, hosts: dict[str, Host], plays: Plays, rest: Rest
) -> Iterator[Changes]:
    """The tables are captured during the block."""
    captured = Captured(topology, hosts, plays, rest)
    folder = RUNS / topology.name
    folder.mkdir(parents=True, exist_ok=True)
    target = Changes(topology, hosts, plays, folder, captured=captured)
    try:
        captured.begin()
        captured.settled()
        yield target
    finally:
        target.heal()
        captured.end()
