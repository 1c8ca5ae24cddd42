"""Wrong inventories and legal variations: files, parameters, addresses, ports, disks, stores."""

from __future__ import annotations

from collections.abc import Mapping

from tests.unit.rules.draft import Case, Change, Draft, Legal

RETENTION = "log.retention.hours"


def given(draft: Draft, parameters: Mapping[str, str]) -> Draft:
    """Give a playbook parameters with -e."""
    for name, value in parameters.items():
        draft.given(name, value)
    return draft


def mounts(*mounts: tuple[str, str, str], data: tuple[str, ...]) -> Change:
    """Mount (path, source, type) on every host, and put Kafka's data into directories."""
    keys = ("path", "src", "fstype")
    written = [dict(zip(keys, mount, strict=True)) for mount in mounts]
    return lambda d: d.variable("host_mounts", written).variable("kafka_data_dirs", list(data))


def tls(**settings: object) -> Change:
    """Yield the second listener stores of its own."""

    def change(draft: Draft) -> None:
        draft.pem().listeners(("CLIENT", 9092, "SSL"), ("USERS", 9094, "SSL"))
        draft.provided("ssl.key.password", PASSWORD)
        for key, value in settings.items():
            draft.own(f"listener.name.users.ssl.{key.replace('_', '.')}", value)

    return change


DISKS = (("/data1", "LABEL=one", "xfs"), ("/data2", "LABEL=two", "xfs"))
LAG = "log.cleaner.{}.compaction.lag.ms"
JAVA = "kafka_java_options"
JKS = {"keystore_type": "JKS", "keystore_location": "/etc/kafka/tls/users.jks"}
PASSWORD = "${file:/etc/kafka/secrets:store}"
STORE = "/etc/kafka/tls/node.p12"
SUITE = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
JMX = "-Dcom.sun.management.jmxremote.port"

