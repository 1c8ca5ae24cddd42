"""Prometheus of the console's host: what is now, and what was; bounded in time and size."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import (
    Instances,
    RestError,
)

SECONDS = 5


@dataclass(frozen=True)
class Series:
    """One series: its labels, and its points as seconds since 1970 and value."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The last value."""
        return self.points[-1][1]


class _Server(Instances):
    largest = 4_000_000


class Prometheus:
    """The server, by what the settings say of it."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Read the certificate of the CA.

        Raises:
            OSError: it cannot be read, or is none.

        """
        login = str(given.get("login", ""))
        token = base64.b64encode(login.encode()).decode()
        headers = {"Authorization": f"Basic {token}"} if login else {}
        self._address = str(given["address"])
        self._server = _Server([self._address], given.get("authority", ""), headers=headers)

    def data(self, path: str, **parameters: object) -> Any:  # noqa: ANN401 - JSON
        """Return what its interface answers.

        Raises:
            RestError: it does not answer, or refuses the query.

        """
        asked = f"/api/v1/{path}{f'?{urlencode(parameters)}' if parameters else ''}"
        try:
            answer = self._server.send(self._address, "GET", asked, None, SECONDS)
            return json.loads(answer)["data"]
        except RestError as error:
            message = f"Prometheus: {error}"
            raise RestError(message, error.status) from error
        except (ValueError, LookupError, TypeError) as error:
            message = f"the answer to {path} is not what Prometheus answers"
            raise RestError(message) from error

    def now(self, query: str) -> list[Series]:
        """Return the series that a query finds now.

        Raises:
            RestError: as above.

        """
        found = self.data("query", query=query, timeout=f"{SECONDS}s")["result"]
        every = [Series(one["metric"], _points([one["value"]])) for one in found]
        return [one for one in every if math.isfinite(one.value)]

    def between(self, query: str, start: float, end: float, step: float) -> list[Series]:
        """Return the series that a query finds between two times, with a value for each step.

        Raises:
            RestError: as above.

        """
        asked = {"query": query, "start": start, "end": end, "step": step}
        found = self.data("query_range", **asked, timeout=f"{SECONDS}s")["result"]
        return [Series(one["metric"], _points(one["values"])) for one in found]


def _points(found: Iterable[tuple[float, str]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(at), float(value)) for at, value in found)
