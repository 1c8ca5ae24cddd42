"""Names and schemas that the producer, the stream and the verification share.

Plain text only: the control node's producer and the Spark driver both import this module, and
neither needs the other's libraries.
"""

from dataclasses import dataclass
from typing import Final

AIRPORTS: Final = ("EWR", "JFK", "LGA")
"""The only legal origins: the data set is every flight out of New York."""

EVENT_DDL: Final = (
    "event_time STRING, origin STRING, dest STRING, carrier STRING, flight BIGINT, "
    "tailnum STRING, dep_delay BIGINT, arr_delay BIGINT, cancelled BOOLEAN, distance BIGINT"
)
"""A flight event's JSON. Delays are whole minutes; event_time is the scheduled departure, UTC."""

EVENT_COLUMNS: Final = tuple(field.split()[0] for field in EVENT_DDL.split(", "))
NULLABLE: Final = ("tailnum", "dep_delay", "arr_delay")
REQUIRED: Final = tuple(column for column in EVENT_COLUMNS if column not in NULLABLE)

WEATHER_COLUMNS: Final = ("temp", "wind_speed", "precip", "visib")
"""Hourly weather taken along: degrees Fahrenheit, miles per hour, inches, miles."""

WEATHER_DDL: Final = "origin STRING, hour TIMESTAMP, " + ", ".join(
    f"{column} DOUBLE" for column in WEATHER_COLUMNS
)

WINDOW_COLUMNS: Final = (
    "origin",
    "hour",
    "flights",
    "cancelled",
    "dep_delay_sum",
    "dep_delay_max",
    "arr_delay_sum",
    "arr_delay_max",
    *WEATHER_COLUMNS,
)
"""One result row: an airport and an hour (`origin|hour` is the record's key)."""

SEQ: Final = "seq"
"""Header of every event: its place in the whole stream, decimal digits, from 0."""

WATERMARK: Final = "30 days"
"""How late an event may be, in event time. A reader that is behind takes the same fraction of every
partition (`maxOffsetsPerTrigger`), and at one fraction the six partitions are up to 15 days apart;
the producer's barrier adds at most 6. Less than that sum drops rows; a unit test computes it."""


@dataclass(frozen=True)
class Topics:
    """The three topics, all named after one base."""

    events: str

    @property
    def windows(self) -> str:
        """Compacted: the newest value of a key is the window's result."""
        return f"{self.events}.windows"

    @property
    def dead_letter(self) -> str:
        """Every event that the stream refused, with the reason."""
        return f"{self.events}.dead-letter"

    def layout(self) -> dict[str, tuple[int, dict[str, str]]]:
        """Name -> (partitions, topic configs). Nothing expires: the log is the source of truth."""
        keep = {"retention.ms": "-1"}
        return {
            self.events: (6, keep),
            self.windows: (3, {"cleanup.policy": "compact"}),
            self.dead_letter: (1, keep),
        }


FLIGHT: Final = ("origin", "carrier", "flight", "event_time")
"""What identifies a flight in the data set."""

SLIDING_HOURS: Final = 3
SESSION_GAP_HOURS: Final = 6
DELAYED_MINUTES: Final = 15
"""From when a departure counts as delayed, as the US Department of Transportation does."""
TOP_DELAYS: Final = 5

JOINED_COLUMNS: Final = (*FLIGHT, "dep_delay", *WEATHER_COLUMNS)


@dataclass(frozen=True)
class Result:
    """The rows of a pipeline: what identifies one, and whether a row can change.

    `updates`: a row is written again whenever it changes, and the newest one counts; otherwise
    once, when it is final. `final`: when an event's result is, in SQL, of several the first one; an
    event that comes once the watermark has passed it is late. Without it none is.
    """

    key: tuple[str, ...]
    updates: bool
    final: str = ""


RESULTS: Final = {
    "tumbling": Result(("carrier", "day"), True, "date_trunc('day', event_time) + interval 1 day"),
    "sliding": Result(
        ("origin", "start"), True, "date_trunc('hour', event_time) + interval 1 hour"
    ),
    "sessions": Result(
        ("tailnum", "start"),
        False,
        f"if(tailnum IS NULL, NULL, event_time + interval {SESSION_GAP_HOURS} hours)",
    ),
    "distinct": Result(FLIGHT, False, "event_time"),
    "joined": Result(FLIGHT, False, "event_time"),
    "top-delays": Result(("carrier", "rank"), True),
}
"""The pipelines of `flights.pipelines`; a record's key is the row's, with `|` between the parts."""


@dataclass(frozen=True)
class PipelineTopics:
    """The topics of a pipeline: that of the events is shared."""

    events: str
    name: str

    @property
    def result(self) -> str:
        """Compacted: the newest value of a key is the result."""
        return f"{self.events}.{self.name}"

    @property
    def dead_letter(self) -> str:
        """Every event that the pipeline refused, with the reason."""
        return f"{self.result}.dead-letter"

    def layout(self) -> dict[str, tuple[int, dict[str, str]]]:
        """Name -> (partitions, topic configs), without the events'."""
        return {
            self.result: (3, {"cleanup.policy": "compact"}),
            self.dead_letter: (1, {"retention.ms": "-1"}),
        }
