"""Kafka's text form of a UUID: cluster ids and directory ids (org.apache.kafka.common.Uuid)."""

from __future__ import annotations

import base64
import binascii
import itertools
import uuid
from collections.abc import Iterator

# org.apache.kafka.common.DirectoryId keeps the first hundred ids for itself.
_RESERVED = 100
# What Kafka gives for the directory of a static quorum's voter.
ZERO = "A" * 22
_NAMESPACE = uuid.UUID("5f0c3f0e-4d0b-5d57-9d5e-6b1f8a2f6c11")


def is_cluster_id(text: object) -> bool:
    """Return whether text is a cluster id: 16 bytes as 22 characters of base64url, canonical.

    Reserved ids (Kafka's own, the first hundred numbers) are refused. A leading '-' is legal: the
    brokers of a cluster with ZooKeeper choose such ids too (kafka.utils.CoreUtils).
    """
    if not isinstance(text, str) or len(text) != 22:
        return False
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    return _text(raw) == text and int.from_bytes(raw, "big") >= _RESERVED


def random_cluster_id() -> str:
    """Return a new random id, as `kafka-storage random-uuid` does."""
    return _first_legal(uuid.uuid4() for _ in itertools.count())


def directory_id(cluster_id: str, node_id: int) -> str:
    """Return the id of a controller's metadata directory: the same for the same node for ever."""
    names = (f"{cluster_id}/{node_id}/{attempt}" for attempt in itertools.count())
    return _first_legal(uuid.uuid5(_NAMESPACE, name) for name in names)


def kafka_text(value: object) -> str:
    """Return Kafka's text form of a UUID in the usual one.

    Raises:
        ValueError: it is no UUID.

    """
    return _text(uuid.UUID(str(value)).bytes)


def _first_legal(ids: Iterator[uuid.UUID]) -> str:
    """Return the first id that is not reserved and that no command line takes for an option."""
    texts = (_text(identifier.bytes) for identifier in ids)
    return next(text for text in texts if is_cluster_id(text) and not text.startswith("-"))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
