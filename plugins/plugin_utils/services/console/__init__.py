"""The console, and the page of a report."""

from __future__ import annotations

from ...cluster.entry import Entry

ENTRY = Entry("console", lowest={"console_interval": 1})