REFUSED: list[Case] = [
    (
        "no-hosts",
        "only others",
        lambda d: setattr(d, "groups", {"all": ["w1"], "ungrouped": [], "web": ["w1"]}),
        ("kafka_brokers",),
    ),
    (
        "host-without-group",
        "in the parent alone",
        lambda d: d.add_host("k4").groups.update(kafka=["k1", "k4"]),
        ("groups of k4",),
    ),
    (
        "key-duplicate",
        "in a file",
        lambda d: d.file("twice", "kafka_config", "3"),
        ("group_vars/kafka.yml:7", "kafka_config", "line 3"),
    ),
    (
        "yaml-number",
        "octal",
        lambda d: d.file("number", "", "0100", "64"),
        ("group_vars/kafka.yml:7", "64", '"0100"', "or 100"),
    ),
    (
        "yaml-number",
        "base 60",
        lambda d: d.file("number", "", "1:20", "80"),
        ("80", '"1:20"'),
    ),
    (
        "group-file-hidden",
        "by a directory",
        lambda d: d.file("hidden", "kafka", "group_vars/kafka"),
        ("group_vars/kafka.yml", "into group_vars/kafka"),
    ),
    (
        "group-file-unused",
        "near",
        lambda d: d.file("unused", "kafka_broker", "kafka_brokers"),
        ("no group kafka_broker", "Did you mean kafka_brokers?"),
    ),
    *(
        (
            "rebalance-options",
            str(parameters),
            lambda d, parameters=parameters: given(d, parameters),
            texts,
        )
        for parameters, texts in (
            ({"replication": "3"}, ("the goal replication needs topic",)),
            ({"goal": "topic"}, ("the goal topic needs topic",)),
            ({"goal": "hottest"}, ("the goal hottest needs hottest",)),
            ({"goal": "spread", "topic": "a"}, ("topic has no effect on the goal spread",)),
            ({"hottest": "5", "topic": "a"}, ("topic has no effect on the goal hottest",)),
            ({"hottest": "-5"}, ("hottest -5 is below 1",)),
            ({"rate": "0"}, ("rate 0 is below 1",)),
        )
    ),
    *(
        ("unknown-parameter", name, lambda d, name=name: d.given(name, "true"), (name, near))
        for name, near in {
            "prov": "prove",
            "rolling_restart_al": "rolling_restart_all",
            "teardown_confirmed": "teardown_confirm",
            "finalise_confirm": "finalize_confirm",
            "health_sinse": "health_since",
        }.items()
    ),
    *(
        (
            "parameter-value",
            f"{name} {value}",
            lambda d, name=name, value=value: d.given(name, value),
            (name,),
        )
        for name, value in (
            ("prove", "ja"),
            ("prove_rate", "many"),
            ("explain_change", "a"),
            ("fewer", "ja"),
            ("health_since", "1d"),
            ("keep", "all"),
        )
    ),
    *(
        (
            "address",
            address,
            lambda d, address=address: d.reached_at("k1", address).variable(
                "kafka_advertised_host", None, on=("k1",)
            ),
            (repr(address), "ansible_host of k1"),
        )
        for address in (
            "999.1.1.1",
            "10.0.0",
            "10.20.0.010",
            "10.20.0.12 ",
            "10.0.0.",
            "10.0..1",
            "[fd00::1",
            "https://k1.example.org",
            "k1.example.org:22",
        )
    ),
    *(
        (
            "port-privileged",
            str(port),
            lambda d, port=port: d.listeners(("CLIENT", port, "PLAINTEXT")),
            (f"port {port}", "from 1024"),
        )
        for port in (443, 1023)
    ),
    (
        "java-option-text",
        "a word alone",
        lambda d: d.variable(JAVA, ["-Dpassword=my hunter2", "-Xss1m"]).vault(JAVA),
        ("after -Dpassword", "quotes"),
    ),
    *(
        (
            "java-option-text",
            word,
            lambda d, word=word: d.variable(JAVA, [f"{word}=hunter2", "-XX:+UseG1GC"]).vault(JAVA),
            (word, fix),
        )
        for word, fix in (
            ("\u2013Xss1m", "Write -Xss1m"),
            ("\u2014XX:+PreserveFramePointer", "Write -XX:+PreserveFramePointer"),
            ("\u2013Djavax.net.ssl.keyStorePassword", "Write -Djavax"),
        )
    ),
    (
        "variable-value",
        "a text for a list",
        lambda d: d.variable(JAVA, "-Xss1m -XX:+UseG1GC"),
        (JAVA, "list of str"),
    ),
    (
        "variable-value",
        "no without quotes",
        lambda d: d.racks("se", "fi", "dk").variable("kafka_rack", False, on=("k2",)),
        ("kafka_rack", "without quotes"),
    ),
    (
        "java-collectors",
        "two",
        lambda d: d.variable(JAVA, ["-XX:+UseG1GC -Xss1m", "-XX:+UseZGC"]),
        ("-XX:+UseG1GC and -XX:+UseZGC",),
    ),
    *(
        ("key-value", f"{key}={value}", lambda d, k=key, v=value: d.own(k, v), (key, phrase))
        for key, value, phrase in (
            ("ssl.enabled.protocols", ["TLS1.3"], "TLSv1.3"),
            ("ssl.protocol", "TLS1.3", "TLSv1.3"),
            ("ssl.endpoint.identification.algorithm", "none", "https"),
            ("replica.selector.class", "RackAwareReplicaSelector", "a class name"),
            ("principal.builder.class", "Builder", "a class name"),
        )
    ),
    (
        "tls-suites",
        "of the older version alone",
        lambda d: tls(enabled_protocols="TLSv1.3", cipher_suites=[SUITE])(d),
        (SUITE, "TLSv1.3"),
    ),
    (
        "tls-suites",
        "of the newer version alone",
        lambda d: tls(enabled_protocols=["TLSv1.2"], cipher_suites="TLS_AES_256_GCM_SHA384")(d),
        ("TLS_AES_256_GCM_SHA384", "TLSv1.2"),
    ),
    *(
        (
            "rack-spelling",
            rack,
            lambda d, rack=rack: d.racks("north-1", "south", rack),
            ("north-1", rack),
        )
        for rack in ("North-1", "north_1", "north 1")
    ),
    *(
        (
            "mount-option",
            options,
            lambda d, options=options: (
                mounts(DISKS[0], data=("/data1/kafka",))(d),
                d.variable(
                    "host_mounts", [{"path": "/data1", "src": "LABEL=one", "opts": options}]
                ),
            ),
            ("/data1", right),
        )
        for options, right in (("ro,noatime", "opts: noatime."), ("noatime, ro", "opts: noatime."))
    ),
    *(
        (
            "loopback-address",
            f"{variable} {address}",
            lambda d, v=variable, a=address: d.variable(v, a, on=("k2",)),
            (variable, address),
        )
        for variable, address in (("spark_host", "127.0.1.1"), ("spark_host", "localhost"))
    ),
    (
        "port-conflict",
        "of JMX",
        lambda d: d.variable(JAVA, [f"{JMX}=9092"]),
        ("kafka_java_options", "jmxremote.port", "9092"),
    ),
    (
        "port-conflict",
        "of a debugger",
        lambda d: d.variable(
            JAVA, ["-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=*:9093"]
        ),
        ("kafka_java_options", "jdwp", "9093"),
    ),
    *(
        (
            "data-dir-hidden",
            path,
            lambda d, path=path: d.variable("kafka_data_dirs", [path]),
            (path, "/var/lib/kafka/data"),
        )
        for path in (f"/{name}/kafka" for name in ("home", "root", "run", "dev/shm"))
    ),
    (
        "mount-duplicate",
        "one label",
        mounts(DISKS[0], ("/data2", "LABEL=one", "xfs"), data=("/data1/kafka", "/data2/kafka")),
        ("LABEL=one", "/data1 and /data2"),
    ),
    (
        "mount-duplicate",
        "one path",
        mounts(DISKS[0], ("/data1", "LABEL=two", "xfs"), data=("/data1/kafka",)),
        ("/data1 is the path of LABEL=one and LABEL=two",),
    ),
    (
        "mount-root",
        "ext4",
        mounts(("/data1", "LABEL=one", "ext4"), data=("/data1/",)),
        ("Set /data1/data",),
    ),
    (
        "mount-unused",
        "a directory beside the mounts",
        mounts(*DISKS, data=("/data1/kafka", "/data3/kafka")),
        ("/data3/kafka", "Set /data2/data"),
    ),
    (
        "store-password",
        "none",
        tls(**JKS),
        ("users.jks has no password", "ssl.keystore.password"),
    ),
    (
        "store-password",
        "of PEM",
        tls(truststore_password=PASSWORD),
        ("ca.pem has a password", "Delete ssl.truststore.password"),
    ),
    (
        "store-type",
        "unknown",
        tls(keystore_type="P12", keystore_location=STORE, keystore_password=PASSWORD),
        ("P12", "ssl.keystore.type: PKCS12"),
    ),
    *(
        ("client-timeouts", key, lambda d, key=key, value=value: d.own(key, value), (key, default))
        for key, value, default in (
            ("group.max.session.timeout.ms", 30_000, "45000"),
            ("group.min.session.timeout.ms", 60_000, "45000"),
            ("transaction.max.timeout.ms", 59_999, "60000"),
        )
    ),
    (
        "topic-defaults-differ",
        "one host",
        lambda d: d.variable("kafka_host_config", {RETENTION: 400}, on=("k2",)),
        (RETENTION, "400 on k2", "kafka_config"),
    ),
    (
        "super-users-nodes",
        "one is left out",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .controller_listener("CONTROLLER", protocol="SSL")
            .own("ssl.client.auth", "required")
            .own(
                "authorizer.class.name",
                "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            )
            .own("super.users", "User:CN=k1;User:CN=k2")
        ),
        ("k1 and k2 and not k3", "principals of k3"),
    ),
    (
        "principal-mapping",
        "no slash at the end",
        lambda d: d.own("ssl.principal.mapping.rules", "RULE:^CN=([^,]+).*$/$1,DEFAULT"),
        ("RULE:^CN=",),
    ),
]

