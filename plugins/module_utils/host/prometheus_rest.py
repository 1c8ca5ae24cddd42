"""Prometheus and Alertmanager, as a program on their host uses them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from .rest import Instances, RestError

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "prometheus": {"type": "str", "required": True},
    "alertmanager": {"type": "str", "required": True},
    "authority": {"type": "path", "default": ""},
    "login": {"type": "str", "default": "", "no_log": True},
}
"""The options of a module by which it reaches both."""
REQUEST_SECONDS = 10.0
PROMETHEUS, ALERTMANAGER = "prometheus", "alertmanager"
UNITS: Mapping[str, str] = {name: f"millrace-{name}" for name in (PROMETHEUS, ALERTMANAGER)}


class Servers:
    """Both servers of a host, by the options of a module."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the certificate of the CA.

        Raises:
            OSError: it cannot be read, or is none.

        """
        token = base64.b64encode(options["login"].encode()).decode()
        headers = {"Authorization": f"Basic {token}"} if options["login"] else {}
        self.addresses = {name: str(options[name]) for name in UNITS}
        self._all = Instances([*self.addresses.values()], options["authority"], headers=headers)

    def text(self, server: str, path: str) -> str:
        """Return what a server answers.

        Raises:
            RestError: it refuses the request, or does not answer.

        """
        address = self.addresses[server]
        response = self._all.send(address, "GET", path, None, REQUEST_SECONDS)
        return response.decode("utf-8", "replace")

    def data(self, path: str) -> Any:
        """Return what Prometheus' interface answers.

        Raises:
            RestError: it refuses the request, or does not answer.

        """
        try:
            return json.loads(self.text(PROMETHEUS, f"/api/v1/{path}"))["data"]
        except (ValueError, LookupError, TypeError) as error:
            message = f"the answer to {path} is not what Prometheus answers"
            raise RestError(message) from error

    def not_ready(self) -> list[str]:
        """Return why servers are not ready, one sentence each."""
        problems = []
        for name, unit in UNITS.items():
            try:
                self.text(name, "/-/ready")
            except RestError as error:
                where = self.addresses[name]
                problems.append(
                    f"{name} at {where} is not ready: {error}; see journalctl -u {unit}"
                )
        return problems

    def loaded(self, server: str) -> tuple[float, bool]:
        """Return when a server last loaded its configuration, and whether it could do so last time.

        Raises:
            RestError: it does not answer.

        """
        name = f"{server}_config_last_reload"
        metrics = dict(
            line.split()[:2]
            for line in self.text(server, "/metrics").splitlines()
            if line.startswith(name)
        )
        when = metrics.get(f"{name}_success_timestamp_seconds", "0")
        return float(when), float(metrics.get(f"{name}_successful", "0")) == 1
