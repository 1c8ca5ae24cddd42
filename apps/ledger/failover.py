"""What a consumer group reads when it moves to another cluster, which has copies of the records.

A run of the ledger is on the first cluster. When that is lost, the group continues at the other
one, from its translated offsets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass

from apps.ledger.history import History, Read


@dataclass(frozen=True)
class Failover:
    """Numbers of records, of the moment at which the group has read all that was copied."""

    acknowledged: int
    copied: int
    read_before: int
    read_after: int
    lost: int
    """Acknowledged and not copied, which is what the mirror was behind; they are still in the
    first cluster."""
    unread: int
    """Copied, and the group got them on neither side."""
    repeated: int
    """Given to the group on both."""
    copied_twice: int
    """Has to be 0."""
    reordered: int
    """Within a partition; has to be 0."""
    unknown: int
    """Which nobody has sent; has to be 0."""

    def wrong(self) -> list[str]:
        """Return what must not happen, however suddenly the first cluster is lost."""
        counts = asdict(self)
        never = ("unread", "copied_twice", "reordered", "unknown")
        return [f"{counts[name]} {name}" for name in never if counts[name]]


def judge(
    history: History,
    copy: Sequence[Read],
    after: Sequence[Read],
    before: Collection[str] | None = None,
) -> Failover:
    """Compare a run with its copy and what the group read of it.

    `copy` is all of the copied topic by partition in the order of offsets, `after` what the group
    was given of it, in its order. `before` are the values that the group had read by then; by
    default those of the run's own consumer in a group.
    """
    if before is None:
        before = {read.value for reader in history.of("group") for read in reader.reads}
    acknowledged = {send.value for send in history.sends if send.outcome == "ok"}
    copied, delivered = Counter(read.value for read in copy), [read.value for read in after]
    seen = {*before, *delivered}
    return Failover(
        acknowledged=len(acknowledged),
        copied=len(copied),
        read_before=len({*before}),
        read_after=len(delivered),
        lost=len(acknowledged - {*copied}),
        unread=len({*copied} - seen),
        repeated=sum(value in before for value in delivered) + len(delivered) - len({*delivered}),
        copied_twice=sum(copied.values()) - len(copied),
        reordered=_reordered(copy),
        unknown=len({*copied} - {send.value for send in history.sends}),
    )


def _reordered(copy: Iterable[Read]) -> int:
    """Return how many records of a producer are behind a later one of the same partition."""
    last: dict[tuple[int, str], int] = {}
    wrong = 0
    for read in copy:
        _, producer, _, seq = read.value.split("/")
        key = (read.partition, producer)
        wrong += int(seq) <= last.get(key, -1)
        last[key] = max(int(seq), last.get(key, -1))
    return wrong
