"""The tables, the flights' figures and the results: names and types for whoever reads or writes.

Plain text only: the driver of the stream, which has no pandas, imports it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SOURCE, RESULTS = "source", "results"
"""The schemas of the database: tables that are captured, and tables that are written."""
PREFIX: Final = "changes"
"""Begins the topics of changes, `topic.prefix` of the connector."""
FACTS: Final = ("flights", "cancelled", "dep_delay_sum", "distance")
"""What is summed up of the flights of a plane or an airport: whole numbers."""

SQL: Final[Mapping[str, str]] = {"STRING": "text", "BIGINT": "bigint", "DOUBLE": "double precision"}
CONNECT: Final[Mapping[str, str]] = {"STRING": "string", "BIGINT": "int64", "DOUBLE": "double"}
"""Spark's type -> PostgreSQL's, and that of Kafka Connect."""


@dataclass(frozen=True)
class Dimension:
    """A table whose rows flights refer to.

    `key` is its primary key, `flight` the field of a flight with the same value, `columns` are name
    -> Spark's type, of what the result has of a row. A column that the table has besides changes
    nothing. `types` are the table's own types in PostgreSQL where they differ.
    """

    table: str
    key: str
    flight: str
    columns: Mapping[str, str]
    types: Mapping[str, str]

    @property
    def topic(self) -> str:
        """Its changes, as Debezium names the topic."""
        return f"{PREFIX}.{SOURCE}.{self.table}"

    @property
    def result(self) -> str:
        """The topic and the table of results: one row for each row of this table."""
        return f"{self.table}_flights"

    @property
    def result_columns(self) -> dict[str, str]:
        """The columns of a result without its key: name -> Spark's type."""
        return {**self.columns, **dict.fromkeys(FACTS, "BIGINT")}


PLANES: Final = Dimension(
    table="planes",
    key="tailnum",
    flight="tailnum",
    columns={"year": "BIGINT", "manufacturer": "STRING", "model": "STRING", "seats": "BIGINT"},
    types={
        "tailnum": "text",
        "year": "integer",
        "type": "text",
        "manufacturer": "text",
        "model": "text",
        "engines": "integer",
        "seats": "integer",
        "speed": "integer",
        "engine": "text",
    },
)
AIRPORTS: Final = Dimension(
    table="airports",
    key="faa",
    flight="dest",
    columns={"name": "STRING", "lat": "DOUBLE", "lon": "DOUBLE", "tzone": "STRING"},
    types={
        "faa": "text",
        "name": "text",
        "lat": "double precision",
        "lon": "double precision",
        "alt": "integer",
        "tz": "integer",
        "dst": "text",
        "tzone": "text",
    },
)
DIMENSIONS: Final = (PLANES, AIRPORTS)
