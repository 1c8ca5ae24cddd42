"""Documentation of the options that every module has that talks to a Kafka cluster."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of module_utils/kafka_admin.py."""

    DOCUMENTATION = r"""
options:
  bootstrap:
    description: Brokers to ask, each C(host:port).
    type: list
    elements: str
    required: true
  library:
    description:
      - Directory with the wheel of kafka-python, such as C(<home>/python).
      - A wheel that is unpacked there is preferred, since Python can keep its compiled form.
    type: path
    required: true
  security:
    description: How to connect. Without it, in plain text.
    type: dict
    suboptions:
      protocol:
        description: Kafka's security protocol.
        type: str
        choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
        default: PLAINTEXT
      cafile:
        description: PEM file of the certificate authorities.
        type: path
      certfile:
        description: PEM file of the client's certificate.
        type: path
      keyfile:
        description: PEM file of the client's private key.
        type: path
      mechanism:
        description: SASL mechanism.
        type: str
        choices: [PLAIN, SCRAM-SHA-256, SCRAM-SHA-512]
      username:
        description: SASL user.
        type: str
      password:
        description: SASL password.
        type: str
"""
