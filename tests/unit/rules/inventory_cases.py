"""Wrong inventories and legal variations: what hosts differ in, and what they must have alike."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.rules.draft import Case, Draft, Legal

JAVA = "kafka_java_options"
AUTHORIZER = "authorizer.class.name"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
EXPORTER = "-javaagent:/opt/jmx/exporter.jar="
LOGIN_FILE = "-Djava.security.auth.login.config=/etc/kafka/login.conf"
MOUNTS = [{"path": "/data1", "src": "LABEL=one", "fstype": "xfs"}]


def sasl(draft: Draft) -> Draft:
    """Add a listener with SASL after the first."""
    return draft.pem().listeners(("CLIENT", 9092, "SSL"), ("USERS", 9094, "SASL_SSL"))


def store(location: str, kind: str) -> Callable[[Draft], Draft]:
    """Set file and type of the key store of a TLS listener."""
    return lambda d: (
        d.pem()
        .listeners(("CLIENT", 9092, "SSL"))
        .own("ssl.keystore.location", location)
        .own("ssl.keystore.type", kind)
    )


def mounted(draft: Draft, *hosts: str) -> Draft:
    """Keep Kafka's data below /data1, which some hosts mount."""
    draft.variable("kafka_data_dirs", ["/data1/kafka"])
    return draft.variable("host_mounts", MOUNTS, on=hosts)


def authorized(draft: Draft, *hosts: str) -> Draft:
    """Set an authorizer on some nodes."""
    for key, value in ((AUTHORIZER, STANDARD), ("super.users", "User:admin;User:ANONYMOUS")):
        draft.own_host(key, value, on=hosts)
    return draft


def retention(draft: Draft, *hosts: str) -> Draft:
    """Keep a property of kafka_config on some brokers, and none on the others."""
    return draft.own("offsets.retention.minutes", 600, on=hosts)


REFUSED: list[Case] = [
    (
        "unresolved-variable",
        "of mounts that others have",
        lambda d: mounted(d, "k1", "k2").unresolvable("host_mounts", "undefined", on=("k3",)),
        ("host_mounts of k3",),
    ),
    (
        "unresolved-variable",
        "of properties of a listener with SASL",
        lambda d: sasl(d).unresolvable("kafka_config", "undefined"),
        ("kafka_config of k1, k2, k3",),
    ),
    (
        "parameter-of-host",
        "node id",
        lambda d: d.given("kafka_node_id", 7).variable("kafka_node_id", 7),
        ("-e", "kafka_node_id", "k1, k2 and k3"),
    ),
    (
        "variable-value",
        "given with -e",
        lambda d: d.given("kafka_heap", [1]).variable("kafka_heap", [1]),
        ("kafka_heap", "-e"),
    ),
    (
        "same-address",
        "the name of another",
        lambda d: d.reached_at("k1", "k2"),
        ("Set ansible_host of k1",),
    ),
    (
        "advertised-duplicate",
        "the name of another",
        lambda d: d.variable("kafka_advertised_host", "k3", on=("k1",)),
        ("Set kafka_advertised_host of k1",),
    ),
    (
        "advertised-host",
        "no IPv4 address",
        lambda d: d.variable("kafka_advertised_host", "10.0.0.256", on=("k1",)),
        ("10.0.0.256",),
    ),
    (
        "service-address",
        "no IPv4 address",
        lambda d: d.variable("spark_host", "10.0.256", on=("k1",)),
        ("10.0.256",),
    ),
    (
        "unknown-group",
        "one that its partner needs",
        lambda d: d.groups.update(kafka_broker=d.groups.pop("kafka_brokers")),
        ("kafka_brokers",),
    ),
    (
        "host-file-unused",
        "short name",
        lambda d: d.file("unused host", "kafka1", "kafka1.example.org.yml"),
        ("kafka1.example.org.yml",),
    ),
    (
        "account-shared",
        "with Kafka",
        lambda d: d.variable("spark_user", "data").variable("kafka_user", "data"),
        ("spark_user of k1, k2, k3", "Set spark_user: spark"),
    ),
    *(
        ("java-home", home, lambda d, home=home: d.variable("java_home", home), (fix,))
        for home, fix in (
            ("lib/jvm/jdk-21", "from / on"),
            ("/opt/jdk-21/bin", "java_home: /opt/jdk-21"),
            ("/opt/jdk-21/bin/java", "java_home: /opt/jdk-21"),
            ("/usr/bin/java", "Delete it"),
        )
    ),
    (
        "mount-differs",
        "one without",
        lambda d: mounted(d, "k1", "k2"),
        ("host_mounts of k3", "/data1/kafka", "k1 and k2"),
    ),
    (
        "mount-differs",
        "Spark's shared directory",
        lambda d: d.variable("host_mounts", [{"path": "/srv/spark"}], on=("k1", "k3")),
        ("host_mounts of k2", "/srv/spark"),
    ),
    (
        "kafka-config-differs",
        "one without",
        lambda d: retention(d, "k1", "k3"),
        ("kafka_config of k2", "offsets.retention.minutes", "kafka_host_config"),
    ),
    (
        "authorizer-differs",
        "one without",
        lambda d: authorized(d, "k1", "k2"),
        (AUTHORIZER, "none on k3"),
    ),
    (
        "sasl-login",
        "nothing set",
        sasl,
        ("USERS", "GSSAPI", "sasl.enabled.mechanisms", "listener.name.users."),
    ),
    (
        "sasl-login",
        "one of two mechanisms",
        lambda d: sasl(d).login("USERS").own("sasl.enabled.mechanisms", "SCRAM-SHA-512,PLAIN"),
        ("listener.name.users.plain.sasl.jaas.config", "PlainLoginModule"),
    ),
    (
        "store-name",
        "a Java store as PEM",
        store("/etc/kafka/tls/node.jks", "PEM"),
        ("node.jks", "PEM", "kafka_config[ssl.keystore.type]"),
    ),
    (
        "store-name",
        "PEM as a Java store",
        store("/etc/kafka/tls/node.pem", "JKS"),
        ("ssl.keystore.type: PEM",),
    ),
    (
        "store-path",
        "relative",
        store("tls/node.pem", "PEM"),
        ("/etc/kafka/tls/node.pem",),
    ),
    (
        "tls-protocols",
        "old ones",
        lambda d: store("/srv/node.pem", "PEM")(d).own("ssl.enabled.protocols", ["TLSv1.1"]),
        ("CLIENT", "TLSv1.1", "TLSv1.2"),
    ),
    (
        "client-key",
        "misspelt",
        lambda d: d.variable("kafka_client_config", {"ssl.truststore.locaton": "/etc/ca.pem"}),
        ("kafka_client_config[ssl.truststore.locaton]", "ssl.truststore.location"),
    ),
    (
        "client-protocol",
        "another",
        lambda d: d.variable("kafka_client_config", {"security.protocol": "SSL"}),
        ("CLIENT", "PLAINTEXT"),
    ),
    (
        "mount-type",
        "misspelt",
        lambda d: d.variable("host_mounts", [{"path": "/srv/spark", "fstype": "etx4"}]),
        ("/srv/spark", "fstype: ext4"),
    ),
    (
        "spark-driver-room",
        "more than a host has",
        lambda d: d.own_spark("spark.driver.memory", "8g"),
        ("8192", "6144", "spark_config[spark.driver.memory]"),
    ),
    (
        "zookeeper-members",
        "in zoo.cfg",
        lambda d: d.own_zookeeper("server.1", "z1:2888:3888"),
        ("server.1", "zookeeper_id"),
    ),
    *(
        (
            "port-conflict",
            f"agent {address}",
            lambda d, address=address: d.variable(JAVA, [f"{EXPORTER}{address}:/opt/jmx/k.yml"]),
            ("7078", "-javaagent"),
        )
        for address in ("7078", "0.0.0.0:7078", "localhost:7078")
    ),
    (
        "jvm-port-shared",
        "agent",
        lambda d: d.variable("spark_java_options", [f"{EXPORTER}7071:/opt/jmx/spark.yml"]),
        ("master", "history", "7071"),
    ),
]

