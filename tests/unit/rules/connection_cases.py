"""Wrong inventories and legal variations: connections, accounts, the kernel, SASL, classes."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Change, Draft, Legal

REFERENCE = "${file:/etc/kafka/secrets:store}"
JAAS = "listener.name.users.scram-sha-512.sasl.jaas.config"
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
INNER = "sasl.mechanism.inter.broker.protocol"
OAUTH = "sasl.oauthbearer.jwks.endpoint.url"
URL = "https://idp.example.org/certs"
ALLOWED = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={URL}"
RANGE = "net.ipv4.ip_local_port_range"


def inner_sasl(mechanisms: str, used: str = "") -> Change:
    """Let brokers connect to each other by SASL, the first listener being one without."""

    def change(draft: Draft) -> None:
        draft.pem().listeners(("CLIENT", 9092, "SSL"), ("INNER", 9094, "SASL_SSL"))
        draft.variable("kafka_inter_broker_listener", "INNER")
        for mechanism in mechanisms.split(","):
            draft.login("INNER", mechanism)
        draft.own("sasl.enabled.mechanisms", mechanisms)
        if used:
            draft.own(INNER, used)

    return change


def users(key: str, value: object) -> Change:
    """Set a property beside a listener for users."""

    def change(draft: Draft) -> None:
        draft.pem().listeners(("CLIENT", 9092, "SSL"), ("USERS", 9094, "SASL_SSL"))
        draft.login("USERS").own(key, value)

    return change


def principals(draft: Draft, mapping: str, super_users: str) -> None:
    """Map the names of certificates, and set super users."""
    draft.pem().listeners(("CLIENT", 9092, "SSL"))
    draft.own("ssl.principal.mapping.rules", mapping).own("super.users", super_users)


REFUSED: list[Case] = [
    *(
        ("connection-variable", name, lambda d, name=name: d.other(name), (name, near))
        for name, near in (
            ("ansible_hosts", "ansible_host"),
            ("ansible_usr", "ansible_user"),
            ("ansible_pyton_interpreter", "ansible_python_interpreter"),
        )
    ),
    (
        "connection-local",
        "two hosts",
        lambda d: d.connection("ansible_connection", "local", on=("k1", "k3")),
        ("k1 and k3",),
    ),
    *(
        (
            "become",
            str(value),
            lambda d, value=value: d.connection("ansible_become", value).connection(
                "ansible_user", "deploy"
            ),
            ("ansible_become", "deploy"),
        )
        for value in (False, "no")
    ),
    *(
        ("misplaced-property", key, lambda d, key=key: d.other(key), (key, variable))
        for key, variable in (
            ("log.retention.hours", "kafka_config"),
            ("spark.sql.shuffle.partitions", "spark_config"),
        )
    ),
    *(
        (
            "account-name",
            name,
            lambda d, name=name: d.variable("kafka_user", name),
            ("kafka_user", repr(name)),
        )
        for name in ("kafka service", "käfka", "9kafka", "k" * 32)
    ),
    (
        "variable-value",
        "options in a list",
        lambda d: d.variable(
            "host_mounts", [{"path": "/data1", "src": "LABEL=one", "opts": ["noatime"]}]
        ),
        ("opts of host_mounts", "opts (str)"),
    ),
    (
        "mount-option",
        "gone",
        lambda d: d.variable(
            "host_mounts",
            [{"path": "/data1", "src": "LABEL=one", "fstype": "xfs", "opts": "noatime,nobarrier"}],
        ).variable("kafka_data_dirs", ["/data1/kafka"]),
        ("nobarrier", "opts: noatime."),
    ),
    *(
        (
            "sysctl-value",
            f"{name}={value}",
            lambda d, name=name, value=value: d.variable("host_sysctl", {name: value}),
            (name, most),
        )
        for name, value, most in (
            ("vm.dirty_ratio", 120, "100"),
            ("vm.swappiness", 201, "200"),
            ("vm.dirty_background_ratio", "5%", "100"),
        )
    ),
    (
        "time-service",
        "the unit",
        lambda d: d.variable("host_time_service", "chronyd"),
        ("chronyd", "Set chrony on"),
    ),
    *(
        (
            "port-ephemeral",
            port_range,
            lambda d, port_range=port_range: d.variable("host_sysctl", {RANGE: port_range}),
            (RANGE, hit),
        )
        for port_range, hit in (("1024 65535", "9092"), ("9093 9093", "9093"))
    ),
    (
        "archive-name",
        "the sources",
        lambda d: d.archive(url="https://mirror/kafka-4.3.1-src.tgz", sha512="a" * 128),
        ("kafka-4.3.1-src.tgz",),
    ),
    *(
        ("jaas-config", name, users(JAAS, text), (JAAS,))
        for name, text in (
            ("no semicolon", LOGIN),
            ("no flag", "org.apache.kafka.common.security.scram.ScramLoginModule;"),
            ("a path", "/etc/kafka/jaas.conf"),
        )
    ),
    *(
        (
            "sasl-mechanism-name",
            name,
            users("sasl.mechanism.controller.protocol", name),
            (name, near),
        )
        for name, near in (("SCRAM-SHA512", "SCRAM-SHA-512"), ("plain", "PLAIN"))
    ),
    (
        "sasl-mechanism",
        "the default",
        inner_sasl("PLAIN"),
        (INNER, "GSSAPI", f"Set {INNER}: PLAIN"),
    ),
    (
        "sasl-mechanism",
        "another",
        inner_sasl("PLAIN,SCRAM-SHA-256", "SCRAM-SHA-512"),
        (INNER, "SCRAM-SHA-512"),
    ),
    (
        "super-users-mapped",
        "the whole name",
        lambda d: principals(d, "RULE:^CN=([^,]+),.*$/$1/L", "User:CN=Admin,O=X;User:b"),
        ("User:CN=Admin,O=X", "Write User:admin."),
    ),
    ("oauth-url", "not allowed", users(OAUTH, URL), (URL, ALLOWED)),
    (
        "oauth-url",
        "another allowed",
        lambda d: (
            users(OAUTH, URL)(d),
            d.variable("kafka_java_options", [f"{ALLOWED}/other"]),
        ),
        (URL,),
    ),
    (
        "config-provider",
        "none",
        lambda d: d.own("ssl.key.password", REFERENCE),
        ("file", "config.providers: file"),
    ),
    (
        "config-provider",
        "another",
        lambda d: d.own("config.providers", "env").own("ssl.key.password", REFERENCE),
        ("config.providers: env,file",),
    ),
    (
        "class-name",
        "misspelt",
        lambda d: d.own_spark("spark.serializer", "org.apache.spark.serializer.KyroSerializer"),
        ("KryoSerializer",),
    ),
    (
        "listener-key",
        "near",
        users("listener.name.user.ssl.client.auth", "none"),
        ("listener user", "listener.name.users"),
    ),
    (
        "listener-key",
        "far",
        users("listener.name.partners.ssl.client.auth", "none"),
        ("listener partners", "kafka_listeners"),
    ),
    (
        "quorum-fetch-timeout",
        "the wait of a fetch",
        lambda d: d.own("controller.quorum.fetch.timeout.ms", 500),
        ("controller.quorum.fetch.timeout.ms", "1000"),
    ),
    (
        "required-property",
        "tiered storage",
        lambda d: d.own("remote.log.storage.system.enable", True),
        ("remote.log.storage.manager.class.name",),
    ),
    (
        "rebalance-protocols",
        "on ZooKeeper",
        lambda d: d.zookeeper_mode().own(
            "group.coordinator.rebalance.protocols", ["classic", "consumer"]
        ),
        ("group.coordinator.rebalance.protocols",),
    ),
    (
        "shared-secret-differs",
        "one node",
        lambda d: (
            d.own("delegation.token.secret.key", "a" * 32).vault("kafka_config"),
            d.variable("kafka_host_config", {"delegation.token.secret.key": "b" * 32}, on=("k2",)),
            d.vault("kafka_host_config"),
        ),
        ("delegation.token.secret.key",),
    ),
    (
        "zookeeper-classes",
        "TLS without Netty",
        lambda d: d.ensemble("k1", "k2", "k3").own_zookeeper("secureClientPort", 2281),
        ("secureClientPort", "NettyServerCnxnFactory"),
    ),
    (
        "zookeeper-classes",
        "Prometheus",
        lambda d: d.ensemble("k1", "k2", "k3").own_zookeeper(
            "metricsProvider.className",
            "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider",
        ),
        ("PrometheusMetricsProvider",),
    ),
    (
        "zookeeper-value",
        "seconds",
        lambda d: d.ensemble("k1", "k2", "k3").own_zookeeper("tickTime", 2),
        ("tickTime", "100"),
    ),
    *(
        (
            "spark-time-zone",
            name,
            lambda d, name=name: d.own_spark("spark.sql.session.timeZone", name),
            (name, near),
        )
        for name, near in (("Europe/New_York", "America/New_York"), ("Europe/Berln", "Berlin"))
    ),
]

LEGAL: list[Legal] = [
    *(
        (
            "super-users-mapped",
            f"{mapping} {users}",
            lambda d, mapping=mapping, users=users: principals(d, mapping, users),
        )
        for mapping, users in (
            ("RULE:^CN=([^,]+),.*$/$1/", "User:admin;User:b"),
            ("DEFAULT,RULE:^CN=([^,]+),.*$/$1/", "User:CN=admin,O=X"),
            ("RULE:^CN=kafka([^,]+),.*$/$1/,DEFAULT", "User:CN=admin,O=X"),
            ("RULE:^(CN=[^,]+,O=X)$/$1/", "User:CN=admin,O=X"),
            ("RULE:^CN=(?<n>[a&&[^b]]+)$/$1/", "User:CN=admin"),
        )
    ),
    *(
        ("connection-variable", name, lambda d, name=name: d.other(name))
        for name in ("ansible_ssh_private_key_file", "ansible_host_location", "rack_of_hosts")
    ),
    (
        "connection-local",
        "one host of several",
        lambda d: d.connection("ansible_connection", "local", on=("k1",)),
    ),
    *(
        (
            "become",
            f"{user} {become}",
            lambda d, user=user, become=become: d.connection("ansible_user", user).connection(
                "ansible_become", become
            ),
        )
        for user, become in (("root", False), ("deploy", True), ("deploy", "yes"))
    ),
    ("misplaced-property", "a variable of others", lambda d: d.other("log.retention")),
    ("account-name", "another", lambda d: d.variable("kafka_user", "_Kafka-2")),
    *(
        ("sysctl-value", name, lambda d, n=name, v=value: d.variable("host_sysctl", {n: v}))
        for name, value in (
            ("vm.swappiness", 200),
            ("vm.dirty_ratio", "0"),
            ("vm.overcommit_ratio", 120),
        )
    ),
    ("time-service", "another", lambda d: d.variable("host_time_service", "chrony")),
    (
        "port-ephemeral",
        "above",
        lambda d: d.variable("host_sysctl", {RANGE: "32768 60999"}),
    ),
    (
        "port-ephemeral",
        "reserved",
        lambda d: d.listeners(("CLIENT", 40_000, "PLAINTEXT")).variable(
            "host_sysctl",
            {RANGE: "32768 60999", "net.ipv4.ip_local_reserved_ports": "40000,40001"},
        ),
    ),
    (
        "jaas-config",
        "complete",
        users(JAAS, f"{LOGIN};"),
    ),
    *(
        ("jaas-config", name, users(JAAS, text))
        for name, text in (
            ("an address", f'{LOGIN} oauth.token.endpoint.uri="https://login.example.org/token";'),
            ("comments", f"/* of the site */ {LOGIN} ;"),
        )
    ),
    (
        "jaas-config",
        "of a provider",
        lambda d: (users(JAAS, REFERENCE)(d), d.provided("ssl.key.password", REFERENCE)),
    ),
    (
        "sasl-mechanism-name",
        "of a provider",
        users("sasl.mechanism.controller.protocol", "CORPORATE-TOKEN"),
    ),
    ("sasl-mechanism", "as named", inner_sasl("PLAIN,SCRAM-SHA-256", "SCRAM-SHA-256")),
    ("sasl-mechanism", "Kerberos", inner_sasl("GSSAPI")),
    (
        "oauth-url",
        "allowed",
        lambda d: (users(OAUTH, URL)(d), d.variable("kafka_java_options", [ALLOWED])),
    ),
    ("config-provider", "named", lambda d: d.provided("ssl.key.password", REFERENCE)),
    (
        "class-name",
        "another",
        lambda d: d.own_spark("spark.serializer", "com.example.KryoSerializer"),
    ),
    ("listener-key", "of the listener", users("listener.name.users.ssl.client.auth", "none")),
    (
        "quorum-fetch-timeout",
        "more",
        lambda d: d.own("controller.quorum.fetch.timeout.ms", 501),
    ),
    (
        "zookeeper-classes",
        "TLS with Netty",
        lambda d: (
            d.ensemble("k1", "k2", "k3")
            .own_zookeeper("secureClientPort", 2281)
            .own_zookeeper(
                "serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory"
            )
        ),
    ),
    *(
        (
            "spark-time-zone",
            name,
            lambda d, name=name: d.own_spark("spark.sql.session.timeZone", name),
        )
        for name in ("Europe/Berlin", "UTC", "+05:30")
    ),
    (
        "required-property",
        "both",
        lambda d: d.own("remote.log.storage.system.enable", True).own(
            "remote.log.storage.manager.class.name", "com.example.Manager"
        ),
    ),
    (
        "rebalance-protocols",
        "classic alone",
        lambda d: d.zookeeper_mode().own("group.coordinator.rebalance.protocols", "classic"),
    ),
    (
        "shared-secret-differs",
        "one for all",
        lambda d: d.provided("delegation.token.secret.key", REFERENCE),
    ),
    (
        "authentication-delay",
        "connections that stay",
        lambda d: d.own("connections.max.idle.ms", -1),
    ),
]
