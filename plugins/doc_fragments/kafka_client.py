"""Documentation of the options that every module has that talks to a Kafka cluster."""

from __future__ import annotations


class ModuleDocFragment:
    """The options CLIENT of module_utils/operations/options.py."""

    DOCUMENTATION = r"""
options:
  bootstrap:
    description: Brokers to ask, each C(host:port).
    type: list
    elements: str
    required: true
  client_config:
    description: File with Kafka's client properties, which say how to connect.
    type: path
    default: /etc/kafka/client.properties
  library:
    description: Directory with kafka-python, unpacked or as a wheel.
    type: path
    default: /opt/millrace/kafka/python
"""
