"""Services of systemd that are lost for a while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from testinfra.host import Host


@contextmanager
def lost(host: Host, unit: str) -> Iterator[float]:
    """Kill a service and keep it down; yields the moment, and starts it again at the end."""
    try:
        host.check_output("systemctl kill --signal=KILL %s && systemctl stop %s", unit, unit)
        moment = time.monotonic()
        assert host.run("systemctl is-active %s", unit).stdout.strip() in ("failed", "inactive")
        main = host.check_output("systemctl show --property=MainPID --value %s", unit)
        assert main.strip() == "0"
        yield moment
    finally:
        host.check_output("systemctl reset-failed %s; systemctl start %s", unit, unit)
