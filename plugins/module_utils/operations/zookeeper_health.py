"""Whether a ZooKeeper ensemble is healthy, from each member's answer to `srvr`.

Pure: the caller asks the members. The form of the answer is in ZooKeeper's administrator's guide,
"The Four Letter Words".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """A member's mode, or the reason why it does not serve."""

    mode: str = ""
    """leader, follower or standalone."""
    reason: str = ""


def parse(response: str) -> Member:
    """Return a member from its answer, with the answer as the reason if it does not serve."""
    for line in response.splitlines():
        name, _, value = line.partition(": ")
        if name == "Mode":
            return Member(mode=value.strip())
    return Member(reason=response.strip() or "an empty answer")


def problems(members: Mapping[str, Member]) -> list[str]:
    """Return every problem of an ensemble (address -> member)."""
    messages = [
        f"{address} does not serve: {member.reason}"
        for address, member in members.items()
        if not member.mode
    ]
    leaders = [address for address, member in members.items() if member.mode == "leader"]
    alone = [address for address, member in members.items() if member.mode == "standalone"]
    if len(members) > 1:
        messages += [
            f"{address} runs in standalone mode, outside the ensemble" for address in alone
        ]
    if len(leaders) > 1:
        messages.append(f"{' and '.join(leaders)} are both leaders")
    if not leaders and not alone and any(member.mode for member in members.values()):
        messages.append("no member is the leader")
    return messages
