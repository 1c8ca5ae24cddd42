"""The exporters of all hosts, and the agent in their JVMs."""

from __future__ import annotations

from ...cluster.entry import ServiceEntry

ENTRY = ServiceEntry("metrics", rules=())
