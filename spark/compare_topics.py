"""Compares two topics with results in JSON, such as those of two versions of a job.

`python -m compare_topics FORMER NEW --client-config FILE` compares the newest value of each key,
column by column, at the ends of both topics. A value that is null is a key that was removed.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from flights.differences import Difference, Row, Rows, compare, report_on
from flights.kafka_log import Reader

LOG = logging.getLogger("compare_topics")
POLL_SECONDS: Final = 1.0
EQUAL, DIFFERENT, UNKNOWN = 0, 1, 2


def newest(topic: str, connection: Connection, deadline: float) -> Rows:
    """Return the newest value of each key.

    Raises:
        LookupError: the topic does not exist.
        TimeoutError: it was not read to its end before `deadline`, in monotonic seconds.
        TypeError, ValueError: a record has no key, or its value is no JSON object.

    """
    rows: dict[str, Row] = {}
    with closing(Reader(topic, connection)) as reader:
        for record in reader.read(deadline):
            where = f"{topic}, partition {record.partition}, offset {record.offset}"
            if record.key is None:
                message = f"{where}: the record has no key"
                raise ValueError(message)
            key = record.key.decode()
            if record.value is None:
                rows.pop(key, None)
                continue
            row = json.loads(record.value)
            if not isinstance(row, dict):
                message = f"{where}: the value is no JSON object"
                raise TypeError(message)
            rows[key] = row
    return rows


def differences(
    former: str, new: str, connection: Connection, seconds: float
) -> tuple[int, Sequence[Difference]]:
    """Read both topics until they are equal; return the number of keys and the last differences."""
    deadline = time.monotonic() + seconds
    while True:
        rows = newest(former, connection, deadline)
        disagreements = compare(rows, newest(new, connection, deadline))
        if not disagreements or time.monotonic() + POLL_SECONDS > deadline:
            return len(rows), disagreements
        time.sleep(POLL_SECONDS)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the newest values of two topics, again and again until they are equal.

    Exit code: 0 equal, 1 different at the deadline, 2 not comparable.
    """
    parser = argparse.ArgumentParser(prog="compare_topics", description=main.__doc__)
    parser.add_argument("former", metavar="FORMER", help="topic of the results so far")
    parser.add_argument("new", metavar="NEW", help="topic of the new version's results")
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        connection = Connection.read(arguments.client_config)
        former, new = arguments.former, arguments.new
        keys, disagreements = differences(former, new, connection, arguments.timeout)
    except (
        errors.KafkaError,
        ConnectionDescriptionError,
        LookupError,
        TimeoutError,
        TypeError,
        ValueError,
    ) as error:
        LOG.error("not compared: %s: %s", type(error).__name__, error)  # noqa: TRY400 - the message is the report, a traceback hides it
        return UNKNOWN
    sys.stdout.write(report_on(f"{keys} keys of {former} and {new}", disagreements))
    return DIFFERENT if disagreements else EQUAL


if __name__ == "__main__":
    raise SystemExit(main())
