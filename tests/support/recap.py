"""What playbooks have done, by the recap at their end."""

from __future__ import annotations

import re


def recaps(output: str) -> list[dict[str, int]]:
    """The counters of every host in every recap; it may have colors, as Molecule sets them."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    lines = re.findall(r"^\S+ +: (ok=.*)$", plain, flags=re.M)
    return [
        {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", line)} for line in lines
    ]


def changed(output: str) -> int:
    """The changes of all hosts; the output without a recap is an error."""
    counters = recaps(output)
    assert counters, f"no recap:\n{output[-6000:]}"
    return sum(counter["changed"] for counter in counters)
