"""What makes topics as their entries have them, and which of it needs a word.

Pure: the caller reads the topics, and asks the questions about what they hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...kafka.topics import Contents, NewTopic, Topic
from . import values
from .items import (
    CHANGE,
    CREATE,
    DELETE,
    GROW,
    NOBODY,
    REFUSE,
    SAME,
    UNMANAGED,
    Item,
    Policy,
    Source,
    by_key,
    differences,
    label,
    repeated,
)

KIND = "topics"
DELETE_RECORDS = "delete-records"
MORE_PARTITIONS = "more-partitions"
LOWER_RETENTION = "lower-retention"
LOWER_MIN_ISR = "lower-min-isr"
LOWER_REPLICATION = "lower-replication"
WORDS = (DELETE_RECORDS, MORE_PARTITIONS, LOWER_RETENTION, LOWER_MIN_ISR, LOWER_REPLICATION)
THROTTLE_KEYS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""They belong to reassignments of partitions."""
_CLEANUP, _MIN_ISR = "cleanup.policy", "min.insync.replicas"
_RETENTION_BYTES, _RETENTION_MS = "retention.bytes", "retention.ms"
_UNLIMITED = -1
_LARGEST = 2**63 - 1
_RECORDS, _OLDER, _KEYS = "records", "older", "keys"


@dataclass(frozen=True)
class TopicEntry:
    """A topic as it is described."""

    name: str
    partitions: int | None = None
    """None for the broker's default."""
    replication: int | None = None
    """None for the broker's default."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Its dynamic keys, and no others."""
    absent: bool = False
    confirm: frozenset[str] = frozenset()
    """The words that its entry has."""
    source: Source = NOBODY

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> TopicEntry:
        """Return the topic of an entry."""
        return cls(
            settings["name"],
            settings.get("partitions"),
            settings.get("replication"),
            values.texts(settings.get("config")),
            settings.get("state") == "absent",
            frozenset(settings.get("confirm") or ()),
            Source.of(settings),
        )


@dataclass(frozen=True)
class TopicItem(Item):
    """What is done with a topic."""

    new: NewTopic | None = None
    """The topic to create."""
    partitions: int | None = None
    """The number to which its partitions grow."""
    config: Mapping[str, str | None] = field(default_factory=dict)
    """Keys to set, None to delete one."""


@dataclass(frozen=True)
class Question:
    """What has to be read of a topic's records."""

    older_than_ms: int | None = None
    """Whether there are some before this time, in milliseconds since the epoch."""
    keys: bool = False
    """Whether some have keys."""


@dataclass(frozen=True)
class _Risk:
    """What a change may cost, and the word without which it is refused."""

    word: str
    change: str
    """What changes, for the message."""
    asks: str = ""
    """The records that make it one: `_RECORDS`, `_OLDER` or `_KEYS`; empty if any topic does."""
    older_than_ms: int | None = None


def questions(
    entries: Iterable[TopicEntry], topics: Mapping[str, Topic], policy: Policy
) -> dict[str, Question]:
    """Return topic -> what has to be read of its records before `plan`, of changes with a risk."""
    entries = list(entries)
    risks = {
        entry.name: [
            risk for risk in _risks(entry, topic, policy) if risk.word not in entry.confirm
        ]
        for entry in entries
        for topic in (topics.get(entry.name),)
        if topic and not is_internal(entry.name, topic, policy) and topic.config is not None
    }
    if DELETE_RECORDS not in policy.confirm_prune:
        risks.update(
            (name, [_DELETION])
            for name in _unmanaged(entries, topics, policy)
            if policy.prunes(name)
        )
    asked = {name: [risk for risk in listed if risk.asks] for name, listed in risks.items()}
    return {
        name: Question(
            max(
                (risk.older_than_ms for risk in listed if risk.older_than_ms is not None),
                default=None,
            ),
            any(risk.asks == _KEYS for risk in listed),
        )
        for name, listed in asked.items()
        if listed
    }


def plan(
    entries: Iterable[TopicEntry],
    topics: Mapping[str, Topic],
    contents: Mapping[str, Contents],
    policy: Policy,
) -> list[Item]:
    """Return the items of topics; `contents` has the answers to `questions`."""
    entries = list(entries)
    items: list[Item] = []
    for name, claims in by_key(entries, lambda entry: entry.name).items():
        if len(claims) > 1:
            items.append(repeated(KIND, name, (entry.source for entry in claims)))
        else:
            items.append(_planned(claims[0], topics.get(name), contents.get(name), policy))
    for name in _unmanaged(entries, topics, policy):
        if not policy.prunes(name):
            items.append(TopicItem(KIND, name, UNMANAGED))
        else:
            pruned = TopicEntry(name, absent=True, confirm=policy.confirm_prune)
            items.append(_deletion(pruned, topics[name], contents.get(name)))
    return items


