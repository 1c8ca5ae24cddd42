"""kafka-python, and the only place that imports it.

A name is imported when it is first read: on a host the library lies beside Kafka, and is found once
`use` was called. It has no types.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

_CONTENTS = {
    "kafka": (
        "ConsumerRebalanceListener",
        "KafkaAdminClient",
        "KafkaConsumer",
        "KafkaProducer",
        "OffsetAndMetadata",
        "OffsetSpec",
        "TopicPartition",
    ),
    "kafka.admin": (
        "AlterConfigOp",
        "ConfigResource",
        "ConfigResourceType",
        "MemberToRemove",
        "UserScramCredentialUpsertion",
    ),
    "kafka.coordinator.assignors.cooperative_sticky": ("CooperativeStickyAssignor",),
    "kafka.coordinator.assignors.range": ("RangePartitionAssignor",),
    "kafka.future": ("Future",),
    "kafka.net": ("KafkaNetSocket",),
    "kafka.net.compat": ("KafkaNetClient",),
    "kafka.partitioner.default": ("murmur2",),
    "kafka.producer.transaction_manager": (
        "ProducerIdAndEpoch",
        "TransactionManager",
        "TransactionState",
    ),
    "kafka.protocol.admin": (
        "AlterClientQuotasRequest",
        "AlterPartitionReassignmentsRequest",
        "AlterReplicaLogDirsRequest",
        "AlterUserScramCredentialsRequest",
        "CreateAclsRequest",
        "CreatePartitionsRequest",
        "CreateTopicsRequest",
        "DeleteAclsRequest",
        "DeleteTopicsRequest",
        "DescribeAclsRequest",
        "DescribeClientQuotasRequest",
        "DescribeConfigsRequest",
        "DescribeGroupsRequest",
        "DescribeLogDirsRequest",
        "DescribeUserScramCredentialsRequest",
        "ElectLeadersRequest",
        "IncrementalAlterConfigsRequest",
        "ListConfigResourcesRequest",
        "ListGroupsRequest",
        "ListPartitionReassignmentsRequest",
        "UpdateFeaturesRequest",
    ),
    "kafka.protocol.api_message": ("ApiMessage",),
    "kafka.protocol.consumer": (
        "FetchRequest",
        "ListOffsetsRequest",
        "OffsetFetchRequest",
    ),
    "kafka.protocol.metadata": ("MetadataRequest",),
    "kafka.record": ("MemoryRecords", "MemoryRecordsBuilder"),
    "kafka.record.util": ("calc_crc32c",),
    "kafka.structs": ("MemberState",),
}
_NAMES = {name: module for module, names in _CONTENTS.items() for name in names}
_MODULES = {
    "codec": "kafka.codec",
    "default_records": "kafka.record.default_records",
    "errors": "kafka.errors",
    "legacy_records": "kafka.record.legacy_records",
}


class NoLibraryError(Exception):
    """kafka-python is not there; the text says where it was looked for."""


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name) or _NAMES.get(name)
    if module is None:
        raise AttributeError(name)
    with warnings.catch_warnings():
        # kafka-python reads its schemas with functions that Python 3.11 deprecates.
        warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
        imported = importlib.import_module(module)
    # Once: warnings' filters are the whole process's, and clients have threads.
    globals()[name] = imported if name in _MODULES else getattr(imported, name)
    return globals()[name]


def use(directory: Path) -> None:
    """Import kafka-python from a directory of a host from now on: unpacked there, or as a wheel.

    Raises:
        NoLibraryError: it is not there.

    """
    unpacked = (directory / "kafka" / "__init__.py").is_file()
    source = directory if unpacked else max(directory.glob("kafka_python*.whl"), default=None)
    if source is None:
        text = (
            f"kafka-python is not in {directory} on this host: it is part of the Kafka "
            "distribution, install that first"
        )
        raise NoLibraryError(text)
    sys.path.insert(0, str(source))
    _silence()


def use_installed() -> None:
    """Use the kafka-python that is installed, as on a control node.

    Raises:
        NoLibraryError: it is not there.

    """
    if importlib.util.find_spec("kafka") is None:
        text = (
            f"kafka-python is not installed for {sys.executable}: install what "
            "requirements/control-node.txt has there"
        )
        raise NoLibraryError(text)
    _silence()


def _silence() -> None:
    # The client reports each refused connection; the result says what matters.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
