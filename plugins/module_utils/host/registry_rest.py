"""The REST interfaces of the schema registry, as a program on a host of an instance uses them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .rest import JSON, Instances, body_of

CONFLUENT = "/apis/ccompat/v7"
"""The path of the interface of Confluent's registry, by which clients use schemas."""
APICURIO = "/apis/registry/v3"
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "instances": {"type": "list", "elements": "str", "required": True},
    "authority": {"type": "path", "default": ""},
    "login": {"type": "str", "default": "", "no_log": True},
}
"""The options of a module by which it reaches the instances."""
REQUEST_SECONDS = 70
"""An instance itself gives a write up after 30 s, and then waits as long for its own answer."""


class Registry(Instances):
    """The interfaces of all instances; `login` is `user:password`, empty for none."""

    not_ready = range(500, 600)

    def __init__(self, instances: Sequence[str], authority: str = "", login: str = "") -> None:
        """Read the certificate of the CA.

        Raises:
            OSError: it cannot be read, or is none.

        """
        token = base64.b64encode(login.encode()).decode()
        headers = {"Authorization": f"Basic {token}"} if login else {}
        super().__init__(instances, authority, headers=headers)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer of the first instance that is ready.

        Every request may be repeated at another one: the same schema gets the same version.

        Raises:
            RestError: the registry refuses it, or no instance answers.

        """
        response = self.first(lambda instance: self.ask(instance, method, path, body_of(body)))
        return json.loads(response) if response else None

    def ask(
        self,
        instance: str,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> bytes:
        """Return the answer of one instance.

        Raises:
            RestError: it refuses the request, or does not answer.

        """
        headers = {"Content-Type": kind, "Accept": f"{JSON}, application/zip"}
        return self.send(instance, method, path, body, timeout, headers)
