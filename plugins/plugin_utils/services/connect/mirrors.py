"""Mirrors of other clusters: MirrorMaker 2 as two connectors for each cluster that is followed.

`mirror-NAME-topics` copies records, `mirror-NAME-offsets` translates the offsets of consumer groups
(KIP-382, KIP-545, KIP-716). They run on the workers of the cluster that follows, so that records
and what was read of the other cluster are written in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.values import by_name, texts
from ..kafka import security
from ..kafka.security import Grant
from .connectors import CLASS, LOGIN_KEY, SECRETS, Connector, reference

VARIABLE = "connect_mirrors"
ALIAS = "connect_cluster_alias"
KINDS = TOPICS, OFFSETS = ("topics", "offsets")
"""What a connector of a mirror copies."""
CERTIFICATES = "ssl.truststore.certificates"
_PACKAGE = "org.apache.kafka.connect.mirror"
_CLASSES = {TOPICS: "MirrorSourceConnector", OFFSETS: "MirrorCheckpointConnector"}
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
# Records are copied, and checkpoints are written, as they are; a worker's own are for other ones.
_CONVERTERS = {f"{component}.converter": _BYTES for component in ("key", "value", "header")}
OWNED: Mapping[str, str] = {
    CLASS: "nothing",
    "groups": "groups",
    "offset-syncs.topic.location": "nothing, the other cluster is only read",
    "replication.policy.class": "nothing, the failback needs it",
    "replication.policy.separator": "nothing, the failback needs it",
    "source.cluster.alias": "from",
    "source.cluster.bootstrap.servers": "bootstrap_servers",
    "sync.topic.acls.enabled": "nothing, users are those of each cluster",
    "target.cluster.alias": ALIAS,
    "topics": "topics",
}
"""Keys that only Millrace writes, with what sets each."""
_CONFIG: Mapping[str, Mapping[str, Any]] = {
    TOPICS: {
        **_CONVERTERS,
        # What the other cluster has aborted is not copied, and with it records are copied once.
        "consumer.override.isolation.level": "read_committed",
        "source.consumer.isolation.level": "read_committed",
        "sync.topic.acls.enabled": False,
        "refresh.topics.interval.seconds": 30,
    },
    OFFSETS: {
        **_CONVERTERS,
        "sync.group.offsets.enabled": True,
        "emit.checkpoints.interval.seconds": 5,
        "sync.group.offsets.interval.seconds": 5,
        "refresh.groups.interval.seconds": 30,
    },
}


@dataclass(frozen=True)
class Mirror:
    """A cluster that this one follows."""

    source: str
    """Its name: topics of the other cluster have it as prefix here."""
    target: str
    """The name of this one."""
    bootstrap: Sequence[str]
    topics: Sequence[str]
    """Names, or with `*` at their end the beginning of names."""
    groups: Sequence[str] = ()
    """Names, or with `*` at their end the beginning of names."""
    user: str = ""
    password: str = field(default="", repr=False)
    authority: str = ""
    state: str = "running"
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def present(self) -> bool:
        """Whether it is to be there."""
        return self.state != "absent"

    @property
    def login_file(self) -> str:
        """The file with the login to the other cluster, on every worker.

        No user's and no entry of `connect_secrets` can have its name.
        """
        return f"{SECRETS}/kafka-login@{self.source}.properties"

    @property
    def login(self) -> dict[str, str]:
        """What that file contains; empty where nobody logs in."""
        if not self.user:
            return {}
        words = security.login(self.user, self.password, security.MECHANISM)[LOGIN_KEY]
        # Without the ends of lines of Windows.
        return {LOGIN_KEY: words, CERTIFICATES: "\n".join(self.authority.strip().splitlines())}

    def name(self, kind: str) -> str:
        """Return the name of a connector, and of its user of Kafka."""
        return f"mirror-{self.source}-{kind}"

    def connectors(self) -> list[Connector]:
        """Return its connectors, without what only a worker adds.

        Offsets are copied only of groups that are named.
        """
        grants = {TOPICS: self._grants_of_topics(), OFFSETS: self._grants_of_offsets()}
        states = {TOPICS: self.state, OFFSETS: self.state if self.groups else "absent"}
        return [
            Connector(self.name(kind), self._config(kind), state, self.name(kind), grants[kind])
            for kind, state in states.items()
        ]

    def _config(self, kind: str) -> dict[str, Any]:
        return {
            **_CONFIG[kind],
            **by_name(self.given),
            CLASS: f"{_PACKAGE}.{_CLASSES[kind]}",
            "topics": ",".join(map(_pattern, self.topics)),
            **({"groups": ",".join(map(_pattern, self.groups))} if kind == OFFSETS else {}),
            "source.cluster.alias": self.source,
            "target.cluster.alias": self.target,
            # The other cluster is only read, and the offsets are here when it is lost (KIP-716).
            "offset-syncs.topic.location": "target",
            **{f"source.cluster.{key}": value for key, value in self._client().items()},
        }

    def _client(self) -> dict[str, str]:
        servers = {"bootstrap.servers": ",".join(self.bootstrap)}
        if not self.user:
            return servers
        return {
            **servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": security.MECHANISM,
            "ssl.truststore.type": "PEM",
            **{key: reference(self.login_file, key) for key in self.login},
        }

    @property
    def _syncs(self) -> str:
        """The topic with pairs of offsets, of a record in both clusters."""
        return f"mm2-offset-syncs.{self.source}.internal"

    def _grants_of_topics(self) -> list[Grant]:
        # The settings of topics are those of the other cluster, and so are numbers of partitions.
        operations = ["alter", "alter_configs", "create", "describe_configs", "write"]
        return [
            {"topic": f"{self.source}.", "pattern": "prefixed", "operations": operations},
            {"topic": self._syncs, "operations": ["create", "describe_configs", "write"]},
        ]

    def _grants_of_offsets(self) -> list[Grant]:
        # Who commits offsets of a group has to be allowed to read the topics (OffsetCommit).
        return [
            {"topic": f"{self.source}.", "pattern": "prefixed", "operations": ["read"]},
            {
                "topic": f"{self.source}.checkpoints.internal",
                "operations": ["create", "describe_configs", "write"],
            },
            {"topic": self._syncs, "operations": ["describe_configs", "read"]},
            *(_grant("group", group, "read") for group in self.groups),
            # It asks for all offsets of a group, which reads topics of this cluster, too: without
            # this the authorizer would log a denial each time.
            *(_grant("topic", topic, "describe") for topic in self.topics),
        ]


def _pattern(name: str) -> str:
    """Return a name as MirrorMaker reads it, a regular expression."""
    return name.replace(".", r"\.").replace("*", ".*")


def _grant(kind: str, name: str, *operations: str) -> Grant:
    prefixed = {"pattern": "prefixed"} if name.endswith("*") and name != "*" else {}
    return {kind: name.rstrip("*") or "*", **prefixed, "operations": list(operations)}


def of_settings(settings: Mapping[str, Any]) -> list[Mirror]:
    """Return the mirrors that a worker's variables name, in their order."""
    return [
        Mirror(
            source=str(entry["from"]),
            target=str(settings[ALIAS] or ""),
            bootstrap=texts(entry["bootstrap_servers"]),
            topics=texts(entry["topics"]),
            groups=texts(entry.get("groups") or ()),
            user=str(entry.get("user") or ""),
            password=str(entry.get("password") or ""),
            authority=str(entry.get("ca") or ""),
            state=str(entry.get("state") or "running"),
            given=dict(entry.get("config") or {}),
        )
        for entry in settings[VARIABLE]
    ]


def sizes(kind: str, copies: int, workers: int) -> dict[str, int]:
    """Return how many copies a connector makes of a partition, and how many tasks it has."""
    if kind == OFFSETS:
        return {"checkpoints.topic.replication.factor": copies, "tasks.max": 1}
    return {
        "replication.factor": copies,
        "offset-syncs.topic.replication.factor": copies,
        "tasks.max": workers,
    }
