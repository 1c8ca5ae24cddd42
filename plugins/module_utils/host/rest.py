"""REST interfaces that each instance of a service has, as a program on a host uses them."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Container, Mapping, Sequence
from http.client import HTTPException
from typing import ClassVar, TypeVar

JSON = "application/json"
_LARGEST_REFUSAL = 2**16  # bytes
# What a body raises that is none of the service, or cut.
_NO_MESSAGE = (
    OSError,
    HTTPException,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
_T = TypeVar("_T")


class RestError(Exception):
    """An instance refuses a request, or none answers; the text says why.

    `status` is that of HTTP, 0 where no instance has answered.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        """Take the text and the status."""
        super().__init__(message)
        self.status = status


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for a refusal: where it leads would get the password or token, too."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def opener(*handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """Return what asks a service of the cluster itself, through no proxy of the environment."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects(), *handlers)


class Instances:
    """The instances of a service: the first one that is ready is asked.

    `not_ready` are the statuses of an instance instead of which another one is asked, `nobody` is
    the message if none is left. With an authority TLS is used, and the certificate of an instance
    must be signed by it; `certificate` is shown to the instance.
    """

    not_ready: ClassVar[Container[int]] = ()
    nobody: ClassVar[str] = "no instance answers"
    largest: ClassVar[int] = 2**30
    """Bytes of an answer; a larger one is an error."""

    def __init__(
        self,
        instances: Sequence[str],
        authority: str = "",
        certificate: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Read the certificates.

        Raises:
            OSError: a file cannot be read, or contains no certificate.

        """
        self.instances = list(instances)
        self._scheme = "https" if authority else "http"
        self._headers = {"Content-Type": JSON, "Accept": JSON, **(headers or {})}
        handlers = []
        if authority:
            context = ssl.create_default_context(cafile=authority)
            if certificate:
                context.load_cert_chain(certificate)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = opener(*handlers)

    def first(self, ask: Callable[[str], _T]) -> _T:
        """Return what `ask` returns for the first instance that is ready.

        Raises:
            RestError: the service refuses the request, or no instance is ready.

        """
        failed: list[str] = []
        status = 0
        for instance in tuple(self.instances):
            try:
                return ask(instance)
            except RestError as error:
                if error.status and error.status not in self.not_ready:
                    raise
                status = max(status, error.status)
                failed.append(f"{instance}: {error}")
                # Another request asks it last: each would wait for it again.
                remaining = [candidate for candidate in self.instances if candidate != instance]
                self.instances = [*remaining, instance]
        message = f"{self.nobody}: {'; '.join(failed)}"
        raise RestError(message, status)

    def send(
        self,
        instance: str,
        method: str,
        path: str,
        body: bytes | None,
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the answer of one instance.

        Raises:
            RestError: it refuses the request, or does not answer.

        """
        request = urllib.request.Request(  # noqa: S310 - http or https
            f"{self._scheme}://{instance}{path}",
            body,
            {**self._headers, **(headers or {})},
            method=method,
        )
        try:
            with self._opener.open(request, timeout=timeout) as response:
                content = bytes(response.read(self.largest + 1))
                unread = response.length
        except urllib.error.HTTPError as error:
            with error:  # it is the answer, too
                raise RestError(_message(error), error.code) from error
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise RestError(getattr(why, "strerror", None) or str(why)) from error
        if len(content) > self.largest:
            message = f"its answer is larger than {self.largest} bytes"
            raise RestError(message)
        if unread:
            message = "its answer is incomplete"
            raise RestError(message)
        return content


def body_of(value: object) -> bytes | None:
    """Return a value as the body of a request, None for none."""
    return None if value is None else json.dumps(value).encode()


def _message(error: urllib.error.HTTPError) -> str:
    """Return what an answer says is wrong."""
    try:
        body = json.loads(error.read(_LARGEST_REFUSAL))
        text = str(body.get("message") or body.get("detail") or body["title"])
    except _NO_MESSAGE:
        text = f"HTTP {error.code} {error.reason}"
    return " ".join(text.split())
