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

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Read the certificate of the CA.

        Raises:
            OSError: it cannot be read, or is none.

        """
        login = str(settings.get("login", ""))
        token = base64.b64encode(login.encode()).decode()
        headers = {"Authorization": f"Basic {token}"} if login else {}
        self._address = str(settings["address"])
        self._server = _Server([self._address], settings.get("authority", ""), headers=headers)

    def data(self, path: str, **parameters: object) -> Any:
        """Return what its interface answers.

        Raises:
            RestError: it does not answer, or refuses the query.

        """
        target = f"/api/v1/{path}{f'?{urlencode(parameters)}' if parameters else ''}"
        try:
            body = self._server.send(self._address, "GET", target, None, SECONDS)
            return json.loads(body)["data"]
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
        results = self.data("query", query=query, timeout=f"{SECONDS}s")["result"]
        all_series = [Series(result["metric"], _points([result["value"]])) for result in results]
        return [series for series in all_series if math.isfinite(series.value)]

    def between(self, query: str, start: float, end: float, step: float) -> list[Series]:
        """Return the series that a query finds between two times, with a value for each step.

        Raises:
            RestError: as above.

        """
        parameters = {"query": query, "start": start, "end": end, "step": step}
        results = self.data("query_range", **parameters, timeout=f"{SECONDS}s")["result"]
        return [Series(result["metric"], _points(result["values"])) for result in results]


def _points(pairs: Iterable[tuple[float, str]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(at), float(value)) for at, value in pairs)
