"""Which values of the keys of Kafka remove a part of its protection."""

from __future__ import annotations

from ....module_utils.formats.values import is_true
from ...rules.weakness import (
    ANY_CERTIFICATE,
    OLD_PROTOCOL,
    READABLE,
    Weakness,
    has_weak_suite,
    is_empty,
    is_false,
    is_old,
)
from .security import REAUTHENTICATION

WEAKNESSES = (
    Weakness("ssl.enabled.protocols", is_old, OLD_PROTOCOL),
    Weakness("ssl.protocol", is_old, OLD_PROTOCOL),
    Weakness("ssl.cipher.suites", has_weak_suite, READABLE),
    Weakness("ssl.endpoint.identification.algorithm", is_empty, ANY_CERTIFICATE),
    Weakness(
        REAUTHENTICATION,
        is_false,
        "Who has a former password keeps what is connected",
    ),
    Weakness("authorizer.class.name", is_empty, "Whoever logs in may do everything"),
    Weakness(
        "auto.create.topics.enable",
        is_true,
        "A misspelt name creates a topic, to which grants for others may apply",
    ),
    Weakness("zookeeper.set.acl", is_false, "Every client of ZooKeeper may change Kafka's znodes"),
    Weakness("zookeeper.ssl.enabled.protocols", is_old, OLD_PROTOCOL),
    Weakness("zookeeper.ssl.cipher.suites", has_weak_suite, READABLE),
    Weakness("zookeeper.ssl.endpoint.identification.algorithm", is_empty, ANY_CERTIFICATE),
)
