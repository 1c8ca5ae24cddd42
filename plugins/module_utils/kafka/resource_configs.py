"""Dynamic configuration of topics, groups and client metrics subscriptions, by resource.

Groups have configurations since KIP-848 and KIP-932, subscriptions since KIP-714. Brokers' own is
in `configs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import library
from .answers import (
    INVALID_REQUEST,
    UNKNOWN_TOPIC,
    UNSUPPORTED_VERSION,
    RefusedError,
    UnsupportedError,
    check,
    refusal,
)
from .requests import batches, complete, send

TOPIC, CLIENT_METRICS, GROUP = 2, 16, 32
"""Resource types of Kafka's protocol."""
DYNAMIC = {TOPIC: 1, CLIENT_METRICS: 7, GROUP: 8}
"""Resource type -> source of the values that are the resource's own (ConfigSource)."""
WORDS = {TOPIC: "topic", CLIENT_METRICS: "client metrics subscription", GROUP: "group"}
_SET, _DELETE = 0, 1


def names(admin: Any, kind: int) -> list[str] | None:
    """Return the resources of a kind that have a configuration; None if it cannot be listed.

    Kafka lists subscriptions since 3.7 (KIP-714), groups since 4.1 (KIP-1142), neither with
    ZooKeeper.

    Raises:
        RefusedError: Kafka refuses to show them.

    """
    if kind == CLIENT_METRICS:
        request = library.ListConfigResourcesRequest(resource_types=[kind], max_version=1)
    else:
        request = library.ListConfigResourcesRequest(resource_types=[kind], min_version=1)
    try:
        response = send(admin, request)
    except library.errors.UnsupportedVersionError:
        return None
    check(response)
    # Version 0 has no types: it is about subscriptions alone.
    return sorted(
        resource.resource_name
        for resource in response.config_resources
        if resource.resource_type == kind
    )


def read(admin: Any, kind: int, resources: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return resource -> key -> value, of the dynamic keys that are its own.

    Topics that are not there are left out; of the other kinds such a resource has no keys.

    Raises:
        RefusedError: Kafka refuses to show one.
        UnsupportedError: this version has no such configuration.

    """
    settings: dict[str, dict[str, str]] = {}
    for result in describe(admin, kind, resources):
        if result.error_code in (INVALID_REQUEST, UNSUPPORTED_VERSION) and kind != TOPIC:
            text = f"this version of Kafka has no configuration of a {WORDS[kind]}"
            raise UnsupportedError(text)
        if kind == TOPIC and result.error_code == UNKNOWN_TOPIC:
            continue
        if reason := refusal(result):
            text = f"the configuration of the {WORDS[kind]} {result.resource_name}: {reason}"
            raise RefusedError(text)
        settings[result.resource_name] = dynamic(kind, result)
    return settings


def dynamic(kind: int, result: Any) -> dict[str, str]:
    """Return key -> value, of the resource's own keys in a part of an answer to DescribeConfigs."""
    return {
        entry.name: entry.value or ""
        for entry in result.configs
        if entry.config_source == DYNAMIC[kind]
    }


def describe(
    admin: Any,
    kind: int,
    resources: Iterable[str],
    keys: Sequence[str] | None = None,
    *,
    synonyms: bool = False,
) -> Iterator[Any]:
    """Yield the part of the answer to DescribeConfigs about each resource, errors included.

    `keys` None is all keys.
    """
    selected = None if keys is None else list(keys)
    for batch in batches(resources):
        request = library.DescribeConfigsRequest(
            resources=[(kind, name, selected) for name in batch],
            include_synonyms=synonyms,
            min_version=1,
        )
        results = send(admin, request).results
        complete(batch, [result.resource_name for result in results])
        yield from results


def alter(
    admin: Any,
    kind: int,
    changes: Mapping[str, Mapping[str, str | None]],
    *,
    validate_only: bool,
) -> dict[str, str]:
    """Set and delete keys of resources; return resource -> why Kafka refuses, of those that it does.

    `changes` is resource -> key -> value, None to delete the key (KIP-339). Keys that it does not
    name stay as they are.
    """
    reasons: dict[str, str] = {}
    for batch in batches(changes.items()):
        request = library.IncrementalAlterConfigsRequest(
            resources=[
                (
                    kind,
                    name,
                    [
                        (key, _DELETE if value is None else _SET, value)
                        for key, value in keys.items()
                    ],
                )
                for name, keys in batch
            ],
            validate_only=validate_only,
        )
        responses = send(admin, request).responses
        reasons.update(
            (response.resource_name, refusal(response, lasting=[UNKNOWN_TOPIC]))
            for response in responses
        )
        complete([name for name, _ in batch], reasons)
    return {name: reason for name, reason in reasons.items() if reason}
