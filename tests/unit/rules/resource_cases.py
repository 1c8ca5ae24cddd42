"""Wrong and legal descriptions of what lives in a cluster, in variables and in files of teams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal
from tests.unit.rules.security_cases import closed

PLATFORM = """
teams:
  orders: {prefixes: [orders.]}
  payments: {prefixes: [payments., pay-], quotas: true}
"""
TEAM = """
topics:
  - name: orders.placed
    partitions: 6
    replication: 3
    config: {retention.ms: 604800000, cleanup.policy: [compact, delete]}
users:
  - name: orders.app
    grants:
      - {topic: orders., pattern: prefixed, operations: [read, write]}
grants:
  - {user: app, role: consumer, topic: orders.placed, group: orders.readers}
groups:
  - name: orders.readers
    config: {share.auto.offset.reset: earliest}
"""
READ = {"topic": "placed", "operations": ["read"]}
HIDDEN = "orders\u200b.placed"


def with_users(draft: Draft) -> Draft:
    """Secure the cluster, with a user."""
    return closed(draft).variable("kafka_users", [{"name": "app", "grants": [READ]}])


def teams(text: str = TEAM, platform: str = PLATFORM) -> Change:
    """Give the team orders a file."""
    return lambda draft: with_users(draft).resources(platform=platform, orders=text)


def no_nodes(text: str, platform: str = PLATFORM) -> Change:
    """Leave Spark alone: files are checked without a cluster, as in a pipeline of a team."""

    def change(draft: Draft) -> None:
        draft.drop_group("kafka_brokers").drop_group("kafka_controllers")
        draft.resources(platform=platform, orders=text)

    return change


def entries(kind: str, *listed: dict[str, Any]) -> Change:
    """Give a variable entries."""
    return lambda draft: with_users(draft).variable(f"kafka_{kind}", [*listed])


def grant(**keys: Any) -> Change:
    """Grant the user something."""
    return entries("grants", {"user": "app", **keys})


def inside(draft: Draft) -> None:
    """Keep the files in the directory of the inventory."""
    draft.directory = "/inventory"
    draft.resource_files = replace(draft.resource_files, directory="/inventory/resources")


def beside(draft: Draft) -> None:
    """Keep the files beside the directory of the inventory."""
    draft.directory = "/inventory"
    draft.resource_files = replace(draft.resource_files, directory="/inventory-resources")


def connect_and(change: Change) -> Callable[[Draft], None]:
    """Have workers of Kafka Connect besides."""

    def changes(draft: Draft) -> None:
        draft.connect()
        change(draft)

    return changes


REFUSED: list[Case] = [
    *(
        ("resource-file", name, teams(text), phrases)
        for name, text, phrases in (
            ("empty", "", ("orders.yml", "empty")),
            ("unknown key", "topic: []", ("orders.yml:1", "Did you mean topics?")),
            (
                "unknown key of an entry",
                "topics:\n  - {name: orders.a, partition: 3}",
                ("orders.yml:2", "Did you mean partitions?"),
            ),
            (
                "key twice",
                "topics:\n  - name: orders.a\n    partitions: 1\n    partitions: 2",
                ("orders.yml:4", "line 3"),
            ),
            (
                "password",
                "users:\n  - {name: orders.a, password: hunter2-hunter2}",
                ("orders.yml:2", "password"),
            ),
            (
                "owner",
                "topics:\n  - {name: orders.a, owner: payments}",
                ("orders.yml:2", "payments"),
            ),
            ("teams", "teams:\n  orders: {prefixes: [payments.]}", ("orders.yml:1", "teams")),
        )
    ),
    (
        "resource-file",
        "of no team",
        lambda d: d.resources(platform=PLATFORM, billing="topics:\n  - name: billing.x"),
        ("billing.yml", "teams"),
    ),
    (
        "resource-file",
        "no platform.yml",
        lambda d: d.resources(orders="topics:\n  - name: orders.x"),
        ("platform.yml",),
    ),
    (
        "resource-file",
        "a prefix without an end",
        teams("topics: []", "teams:\n  orders: {prefixes: [orders]}"),
        ("platform.yml:2", "orders."),
    ),
    (
        "resource-file",
        "no prefix",
        teams("topics: []", "teams:\n  orders: {prefixes: []}"),
        ("platform.yml:2", "orders"),
    ),
    (
        "resource-file",
        "a team twice",
        teams(
            "topics: []", "teams:\n  orders: {prefixes: [orders.]}\n  orders: {prefixes: [order-]}"
        ),
        ("platform.yml:3", "line 2"),
    ),
    ("resource-directory", "inside", inside, ("/inventory/resources",)),
    *(
        ("team-prefix", name, teams("topics: []", platform), phrases)
        for name, platform, phrases in (
            (
                "of another's",
                "teams:\n  orders: {prefixes: [o.]}\n  payments: {prefixes: [o.pay.]}",
                ("o.pay.", "payments", "orders"),
            ),
            (
                "alike in metrics",
                "teams:\n  orders: {prefixes: [o_]}\n  payments: {prefixes: [o.pay.]}",
                ("o.pay.", "o_"),
            ),
            ("the same", "teams:\n  a: {prefixes: [o-]}\n  orders: {prefixes: [o-]}", ("o-",)),
            ("of Kafka", "teams:\n  orders: {prefixes: [_]}", ("__",)),
            ("of nodes", "teams:\n  orders: {prefixes: [kafka-]}", ("kafka-nodes",)),
            ("of a user", "teams:\n  orders: {prefixes: [schema-]}", ("schema-registry",)),
            ("in Millrace's", "teams:\n  orders: {prefixes: [millrace-x-]}", ("millrace-",)),
        )
    ),
    (
        "team-prefix",
        "of Kafka Connect",
        connect_and(teams("topics: []", "teams:\n  orders: {prefixes: [connect-]}")),
        ("connect-",),
    ),
    *(
        ("resource-prefix", name, teams(text), phrases)
        for name, text, phrases in (
            ("topic", "topics:\n  - name: payments.x", ("orders.yml:2", "payments.x", "orders.")),
            ("beginning", "topics:\n  - name: orders", ("'orders'",)),
            ("absent", "topics:\n  - {name: payments.x, state: absent}", ("payments.x",)),
            (
                "deletion",
                "topics:\n  - {name: payments.x, state: absent, confirm: [delete-records]}",
                ("payments.x",),
            ),
            ("user", "users:\n  - name: payments.x", ("payments.x",)),
            ("group", "groups:\n  - name: payments.x", ("payments.x",)),
            (
                "grant of a topic",
                "grants:\n  - {user: app, role: producer, topic: payments.x}",
                ("payments.x",),
            ),
            (
                "grant by a role's second key",
                "grants:\n  - {user: app, role: consumer, topic: orders.x, group: payments.x}",
                ("group", "payments.x"),
            ),
            (
                "transactional id",
                "grants:\n  - {user: app, role: transactional, transactional_id: payments.x}",
                ("transactional id", "payments.x"),
            ),
            (
                "admin",
                "grants:\n  - {user: app, role: admin, prefix: ord}",
                ("prefix", "'ord'"),
            ),
            (
                "all topics",
                "grants:\n  - {user: app, topic: '*', wildcard: true, operations: [read]}",
                ("'*'",),
            ),
            (
                "cluster",
                "grants:\n  - {user: app, cluster: true, operations: [alter]}",
                ("cluster", "platform.yml"),
            ),
            (
                "cluster, in a user",
                "users:\n  - name: orders.a\n    grants: [{cluster: true, operations: [alter]}]",
                ("cluster", "platform.yml"),
            ),
            (
                "topic, in a user",
                "users:\n  - name: orders.a\n    grants: [{topic: payments.x, operations: [read]}]",
                ("payments.x",),
            ),
            (
                "everybody",
                "grants:\n  - {user: '*', wildcard: true, role: producer, topic: orders.x}",
                ("everybody", "platform.yml"),
            ),
            (
                "everybody, as a principal",
                "grants:\n"
                "  - {principal: 'User:*', wildcard: true, role: producer, topic: orders.x}",
                ("everybody", "platform.yml"),
            ),
            *(
                (
                    f"denial, by {key}",
                    f"grants:\n  - {{{key}: '{name}', role: producer, topic: orders.x, "
                    "permission: deny}",
                    ("denial", "User:app"),
                )
                for key, name in (("user", "app"), ("principal", "User:app"))
            ),
            (
                "copied grants",
                "users:\n  - {name: orders.x, same_grants_as: app}",
                ("same_grants_as", "platform.yml"),
            ),
            (
                "copied grants of its user",
                "users:\n  - name: orders.a\n  - {name: orders.x, same_grants_as: orders.a}",
                ("same_grants_as", "platform.yml"),
            ),
            (
                "quotas of a user",
                "users:\n  - {name: orders.a, quotas: {request_percentage: 50}}",
                ("quotas: true",),
            ),
            (
                "quota",
                "quotas:\n  - {user: orders.a, request_percentage: 50}",
                ("quotas: true",),
            ),
            (
                "metrics of clients",
                "client_metrics:\n  - name: orders.x",
                ("orders.yml:2", "platform.yml"),
            ),
            *(
                (f"spelling {name!a}", f'topics:\n  - name: "{name}"', ("orders.yml:2",))
                for name in ("Orders.x", "ORDERS.x")
            ),
        )
    ),
    *(
        (
            "resource-prefix",
            f"quota of {entity}",
            lambda d, e=entity: with_users(d).resources(
                platform=PLATFORM, payments=f"quotas:\n  - {{{e}, {limit(e)}: 5}}"
            ),
            ("payments.yml:2",),
        )
        for entity in (
            "user: orders.x",
            "user: <default>",
            "client_id: payments.x",
            "ip: 10.0.0.1",
            "client_id: <default>",
        )
    ),
    (
        "resource-prefix",
        "a super user",
        lambda d: (
            closed(d)
            .variable("kafka_users", [{"name": "app", "grants": [READ]}])
            .own("super.users", "User:kafka-nodes;User:admin;User:orders.root")
            .resources(platform=PLATFORM, orders="users:\n  - name: orders.root")
        ),
        ("orders.root", "super user"),
    ),
    *(
        ("resource-duplicate", name, change, phrases)
        for name, change, phrases in (
            (
                "topics of a file",
                teams("topics:\n  - name: orders.x\n  - name: orders.x"),
                ("orders.yml:3", "orders.yml:2"),
            ),
            (
                "a topic of the inventory",
                lambda d: (
                    teams("topics:\n  - name: orders.x")(d),
                    d.variable("kafka_topics", [{"name": "orders.x"}]),
                ),
                ("orders.yml:2", "kafka_topics[orders.x]"),
            ),
            ("groups", entries("groups", {"name": "g"}, {"name": "g"}), ("kafka_groups[g]",)),
            (
                "quotas",
                entries(
                    "quotas",
                    {"user": "app", "client_id": "c", "request_percentage": 5},
                    {"user": "app", "client_id": "c", "producer_byte_rate": 5},
                ),
                ("app c",),
            ),
            (
                "quotas of a user of the inventory",
                lambda d: (
                    entries("quotas", {"user": "app", "request_percentage": 5})(d),
                    d.variable(
                        "kafka_users",
                        [{"name": "app", "grants": [READ], "quotas": {"request_percentage": 5}}],
                    ),
                ),
                ("kafka_users[app]",),
            ),
            (
                "a grant that another entry takes away",
                entries(
                    "grants",
                    {"user": "app", "role": "producer", "topic": "t"},
                    {
                        "principal": "User:app",
                        "topic": "t",
                        "operations": ["write"],
                        "state": "absent",
                    },
                ),
                ("kafka_grants[0]", "User:app"),
            ),
            (
                "users without nodes",
                no_nodes("users:\n  - name: orders.a\n  - name: orders.a"),
                ("orders.yml:3", "orders.yml:2"),
            ),
        )
    ),
    *(
        ("topic-name", name, entries("topics", {"name": name}), phrases)
        for name, phrases in (
            ("orders*", ("'orders*'", "pattern")),
            ("a/b", ("'a/b'",)),
            ("..", ("'..'",)),
            ("a" * 250, ("249",)),
            (HIDDEN, ("\\u200b",)),
            ("__consumer_offsets", ("kafka_config",)),
            ("millrace-canary", ("Millrace",)),
        )
    ),
    (
        "topic-name",
        "of Kafka Connect",
        lambda d: d.connect().variable("kafka_topics", [{"name": "connect-configs"}]),
        ("connect-configs",),
    ),
    (
        "topic-collision",
        "dots",
        entries("topics", {"name": "a.b"}, {"name": "a_b"}),
        ("a_b collides with a.b", "kafka_topics[a.b]"),
    ),
    *(
        ("topic-replication", name, entries("topics", {"name": "t", **keys}), phrases)
        for name, keys, phrases in (
            ("more than brokers", {"replication": 4}, ("4 replicas", "3")),
            ("none", {"replication": 0}, ("replication of t is 0",)),
            ("no partition", {"partitions": 0}, ("partitions of t is 0",)),
            ("no number of Kafka's", {"partitions": 2**31}, ("partitions of t is 2147483648",)),
            (
                "below min ISR",
                {"replication": 2, "config": {"min.insync.replicas": 3}},
                ("min.insync.replicas 3",),
            ),
        )
    ),
    *(
        ("topic-config", name, entries("topics", {"name": "t", "config": config}), phrases)
        for name, config, phrases in (
            ("nothing", {"retention.ms": None}, ("retention.ms",)),
            ("a mapping", {"retention.ms": {"a": 1}}, ("retention.ms",)),
            ("a list of lists", {"cleanup.policy": [["compact"]]}, ("cleanup.policy",)),
            ("a line break", {"compression.type": "lz4\nx"}, ("compression.type",)),
            ("too long", {"cleanup.policy": ["delete"] * 5000}, ("32767 bytes",)),
            ("a throttle", {"leader.replication.throttled.replicas": "*"}, ("reassignments",)),
        )
    ),
    *(
        ("grant-incomplete", name, change, phrases)
        for name, change, phrases in (
            ("nobody", entries("grants", {"role": "producer", "topic": "t"}), ("user",)),
            (
                "two principals",
                grant(principal="User:app", role="producer", topic="t"),
                ("both",),
            ),
            *(
                (
                    f"principal {principal!r}",
                    entries("grants", {"principal": principal, "role": "producer", "topic": "t"}),
                    (principal,),
                )
                for principal in ("app", "user:app", "User: app", "USER:app", "User:")
            ),
            ("no role", grant(topic="t"), ("operations",)),
            ("role and operations", grant(role="producer", topic="t", operations=["read"]), ()),
            ("no topic", grant(role="consumer", group="g"), ("topic",)),
            ("no prefix", grant(role="admin"), ("prefix",)),
            (
                "what a role does not know",
                grant(role="producer", topic="t", group="g"),
                ("group",),
            ),
            (
                "another operation",
                grant(topic="t", operations=["cluster_action"]),
                ("cluster_action",),
            ),
            ("two resources", grant(topic="t", group="g", operations=["read"]), ("topic", "group")),
            ("everything", grant(topic="*", operations=["read"]), ("wildcard: true",)),
            ("everybody", entries("grants", {"user": "*", **READ}), ("wildcard: true",)),
            ("an asterisk", grant(role="producer", topic="t*"), ("pattern: prefixed",)),
            (
                "wildcard without an asterisk",
                grant(role="producer", topic="t", wildcard=True),
                ("wildcard",),
            ),
            (
                "unprintable",
                grant(role="producer", topic="t\u202e"),
                ("topic",),
            ),
            *(
                (f"host {host}", grant(role="producer", topic="t", host=host), (host, address))
                for host, address in (
                    ("k9.example.org", "address"),
                    ("10.0.0.0/8", "address"),
                    ("2001:db8::1", "2001:db8:0:0:0:0:0:1"),
                )
            ),
            (
                "user of a service",
                entries("grants", {"user": "ledger", "role": "producer", "topic": "t"}),
                ("ledger",),
            ),
            (
                "without nodes",
                no_nodes(
                    "users:\n"
                    "  - name: orders.a\n"
                    "    grants: [{topic: orders.x, operations: [cluster_action]}]"
                ),
                ("orders.yml:2", "cluster_action"),
            ),
            (
                "a name without nodes",
                no_nodes('users:\n  - name: "orders.a\\nb"'),
                ("orders.yml:2",),
            ),
        )
    ),
    *(
        (
            "grant-unknown-user",
            key,
            entries("grants", {key: name, "role": "producer", "topic": "t"}),
            ("no user nobody",),
        )
        for key, name in (("user", "nobody"), ("principal", "User:nobody"))
    ),
    *(
        ("quota-entity", name, entries("quotas", keys), phrases)
        for name, keys, phrases in (
            ("nobody", {"request_percentage": 5}, ("nobody", "client_id")),
            ("empty", {"user": "", "request_percentage": 5}, ("nobody",)),
            ("no limit", {"user": "app"}, ("no limit",)),
            ("zero", {"user": "app", "request_percentage": 0}, ("request_percentage",)),
            (
                "infinity",
                {"user": "app", "request_percentage": float("inf")},
                ("request_percentage",),
            ),
            ("no number", {"user": "app", "request_percentage": float("nan")}, ("nan",)),
            (
                "an address and a client",
                {"ip": "10.0.0.1", "client_id": "c", "connection_creation_rate": 5},
                ("an entry for each",),
            ),
            ("no address", {"ip": "k1", "connection_creation_rate": 5}, ("k1",)),
            ("of addresses", {"user": "app", "connection_creation_rate": 5}, ("connection_",)),
            (
                "unprintable",
                {"client_id": "c\x1b[31m", "request_percentage": 5},
                ("cannot be seen",),
            ),
        )
    ),
    *(
        ("group-name", repr(name), entries("groups", {"name": name}), ())
        for name in ("", "a\u200bb", "a\nb")
    ),
    ("group-name", "subscription", entries("client_metrics", {"name": "a\x7fb"}), ("\\x7f",)),
]


def limit(entity: str) -> str:
    """Return a limit that an entity may have."""
    return "connection_creation_rate" if entity.startswith("ip") else "request_percentage"


LEGAL: list[Legal] = [
    ("resource-file", "all kinds", teams()),
    ("resource-file", "no file", lambda d: d.resources()),
    (
        "resource-file",
        "numbers and words",
        teams(
            "topics:\n"
            "  - name: orders.x\n"
            "    config: {retention.ms: 0, min.cleanable.dirty.ratio: 0.50, segment.bytes: 1_000,"
            " preallocate: true, compression.type: 'off'}"
        ),
    ),
    ("resource-directory", "beside", beside),
    ("team-prefix", "apart", teams()),
    (
        "team-prefix",
        "two of one team, one longer",
        teams("topics: []", "teams:\n  orders: {prefixes: [o., o.x.]}"),
    ),
    ("resource-prefix", "all kinds", teams()),
    (
        "resource-prefix",
        "a denial for a user of the team",
        teams(
            "users:\n"
            "  - name: orders.a\n"
            "grants:\n"
            "  - {principal: 'User:orders.a', topic: orders.x, operations: [write],"
            " permission: deny}"
        ),
    ),
    (
        "resource-prefix",
        "grants of others for a user of the team",
        lambda d: with_users(d).resources(
            platform=f"{PLATFORM}\n"
            "grants:\n"
            "  - {user: orders.app, cluster: true, operations: [describe]}\n",
            orders=TEAM,
            payments="grants:\n  - {user: orders.app, role: producer, topic: payments.x}",
        ),
    ),
    (
        "resource-prefix",
        "quotas that the platform leaves to a team",
        lambda d: with_users(d).resources(
            platform=PLATFORM,
            payments="quotas:\n  - {user: payments.x, client_id: c, request_percentage: 5}\n",
        ),
    ),
    (
        "resource-duplicate",
        "other entities",
        entries(
            "quotas",
            {"user": "app", "request_percentage": 5},
            {"user": "app", "client_id": "app", "request_percentage": 5},
            {"client_id": "app", "request_percentage": 5},
            {"client_id": "None", "request_percentage": 5},
        ),
    ),
    (
        "resource-duplicate",
        "the same grant",
        entries(
            "grants",
            {"user": "app", "role": "producer", "topic": "t"},
            {"user": "app", "role": "consumer_group", "group": "t"},
            {"user": "app", "topic": "t", "operations": ["write"]},
        ),
    ),
    ("topic-name", "longest", entries("topics", {"name": "a" * 249})),
    ("topic-collision", "others", entries("topics", {"name": "a.b"}, {"name": "a.c"})),
    (
        "topic-replication",
        "all brokers",
        entries("topics", {"name": "t", "replication": 3, "config": {"min.insync.replicas": 2}}),
    ),
    (
        "topic-config",
        "lists and booleans",
        entries(
            "topics",
            {"name": "t", "config": {"cleanup.policy": ["compact"], "preallocate": False}},
        ),
    ),
    *(
        ("grant-incomplete", name, change)
        for name, change in (
            ("admin", grant(role="admin", prefix="t.")),
            ("every topic", grant(topic="*", wildcard=True, operations=["describe"])),
            ("a letter", grant(topic="t*", pattern="literal", operations=["read"])),
            ("cluster", grant(cluster=True, operations=["describe"])),
            ("IPv6", grant(role="producer", topic="t", host="2001:db8:0:0:0:0:0:1")),
            (
                "another type",
                entries("grants", {"principal": "Group:app", "role": "producer", "topic": "t"}),
            ),
            (
                "everybody",
                entries("grants", {"principal": "User:*", "wildcard": True, **READ}),
            ),
            (
                "without nodes",
                no_nodes(TEAM),
            ),
        )
    ),
    ("grant-unknown-user", "known", grant(role="producer", topic="t")),
    (
        "grant-unknown-user",
        "as a principal",
        entries("grants", {"principal": "User:app", "role": "producer", "topic": "t"}),
    ),
    *(
        ("quota-entity", f"{keys}", entries("quotas", keys))
        for keys in (
            {"user": "<default>", "client_id": "<default>", "request_percentage": 200},
            {"ip": "10.0.0.1", "connection_creation_rate": 5},
            {"ip": "<default>", "connection_creation_rate": 5},
            {"user": "app", "state": "absent"},
        )
    ),
    ("group-name", "with blanks", entries("groups", {"name": "my group"})),
]
