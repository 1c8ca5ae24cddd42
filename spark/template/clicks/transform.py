"""What a click is, which records are refused, and how clicks are counted: no Kafka, no files."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millrace_job import REASON, TOO_LARGE

CLICK = "user STRING, page STRING, at TIMESTAMP"
"""The value of a record, as JSON."""
MOST_BYTES = 10_000
"""Of a click: what is counted by page would not fit into a record if a page had any length."""
LATE = "1 hour"
"""How late a click may be, by the latest time that the job has seen."""
FINAL = "date_trunc('hour', at) + interval 1 hour"
"""When the hour of a click is over: what comes once that lies `LATE` back is not counted."""


def parse(raw: DataFrame) -> DataFrame:
    """Add the columns of a click and `reason`, which is null for a good one, to Kafka's columns.

    Reasons, the first that applies: "no value", "too large", "not a click", "no user", "no page",
    "no time".
    """
    text = F.col("value").cast("string")
    options = {"columnNameOfCorruptRecord": "_corrupt"}
    parsed = raw.withColumn("_click", F.from_json(text, f"{CLICK}, _corrupt STRING", options))
    reason = (
        F.when(text.isNull(), "no value")
        .when(F.octet_length("value") > MOST_BYTES, TOO_LARGE)
        .when(F.col("_click").isNull() | F.col("_click._corrupt").isNotNull(), "not a click")
        .when(F.col("_click.user").isNull(), "no user")
        .when(F.col("_click.page").isNull(), "no page")
        .when(F.col("_click.at").isNull(), "no time")
    )
    columns = [F.col(f"_click.{name}") for name in ("user", "page", "at")]
    # One row out for each row in: parsed once, and not again for each condition.
    row = F.inline(F.array(F.struct(*columns, reason.alias(REASON))))
    return parsed.select(*raw.columns, row)


def hourly(parsed: DataFrame) -> DataFrame:
    """Return page, hour (ISO text, UTC) and clicks; a row comes again whenever it changes."""
    hour = F.date_format("window.start", "yyyy-MM-dd'T'HH:mm:ss'Z'")
    return (
        parsed.where(F.col(REASON).isNull())
        .withWatermark("at", LATE)
        .groupBy(F.window("at", "1 hour"), "page")
        .agg(F.count(F.lit(1)).alias("clicks"))
        .select("page", hour.alias("hour"), "clicks")
    )


def records(rows: DataFrame) -> DataFrame:
    """Return rows as records: the key is page and hour, so the newest value of a key is right."""
    key = F.concat_ws("|", "page", "hour")
    return rows.select(key.alias("key"), F.to_json(F.struct(*rows.columns)).alias("value"))
