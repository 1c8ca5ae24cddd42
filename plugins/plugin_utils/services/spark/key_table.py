"""The keys that a Spark version reads, and what Spark leaves to others.

The tables in spark_keys/ come from the binary (artifacts/spark/keys.py). An application may read
keys of its own, which Spark hands on: a key is unknown where Spark has others beside it, or one
that is nearly the same.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ....module_utils.formats import key_table
from ....module_utils.formats.key_table import Table, nearest

TABLES = Path(__file__).parent / "keys"

_ALL = "spark."  # without it a key has a rule of its own
# What a part of Spark, a plug-in or a connector builds the rest of the name of.
PREFIXES = (
    "spark.databricks.",
    "spark.driver.resource.",
    "spark.executor.resource.",
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.hive.",
    "spark.kubernetes.",
    "spark.metrics.conf.",
    "spark.network.io.",
    "spark.plugins.internal.conf.",
    "spark.python.worker.memory",  # read by PySpark alone
    "spark.rpc.",
    "spark.scheduler.listenerbus.eventqueue.",
    "spark.security.credentials.",
    "spark.shuffle.io.",
    "spark.sql.catalog.",
    "spark.sql.streaming.stateStore.rocksdb.",
    "spark.ssl.",
    "spark.task.resource.",
    "spark.worker.resource.",
    "spark.yarn.",
)
# Where applications often have keys of their own.
_APPLICATIONS = ("spark", "spark.app", "spark.job")
# What Spark checks only when it uses the value (CompressionCodec, Utils.setLogLevel).
_CODECS = "[lz4, lzf, snappy, zstd] or a class name"
_MORE = {
    "spark.io.compression.codec": {"valid": f"(case insensitive) {_CODECS}"},
    "spark.eventLog.compression.codec": {"valid": f"(case insensitive) {_CODECS}"},
    "spark.log.level": {
        "valid": "(case insensitive) [all, debug, error, fatal, info, off, trace, warn]"
    },
    "spark.serializer": {"type": "class"},
}
_NEARLY = 0.85
_QUANTITY = re.compile(r"(?P<number>\d{1,18})(?P<unit>[a-z]*)")
_MIB = {"b": 2**-20, "k": 2**-10, "m": 1, "g": 2**10, "t": 2**20, "p": 2**30}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def load(version: str) -> Table:
    """Return the table of a version, empty if there is none."""
    table = key_table.read(TABLES, version)
    return {
        **table,
        **{key: {**table[key], **addition} for key, addition in _MORE.items() if key in table},
    }


@functools.cache
def is_known(key: str, version: str) -> bool:
    """Return whether a version of Spark reads this key, or may hand it on."""
    table = load(version)
    if key in table or key.startswith(PREFIXES) or not key.startswith(_ALL):
        return True
    parent = key.rpartition(".")[0]
    beside = any(name.rpartition(".")[0] == parent for name in table)
    of_spark = parent not in _APPLICATIONS and beside
    return not of_spark and not nearest(key, list(table), _NEARLY)


def size_mb(value: object) -> int | None:
    """Return the MiB of a size such as 512m, also of one without a unit; None if it is none."""
    match = _QUANTITY.fullmatch(str(value).strip().lower())
    unit = _MIB.get((match["unit"] or "m").removesuffix("b") or "b") if match else None
    return int(int(match["number"]) * unit) if match and unit else None


def seconds(value: object) -> float | None:
    """Return the seconds of a time such as 30s, None if it is none.

    A number without a unit is none here: each key counts in a unit of its own.
    """
    match = _QUANTITY.fullmatch(str(value).strip().lower())
    unit = _SECONDS.get(match["unit"]) if match else None
    return int(match["number"]) * unit if match and unit else None
