"""The console, and the page of a report."""

from __future__ import annotations

from ...cluster.entry import ServiceEntry

ENTRY = ServiceEntry("console", lowest={"console_interval": 1})
