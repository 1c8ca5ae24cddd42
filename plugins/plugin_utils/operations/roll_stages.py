"""The stages of a roll: nodes one after the other, or brokers of which several go together.

Pure. Which brokers of a stage make a set is the gate's to say (`gate.sets`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class Stage:
    """A part of a roll; the next one begins when it is over."""

    names: tuple[str, ...]
    """Hosts, in their order."""
    most: int = 1
    """How many of them may be restarted at the same time."""

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, for a task."""
        return {"names": list(self.names), "most": self.most}


def stages(names: Sequence[str], groups: Mapping[str, tuple[Hashable, int]]) -> list[Stage]:
    """Return the stages of nodes that are in the order of their restarts.

    `groups` has the nodes that may go together with others of the same group, which is a key and
    the most that may go at the same time. All others go one after the other.
    """
    return joined(
        Stage(tuple(members), group[1] if group else 1)
        for group, members in groupby(names, key=groups.get)
    )


def joined(parts: Iterable[Stage]) -> list[Stage]:
    """Return stages in which neighbours of a single node each are one sequence."""
    result: list[Stage] = []
    for part in parts:
        stage = Stage(part.names, part.most if len(part.names) > 1 else 1)
        if result and result[-1].most == stage.most == 1:
            stage = Stage((*result.pop().names, *stage.names))
        result.append(stage)
    return result


def steps(parts: Iterable[Stage]) -> list[tuple[str, ...]]:
    """Return which nodes are restarted together, step by step."""
    return [
        step
        for stage in parts
        for step in ([stage.names] if stage.most > 1 else [(name,) for name in stage.names])
    ]
