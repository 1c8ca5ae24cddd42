"""Records at a steady rate, how long each takes until its result is in the log, and the search for
the highest rate that a stream keeps up with.

A latency is from the source record's timestamp, which the producer sets, to the timestamp of the
result, which the broker sets when it appends it: the hosts of the lab share this machine's
clock. A consumer sees the result when all replicas in sync have it, some milliseconds later.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.plain_consumer import send

STEP_SECONDS = 0.005
REACHED = 0.97
"""The part of a rate that the producer has to reach; below it, it is too slow to ask for more."""
BEHIND, GROWTH = 0.05, 1.2
"""By how much latencies may grow from the first half to the second: the part of the time between
them, which is that of the records that queue up; or a factor, for the noise of short ones."""


@dataclass(frozen=True)
class Trial:
    """What was seen at a rate."""

    rate: float
    sent_per_second: float
    samples: Sequence[tuple[int, int]]
    """Time of sending and latency of each record, in ms."""
    cores: float
    """Processors that the stream used."""
    caught_up: bool = True
    """Whether all results came in time after the last record."""

    @property
    def holds(self) -> bool:
        """Whether the producer reached the rate, and the stream kept up with it.

        The mean latency times the rate is the mean number of records whose result is missing
        (Little's law): a backlog that grows shows in latencies that grow.
        """
        if not self.caught_up or self.sent_per_second < REACHED * self.rate:
            return False
        first, last, apart = halves(self.samples)
        return last <= max(GROWTH * first, first + BEHIND * apart)

    def figures(self) -> dict[str, float]:
        """What is shown of it."""
        latencies = [latency for _, latency in self.samples]
        return {
            "rate": self.rate,
            "sent_per_second": self.sent_per_second,
            "p50_ms": percentile(latencies, 50),
            "p99_ms": percentile(latencies, 99),
            "most_ms": max(latencies),
            "cores": self.cores,
            "holds": float(self.holds),
        }


def percentile(figures: Sequence[float], percent: float) -> float:
    """The least figure that so many per cent of all do not exceed (nearest rank)."""
    return sorted(figures)[max(0, math.ceil(percent / 100 * len(figures)) - 1)]


def halves(samples: Sequence[tuple[int, int]]) -> tuple[float, float, float]:
    """The mean latency of the records that were sent in the first half of the time, that of those
    after, and the time between the halves' middles.
    """
    times = [sent for sent, _ in samples]
    middle = (min(times) + max(times)) / 2
    first = [latency for sent, latency in samples if sent <= middle]
    last = [latency for sent, latency in samples if sent > middle]
    apart = (max(times) - min(times)) / 2
    return statistics.fmean(first), statistics.fmean(last or first), apart


def settled(samples: Sequence[tuple[int, int]], seconds: float) -> list[tuple[int, int]]:
    """Samples without those of the first seconds."""
    begun = min(sent for sent, _ in samples)
    return [sample for sample in samples if sample[0] >= begun + 1000 * seconds]


def highest(low: float, high: float, steps: int, holds: Callable[[float], bool]) -> float:
    """The highest rate that was seen to hold, after so many trials between two rates.

    `low` is known to hold. Each trial halves the distance of the logarithms, so with four the next
    rate that was seen not to hold is 1.2 times as high if `high` was 20 times `low`.
    """
    for _ in range(steps):
        rate = math.sqrt(low * high)
        if holds(rate):
            low = rate
        else:
            high = rate
    return low


def pace(writer: Any, topic: str, events: Sequence[Any], rate: float, seconds: float) -> int:
    """Send records (`key`, `value`) at a rate, from the first again after the last; their number.

    What the client cannot send at once it keeps, up to its limit; then sending becomes slower.
    """
    begun, sent = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        for number in range(sent, int(passed * rate)):
            event = events[number % len(events)]
            send(writer, topic, event.key, event.value)
        sent = max(sent, int(passed * rate))
        writer.poll(0)
        time.sleep(STEP_SECONDS)
    return sent