LEGAL: list[Legal] = [
    (
        "parameter-of-host",
        "one host",
        lambda d: d.without_kafka("k2", "k3").given("kafka_node_id", 1),
    ),
    ("same-address", "its own name", lambda d: d.reached_at("k1", "k1")),
    (
        "unresolved-variable",
        "of a service that the host does not have",
        lambda d: d.ensemble().unresolvable("kafka_rack", "undefined", on=("z1", "z2", "z3")),
    ),
    ("host-file-unused", "none", lambda d: d),
    ("account-shared", "without Spark", lambda d: d.variable("zookeeper_user", "kafka")),
    ("java-home", "of Java", lambda d: d.variable("java_home", "/usr/lib/jvm/java-21")),
    ("mount-differs", "all", lambda d: mounted(d, "k1", "k2", "k3")),
    ("mount-differs", "none", lambda d: mounted(d)),
    ("kafka-config-differs", "one more", lambda d: retention(d, "k1")),
    (
        "kafka-config-differs",
        "of combined nodes",
        lambda d: retention(d.leave("kafka_controllers", "k3"), "k1", "k2").variable(
            "kafka_allow_unsafe_quorum", True
        ),
    ),
    ("authorizer-differs", "all", lambda d: authorized(d, "k1", "k2", "k3")),
    ("sasl-login", "from a vault", lambda d: sasl(d).login("USERS")),
    ("sasl-login", "in a file", lambda d: sasl(d).variable(JAVA, [LOGIN_FILE])),
    ("store-name", "another ending", store("/etc/kafka/tls/node.bundle", "PEM")),
    ("store-path", "absolute", store("/srv/tls/node.pem", "PEM")),
    (
        "tls-protocols",
        "one that is on",
        lambda d: store("/srv/node.pem", "PEM")(d).own(
            "ssl.enabled.protocols", ["TLSv1.1", "TLSv1.3"]
        ),
    ),
    (
        "client-key",
        "of clients and of a plug-in",
        lambda d: d.variable(
            "kafka_client_config", {"sasl.mechanism": "PLAIN", "ssl.vault.role": "kafka"}
        ),
    ),
    (
        "client-protocol",
        "of another listener",
        lambda d: d.variable(
            "kafka_client_config", {"bootstrap.servers": "k1:9094", "security.protocol": "SSL"}
        ),
    ),
    (
        "mount-type",
        "of a distributed file system",
        lambda d: d.variable("host_mounts", [{"path": "/srv/spark", "fstype": "fuse.glusterfs"}]),
    ),
    ("spark-driver-room", "less", lambda d: d.own_spark("spark.driver.memory", "2g")),
    ("zookeeper-members", "another key", lambda d: d.own_zookeeper("syncEnabled", False)),
    (
        "port-conflict",
        "agent",
        lambda d: d.variable(
            JAVA, [f"{EXPORTER}7071:/opt/jmx/k.yml", "-javaagent:/opt/a.jar=x=7078"]
        ),
    ),
]
