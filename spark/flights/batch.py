"""The independent check: the same aggregation in batch from the source, and a comparison.

Shares nothing with the stream but column names: pandas instead of Spark, the package's own hour
instead of event-time windows, and the list of damaged events instead of a parser.
"""

import pandas as pd

from flights.differences import Row
from flights.schemas import WINDOW_COLUMNS
from flights.source import damaged, flights, weather
from millrace_job import REASON


def expected_windows(limit: int | None = None, corrupt: int = 0) -> dict[str, Row]:
    """Aggregate the undamaged ones of the first `limit` flights by airport and hour.

    Returns:
        `origin|hour` -> `WINDOW_COLUMNS`; a gap is None.

    """
    stream = flights(limit)
    good = stream.drop(index=list(damaged(len(stream), corrupt)))
    groups = good.groupby(["origin", "time_hour"], sort=True)
    table = pd.DataFrame(
        {
            "flights": groups.size(),
            "cancelled": groups["cancelled"].sum(),
            "dep_delay_sum": groups["dep_delay"].sum(min_count=1),
            "dep_delay_max": groups["dep_delay"].max(),
            "arr_delay_sum": groups["arr_delay"].sum(min_count=1),
            "arr_delay_max": groups["arr_delay"].max(),
        }
    ).reset_index()
    joined = table.merge(weather(), how="left", on=["origin", "time_hour"], validate="1:1")
    rows = joined.rename(columns={"time_hour": "hour"})[list(WINDOW_COLUMNS)].astype(object)
    plain = rows.where(rows.notna(), None)
    return {
        f"{row['origin']}|{row['hour']}": {str(name): value for name, value in row.items()}
        for row in plain.to_dict("records")
    }


def expected_rejects(total: int, corrupt: int) -> dict[str, Row]:
    """Return what the dead-letter topic must hold: seq -> reason."""
    return {str(seq): {REASON: damage.value} for seq, damage in damaged(total, corrupt).items()}