def _unmanaged(
    entries: Iterable[TopicEntry], topics: Mapping[str, Topic], policy: Policy
) -> list[str]:
    described = {entry.name for entry in entries}
    return [
        name
        for name, topic in topics.items()
        if name not in described
        and policy.is_unmanaged(KIND, name)
        and policy.in_scope(name)
        and not is_internal(name, topic, policy)
    ]


def is_internal(name: str, topic: Topic | None, policy: Policy) -> bool:
    """Return whether Kafka or a service keeps its own state in a topic."""
    internal = topic is not None and topic.internal
    return internal or name.startswith("__") or name in policy.service_topics


def _planned(
    entry: TopicEntry, topic: Topic | None, contents: Contents | None, policy: Policy
) -> TopicItem:
    if is_internal(entry.name, topic, policy):
        text = "Kafka or a service of the inventory keeps its state there: remove the entry"
        return _refused(entry, [text])
    if topic is None:
        return _creation(entry, policy)
    if entry.absent:
        return _deletion(entry, topic, contents)
    if reasons := _impossible(entry, topic):
        return _refused(entry, reasons)
    return _alteration(entry, topic, contents, policy)


def _refused(entry: TopicEntry, reasons: Sequence[str]) -> TopicItem:
    return TopicItem(KIND, entry.name, REFUSE, entry.source, reason="; ".join(reasons))


def _creation(entry: TopicEntry, policy: Policy) -> TopicItem:
    if entry.absent:
        return TopicItem(KIND, entry.name, SAME, entry.source)
    if throttles := _throttles(entry):
        return _refused(entry, throttles)
    needs, reason = _words(entry, _risks(entry, None, policy), None)
    return TopicItem(
        KIND,
        entry.name,
        CREATE,
        entry.source,
        differences(
            label(KIND, entry.name),
            {},
            {
                "partitions": _count(entry.partitions),
                "replication": _count(entry.replication),
                **entry.config,
            },
        ),
        needs,
        reason,
        new=NewTopic(entry.partitions, entry.replication, entry.config),
    )


def _count(number: int | None) -> str:
    return "the broker's default" if number is None else str(number)


def _deletion(entry: TopicEntry, topic: Topic, contents: Contents | None) -> TopicItem:
    needs, reason = _words(entry, [_DELETION], contents)
    before = {
        "partitions": str(topic.partitions),
        "replication": str(topic.replication),
        **(topic.config or {}),
    }
    difference = differences(label(KIND, entry.name), before, {})
    return TopicItem(KIND, entry.name, DELETE, entry.source, difference, needs, reason)


def _impossible(entry: TopicEntry, topic: Topic) -> list[str]:
    """Say what no request can change of a topic, or this login may not."""
    reasons = _throttles(entry)
    if topic.config is None:
        reasons.append(
            "its configuration is not shown to this login, which needs the operation "
            "DescribeConfigs of it"
        )
    if entry.partitions is not None and entry.partitions < topic.partitions:
        reasons.append(
            f"it has {topic.partitions} partitions, and Kafka takes none away: create a topic "
            f"with {entry.partitions} under another name, copy the records and move its clients"
        )
    if entry.replication is not None and entry.replication != topic.replication:
        reasons.append(
            f"its replication factor is {topic.replication}, not {entry.replication}: change it by "
            f"rebalance.yml -e topic={entry.name} -e replication={entry.replication}, which keeps "
            "its records"
        )
    return reasons


def _throttles(entry: TopicEntry) -> list[str]:
    return [
        f"{key} belongs to reassignments of partitions: remove it"
        for key in THROTTLE_KEYS
        if key in entry.config
    ]


def _alteration(
    entry: TopicEntry, topic: Topic, contents: Contents | None, policy: Policy
) -> TopicItem:
    current = {key: text for key, text in (topic.config or {}).items() if key not in THROTTLE_KEYS}
    config = values.changes(entry.config, current)
    grown = entry.partitions if (entry.partitions or 0) > topic.partitions else None
    before = {key: current[key] for key in config if key in current}
    after = {key: text for key, text in config.items() if text is not None}
    if grown is not None:
        before["partitions"], after["partitions"] = str(topic.partitions), str(grown)
    needs, reason = _words(entry, _risks(entry, topic, policy), contents)
    if topic.uneven and entry.replication is not None and not reason:
        reason = f"not all of its partitions have {topic.replication} replicas"
    return TopicItem(
        KIND,
        entry.name,
        GROW if grown is not None else CHANGE if config else SAME,
        entry.source,
        differences(label(KIND, entry.name), before, after),
        needs,
        reason,
        partitions=grown,
        config=config,
    )


_DELETION = _Risk(DELETE_RECORDS, "it is deleted", _RECORDS)


