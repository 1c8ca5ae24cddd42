"""The REST interface of Kafka Connect's workers, as a program on a host of theirs uses it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .rest import Instances, RestError, body_of

REQUEST_SECONDS = 95
"""A worker itself gives up after 90 s."""
STARTING = 503
"""Status of a worker that is starting."""


class Rest(Instances):
    """The interface of a group of workers."""

    not_ready = (STARTING,)
    nobody = "no worker is ready"

    def __init__(self, workers: Sequence[str], certificate: str = "", authority: str = "") -> None:
        """Read the certificates.

        Raises:
            OSError: a file cannot be read, or contains no certificate.

        """
        super().__init__(workers, authority, certificate)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request to the first worker that is ready, and return its answer.

        Raises:
            RestError: the group refuses it, or no worker is ready.

        """
        return self.first(lambda worker: self.ask(worker, method, path, body))

    def ask(
        self,
        worker: str,
        method: str,
        path: str,
        body: object = None,
        timeout: float = REQUEST_SECONDS,
    ) -> Any:
        """Send a request to one worker, and return its answer, None if that is empty.

        Raises:
            RestError: it refuses the request, or does not answer.

        """
        text = self.send(worker, method, path, body_of(body), timeout)
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            message = "its answer is no JSON: it is no worker of Kafka Connect"
            raise RestError(message) from error
