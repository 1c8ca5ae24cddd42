"""The sets of broker settings that `kafka_profile` chooses from, each setting with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Value = bool | int | str


@dataclass(frozen=True)
class Setting:
    """A property's value, or how it follows from the number of a host's cores, and why."""

    value: Value | Callable[[int], Value]
    why: str
    formula: str = ""

    def on(self, cores: int) -> Value:
        """Return the value on a host with so many cores."""
        return self.value(cores) if callable(self.value) else self.value


@dataclass(frozen=True)
class Profile:
    """A set of settings and whom it is for."""

    purpose: str
    settings: Mapping[str, Setting]


_PER_LISTENER = "per listener; resizable online within half to double"
_CATCH_UP = "catch-up after a restart"
_UNCLEAN_START = Setting(
    lambda cores: cores,
    "recovery after an unclean shutdown decides how long a restart takes",
    formula="cores",
)
_SEGMENTS = "retention works by segments"
_ROUND_TRIP = "bandwidth times round trip"
_COMMON: Mapping[str, Setting] = {
    "replica.fetch.backoff.ms": Setting(
        100, "a follower that asks a new leader too early waits this long, and acks=all with it"
    ),
    "replica.fetch.wait.max.ms": Setting(
        100, "a follower with nothing to fetch begins to follow a new leader only after this wait"
    ),
    "controller.socket.timeout.ms": Setting(
        5000, "a broker's request to a controller that hangs fails only after this time"
    ),
    "auto.create.topics.enable": Setting(False, "a misspelt name must not create a topic"),
    "unclean.leader.election.enable": Setting(
        False, "an out-of-sync leader loses acknowledged records"
    ),
    "compression.type": Setting("producer", "no recompression on the broker"),
}

PROFILES: Mapping[str, Profile] = {
    "durable": Profile(
        "Loses nothing by default: what Kafka itself would do less safely is set, the rest is left "
        "to Kafka.",
        {
            **_COMMON,
            "num.network.threads": Setting(
                lambda cores: min(max(3, cores), 8), _PER_LISTENER, formula="cores, 3 to 8"
            ),
            "num.replica.fetchers": Setting(2, _CATCH_UP),
            "num.recovery.threads.per.data.dir": _UNCLEAN_START,
        },
    ),
    "small": Profile(
        "For hosts of 2 to 8 GB; as durable as `durable`, with less memory.",
        {
            **_COMMON,
            "num.network.threads": Setting(3, _PER_LISTENER),
            "log.segment.bytes": Setting(268435456, _SEGMENTS),
            "log.cleaner.dedupe.buffer.size": Setting(
                33554432, "the largest fixed item of the heap"
            ),
        },
    ),
    "throughput": Profile(
        "For hosts whose network and disks are to be filled; as durable as `durable`.",
        {
            **_COMMON,
            "num.network.threads": Setting(8, _PER_LISTENER),
            "num.io.threads": Setting(
                lambda cores: max(16, 2 * cores),
                "at least the number of data directories",
                formula="2 x cores, at least 16",
            ),
            "num.replica.fetchers": Setting(4, _CATCH_UP),
            "num.recovery.threads.per.data.dir": _UNCLEAN_START,
            "message.max.bytes": Setting(10485760, "only together with replica.fetch.max.bytes"),
            "replica.fetch.max.bytes": Setting(10485760, "only together with message.max.bytes"),
            "socket.send.buffer.bytes": Setting(1048576, _ROUND_TRIP),
            "socket.receive.buffer.bytes": Setting(1048576, _ROUND_TRIP),
        },
    ),
}
