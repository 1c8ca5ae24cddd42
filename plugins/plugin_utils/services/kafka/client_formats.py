"""One user's access to a cluster in the forms that clients of several languages read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ....module_utils.kafka.connection import Connection
from ...cluster import files

# kafka-python's argument -> librdkafka's property, for kcat and confluent-kafka.
_LIBRDKAFKA = {
    "bootstrap_servers": "bootstrap.servers",
    "security_protocol": "security.protocol",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_keyfile": "ssl.key.location",
    "ssl_password": "ssl.key.password",
    "sasl_mechanism": "sasl.mechanisms",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
}


def client_files(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return file name -> text of a client's properties in each form.

    `client.properties` is for Java and Kafka's tools, `librdkafka.conf` for kcat (`-F`) and
    confluent-kafka, `kafka-python.json` has arguments of kafka-python's clients, `spark.json`
    options of Spark's source and sink.

    Raises:
        ConnectionDescriptionError: the properties are not those of a client in Python.

    """
    settings = Connection.of(properties).settings()
    librdkafka = {
        _LIBRDKAFKA[name]: value for name, value in settings.items() if name in _LIBRDKAFKA
    }
    librdkafka["bootstrap.servers"] = ",".join(settings["bootstrap_servers"])
    if settings.get("ssl_check_hostname") is False:
        librdkafka["ssl.endpoint.identification.algorithm"] = "none"
    spark = {f"kafka.{key}": value for key, value in properties.items()}
    return {
        "client.properties": files.properties(properties),
        "librdkafka.conf": files.plain_properties(librdkafka),
        "kafka-python.json": json.dumps(settings, indent=2) + "\n",
        "spark.json": json.dumps(spark, indent=2) + "\n",
    }