REFUSED += [
    (
        "inventory-key",
        "childern",
        lambda d: d.file("structure", "childern", "children"),
        ("childern", "Did you mean children?"),
    ),
    (
        "advertised-duplicate",
        "one address in two notations",
        lambda d: (
            d.reached_at("k1", "2001:db8::11")
            .variable("kafka_advertised_host", None, on=("k1",))
            .variable("kafka_advertised_host", "2001:0DB8:0:0:0:0:0:11", on=("k2",))
        ),
        ("k1 and k2", "kafka_advertised_host of k2"),
    ),
    (
        "compaction-lags",
        "crossed",
        lambda d: d.own(f"{LAG.format('min')}", 86_400_000).own(f"{LAG.format('max')}", 3_600_000),
        ("86400000", "3600000"),
    ),
    (
        "connections-zero",
        "none",
        lambda d: d.own("max.connections.per.ip", 0),
        ("max.connections.per.ip is 0", "overrides"),
    ),
    (
        "zookeeper-sessions",
        "crossed",
        lambda d: d.own_zookeeper("minSessionTimeout", 60_000).own_zookeeper(
            "maxSessionTimeout", 40_000
        ),
        ("60000", "40000"),
    ),
    *(
        (
            "super-users-type",
            users,
            lambda d, users=users: (
                tls()(d)
                or d.own("super.users", users)
                .own(
                    "authorizer.class.name",
                    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                )
                .own("allow.everyone.if.no.acl.found", True)
            ),
            (wrong, right),
        )
        for users, wrong, right in (
            ("User:admin;user:ops", "user:ops", "User:ops"),
            ("admin", "admin", "User:admin"),
        )
    ),
    (
        "same-address",
        "nothing else is advertised",
        lambda d: (
            d.reached_at("k1", "10.0.0.1")
            .reached_at("k3", "10.0.0.1")
            .variable("kafka_advertised_host", None, on=("k1", "k3"))
        ),
        ("k1 and k3", "Set ansible_host of k3"),
    ),
]

