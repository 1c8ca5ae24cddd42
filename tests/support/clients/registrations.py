"""A client of the schema registry that registers and looks up schemas all the time."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import CONFLUENT
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from tests.support.wait import wait_for

LAG_SECONDS = 10
"""An instance has read what another one has registered; it takes milliseconds."""
LOADED = 6
"""Registrations to wait for; each instance is named first in half of them."""


def looked_up_by(client: dict[str, str], number: int) -> Schema | None:
    """The schema with an id; none while the instance that is asked has not read it from Kafka."""
    try:
        return SchemaRegistryClient(client).get_schema(number)
    except SchemaRegistryError as error:
        if error.http_status_code != HTTPStatus.NOT_FOUND:
            raise
        return None


@dataclass
class Registrations:
    """Registrations and lookups, one after the other, each by a client that has cached nothing.

    Both instances are named, the one in front changes each time.
    """

    prefix: str
    """Begins the name of each subject."""
    client: dict[str, str]
    """The client's properties, without the instances."""
    addresses: list[str]
    """The instances, `host:port`."""
    ids: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Registrations:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it; nothing happens if it has ended."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        number, urls = 0, [f"https://{address}{CONFLUENT}" for address in self.addresses]
        while not self._stop.is_set():
            number += 1
            client = {**self.client, "url": ",".join(urls[:: 1 if number % 2 else -1])}
            name = f"{self.prefix}-load-{number}-value"
            record = {"type": "record", "name": f"Load{number}", "fields": []}
            try:
                schema = Schema(json.dumps(record), "AVRO")
                registered = SchemaRegistryClient(client).register_schema(name, schema)
                self.ids[name] = registered
                looked_up = partial(looked_up_by, client, registered)
                stored = wait_for(looked_up, seconds=LAG_SECONDS, what=f"the schema {registered}")
                if json.loads(str(stored.schema_str)) != record:
                    self.errors.append(f"{name}: {stored.schema_str}")
            except Exception as error:  # each one is a client that had to give up
                self.errors.append(f"{name}: {error!r}")

    def goes_on(self) -> None:
        """Wait for more registrations; one that names a killed instance first needs 10 s."""
        before = len(self.ids)
        wait_for(lambda: len(self.ids) >= before + LOADED, seconds=240, what="registrations")
