"""Wrong inventories and legal variations: what operators write about the schema registry."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Draft, Legal

AVRO = {"type": "record", "name": "Plane", "fields": []}


def closed(draft: Draft) -> Draft:
    """Let the registry require users."""
    return draft.registry().variable("schema_registry_security", "standard")


def users(draft: Draft, *entries: dict[str, str]) -> Draft:
    """Give the registry users."""
    return closed(draft).variable("schema_registry_users", [*entries])


REFUSED: list[Case] = [
    (
        "schema-registry-without-kafka",
        "instances alone",
        lambda d: d.registry().drop_group("kafka_brokers").drop_group("kafka_controllers"),
        ("k1 and k2", "kafka_brokers"),
    ),
    (
        "schema-registry-name-taken",
        "an entry",
        lambda d: (
            d.registry()
            .variable("kafka_security", "standard")
            .variable("kafka_users", [{"name": "schema-registry"}])
        ),
        ("kafka_users", "schema-registry"),
    ),
    (
        "schema-registry-differs",
        "a level of one instance",
        lambda d: d.registry().variable("schema_registry_compatibility", "FULL", on=("k1",)),
        ("schema_registry_compatibility", "k1"),
    ),
    (
        "schema-registry-user",
        "a name with a colon",
        lambda d: users(d, {"name": "a:b", "role": "read"}),
        ("a:b",),
    ),
    (
        "schema-registry-user",
        "twice",
        lambda d: users(d, {"name": "a", "role": "read"}, {"name": "a", "role": "write"}),
        ("a is named 2 times",),
    ),
    (
        "schema-registry-user",
        "an admin who may not change levels",
        lambda d: users(d, {"name": "admin", "role": "read"}),
        ("admin", "role: admin"),
    ),
    (
        "schema-registry-user",
        "a short password",
        lambda d: users(d, {"name": "a", "role": "read", "password": "secret"}).vault(
            "schema_registry_users[a]"
        ),
        ("password of a", "8"),
    ),
    (
        "schema-registry-user",
        "a password that a file of a client would lose",
        lambda d: users(d, {"name": "a", "role": "read", "password": "a\\long\\word"}).vault(
            "schema_registry_users[a]"
        ),
        ("password of a", "backslashes"),
    ),
    (
        "secret-visible",
        "a password of the schema registry",
        lambda d: users(d, {"name": "a", "role": "read", "password": "a-long-password"}),
        ("password of a", "schema_registry_users"),
    ),
    (
        "schema-subject",
        "no name",
        lambda d: d.subjects({"schema": AVRO}),
        ("neither subject nor topic",),
    ),
    (
        "schema-subject",
        "two names",
        lambda d: d.subjects({"subject": "planes-value", "topic": "planes", "schema": AVRO}),
        ("planes-value", "subject"),
    ),
    (
        "schema-subject",
        "a record without a name",
        lambda d: d.subjects(
            {"topic": "planes", "strategy": "TopicRecordNameStrategy", "schema": {"type": "int"}}
        ),
        ("TopicRecordNameStrategy", "name"),
    ),
    *(
        (
            "schema-subject",
            f"one to be removed by a record's name and {name}",
            lambda d, strategy=strategy, fields=fields: d.subjects(
                {"topic": "planes", "strategy": strategy, "state": "absent", **fields}
            ),
            (strategy, "subject", *fields.values()),
        )
        for strategy in ("RecordNameStrategy", "TopicRecordNameStrategy")
        for name, fields in {"no schema": {}, "no file": {"file": "/nowhere/plane.avsc"}}.items()
    ),
    (
        "variable-value",
        "an unknown subject strategy",
        lambda d: d.subjects({"topic": "planes", "strategy": "TopicName", "schema": AVRO}),
        ("TopicNameStrategy", "RecordNameStrategy", "TopicName"),
    ),
    (
        "variable-value",
        "an unknown level of compatibility",
        lambda d: d.subjects({"topic": "planes", "compatibility": "BACKWARDS", "schema": AVRO}),
        ("BACKWARDS", "BACKWARD_TRANSITIVE"),
    ),
    (
        "variable-value",
        "an unknown language of schemas",
        lambda d: d.subjects({"topic": "planes", "type": "XSD", "schema": AVRO}),
        ("XSD", "PROTOBUF"),
    ),
    (
        "schema-duplicate",
        "a topic and a subject",
        lambda d: d.subjects(
            {"topic": "planes", "schema": AVRO}, {"subject": "planes-value", "schema": AVRO}
        ),
        ("planes-value", "2 entries"),
    ),
    ("schema-missing", "none", lambda d: d.subjects({"topic": "planes"}), ("planes-value", "file")),
    (
        "schema-missing",
        "two",
        lambda d: d.subjects({"topic": "planes", "schema": AVRO, "file": "plane.avsc"}),
        ("both",),
    ),
    (
        "schema-missing",
        "a file that is not there",
        lambda d: d.subjects({"topic": "planes", "file": "/nowhere/plane.avsc"}),
        ("/nowhere/plane.avsc", "No such file"),
    ),
    (
        "schema-syntax",
        "a comma too many",
        lambda d: d.subjects({"topic": "planes", "schema": '{"type": "int",}'}),
        ("planes-value", "line 1"),
    ),
    (
        "schema-syntax",
        "another language",
        lambda d: d.subjects({"topic": "planes", "schema": 'syntax = "proto3";'}),
        ("PROTOBUF",),
    ),
    *(
        (
            "schema-dialect",
            name,
            lambda d, schema=schema: d.subjects(
                {"topic": "planes", "type": "JSON", "schema": schema}
            ),
            ("planes-value", "$schema"),
        )
        for name, schema in {
            "an object": {"title": "Plane", "type": "object"},
            "of another site": {"$schema": "http://acme.example/draft", "type": "object"},
        }.items()
    ),
    *(
        (
            "protection-weakened",
            f"of the schema registry: {key}",
            lambda d, key=key, value=value: closed(d).variable(
                "schema_registry_config", {key: value}
            ),
            (key, follows),
        )
        for key, value, follows in (
            ("quarkus.http.insecure-requests", "enabled", "without TLS"),
            ("quarkus.http.ssl.protocols", "TLSv1.1", "old protocol"),
            ("quarkus.http.auth.basic", False, "may change schemas"),
            ("apicurio.auth.role-based-authorization", "false", "may change schemas"),
            ("apicurio.auth.anonymous-read-access.enabled", True, "read schemas"),
            ("apicurio.kafka.common.ssl.endpoint.identification.algorithm", "", "certificate"),
        )
    ),
    (
        "owned-key",
        "of the schema registry",
        lambda d: d.registry().variable("schema_registry_config", {"quarkus.http.port": 1234}),
        ("quarkus.http.port", "schema_registry_port"),
    ),
    (
        "open-to-everybody",
        "the schema registry",
        lambda d: (
            d.without_spark()
            .registry()
            .variable("kafka_security", "standard")
            .reached_at("k2", "8.8.8.8")
        ),
        ("schema_registry_security: standard", "8.8.8.8"),
    ),
]

LEGAL: list[Legal] = [
    ("schema-registry-without-kafka", "instances beside brokers", lambda d: d.registry()),
    (
        "schema-registry-name-taken",
        "no instances",
        lambda d: d.variable("kafka_security", "standard").variable(
            "kafka_users", [{"name": "schema-registry"}]
        ),
    ),
    (
        "schema-registry-differs",
        "one level",
        lambda d: d.registry().variable("schema_registry_compatibility", "FULL"),
    ),
    (
        "schema-registry-user",
        "each role",
        lambda d: users(
            d,
            {"name": "admin", "role": "admin"},
            {"name": "flights_w", "role": "write"},
            {"name": "flights-r", "role": "read"},
        ),
    ),
    (
        "schema-subject",
        "each strategy",
        lambda d: d.subjects(
            {"topic": "planes", "schema": AVRO},
            {"topic": "planes", "part": "key", "schema": {"type": "string"}},
            {"strategy": "RecordNameStrategy", "schema": AVRO},
            {"topic": "planes", "strategy": "TopicRecordNameStrategy", "schema": AVRO},
            {"subject": "anything", "schema": {"type": "string"}},
        ),
    ),
    (
        "schema-subject",
        "to be removed",
        lambda d: d.subjects(
            {"topic": "planes", "state": "absent"},
            {"strategy": "RecordNameStrategy", "schema": AVRO, "state": "absent"},
        ),
    ),
    (
        "schema-duplicate",
        "key and value",
        lambda d: d.subjects(
            {"topic": "planes", "schema": AVRO}, {"topic": "planes", "part": "key", "schema": AVRO}
        ),
    ),
    (
        "schema-missing",
        "one that is to be removed",
        lambda d: d.subjects({"topic": "planes", "state": "absent"}),
    ),
    (
        "schema-syntax",
        "a language that is no JSON",
        lambda d: d.subjects(
            {"topic": "planes", "type": "PROTOBUF", "schema": 'syntax = "proto3";'}
        ),
    ),
    *(
        (
            "schema-dialect",
            name,
            lambda d, schema=schema: d.subjects(
                {"topic": "planes", "type": "JSON", "schema": schema}
            ),
        )
        for name, schema in {
            "properties": {"type": "object", "properties": {}},
            "a draft": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "string",
            },
        }.items()
    ),
]
