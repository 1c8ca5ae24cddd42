"""What the pipelines compute, as pure functions: good events in, results out.

Each takes the events as `stream.parse` returns them, streamed or not, and how late an event may be.
`late` is a watermark delay, such as "30 days": what is later is dropped, and counted in the
progress (`numRowsDroppedByWatermark`); `RESULTS` says when an event is late. `answers` computes the
same without Spark.
"""

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flights.schemas import (
    DELAYED_MINUTES,
    FLIGHT,
    JOINED_COLUMNS,
    SESSION_GAP_HOURS,
    SLIDING_HOURS,
    TOP_DELAYS,
    WEATHER_COLUMNS,
)
from millrace_job import REASON

ISO_OUTPUT: Final = "yyyy-MM-dd'T'HH:mm:ss'Z'"


def iso(time: str) -> Column:
    """Return a timestamp as ISO text in UTC, under the same name."""
    return F.date_format(time, ISO_OUTPUT).alias(time.rpartition(".")[2])


def good(events: DataFrame, late: str) -> DataFrame:
    """Return the events that were not refused, with the watermark on their time."""
    return events.where(F.col(REASON).isNull()).withWatermark("event_time", late)


def tumbling(events: DataFrame, late: str) -> DataFrame:
    """Count each carrier's flights by day, UTC."""
    day = F.window("event_time", "1 day").alias("window")
    return (
        good(events, late)
        .groupBy(day, "carrier")
        .agg(
            F.count(F.lit(1)).alias("flights"),
            F.count_if("cancelled").alias("cancelled"),
            F.sum("dep_delay").alias("dep_delay_sum"),
            F.max("dep_delay").alias("dep_delay_max"),
        )
        .select(
            "carrier",
            F.date_format("window.start", "yyyy-MM-dd").alias("day"),
            "flights",
            "cancelled",
            "dep_delay_sum",
            "dep_delay_max",
        )
    )


def sliding(events: DataFrame, late: str) -> DataFrame:
    """Count each airport's departures, and the delayed ones, of the last hours, every hour."""
    window = F.window("event_time", f"{SLIDING_HOURS} hours", "1 hour").alias("window")
    return (
        good(events, late)
        .groupBy(window, "origin")
        .agg(
            F.count("dep_delay").alias("departures"),
            F.count_if(F.col("dep_delay") >= DELAYED_MINUTES).alias("delayed"),
        )
        .select("origin", iso("window.start"), iso("window.end"), "departures", "delayed")
    )


def sessions(events: DataFrame, late: str) -> DataFrame:
    """Group each aircraft's flights that follow one another within the gap.

    `start` and `last` are its first and last departure. Spark has no update mode for sessions, so
    one is there when it can grow no more: its end, `last` and the gap, lies before the watermark.
    """
    return (
        good(events, late)
        .where(F.col("tailnum").isNotNull())
        .groupBy(F.session_window("event_time", f"{SESSION_GAP_HOURS} hours"), "tailnum")
        .agg(
            F.max("event_time").alias("last"),
            F.count(F.lit(1)).alias("flights"),
            F.sum("distance").alias("distance"),
        )
        .select("tailnum", iso("session_window.start"), iso("last"), "flights", "distance")
    )


def distinct(events: DataFrame, late: str) -> DataFrame:
    """Take each flight once, however often its event comes within the watermark's delay."""
    once = _once(events, late)
    delays = F.col("dep_delay"), F.col("arr_delay")
    return once.select("origin", "carrier", "flight", iso("event_time"), *delays)


def _once(events: DataFrame, late: str) -> DataFrame:
    return good(events, late).dropDuplicatesWithinWatermark(list(FLIGHT))


def joined(events: DataFrame, weather: DataFrame, late: str) -> DataFrame:
    """Join each flight, once, with the weather of its airport and hour, both of them streams.

    A flight without weather has nulls; it is there when none can come any more: the watermark,
    which is the lower one of both streams, has passed its hour.
    """
    left = _once(events, late).alias("left")
    right = weather.withWatermark("hour", late).alias("right")
    hour, time = F.col("right.hour"), F.col("left.event_time")
    # By the equality Spark finds the one row; the bounds let it forget what can match no more.
    fits = (
        (F.col("left.origin") == F.col("right.origin"))
        & (F.date_trunc("hour", time) == hour)
        & (time >= hour)
        & (time < hour + F.expr("interval 1 hour"))
    )
    rows = left.join(right, fits, "leftOuter")
    flight = [F.col(f"left.{name}") for name in ("origin", "carrier", "flight")]
    readings = [F.col(f"right.{name}") for name in WEATHER_COLUMNS]
    delay = F.col("left.dep_delay")
    return rows.select(*flight, iso("left.event_time"), delay, *readings).select(*JOINED_COLUMNS)


def top_delays(events: DataFrame, late: str) -> DataFrame:
    """Rank each carrier's departures by their delay, in state of its own (transformWithState).

    The operator is Scala's (`TopDelays.scala`): Python's needs pyarrow and protobuf on the workers.
    It keeps a few rows per carrier for good, so nothing is late: `late` has no effect.
    """
    del late
    rows = events.where(F.col(REASON).isNull() & F.col("dep_delay").isNotNull())
    departures = rows.select("carrier", "dep_delay", iso("event_time"), "origin", "flight")
    session = events.sparkSession
    java: Any = session._jvm  # PySpark's way to a class in a jar
    operator = java.millrace.flights.TopDelays
    return DataFrame(operator.of(departures._jdf, TOP_DELAYS), session)
