"""A browser without a window, over the protocol of WebDriver (W3C) that chromedriver speaks."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.wait import wait_for

DRIVER = "chromedriver"
SECONDS = 60
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Shift": "\ue008", "End": "\ue010"}


class Browser:
    """One session of chromedriver at `url`."""

    def __init__(self, url: str) -> None:
        flags = ["--headless", "--disable-gpu", "--no-sandbox", "--hide-scrollbars"]
        options = {"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}
        self._url = f"{url}/session"
        capabilities = {**options, "acceptInsecureCerts": True}
        session = self._send("", {"capabilities": {"alwaysMatch": capabilities}})
        self._url += f"/{session['sessionId']}"

    def open(self, address: str) -> None:
        """Load a page; one that differs in its fragment alone is loaded again too."""
        self._send("/url", {"url": "about:blank"})
        self._send("/url", {"url": address})

    def shape(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size in CSS pixels, also below what a window can have, and the color scheme."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._tool("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._tool("Emulation.setEmulatedMedia", {"features": [scheme]})

    def run(self, script: str, *args: object) -> Any:
        """Return what a function body of JavaScript returns."""
        return self._send("/execute/sync", {"script": script, "args": list(args)})

    def settle(self, script: str) -> None:
        """Wait until a function body of JavaScript returns something that is true."""
        wait_for(lambda: self.run(script), seconds=SECONDS, what=script)

    def press(self, *keys: str) -> None:
        """Press keys one after the other: a name of `KEYS`, or characters to type."""
        signs = [sign for key in keys for sign in KEYS.get(key, key)]
        actions = [{"type": kind, "value": sign} for sign in signs for kind in ("keyDown", "keyUp")]
        self._send("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def picture(self, path: Path) -> None:
        """Write what is shown as PNG."""
        path.write_bytes(base64.b64decode(self._send("/screenshot")))

    def messages(self) -> list[str]:
        """Return the errors and warnings since the last call, of scripts and policies too."""
        return [str(entry["message"]) for entry in self._send("/se/log", {"type": "browser"})]

    def _tool(self, command: str, params: Any) -> None:
        self._send("/goog/cdp/execute", {"cmd": command, "params": params})

    def _send(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        return self._request(path, data, "GET" if data is None else "POST")

    def close(self) -> None:
        """End the session, and the browser with it."""
        self._request("", None, "DELETE")

    def _request(self, path: str, data: bytes | None, method: str) -> Any:
        address = f"{self._url}{path}"  # of the driver on this machine
        request = urllib.request.Request(address, data, method=method)  # noqa: S310 - http
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - as above
            return json.load(response)["value"]


@contextmanager
def browser() -> Iterator[Browser]:
    """Return a browser; it ends with the block."""
    command = [DRIVER, "--port=0"]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        port = next(
            match[1] for line in driver.stdout if (match := re.search(r"on port (\d+)\.", line))
        )
        browser = Browser(f"http://127.0.0.1:{port}")
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.communicate()
