"""Avro records with the id of their schema in a registry; copied with each job that imports it.

Such a record begins with a zero byte and the id of the schema that it was written with, in four
bytes, as the serializers of Confluent's clients write it. Spark's `from_avro` reads what follows,
but needs the schema: `decode` fetches each once, and reads each record with its writer's schema.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from millrace_job import REASON

NO_ID: Final = "no schema id"
NO_SCHEMA: Final = "unknown schema"
NO_DATUM: Final = "does not fit the schema"
"""Reasons, after the name of the column, the latter two followed by the id."""
_HEADER_BYTES = 5
_IS_READ = "_is_read"
_TIMEOUT_SECONDS = 10.0


class RegistryError(Exception):
    """No instance has the schema, and one has not answered, or refuses the user."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for a refusal: where it leads would get the password, too."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


@dataclass(frozen=True)
class Registry:
    """A schema registry with Confluent's interface, and the schemas that were read from it."""

    urls: Sequence[str]
    """Those of its instances."""
    authority: str = ""
    """A file with its CA."""
    user_info: str = field(default="", repr=False)
    """As user:password."""
    known: dict[int, str] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, path: Path) -> Registry:
        """Return the registry of a file with confluent-kafka's keys, one in a line.

        These are `url`, with commas between several, `ssl.ca.location` and `basic.auth.user.info`.

        Raises:
            OSError: the file cannot be read.
            KeyError: it has no url.

        """
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        properties = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
        urls = [url.strip().rstrip("/") for url in properties["url"].split(",")]
        return cls(
            urls, properties.get("ssl.ca.location", ""), properties.get("basic.auth.user.info", "")
        )

    def schema(self, number: int) -> str | None:
        """Return the Avro schema with an id, None if there is none, or one with references.

        An instance may not have read yet what another one has registered: all are asked, and the id
        is unknown only if all say so.

        Raises:
            RegistryError: none of them has it, and one does not answer, or refuses the user.

        """
        if number in self.known:
            return self.known[number]
        failures = []
        for url in self.urls:
            try:
                response = self._get(f"{url}/schemas/ids/{number}")
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.NOT_FOUND:
                    failures.append(f"{url}: {error}")
            except (OSError, HTTPException, ValueError) as error:
                failures.append(f"{url}: {error}")
            else:
                if response.get("schemaType", "AVRO") != "AVRO" or response.get("references"):
                    return None
                return self.known.setdefault(number, str(response["schema"]))
        if failures:
            raise RegistryError("; ".join(failures))
        return None

    def _get(self, url: str) -> dict[str, object]:
        request = urllib.request.Request(url)  # noqa: S310 - an address that the operator gives
        if self.user_info:
            login = base64.b64encode(self.user_info.encode()).decode()
            request.add_header("Authorization", f"Basic {login}")
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self.authority:
            context = ssl.create_default_context(cafile=self.authority)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        opener = urllib.request.build_opener(*handlers)
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
            return dict(json.load(response))


def decode(
    records: DataFrame, registry: Registry, schema: str, column: str = "value", into: str = "record"
) -> DataFrame:
    """Add a column `into` with the datum in `column`, and `reason`, which is null for a good one.

    `records` is no stream, but for example a micro-batch in `foreachBatch`: their ids are collected
    first. `schema` is an Avro record, that of the reader: the newest, or another one into which
    those of the writers are resolved; its fields have null where nothing is read. Null remains
    null, without a reason. A reason that `records` has already is kept.

    Raises:
        RegistryError: the registry cannot be read, which is no reason to refuse a record.
        ValueError: the schema is not that of a record, or `records` is a stream.

    """
    if records.isStreaming:
        message = "the schemas of a stream are not known before its records: decode in foreachBatch"
        raise ValueError(message)
    data = F.col(column)
    begins_well = F.octet_length(data) >= _HEADER_BYTES
    begins_well &= F.substring(data, 1, 1) == F.lit(b"\0")
    number = F.when(begins_well, F.conv(F.hex(F.substring(data, 2, 4)), 16, 10).cast("bigint"))
    ids = [row[0] for row in records.select(number).distinct().collect() if row[0] is not None]
    writers = {
        schema_id: text
        for schema_id in sorted(ids)
        if (text := registry.schema(schema_id)) is not None
    }
    options = {"avroSchema": _marked(schema), "mode": "PERMISSIVE"}
    datum = F.substring(data, _HEADER_BYTES + 1, 2**31 - 1)
    nothing = from_avro(F.lit(None).cast("binary"), _marked(schema), options)
    read = reduce(
        lambda fallback, schema_id: F.when(
            number == schema_id, from_avro(datum, writers[schema_id], options)
        ).otherwise(fallback),
        writers,
        nothing,
    )
    reason = (
        F.when(data.isNull(), None)
        .when(number.isNull(), f"{column}: {NO_ID}")
        .when(~number.isin(*writers), F.concat(F.lit(f"{column}: {NO_SCHEMA} "), number))
        .when(F.col(into)[_IS_READ].isNull(), F.concat(F.lit(f"{column}: {NO_DATUM} "), number))
    )
    columns = [name for name in records.columns if name != REASON]
    first = [F.col(REASON)] if REASON in records.columns else []
    # One row out for each row in: read once, and not again for the reason.
    rows = records.select("*", F.inline(F.array(F.struct(read.alias(into)))))
    good = F.when(F.col(into)[_IS_READ], F.col(into).dropFields(_IS_READ))
    return rows.select(*columns, good.alias(into), F.coalesce(*first, reason).alias(REASON))


def _marked(schema: str) -> str:
    """Return a reader's schema with one more field, which no writer has.

    It has its default exactly if the datum was read: else Spark sets all fields to null.
    """
    record = json.loads(schema)
    if not isinstance(record, dict) or record.get("type") != "record":
        message = "the schema is not that of a record"
        raise ValueError(message)
    mark = {"name": _IS_READ, "type": "boolean", "default": True}
    return json.dumps({**record, "fields": [*record["fields"], mark]})
