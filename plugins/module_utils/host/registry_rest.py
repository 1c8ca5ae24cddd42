"""The REST interfaces of the schema registry, as a program on a host of an instance uses them."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any

CONFLUENT = "/apis/ccompat/v7"
"""The interface of Confluent's registry, by which clients register and look up schemas."""
APICURIO = "/apis/registry/v3"
REQUEST_SECONDS = 70
"""An instance itself gives a write up after 30 s, and then waits as long for its own answer."""
_JSON = "application/json"


class RegistryError(Exception):
    """An instance refuses a request, or none answers; the text says why.

    `status` is that of HTTP, 0 where no instance has answered.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        """Take the text and the status."""
        super().__init__(message)
        self.status = status


class Registry:
    """The instances of a registry: the first one that works is asked.

    With an authority TLS is used, and the certificate of an instance must be of it. `login` is
    `user:password`, empty for none.
    """

    def __init__(self, instances: Sequence[str], authority: str = "", login: str = "") -> None:
        """Read the certificate of the CA.

        Raises:
            OSError: it cannot be read, or is none.

        """
        self.instances = list(instances)
        self._scheme = "https" if authority else "http"
        handlers: list[Any] = [urllib.request.ProxyHandler({})]
        if authority:
            context = ssl.create_default_context(cafile=authority)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = urllib.request.build_opener(*handlers)
        token = base64.b64encode(login.encode()).decode()
        self._headers = {"Authorization": f"Basic {token}"} if login else {}

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Return the answer of the first instance that works.

        Every request may be repeated at another one: the same schema gets the same version.

        Raises:
            RegistryError: the registry refuses it, or no instance works.

        """
        text = None if body is None else json.dumps(body).encode()
        answer = self.send(method, path, text, _JSON)
        return json.loads(answer) if answer else None

    def send(self, method: str, path: str, body: bytes | None, kind: str) -> bytes:
        """Return the answer of the first instance that works, as it is; `kind` is the body's.

        Raises:
            RegistryError: as `call`.

        """
        failed: list[str] = []
        status = 0
        for instance in self.instances:
            try:
                return self.ask(instance, method, path, body, kind)
            except RegistryError as error:
                if 0 < error.status < 500:
                    raise
                status = max(status, error.status)
                failed.append(f"{instance}: {error}")
        message = f"no instance answers: {'; '.join(failed)}"
        raise RegistryError(message, status)

    def ask(
        self,
        instance: str,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = _JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> bytes:
        """Return the answer of one instance.

        Raises:
            RegistryError: it refuses, or does not answer.

        """
        request = urllib.request.Request(  # noqa: S310 - http or https
            f"{self._scheme}://{instance}{path}",
            body,
            {**self._headers, "Content-Type": kind, "Accept": f"{_JSON}, application/zip"},
            method=method,
        )
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:  # it is the answer, too
                raise RegistryError(_message(error), error.code) from error
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise RegistryError(getattr(why, "strerror", None) or str(why)) from error


def _message(error: urllib.error.HTTPError) -> str:
    """Return what an answer of either interface says is wrong."""
    found: Mapping[str, Any] = {}
    try:
        found = json.loads(error.read())
        text = str(found.get("message") or found.get("detail") or found["title"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError):
        text = f"HTTP {error.code} {error.reason}"
    return " ".join(text.split())
