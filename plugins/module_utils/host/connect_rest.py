"""The REST interface of Kafka Connect's workers, as a program on a host of theirs uses it."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any

REQUEST_SECONDS = 95
"""A worker itself gives up after 90 s."""
_STARTING = 503


class RestError(Exception):
    """A worker refuses a request, or none answers; the text says why.

    `status` is that of HTTP, 0 where no worker has answered, 503 where one is starting.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        """Take the text and the status."""
        super().__init__(message)
        self.status = status


class Rest:
    """The interface of a group: the first worker that is ready is asked.

    With a certificate TLS is used; it is shown, and that of a worker must be of `authority`.
    """

    def __init__(self, workers: Sequence[str], certificate: str = "", authority: str = "") -> None:
        """Read the certificates.

        Raises:
            OSError: a file cannot be read, or is none of a certificate.

        """
        self.workers = list(workers)
        self._scheme = "https" if certificate else "http"
        handlers: list[Any] = [urllib.request.ProxyHandler({})]
        if certificate:
            context = ssl.create_default_context(cafile=authority)
            context.load_cert_chain(certificate)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = urllib.request.build_opener(*handlers)

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request to the first worker that is ready, and return its answer.

        Raises:
            RestError: the group refuses it, or no worker is ready.

        """
        not_ready, status = [], 0
        for worker in self.workers:
            try:
                return self.ask(worker, method, path, body)
            except RestError as error:
                if error.status not in (0, _STARTING):
                    raise
                status = max(status, error.status)
                not_ready.append(f"{worker}: {error}")
        message = f"no worker is ready: {'; '.join(not_ready)}"
        raise RestError(message, status)

    def ask(
        self,
        worker: str,
        method: str,
        path: str,
        body: object = None,
        timeout: float = REQUEST_SECONDS,
    ) -> Any:  # noqa: ANN401 - JSON
        """Send a request to one worker, and return its answer, None if that is empty.

        Raises:
            RestError: it refuses, or does not answer.

        """
        request = urllib.request.Request(  # noqa: S310 - http or https
            f"{self._scheme}://{worker}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json", "Accept": "application/json"},
            method=method,
        )
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:  # it is the answer, too
                raise RestError(_message(error), error.code) from error
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise RestError(getattr(why, "strerror", None) or str(why)) from error
        except ValueError as error:
            message = "its answer is no JSON: it is no worker of Kafka Connect"
            raise RestError(message) from error


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return f"HTTP {error.code} {error.reason}"