def _risks(entry: TopicEntry, topic: Topic | None, policy: Policy) -> list[_Risk]:
    """Return what making a topic so may cost, whatever it holds; None for one to create."""
    if topic is None:
        return (
            []
            if entry.absent
            else [*_low_replication(entry, policy), *_low_min_isr(entry, None, policy)]
        )
    if entry.absent:
        return [_DELETION]
    if _impossible(entry, topic):
        return []
    return [
        *_growth(entry, topic),
        *_lower_retention(entry, topic, policy),
        *_low_min_isr(entry, topic, policy),
    ]


def _low_replication(entry: TopicEntry, policy: Policy) -> Iterable[_Risk]:
    floor = policy.replication_floor
    if floor is not None and entry.replication is not None and entry.replication < floor:
        text = f"its replication factor {entry.replication} is below the profile's, {floor}"
        yield _Risk(LOWER_REPLICATION, text)


def _low_min_isr(entry: TopicEntry, topic: Topic | None, policy: Policy) -> Iterable[_Risk]:
    floor, desired = policy.min_isr_floor, _number(_value(entry, topic, _MIN_ISR))
    current = _number(topic.effective.get(_MIN_ISR)) if topic else None
    if floor is None or desired is None or desired >= floor:
        return
    if current is None or desired < current:
        yield _Risk(LOWER_MIN_ISR, f"its {_MIN_ISR} {desired} is below the profile's, {floor}")


def _growth(entry: TopicEntry, topic: Topic) -> Iterable[_Risk]:
    if entry.partitions is None or entry.partitions <= topic.partitions:
        return
    text = "keys move to other partitions"
    policies = {_value(entry, topic, _CLEANUP), topic.effective.get(_CLEANUP)}
    if any("compact" in values.entries(policy or "") for policy in policies):
        yield _Risk(MORE_PARTITIONS, f"{text}, and compaction keeps the former records for good")
    else:
        yield _Risk(MORE_PARTITIONS, text, _KEYS)


def _lower_retention(entry: TopicEntry, topic: Topic, policy: Policy) -> Iterable[_Risk]:
    """Return which records Kafka would delete or compact that it keeps now."""
    before = values.entries(topic.effective.get(_CLEANUP) or "")
    after = values.entries(_value(entry, topic, _CLEANUP) or "")
    if "compact" in after - before:
        text = f"its {_CLEANUP} becomes {','.join(sorted(after))}"
        yield _Risk(LOWER_RETENTION, f"{text}, which keeps the last record of each key", _RECORDS)
    if "delete" not in after:
        return
    for key, asks in ((_RETENTION_BYTES, _RECORDS), (_RETENTION_MS, _OLDER)):
        current = _limit(topic.effective.get(key)) if "delete" in before else math.inf
        desired = _limit(_value(entry, topic, key))
        if key in (topic.config or {}) and _value(entry, topic, key) == "":
            text = f"its {key} becomes the broker's, which this login is not shown"
            yield _Risk(LOWER_RETENTION, text, _RECORDS)
        elif desired < current:
            # A time before 1970 has meanings of its own in Kafka's protocol.
            older = max(0, policy.now_ms - int(desired)) if asks == _OLDER else None
            yield _Risk(LOWER_RETENTION, f"its {key} becomes {desired:.0f}", asks, older)


def _limit(text: str | None) -> float:
    number = _number(text)
    if number in (None, _UNLIMITED):
        return math.inf
    return float(max(-_LARGEST, min(number, _LARGEST)))


def _number(text: str | None) -> int | None:
    """Return a number as Kafka reads it: between blanks, in the digits of any script."""
    try:
        return int(text or "")
    except ValueError:
        return None


def _value(entry: TopicEntry, topic: Topic | None, key: str) -> str | None:
    """Return the value that a key will have; None where only the broker knows it."""
    if key in entry.config:
        return entry.config[key]
    return topic.below.get(key) if topic else None


def _words(
    entry: TopicEntry, risks: Iterable[_Risk], contents: Contents | None
) -> tuple[tuple[str, ...], str]:
    """Return the words that an entry lacks, and why each is needed."""
    missing: dict[str, list[str]] = {}
    for risk in risks:
        if risk.word not in entry.confirm and (fact := _fact(risk, contents)) is not None:
            missing.setdefault(risk.word, []).append(": ".join(filter(None, (risk.change, fact))))
    return tuple(missing), "; ".join(reason for reasons in missing.values() for reason in reasons)


def _fact(risk: _Risk, contents: Contents | None) -> str | None:
    """Return what a topic holds that makes a change risky, None if it holds no such thing."""
    if not risk.asks:
        return ""
    if contents is None or contents.has_records is None:
        return "this login is not shown whether it has records"
    if not contents.has_records:
        return None
    value, text = {
        _RECORDS: (contents.has_records, "it has records"),
        _OLDER: (contents.older, "it has older records"),
        _KEYS: (contents.has_keys, "it has records with keys"),
    }[risk.asks]
    if value is None:
        return f"this login is not shown whether {text}"
    return text if value else None
