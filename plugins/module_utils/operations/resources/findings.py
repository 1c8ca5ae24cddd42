"""What is weak about the resources of a cluster, wherever they come from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...kafka.acls import Acl
from ...kafka.snapshot import MIN_ISR
from ...kafka.topics import Topic

_USER = "User:"
_SHOWN = 5


@dataclass(frozen=True)
class Floor:
    """What the profile gives a topic at least; None where that is not known."""

    replication: int | None = None
    min_isr: int | None = None


def below_profile(topics: Iterable[Topic], floor: Floor) -> list[str]:
    """Return the topics that have fewer replicas, or need fewer in sync, than the profile says."""
    lines = []
    for topic in sorted(topics, key=lambda topic: topic.name):
        fewest = min(map(len, topic.placement), default=topic.replication)
        if floor.replication is not None and fewest < floor.replication:
            lines.append(f"{topic.name} has {fewest} replicas, the profile {floor.replication}")
        min_isr = topic.effective.get(MIN_ISR, "")
        if floor.min_isr is not None and min_isr.isdigit() and int(min_isr) < floor.min_isr:
            lines.append(f"{topic.name} has {MIN_ISR} {min_isr}, the profile {floor.min_isr}")
    return lines


def in_one_rack(topics: Iterable[Topic], racks: Mapping[int, str | None]) -> list[str]:
    """Return the topics with a partition of several replicas, all in one rack, where there are more.

    `racks` is broker -> rack. A broker without a rack tells nothing.
    """
    if len({rack for rack in racks.values() if rack}) < 2:
        return []
    lines = []
    for topic in sorted(topics, key=lambda topic: topic.name):
        narrow = [
            index for index, replicas in enumerate(topic.placement) if _is_narrow(replicas, racks)
        ]
        if narrow:
            partitions = ", ".join(map(str, narrow[:_SHOWN]))
            more = " and more" if len(narrow) > _SHOWN else ""
            lines.append(
                f"{topic.name} has all replicas of partitions {partitions}{more} in one rack"
            )
    return lines


def _is_narrow(replicas: Collection[int], racks: Mapping[int, str | None]) -> bool:
    places = {racks.get(replica) for replica in replicas}
    return len(replicas) > 1 and len(places) == 1 and None not in places and "" not in places


def grants_for_nobody(acls: Iterable[Acl], users: Collection[str]) -> list[str]:
    """Return the users with ACLs that have no password and are in no list.

    Nobody can use them, unless other tools give certificates to such users.
    """
    named = {acl.principal for acl in acls if acl.principal.startswith(_USER)}
    names = sorted(principal[len(_USER) :] for principal in named)
    return [f"{name} has ACLs and no login" for name in names if name not in {*users, "*"}]


def users_without_grants(
    users: Iterable[str], acls: Iterable[Acl], super_users: Collection[str]
) -> list[str]:
    """Return the users that can log in and may do nothing."""
    granted = {acl.principal for acl in acls if acl.permission == "allow"}
    if f"{_USER}*" in granted:
        return []
    return [
        f"{name} can log in and has no grant"
        for name in sorted(users)
        if f"{_USER}{name}" not in granted and name not in super_users
    ]


def abandoned_groups(groups: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the groups without members that have not read everything, as `kafka.contents` has them."""
    for group in groups:
        lags = group.get("lags")
        behind = sum(
            lag or 0
            for topic in (lags.values() if isinstance(lags, Mapping) else ())
            for lag in topic
        )
        if group.get("members") == 0 and behind:
            yield f"{group['id']} has no member and has not read {behind} records"
