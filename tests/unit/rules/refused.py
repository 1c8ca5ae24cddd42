"""Wrong inventories, at least one a rule: their groups, variables and versions."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA

from tests.unit.rules.draft import NODES, Case, Change

# A variable to the inventory that would be refused with its default.
UNKNOWN: dict[str, Change] = {
    "kafka_version": lambda d: d.zookeeper_mode().own("zookeeper.set.acl", True),
    "kafka_archive": lambda d: d.archive(),
    "kafka_security": lambda d: d.listeners(("CLIENT", 9092, "PLAINTEXT")).controller_listener(
        "CONTROLLER"
    ),
    "kafka_allow_unsafe_quorum": lambda d: d.controllers("k1", "k2"),
    "kafka_listeners": lambda d: d.variable("kafka_inter_broker_listener", "INTERNAL"),
    "spark_worker_memory": lambda d: d.own_spark("spark.executor.memory", "3g"),
}

CASES: list[Case] = [
    (
        "unreadable-file",
        "of one host",
        lambda d: d.unread("host_vars/k2.yml", ("k2",), "kafka_node_id", "kafka_security"),
        ("host_vars/k2.yml of k2", "A key is missing"),
    ),
    (
        "unreadable-file",
        "of all, with key stores",
        lambda d: d.listeners(("CLIENT", 9092, "SSL")).unread(
            "group_vars/all.yml", NODES, "kafka_node_id", "kafka_security"
        ),
        ("group_vars/all.yml of ",),
    ),
    *(
        (
            "unreadable-file",
            f"with {name}",
            lambda d, name=name, change=change: (
                change(d),
                d.unread("group_vars/all.yml", tuple(d.groups["all"]), name),
            ),
            ("group_vars/all.yml of ",),
        )
        for name, change in UNKNOWN.items()
    ),
    (
        "cluster-id-file",
        "other content",
        lambda d: d.kept_cluster_id("/i/kafka_cluster_id.txt holds 'x'"),
        ("/i/kafka_cluster_id.txt holds 'x'", "Restore the file", "meta.properties"),
    ),
    (
        "empty-group",
        "history",
        lambda d: d.groups.update(spark_history=[]),
        ("group spark_history", "Add a host to spark_history"),
    ),
    *(
        (
            "unknown-group",
            wrong,
            lambda d, wrong=wrong: d.groups.update({wrong: ["k1"]}),
            (f"group {wrong}", f"Did you mean {right}?"),
        )
        for wrong, right in (
            ("kafka_broker", "kafka_brokers"),
            ("kafka-controllers", "kafka_controllers"),
            ("zookeepers", "zookeeper"),
            ("Kafka", "kafka"),
            ("spark_wokers", "spark_workers"),
        )
    ),
    (
        "missing-partner-group",
        "brokers without controllers",
        lambda d: d.drop_group("kafka_controllers"),
        ("kafka_brokers (k1, k2 and k3) but no kafka_controllers",),
    ),
    (
        "missing-partner-group",
        "controllers without brokers",
        lambda d: d.drop_group("kafka_brokers"),
        ("but no kafka_brokers", "Add the group kafka_brokers"),
    ),
    (
        "missing-partner-group",
        "workers without masters",
        lambda d: d.drop_group("spark_masters"),
        ("spark_workers (k2 and k3) but no spark_masters",),
    ),
    (
        "missing-partner-group",
        "masters without workers",
        lambda d: d.drop_group("spark_workers"),
        ("spark_masters (k1) but no spark_workers",),
    ),
    (
        "missing-partner-group",
        "controllers beside an ensemble",
        lambda d: d.ensemble().drop_group("kafka_brokers"),
        ("kafka_controllers (k1, k2 and k3) but no kafka_brokers",),
    ),
    *(
        ("host-count", name, lambda d, c=counts: d.variable("host_counts", c), parts)
        for name, counts, parts in (
            ("fewer", {"kafka_brokers": 5}, ("k1, k2 and k3: 3, not 5", "set kafka_brokers: 3")),
            ("none", {"kafka_connect": 2}, ("no host: 0, not 2", "list all hosts")),
            ("of no group", {"kafka_broker": 3}, ("no group kafka_broker", "kafka_brokers")),
            ("not a number", {"kafka_brokers": "all"}, ("'all' for kafka_brokers", "a number")),
        )
    ),
    (
        "unused-zookeeper",
        "beside controllers",
        lambda d: d.ensemble().without_spark(),
        ("z1, z2 and z3", "set kafka_version: 3.9.2"),
    ),
    (
        "host-without-group",
        "one",
        lambda d: d.add_host("k4"),
        ("groups of k4", "Add each to kafka_controllers, kafka_brokers,"),
    ),
    (
        "unknown-variable",
        "near",
        lambda d: d.variable("kafka_hep", "1g"),
        ("kafka_hep of k1, k2, k3", "Did you mean kafka_heap?"),
    ),
    (
        "unknown-variable",
        "far",
        lambda d: d.variable("spark_qqqqqqqqqqqqq", 1, on=("k2",)),
        ("spark_qqqqqqqqqqqqq of k2", "Delete it."),
    ),
    (
        "variable-value",
        "type",
        lambda d: d.variable("kafka_stop_timeout", "soon"),
        ("unable to convert to int", "Set kafka_stop_timeout to an int; the default is 300."),
    ),
    (
        "variable-value",
        "choice",
        lambda d: d.variable("kafka_profile", "fast", on=("k2",)),
        ("got: fast", "kafka_profile of k2", "durable, throughput or small"),
    ),
    *(
        (
            "variable-range",
            f"{name} {value}",
            lambda d, name=name, value=value: d.variable(name, value, on=("k2",)),
            (f"{name} is {value}.", f"{name} of k2", f"from {lowest} to 2147483647"),
        )
        for name, value, lowest in (
            ("spark_worker_cores", -5, 0),
            ("spark_worker_cores", 2**31, 0),
            ("spark_start_timeout", 0, 1),
            ("spark_uid", 0, 1),
            ("kafka_stop_timeout", -4, 1),
            ("host_memory_mb", -1, 0),
        )
    ),
    (
        "variable-value",
        "choice of a part",
        lambda d: d.listeners(("CLIENT", 9092, "TLS")),
        ("PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", "got: TLS", "kafka_listeners"),
    ),
    (
        "variable-value",
        "below",
        lambda d: d.listeners(("CLIENT", "x", "PLAINTEXT")),
        ("port", "unable to convert to int", "Set kafka_listeners to a list of dict"),
    ),
    (
        "variable-value",
        "unknown part",
        lambda d: d.variable(
            "kafka_listeners", [{"name": "A", "port": 9092, "protocol": "PLAINTEXT", "prot": 1}]
        ),
        ("kafka_listeners.prot", "name, port, protocol"),
    ),
    (
        "variable-value",
        "another type, reported once",
        lambda d: d.variable("kafka_archive", "kafka.tgz"),
        ("kafka_archive is one text", "Set kafka_archive to a dict"),
    ),
    (
        "variable-value",
        "no parts",
        lambda d: d.variable("kafka_archive", True),
        ("kafka_archive is a boolean", "Set kafka_archive to a dict"),
    ),
    (
        "variable-value",
        "properties that are none",
        lambda d: d.variable("kafka_config", "junk"),
        ("kafka_config is one text", "Set kafka_config to a dict"),
    ),
    (
        "variable-value",
        "nothing follows from the default in its place",
        lambda d: (
            d.pem().controller_listener("CONTROLLER", protocol="SSL"),
            d.listeners(("INTERNAL", 9092, "SSL")).listeners(("INTERNAL", 9092, "TLS"), on=("k2",)),
            d.variable("kafka_security", "standard"),
            d.variable("kafka_inter_broker_listener", "INTERNAL"),
        ),
        ("kafka_listeners of k2",),
    ),
    (
        "variable-value",
        "an archive that is none",
        lambda d: d.archive().variable("kafka_archive", "kafka.tgz"),
        ("Set kafka_archive to a dict",),
    ),
    (
        "unresolved-variable",
        "Kafka",
        lambda d: d.unresolvable("kafka_heap", "'x' is undefined (group_vars/all.yml:3)"),
        ("kafka_heap of k1, k2, k3", "'x' is undefined (group_vars/all.yml:3)"),
    ),
    (
        "unresolved-variable",
        "a vault without a password",
        lambda d: d.unresolvable("kafka_heap", "Attempting to decrypt but no vault secrets found"),
        ("kafka_heap of", "--vault-password-file"),
    ),
    (
        "unresolved-variable",
        "named after a vault",
        lambda d: d.unresolvable("kafka_heap", "'vault_heap' is undefined"),
        ("kafka_heap of", "the expression of kafka_heap"),
    ),
    (
        "unresolved-variable",
        "ZooKeeper's id, which is not missing",
        lambda d: d.ensemble().unresolvable("zookeeper_id", "'y' is undefined", on=("z2",)),
        ("zookeeper_id of z2", "'y' is undefined"),
    ),
    (
        "unresolved-variable",
        "a node id, which is not missing",
        lambda d: d.unresolvable("kafka_node_id", "'y' is undefined", on=("k2",)),
        ("kafka_node_id of k2", "'y' is undefined"),
    ),
    (
        "unresolved-variable",
        "a rack, which is not missing",
        lambda d: d.racks("north", "", "west").unresolvable(
            "kafka_rack", "'y' is undefined", on=("k2",)
        ),
        ("kafka_rack of k2",),
    ),
    (
        "unresolved-variable",
        "a version, which does not differ",
        lambda d: d.variable("kafka_version", "4.2.1").unresolvable(
            "kafka_version", "'y' is undefined", on=("k2",)
        ),
        ("kafka_version of k2", "'y' is undefined"),
    ),
    *(
        (
            "unresolved-variable",
            f"{name}, whose default is not checked",
            lambda d, name=name, change=change: (
                change(d),
                d.unresolvable(name, "'y' is undefined"),
            ),
            (f"{name} of k1, k2, k3",),
        )
        for name, change in UNKNOWN.items()
    ),
    (
        "same-address",
        "copied line",
        lambda d: d.reached_at("k1", "10.0.0.1").reached_at("k3", "10.0.0.1"),
        ("k1 and k3", "10.0.0.1, port 22", "Set ansible_host of k3"),
    ),
    (
        "ssh-port",
        "too high",
        lambda d: d.reached_at("k1", "10.0.0.1", 99999),
        ("99999", "ansible_port of k1", "65535"),
    ),
    (
        "loopback-address",
        "address",
        lambda d: d.reached_at("k2", "127.0.0.1"),
        ("127.0.0.1", "ansible_host of k2"),
    ),
    (
        "loopback-address",
        "alias",
        lambda d: d.add_host("localhost").join("spark_workers", "localhost"),
        ("localhost is reached at localhost",),
    ),
    (
        "version",
        "unknown",
        lambda d: d.variable("kafka_version", "4.9.9"),
        (
            "Kafka 4.9.9",
            f"Set kafka_version: {KAFKA.default} or 4.2.2; 4.3.1, ",
            "3.9.2 can be had only with accepted_risks",
            *KAFKA.supported,
        ),
    ),
    *(
        (
            "version",
            f"written as {text!r}",
            lambda d, text=text: d.variable("kafka_version", text),
            (f"Kafka {shown} is not supported",),
        )
        for text, shown in (
            ("", "''"),
            ("4.4.0\n2. \x1b[31m", r"'4.4.0\n2. \x1b[31m'"),
            ("v4.4.0",) * 2,
        )
    ),
    (
        "version",
        "read as a number",
        lambda d: d.variable("kafka_version", 3.1),
        ("kafka_version as 3.1 (number)", "'4.4.0' or '4.2.2', in quotes; 4.3.1"),
    ),
    (
        "version",
        "bad",
        lambda d: d.variable("kafka_version", "4.2.0"),
        ("Kafka 4.2.0 is refused", "KAFKA-20322", KAFKA.default),
    ),
    (
        "version",
        "bad, of one host",
        lambda d: d.variable("kafka_version", "4.1.0", on=("k2",)),
        ("Kafka 4.1.0 is refused", "OAUTHBEARER", "kafka_version of k2"),
    ),
    (
        "version",
        "spark",
        lambda d: d.variable("spark_version", "3.5.0", on=("k1",)),
        ("Spark 3.5.0", "spark_version of k1", "Set spark_version: 4.2.0"),
    ),
    (
        "version-differs",
        "kafka",
        lambda d: d.variable("kafka_version", "4.2.1", on=("k2",)),
        (f"{KAFKA.default} on k1 and k3 and 4.2.1 on k2", f"Set kafka_version: {KAFKA.default}"),
    ),
    (
        "zookeeper-mode",
        "Kafka 4",
        lambda d: d.zookeeper_mode("4.3.1"),
        (
            "Kafka 4.3.1 on the ensemble z1, z2 and z3",
            "Add the group kafka_controllers, or set kafka_version: 3.9.2 and accepted_risks",
        ),
    ),
    (
        "archive-incomplete",
        "no url",
        lambda d: d.archive(sha512="a" * 128),
        ("kafka_archive.url", f"kafka_2.13-{KAFKA.default}.tgz"),
    ),
    (
        "archive-incomplete",
        "sha256",
        lambda d: d.archive(url="/srv/kafka.tgz", sha512="a" * 64),
        ("64 characters, 128 hexadecimal digits", "kafka_archive.sha512"),
    ),
    (
        "archive-incomplete",
        "no digits",
        lambda d: d.archive(url="/srv/kafka.tgz", sha512="x" * 128),
        ("not hexadecimal digits",),
    ),
    (
        "archive-name",
        "version",
        lambda d: d.archive(url="https://h/a/kafka_2.13-4.2.1.tgz", sha512="a" * 128),
        ("Kafka 4.2.1 for Scala 2.13", f"kafka_version is {KAFKA.default}"),
    ),
    (
        "archive-name",
        "Scala",
        lambda d: d.archive(url=f"/srv/kafka_2.12-{KAFKA.default}.tgz", sha512="a" * 128),
        (f"Kafka {KAFKA.default} for Scala 2.12", f"to kafka_2.13-{KAFKA.default}.tgz"),
    ),
]
