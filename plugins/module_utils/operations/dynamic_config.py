"""What has to be altered so that a running broker has the dynamic keys of its server.properties.

Pure: the caller reads the broker's configuration and alters it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field

from ..host.files import shown_diff
from ..kafka.configs import Setting
from ..kafka.snapshot import MIN_ISR

_BY_DEGREES = re.compile(r"\b(half|double)\b")
_INTEGER = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True)
class Plan:
    """What to alter."""

    set: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    """For this broker: key -> (effective value, value to set)."""
    deleted: tuple[str, ...] = ()
    """Keys to delete for this broker."""
    cluster: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    """For the whole cluster: key -> (effective value, value to set)."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why only a restart brings a key."""

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys that are not yet as they should be."""
        return frozenset((*self.set, *self.deleted, *self.cluster))

    @property
    def own(self) -> dict[str, str | None]:
        """Return what to alter on this broker: key -> value, None to delete its entry."""
        return {key: new for key, (_, new) in self.set.items()} | dict.fromkeys(self.deleted)

    def without(self, keys: Container[str]) -> Plan:
        """Return the plan without some keys, and without what is refused."""
        return Plan(
            {key: change for key, change in self.set.items() if key not in keys},
            tuple(key for key in self.deleted if key not in keys),
            {key: change for key, change in self.cluster.items() if key not in keys},
        )


def same(kind: str, first_text: str | None, second_text: str | None) -> bool:
    """Return whether Kafka reads two texts as the same value of a type, such as `int` or `LIST`."""
    if first_text is None or second_text is None:
        return first_text is second_text
    first, second = first_text.strip(), second_text.strip()
    kind = kind.lower()
    if kind == "boolean":
        return first.lower() == second.lower()
    if kind == "list":
        return _parts(first) == _parts(second)
    if kind in ("short", "int", "long") and all(map(_INTEGER.fullmatch, (first, second))):
        return int(first) == int(second)
    if kind == "double":
        try:
            return float(first) == float(second)
        except ValueError:
            pass
    return first == second


def plan(
    keys: Iterable[str],
    desired: Mapping[str, str],
    current: Mapping[str, Setting],
    *,
    recorded: Iterable[str] = (),
    elr: bool = False,
    cluster_wide: bool = False,
) -> Plan:
    """Return what makes a running broker have the values of its file, `desired`, for these keys.

    A key that is not in the file, and was not when the broker started, is the operator's, unless it
    is `recorded` as set from the file or its entry only repeats Kafka's default. The entry of a
    recorded key that is no longer in `keys` is deleted: it would override the file permanently.

    With `elr`, eligible leader replicas (KIP-966), Kafka takes min.insync.replicas for the whole
    cluster alone, and forgets all eligible leaders each time it is set; `cluster_wide` names the
    one broker that may change it.
    """
    to_set: dict[str, tuple[str | None, str]] = {}
    cluster: dict[str, tuple[str | None, str]] = {}
    deleted: list[str] = []
    refused: dict[str, str] = {}
    recorded = frozenset(recorded)
    keys = frozenset(keys)
    for key in sorted(keys | recorded):
        expected, now = desired.get(key), current.get(key)
        if key not in keys:
            if now is not None and now.entry is not None:
                deleted.append(key)
                if expected is not None and not same(now.kind, now.below, expected):
                    refused[key] = "it is no longer one of the keys that are changed online"
            continue
        if expected is not None and "${" in expected:
            # Kafka fills this in at its start; the key was marked for a restart then.
            continue
        if now is None:
            if expected is not None:
                refused[key] = "the running broker does not know this key"
        elif key == MIN_ISR and elr:
            if cluster_wide and expected is not None and not same(now.kind, now.value, expected):
                cluster[key] = (now.value, expected)
        elif expected is None and now.static is None:
            ours = key in recorded or (
                same(now.kind, now.entry, now.below) and same(now.kind, now.entry, now.default)
            )
            if now.entry is not None and ours:
                deleted.append(key)
        elif (value := now.default if expected is None else expected) is None:
            refused[key] = "it was removed from the file, and Kafka has no default to set"
            deleted.extend([key] if now.entry is not None else [])
        elif now.entry is not None and same(now.kind, now.below, value):
            deleted.append(key)
        elif not same(now.kind, now.value, value):
            to_set[key] = (now.value, value)
    return Plan(to_set, tuple(deleted), cluster, refused)


def alter(
    changes: Mapping[str, str | None], send: Callable[[Mapping[str, str | None]], str]
) -> dict[str, str]:
    """Alter all keys at once, or one by one where that is refused; return key -> why it is not.

    `changes` is key -> value, None to delete it. `send` returns Kafka's reason, empty if it took
    them. A key may need another one first, so those left are tried again as long as one is taken.
    """
    remaining = dict(changes)
    reason = send(remaining) if remaining else ""
    if not reason:
        return {}
    reasons = dict.fromkeys(remaining, reason)
    while len(changes) > 1 and remaining:
        reasons = {key: send({key: value}) for key, value in remaining.items()}
        refused = {key: value for key, value in remaining.items() if reasons[key]}
        if len(refused) in (0, len(remaining)):
            break
        remaining = refused
    return {key: reason for key, reason in reasons.items() if reason}


def steps(made: Plan, current: Mapping[str, Setting], refused: Mapping[str, str]) -> dict[str, str]:
    """Return key -> an intermediate value, for refused numbers that Kafka changes only in steps.

    A thread pool can at most double or halve at a time (KIP-226), as Kafka's reason says.
    """
    by_degrees = {
        key: current[key]
        for key, reason in refused.items()
        if key in current and current[key].kind.lower() == "int" and _BY_DEGREES.search(reason)
    }
    on_the_way = {
        key: _step(now.value, made.set[key][1] if key in made.set else now.below)
        for key, now in by_degrees.items()
    }
    return {key: str(number) for key, number in on_the_way.items() if number}


def shown(altered: Mapping[str, str | None], current: Mapping[str, Setting]) -> bool:
    """Return whether a broker has these values: key -> value, None if its entry was deleted."""
    return all(
        now.entry is None if value is None else same(now.kind, now.value, value)
        for key, value in altered.items()
        if (now := current.get(key)) is not None
    )


def diff(node_id: int, made: Plan, current: Mapping[str, Setting]) -> dict[str, str]:
    """Return a plan as Ansible shows it, a line for each key before and after."""
    changes = [
        (f"{key} is not set" if old is None else f"{key}={old}", f"{key}={new}")
        for key, (old, new) in sorted({**made.set, **made.cluster}.items())
    ]
    changes += [
        (f"{key}={current[key].entry} (dynamic)", f"{key}={current[key].below}")
        for key in made.deleted
    ]
    before, after = ("".join(f"{change[side]}\n" for change in changes) for side in (0, 1))
    return shown_diff(f"dynamic configuration of broker {node_id}", before, after)


def _step(current: str | None, target: str | None) -> int:
    """Return a number doubled or halved, 0 if the target is within that range."""
    if not (current and target and _INTEGER.fullmatch(current) and _INTEGER.fullmatch(target)):
        return 0
    now, then = int(current), int(target)
    if min(now, then) < 1 or now // 2 <= then <= now * 2:
        return 0
    return now * 2 if then > now else now // 2


def _parts(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text else []
