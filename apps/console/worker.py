"""Reads and decodes the records of one request: `python -m apps.console.worker`, the request on stdin.

Anybody who may write to a topic decides what is read here: so it is a process of its own, with
limits, and `console.reading` ends it when it takes too long. It writes a line of JSON with all
records as they are, then one for each key and value that has a schema, in their order.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from . import codecs, records
from .schemas import SchemaError, SchemaRegistry, Schemas, has_schema

MEMORY = 160 * 2**20
"""Bytes that it may allocate; it begins with about 40 MB."""
CPU_SECONDS = 30
"""After which it ends even if nobody ends it."""
VALUE_SECONDS = 2.0
"""For one key or value, if it is decoded in Python; a function in C goes on until it ends."""
DECODE_SECONDS = 5.0
"""For all of them; none is begun later."""


def answer(request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of the answer to a request.

    Raises:
        RecordsError: there is no such partition, it may not be read, or no broker answers.

    """
    connection = Connection(tuple(request["bootstrap"]), request["properties"])
    fetched = records.fetch(connection, records.Request(**request["records"]))
    yield fetched.described()
    schemas = Schemas(SchemaRegistry.of(request["registry"]), _value_limit)
    decode = schemas.decoder(time.monotonic() + DECODE_SECONDS)
    for record in fetched.records:
        for value in (record.key, record.value):
            if value is not None and has_schema(value):
                yield records.text(value, decode) or {}


@contextmanager
def _value_limit() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, VALUE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> int:
    """Answer the request; return 1 for an error, which is then the only line."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _refuse_slow)
    codecs.use()
    try:
        for line in answer(json.load(sys.stdin)):
            _write(line)
    except records.RecordsError as error:
        _write({"error": str(error), "status": error.status})
        return 1
    except Exception as error:  # whatever it is, the user learns of it
        _write({"error": f"Reading records has failed: {type(error).__name__}", "status": 500})
        return 1
    return 0


def _write(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _refuse_slow(*_: object) -> None:
    message = f"decoding it took more than {VALUE_SECONDS:.0f} s"
    raise SchemaError(message)


if __name__ == "__main__":
    sys.exit(main())