LEGAL: list[Legal] = [
    ("inventory-key", "nothing", lambda d: d),
    ("compaction-lags", "equal", lambda d: d.own(LAG.format("min"), 9).own(LAG.format("max"), 9)),
    (
        "connections-zero",
        "with exceptions",
        lambda d: d.own("max.connections.per.ip", 0).own(
            "max.connections.per.ip.overrides", "10.0.0.1:50"
        ),
    ),
    (
        "zookeeper-sessions",
        "equal",
        lambda d: d.own_zookeeper("minSessionTimeout", 40_000).own_zookeeper(
            "maxSessionTimeout", 40_000
        ),
    ),
    (
        "super-users-type",
        "types of a principal builder",
        lambda d: d.own("super.users", "User:CN=a,O=b;Group:admins"),
    ),
    ("no-hosts", "ours", lambda d: d.groups.update(web=["w1"])),
    (
        "host-without-group",
        "of others",
        lambda d: d.add_host("w1", kafka_hep="1g").groups.update(web=["w1"]),
    ),
    *(
        (name, "nothing", lambda d: d)
        for name in ("key-duplicate", "yaml-number", "group-file-hidden", "group-file-unused")
    ),
    *(
        (
            "rebalance-options",
            str(parameters),
            lambda d, parameters=parameters: given(d, parameters),
        )
        for parameters in (
            {"topic": "a,b"},
            {"topic": "a", "replication": "3"},
            {"hottest": "5", "rate": "20000000"},
            {"goal": "racks"},
            {"goal": "spread", "cancel": "true", "topic": ""},
        )
    ),
    *(
        ("unknown-parameter", name, lambda d, name=name: d.given(name, "x"))
        for name in ("release", "ansible_user", "inventory_vault_id")
    ),
    *(
        ("parameter-value", name, lambda d, name=name, value=value: d.given(name, value))
        for name, value in (
            ("prove", "true"),
            ("prove_rate", "500"),
            ("soak_seconds", "60"),
            ("fewer", "true"),
            ("health_since", "0.5"),
            ("keep", "3"),
            ("explain_change", {"num.io.threads": 9}),
            ("prove", "{{ release }}"),
        )
    ),
    *(
        (
            "address",
            address,
            lambda d, address=address: d.reached_at("k1", address),
        )
        for address in ("10.20.0.12", "2001:db8::1", "k1.example.org", "kafka-1", "fe80::1%eth0")
    ),
    (
        "port-privileged",
        "the kernel allows it",
        lambda d: d.listeners(("CLIENT", 443, "PLAINTEXT")).variable(
            "host_sysctl", {"net.ipv4.ip_unprivileged_port_start": 443}
        ),
    ),
    ("port-privileged", "the lowest", lambda d: d.listeners(("CLIENT", 1024, "PLAINTEXT"))),
    (
        "java-option-text",
        "in quotes",
        lambda d: d.variable(JAVA, ["-XX:OnOutOfMemoryError='kill -9 %p'", "-Xss1m"]),
    ),
    (
        "java-option-text",
        "with a value of its own",
        lambda d: d.variable(JAVA, ["--add-opens java.base/java.nio=ALL-UNNAMED", "@/etc/k.args"]),
    ),
    (
        "java-collectors",
        "one twice",
        lambda d: d.variable(JAVA, ["-XX:+UseG1GC", "-XX:-UseParallelGC", "-XX:+UseG1GC"]),
    ),
    *(
        ("key-value", f"{key}={value}", lambda d, k=key, v=value: d.own(k, v))
        for key, value in (
            ("ssl.enabled.protocols", "TLSv1.3,TLSv1.2"),
            ("ssl.endpoint.identification.algorithm", ""),
            ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
        )
    ),
    *(
        ("tls-suites", f"{protocols}", lambda d, p=protocols, s=suites: tls(**p, **s)(d))
        for protocols, suites in (
            ({}, {"cipher_suites": SUITE}),
            ({"enabled_protocols": "TLSv1.2"}, {"cipher_suites": SUITE}),
            ({"enabled_protocols": "TLSv1.2"}, {}),
        )
    ),
    ("rack-spelling", "others", lambda d: d.racks("north-1", "north-2", "north-3")),
    ("rack-spelling", "numbers", lambda d: d.racks("1-11", "11-1", "111")),
    (
        "mount-option",
        "another option",
        lambda d: (
            mounts(DISKS[0], data=("/data1/kafka",))(d),
            d.variable(
                "host_mounts",
                [{"path": "/data1", "src": "LABEL=one", "opts": "errors=remount-ro,noatime"}],
            ),
        ),
    ),
    ("loopback-address", "another", lambda d: d.variable("spark_host", "10.127.0.1", on=("k2",))),
    ("port-conflict", "a free one of JMX", lambda d: d.variable(JAVA, [f"{JMX}=9999"])),
    *(
        (
            "data-dir-hidden",
            path,
            lambda d, path=path: d.variable("kafka_data_dirs", [path]),
        )
        for path in ("/homes/kafka", "/srv/root/kafka", "/runtime/kafka")
    ),
    ("mount-duplicate", "two disks", mounts(*DISKS, data=("/data1/kafka", "/data2/kafka"))),
    (
        "mount-duplicate",
        "one export",
        mounts(
            ("/data1", "nas:/a", "nfs4"),
            ("/data2", "nas:/a", "nfs4"),
            data=("/data1/k", "/data2/k"),
        ),
    ),
    (
        "mount-root",
        "a directory on it",
        mounts(("/data1", "LABEL=one", "ext4"), data=("/data1/k",)),
    ),
    ("mount-root", "xfs", mounts(("/data1", "LABEL=one", "xfs"), data=("/data1",))),
    (
        "mount-unused",
        "Spark's mount",
        lambda d: (
            mounts(DISKS[0], ("/mnt/spark", "nas:/a", "nfs"), data=("/data1/k", "/data2/k"))(d),
            d.variable("spark_shared_dir", "/mnt/spark/shared"),
        ),
    ),
    (
        "mount-unused",
        "a mount of something else",
        mounts(DISKS[0], ("/var/log/kafka", "LABEL=x", "xfs"), data=("/data1/k", "/data2/k")),
    ),
    ("mount-unused", "of Spark", mounts(*DISKS, data=("/data1/kafka", "/data1/kafka2"))),
    (
        "mount-unused",
        "no mount for Kafka",
        mounts(("/srv", "LABEL=one", "xfs"), data=("/var/lib/kafka/data",)),
    ),
    ("store-password", "set", tls(**JKS, keystore_password=PASSWORD)),
    (
        "store-type",
        "PKCS12",
        tls(keystore_type="pkcs12", keystore_location=STORE, keystore_password=PASSWORD),
    ),
    *(
        ("client-timeouts", key, lambda d, key=key, value=value: d.own(key, value))
        for key, value in (
            ("group.max.session.timeout.ms", 45_000),
            ("group.min.session.timeout.ms", 45_000),
            ("transaction.max.timeout.ms", 60_000),
            ("producer.id.expiration.ms", 120_000),
        )
    ),
    ("topic-defaults-differ", "all alike", lambda d: d.own(RETENTION, 400)),
    (
        "topic-defaults-differ",
        "the same otherwise written",
        lambda d: d.variable(
            "kafka_host_config",
            {"log.cleanup.policy": ["delete"], "unclean.leader.election.enable": "FALSE"},
            on=("k2",),
        ),
    ),
    (
        "topic-defaults-differ",
        "another key",
        lambda d: d.variable("kafka_host_config", {"num.io.threads": 4}, on=("k2",)),
    ),
    (
        "super-users-nodes",
        "by another name",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SSL"))
            .controller_listener("CONTROLLER", protocol="SSL")
            .own("ssl.client.auth", "required")
            .own(
                "authorizer.class.name",
                "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            )
            .own("super.users", "User:nodes;User:admin")
        ),
    ),
    *(
        (
            "principal-mapping",
            rules,
            lambda d, rules=rules: d.provided("ssl.principal.mapping.rules", rules),
        )
        for rules in (
            "${file:/etc/kafka/rules:rules}",
            "DEFAULT",
            "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
            "RULE:^CN=(.*?),OU=a\\/b.*$/$1/L, RULE:^.*$/x/U ,DEFAULT",
        )
    ),
]
