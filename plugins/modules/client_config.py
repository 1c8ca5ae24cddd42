#!/usr/bin/python
"""Documentation of the action client_config, which runs on the control node."""

DOCUMENTATION = r"""
module: client_config
short_description: Write files by which clients on the control node reach the Kafka cluster
description:
  - Writes a file of Kafka client properties, as Kafka's own tools take it. Only its owner can read
    it. With O(all_formats) it writes a directory of such files for clients of several languages.
  - It holds the addresses and the protocol of the brokers, C(kafka_client_config), and
    C(kafka_local_client_config) in place of the stores that lie on the hosts.
options:
  path:
    description: The file, or the directory, on the control node. Its directory is created.
    type: path
    required: true
  all_formats:
    description: Write C(client.properties) (Java), C(librdkafka.conf) (kcat, confluent-kafka),
      C(kafka-python.json) (arguments of kafka-python's clients), C(spark.json) (options of Spark's
      source and sink) and C(ca.pem) into the directory O(path). If O(user) is also one of the
      schema registry, C(schema-registry.conf) (confluent-kafka's SchemaRegistryClient) is written.
      Otherwise a former one is removed, which is a change.
    type: bool
    default: false
  user:
    description: Who the clients are, where they log in to Kafka.
    type: str
    default: admin
  properties:
    description: Further client properties, over all others.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Writes the files too, since local programs read them, but removes none. No host is
      changed.
    support: full
"""

EXAMPLES = r"""
- name: Write the client properties for a program on the control node
  millrace.streaming.client_config:
    path: build/client.properties
    properties: {client.id: billing}
  run_once: true
"""

RETURN = r"""
files:
  description: The files that were written.
  returned: success
  type: list
  elements: str
brokers:
  description: How many brokers the cluster has.
  returned: success
  type: int
replication_factor:
  description: Replicas of a topic by default.
  returned: success
  type: int
min_insync_replicas:
  description: The brokers' min.insync.replicas.
  returned: success
  type: int
"""
