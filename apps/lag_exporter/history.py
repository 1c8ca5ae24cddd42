"""When the end of a partition was where: from it follows how old an offset is."""

from __future__ import annotations

from array import array
from bisect import bisect_right

SAMPLES = 64
"""The most that are kept of a partition, of 16 bytes each."""


class History:
    """The ends of a partition over time, never more than `SAMPLES` of them.

    The younger half has every change; whenever there are too many, every second one of the older
    half is dropped, so that it becomes coarser the further it goes back.
    """

    def __init__(self) -> None:
        """Begin without samples."""
        self._times, self._ends = array("d"), array("q")

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._times)

    def add(self, time: float, end: int) -> None:
        """Add the end as of now; the time of one that has not moved is that of its last sample."""
        if self._ends and end < self._ends[-1]:  # the topic was made anew, or has lost records
            del self._times[:], self._ends[:]
        if len(self._ends) > 1 and end == self._ends[-1] == self._ends[-2]:
            self._times[-1] = time
            return
        self._times.append(time)
        self._ends.append(end)
        if len(self._times) > SAMPLES:
            half = SAMPLES // 2
            # The first one stays: it says how far back the history goes.
            del self._times[1:half:2], self._ends[1:half:2]

    def seconds_behind(self, offset: int) -> float:
        """Return for how long the record at an offset has been there, 0 without such a record.

        Between two samples the end is taken to have moved evenly. Of an offset that is older than
        the history, it is the age of the oldest sample: the least that it can be.
        """
        if not self._ends or offset >= self._ends[-1]:
            return 0.0
        now = self._times[-1]
        after = bisect_right(self._ends, offset)
        if not after:
            return now - self._times[0]
        earlier, later = self._ends[after - 1], self._ends[after]
        share = (offset - earlier) / (later - earlier)
        begun, done = self._times[after - 1], self._times[after]
        return now - (begun + share * (done - begun))
