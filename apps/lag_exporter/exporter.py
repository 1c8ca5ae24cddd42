"""Reads the cluster again and again, and keeps what Prometheus gets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import Reading

from . import exposition, metrics
from .metrics import Counters
from .tracker import Tracker

LOG = logging.getLogger(__name__)
_SHOWN = 5


class Exporter:
    """The metrics of a cluster, as of its last reading.

    `read` asks the cluster, and may fail in any way; `keep` is for how many seconds a value is
    served that cannot be read any more.
    """

    def __init__(self, read: Callable[[], Reading], keep: float) -> None:
        """Begin without having read anything."""
        self._read, self._keep = read, keep
        self._tracker = Tracker(keep)
        self._counters = Counters()
        self._groups, self._read_at = "", time.monotonic()
        self._said = ""

    def sample(self) -> None:
        """Read the cluster once; a failure is counted, and logged when it is another one."""
        begin = time.monotonic()
        try:
            reading = self._read()
        except Exception as error:  # whatever it is, the next reading may succeed
            reading = Reading(problems=(f"{type(error).__name__}: {error}",))
        now = time.monotonic()
        self._say(reading.problems)
        self._tracker.update(now, reading)
        self._counters = replace(
            self._counters,
            errors=self._counters.errors + bool(reading.problems),
            duration=now - begin,
            skipped=reading.skipped,
            last_success=self._counters.last_success if reading.problems else time.time(),
        )
        # Made here and not when it is asked for: another thread may do that at any moment.
        self._groups = exposition.text(metrics.of_groups(self._tracker.groups))
        self._read_at = now

    def text(self) -> str:
        """Return the metrics in Prometheus' format; without groups if the reading hangs."""
        fresh = time.monotonic() - self._read_at <= self._keep
        exporter_metrics = exposition.text(metrics.of_exporter(self._counters))
        return (self._groups if fresh else "") + exporter_metrics

    def _say(self, problems: tuple[str, ...]) -> None:
        suffix = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        text = "; ".join(problems[:_SHOWN]) + suffix
        if text != self._said:
            if text:
                LOG.warning("the cluster did not answer everything: %s", text)
            else:
                LOG.info("the cluster answers everything again")
            self._said = text
