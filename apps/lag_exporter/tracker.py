"""What is known of groups from one reading to the next: their lag, and what has gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import (
    Group,
    Place,
    Reading,
)

from .history import History


@dataclass(frozen=True)
class Lag:
    """How far a group is behind in a partition, as of `read_at`."""

    records: int
    seconds: float
    read_at: float


@dataclass
class Tracked:
    """A group as of `read_at`, with its lag by partition."""

    group: Group
    read_at: float
    members: int | None = None
    lags: dict[Place, Lag] = field(default_factory=dict)


class Tracker:
    """The groups of a cluster. Times are seconds of one clock.

    What a reading without problems does not have is gone. After one with problems it may only not
    have been shown: it stays as it was, at most for `keep` seconds.
    """

    def __init__(self, keep: float) -> None:
        """Begin without groups."""
        self.groups: dict[str, Tracked] = {}
        self._keep = keep
        self._histories: dict[Place, History] = {}

    def update(self, now: float, reading: Reading) -> None:
        """Take a reading in."""
        for place, end in reading.ends.items():
            self._histories.setdefault(place, History()).add(now, end)
        for name, group in reading.groups.items():
            former = self.groups.get(name)
            lags = dict(self._lags(now, name, reading))
            members = group.members
            if reading.problems and former:
                committed = group.committed
                former_lags = {
                    place: lag
                    for place, lag in former.lags.items()
                    if committed is None or place in committed
                }
                lags = {**former_lags, **lags}
                members = former.members if members is None else members
            self.groups[name] = Tracked(group, now, members, lags)
        if not reading.problems:
            self.groups = {name: self.groups[name] for name in reading.groups}
        self.expire(now)

    def expire(self, now: float) -> None:
        """Drop what has not been read for too long, and the histories of what nobody reads."""
        oldest = now - self._keep
        self.groups = {
            name: tracked for name, tracked in self.groups.items() if tracked.read_at >= oldest
        }
        for tracked in self.groups.values():
            tracked.lags = {
                place: lag for place, lag in tracked.lags.items() if lag.read_at >= oldest
            }
        used = {place for tracked in self.groups.values() for place in tracked.lags}
        self._histories = {
            place: history for place, history in self._histories.items() if place in used
        }

    def _lags(self, now: float, name: str, reading: Reading) -> Iterator[tuple[Place, Lag]]:
        for place, records in reading.lags(name).items():
            # Of a share group that many records of the partition are left, taken to be the last.
            offset = reading.ends[place] - records
            yield place, Lag(records, self._histories[place].seconds_behind(offset), now)
