"""The metrics of the exporter: those of groups, and its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .exposition import Metric, Sample
from .tracker import Tracked

Groups = Mapping[str, Tracked]


@dataclass(frozen=True)
class Counters:
    """How the exporter itself does."""

    last_success: float = 0.0
    """In seconds since 1970, 0 for never."""
    errors: int = 0
    duration: float = 0.0
    skipped: int = 0


def of_groups(groups: Groups) -> Iterator[Metric]:
    """Yield the metrics of groups."""
    yield Metric(
        "kafka_consumer_group_lag_records",
        "gauge",
        "Records between the committed offset of a group and the end of the partition.",
        ((labels, records) for labels, records, _ in _lags(groups)),
    )
    yield Metric(
        "kafka_consumer_group_lag_seconds",
        "gauge",
        "Time since the next record that the group has not committed was written, at least.",
        ((labels, round(seconds, 3)) for labels, _, seconds in _lags(groups)),
    )
    yield Metric(
        "kafka_consumer_group_members",
        "gauge",
        "Members of a group.",
        (
            ({"group": name}, tracked.members)
            for name, tracked in groups.items()
            if tracked.members is not None
        ),
    )
    yield Metric(
        "kafka_consumer_group_state",
        "gauge",
        "State of a group: 1 for the one that it has.",
        (({"group": name, "state": tracked.group.state}, 1) for name, tracked in groups.items()),
    )


def _lags(groups: Groups) -> Iterator[tuple[Mapping[str, str], int, float]]:
    for name, tracked in groups.items():
        for (topic, partition), lag in tracked.lags.items():
            labels = {"group": name, "topic": topic, "partition": str(partition)}
            yield labels, lag.records, lag.seconds


def of_exporter(counters: Counters) -> Iterator[Metric]:
    """Yield the metrics of the exporter itself."""

    def one(name: str, kind: str, about: str, value: float) -> Metric:
        samples: list[Sample] = [({}, value)]
        return Metric(f"kafka_lag_exporter_{name}", kind, about, samples)

    yield one(
        "last_success_timestamp_seconds",
        "gauge",
        "When the cluster last answered all questions; 0 for never.",
        counters.last_success,
    )
    yield one(
        "scrape_errors_total",
        "counter",
        "Readings of the cluster in which a question was not answered.",
        counters.errors,
    )
    yield one(
        "scrape_duration_seconds",
        "gauge",
        "How long the last reading of the cluster took.",
        round(counters.duration, 3),
    )
    yield one(
        "skipped_groups",
        "gauge",
        "Groups that are left out because there are more than lag_exporter_max_groups.",
        counters.skipped,
    )
