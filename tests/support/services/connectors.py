"""A connector that copies a topic of a cluster into another one of the same cluster."""

from __future__ import annotations

from typing import Any

from tests.support.lab.topology import Topology

NAME, ALIAS = "copy", "copied"
LOGIN_FILE = f"/etc/connect/secrets/kafka-login-{NAME}.properties"
SECRETS_FILE = f"/etc/connect/secrets/{NAME}.properties"
LOGIN = f"${{file:{LOGIN_FILE}:sasl.jaas.config}}"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def connector(topology: Topology, topic: str, copies: int) -> dict[str, Any]:
    """The connector of MirrorMaker 2, from the cluster to itself."""
    worker = next(iter(topology.cluster.connect.values()))
    client = {key: value for key, value in worker.config.items() if key.startswith("producer.")}
    client = {key.removeprefix("producer."): value for key, value in client.items()}
    client["bootstrap.servers"] = worker.config["bootstrap.servers"]
    client["consumer.isolation.level"] = "read_committed"
    if worker.kafka_login:
        client["sasl.jaas.config"] = LOGIN
    operations = ["create", "describe_configs", "read", "write"]
    syncs = "mm2-offset-syncs.there.internal"
    return {
        "name": NAME,
        "kafka_user": NAME,
        "grants": [
            {"topic": topic, "operations": ["describe_configs", "read"]},
            {"topic": f"{ALIAS}.{topic}", "operations": operations},
            {"topic": syncs, "operations": operations},
        ],
        "config": {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": f"${{file:{SECRETS_FILE}:tasks}}",
            "topics": topic,
            "source.cluster.alias": ALIAS,
            "target.cluster.alias": "there",
            "replication.factor": copies,
            "offset-syncs.topic.replication.factor": copies,
            "sync.topic.acls.enabled": False,
            "sync.topic.configs.enabled": False,
            "exactly.once.support": "required",
            "consumer.override.isolation.level": "read_committed",
            "source.consumer.isolation.level": "read_committed",
            "key.converter": BYTES,
            "value.converter": BYTES,
            **{f"source.cluster.{key}": value for key, value in client.items()},
            **{f"target.cluster.{key}": value for key, value in client.items()},
        },
    }
