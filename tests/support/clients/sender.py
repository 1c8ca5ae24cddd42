"""Records that are sent to a topic all the time, while something happens."""

from __future__ import annotations

import threading

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients

from tests.support.lab.topology import Topology

PAUSE_SECONDS = 0.01


class Sender:
    """Sends records to a topic, one after the other, until it is stopped."""

    def __init__(self, topology: Topology, topic: str) -> None:
        self.acknowledged = 0
        self._topic, self._stop = topic, threading.Event()
        self._producer = clients.producer(topology.connection, acks="all")
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._send()
        except Exception as error:  # it is raised again by stop()
            self._error = error

    def _send(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            number = self.acknowledged
            key = str(number % 17).encode()
            self._producer.send(self._topic, value(number), key=key).get(timeout=60)
            self.acknowledged += 1

    def stop(self) -> None:
        """Send no more.

        Raises:
            Exception: what ended the sender before.

        """
        self._stop.set()
        self._thread.join()
        self._producer.close()
        error, self._error = self._error, None
        if error:
            raise error


def value(number: int) -> bytes:
    """The value of a record."""
    return f"record {number}".encode()
