"""Wrong inventories and legal variations: what closes a cluster, and the users of Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Expression

from tests.unit.rules.draft import Case, Change, Draft, Legal

PASSWORD = "hunter2-hunter2"
CERTIFICATE, KEY = "-----BEGIN CERTIFICATE-----", "hunter2-key"
PUBLIC = ("8.8.8.8", "2a00:1450:4001::1")
MECHANISMS = "sasl.enabled.mechanisms"
AUDIENCE, ISSUER = "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer"
JWKS, URL = "sasl.oauthbearer.jwks.endpoint.url", "https://idp.example.org/certs"
ALLOWED = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="
FILE_URL = "file:///etc/kafka/jwks.json"
LOOPBACK_URLS = ("http://localhost:8080/certs", "http://127.0.0.1/certs", "http://[::1]:80/certs")
SECURITY = "org.apache.kafka.common.security"
CHECKS_TOKENS = f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
VALIDATOR = "sasl.oauthbearer.jwt.validator.class"
HANDLER = "listener.name.users.oauthbearer.sasl.server.callback.handler.class"
OF_USERS = "listener.name.users.oauthbearer."
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required username=a password=hunter2;"
)
READ = {"topic": "t", "operations": ["read"]}
GRANTS: Mapping[str, Mapping[str, Any]] = {
    "a topic": {"topic": "t", "operations": ["read", "write", "describe_configs"]},
    "groups": {"group": "g-", "pattern": "prefixed", "operations": ["read"]},
    "a transactional id": {"transactional_id": "x", "operations": ["write"]},
    "the cluster": {"cluster": True, "operations": ["idempotent_write"]},
    "a topic, not the cluster": {"topic": "t", "cluster": False, "operations": ["all"]},
}


def closed(draft: Draft) -> Draft:
    """Leave the cluster with the default of kafka_security."""
    return draft.variable("kafka_security", "standard")


def alone(draft: Draft, address: str) -> Draft:
    """Leave one Kafka node, with an address of its own, and Spark closed."""
    draft.without_kafka("k2", "k3").variable("spark_security", "standard")
    return draft.variable("kafka_advertised_host", address, on=("k1",))


def guarded(draft: Draft) -> Draft:
    """Give all hosts a firewall that knows its clients."""
    for host in draft.groups["all"]:
        draft.named(host, "10.0.0.1").variable("host_firewall", "nftables", on=(host,))
        for role in ("clients", "admins"):
            draft.variable(f"host_firewall_{role}", ["10.0.0.0/8"], on=(host,))
    return draft


def own_keys(draft: Draft, client_auth: str = "required") -> Draft:
    """Close an open cluster by keys that the site brings."""
    draft.pem().listeners(("CLIENT", 9092, "SSL")).own("ssl.client.auth", client_auth)
    return draft.controller_listener("CONTROLLER", protocol="SSL")


def for_users(protocol: str, **config: str) -> Change:
    """Give the brokers a second listener, for users who log in."""

    def change(draft: Draft) -> None:
        first = "SSL" if protocol == "SASL_SSL" else "PLAINTEXT"
        draft.pem().listeners(("CLIENT", 9092, first), ("USERS", 9094, protocol))
        for key, value in config.items():
            draft.own(key, value)
            for mechanism in value.split(",") if key.endswith(MECHANISMS) else ():
                name = f"listener.name.users.{mechanism.lower()}.sasl.jaas.config"
                draft.provided(name, "${file:/etc/kafka/secrets:login}")

    return change


def oauth(**config: str) -> Change:
    """Let users log in by tokens that are checked, but for what `config` sets, or leaves empty."""
    properties = {
        MECHANISMS: "OAUTHBEARER",
        HANDLER: CHECKS_TOKENS,
        JWKS: URL,
        AUDIENCE: "a",
        ISSUER: "x",
        **config,
    }
    urls = {value for key, value in properties.items() if value and key.endswith(JWKS)}

    def change(draft: Draft) -> None:
        for_users("SASL_SSL", **{key: value for key, value in properties.items() if value})(draft)
        draft.variable("kafka_java_options", [ALLOWED + ",".join(sorted(urls))] if urls else [])
        for key in properties:
            if key.startswith(OF_USERS) and not properties[key]:
                draft.own(key, "")

    return change


def kafka_users(*users: Mapping[str, Any]) -> Change:
    """Close the cluster, and give it users whose passwords come from a vault."""

    def change(draft: Draft) -> None:
        closed(draft).variable("kafka_users", [*users])
        for user in users:
            if "password" in user:
                draft.vault(f"kafka_users[{user['name']}]")

    return change


def granted(**grant: object) -> Change:
    """Give one user one grant."""
    return kafka_users({"name": "app", "grants": [grant]})


TWO_LOGINS = f'X required user_a="{PASSWORD}" user_b="{PASSWORD[::-1]}";'
SECRETS = (
    ("kafka_client_config", "ssl.key.password", PASSWORD),
    ("kafka_client_config", "sasl.jaas.config", f'X required username="a" password="{PASSWORD}";'),
    ("kafka_client_config", "ssl.keystore.key", "-----BEGIN PRIVATE KEY-----"),
    ("kafka_client_config", "sasl.oauthbearer.client.credentials.client.secret", PASSWORD),
    ("kafka_local_client_config", "ssl.keystore.password", PASSWORD),
    ("spark_kafka_client_config", "ssl.truststore.password", PASSWORD),
    ("spark_config", "spark.ssl.keyPassword", PASSWORD),
    ("spark_config", "spark.ssl.historyServer.keyStorePassword", PASSWORD),
    ("spark_config", "spark.hadoop.fs.s3a.secret.key", PASSWORD),
    ("spark_config", "spark.hadoop.fs.s3a.session.token", PASSWORD),
    ("spark_config", "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net", PASSWORD),
    ("spark_config", "spark.executorEnv.AWS_SECRET_ACCESS_KEY", PASSWORD),
    (
        "spark_config",
        "spark.executor.extraJavaOptions",
        f"-Djavax.net.ssl.keyStorePassword={PASSWORD}",
    ),
)
NO_SECRETS = (
    ("kafka_client_config", "ssl.keystore.certificate.chain", "-----BEGIN CERTIFICATE-----"),
    ("kafka_client_config", "ssl.key.password", "${file:/etc/kafka/secrets:key}"),
    ("kafka_client_config", "sasl.jaas.config", 'X required password="${file:/etc/secrets:key}";'),
    ("spark_config", "spark.hadoop.fs.s3a.access.key", "AKIA"),
    ("spark_config", "spark.ssl.keyPassword", "${env:KEY_PASSWORD}"),
    ("spark_config", "spark.kubernetes.kerberos.tokenSecret.name", "name"),
    ("spark_config", "spark.executor.extraJavaOptions", "-Dapp.token.file=/x -Dmax=1"),
)


def authority(draft: Draft, certificate: str = "", key: str = "") -> Draft:
    """Set a CA of the site, its key from a vault."""
    closed(draft).variable("kafka_ca_certificate", certificate)
    draft.variable("kafka_ca_key", key)
    return draft.vault("kafka_ca_key") if key else draft


REFUSED: list[Case] = [
    (
        "ensemble-security-differs",
        "one open member",
        lambda d: d.ensemble().variable("zookeeper_security", "standard", on=("z1", "z3")),
        ("z1 and z3 would be secured, and z2 open", "zookeeper_security"),
    ),
    *(
        (
            "open-to-everybody",
            address,
            lambda d, address=address: alone(d, address),
            ("kafka_security of k1", address, "kafka_security: standard"),
        )
        for address in PUBLIC
    ),
    (
        "open-to-everybody",
        "one of three nodes",
        lambda d: d.variable("spark_security", "standard").variable(
            "kafka_advertised_host", PUBLIC[0], on=("k2",)
        ),
        ("kafka_security of k1, k2, k3", PUBLIC[0]),
    ),
    (
        "open-to-everybody",
        "where Ansible reaches it",
        lambda d: alone(d, "k1").reached_at("k1", PUBLIC[0]),
        ("kafka_security of k1", PUBLIC[0]),
    ),
    (
        "open-to-everybody",
        "by its name",
        lambda d: alone(d, "k1.example.org").named("k1.example.org", "10.0.0.1", PUBLIC[0]),
        ("kafka_security of k1", f"k1.example.org ({PUBLIC[0]})"),
    ),
    (
        "open-to-everybody",
        "a firewall for everybody",
        lambda d: guarded(alone(d, PUBLIC[0])).variable("host_firewall_clients", ["0.0.0.0/0"]),
        ("kafka_security of k1", PUBLIC[0]),
    ),
    (
        "open-to-everybody",
        "certificates that are not required",
        lambda d: own_keys(alone(d, PUBLIC[0]), "none"),
        ("kafka_security of k1", PUBLIC[0]),
    ),
    (
        "open-to-everybody",
        "Spark",
        lambda d: closed(d).reached_at("k2", PUBLIC[0]),
        ("spark_security of k1, k2, k3", PUBLIC[0], "spark_security: standard"),
    ),
    (
        "open-to-everybody",
        "Spark behind a firewall, with ports of executors that it does not govern",
        lambda d: guarded(closed(d)).reached_at("k2", PUBLIC[0]),
        ("spark_security of k1, k2, k3", PUBLIC[0]),
    ),
    (
        "open-to-everybody",
        "ZooKeeper",
        lambda d: d.ensemble().named("z2", PUBLIC[1]),
        ("zookeeper_security of z1, z2, z3", f"z2 ({PUBLIC[1]})", "zookeeper_security: standard"),
    ),
    (
        "plaintext-listener",
        "the brokers' alone",
        lambda d: closed(d).listeners(("CLIENT", 9092, "PLAINTEXT")),
        ("CLIENT (PLAINTEXT)", "protocol: SSL,"),
    ),
    (
        "plaintext-listener",
        "with a login",
        lambda d: closed(d).listeners(
            ("CLIENT_TLS", 9095, "SASL_PLAINTEXT"), ("INTERNAL", 9094, "SSL")
        ),
        ("CLIENT_TLS (SASL_PLAINTEXT)", "protocol: SASL_SSL,"),
    ),
    (
        "unresolved-variable",
        "listeners, at which users may log in",
        lambda d: d.variable("kafka_users", [{"name": "app"}]).unresolvable(
            "kafka_listeners", "'y' is undefined"
        ),
        ("kafka_listeners of",),
    ),
    *(
        ("user-name", f"no file, {name}", kafka_users({"name": name}), (repr(name),))
        for name in ("team/app", "../ca.key", ".app")
    ),
    (
        "super-users-nodes",
        "by the names of hosts",
        lambda d: closed(d).own("super.users", "User:k1;User:k2;User:k3;User:admin"),
        ("k1, k2 and k3", "User:kafka-nodes"),
    ),
    (
        "client-certificate-optional",
        "of every listener",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL")).own("ssl.client.auth", "requested"),
        ("CLIENT", "kafka_config[ssl.client.auth]", "required"),
    ),
    (
        "client-certificate-optional",
        "of one listener",
        lambda d: closed(d).own_host("listener.name.internal.ssl.client.auth", "requested"),
        (
            "INTERNAL",
            "kafka_host_config[listener.name.internal.ssl.client.auth]",
            "Set listener.name.internal.ssl.client.auth: required",
        ),
    ),
    (
        "listener-unreachable",
        "SASL alone, the preset overridden",
        lambda d: (
            closed(d).controller_listener("CONTROLLER", protocol="SSL"),
            d.listeners(("CLIENT", 9092, "SASL_SSL"))
            .login("CLIENT")
            .own("sasl.mechanism.inter.broker.protocol", "SCRAM-SHA-512"),
        ),
        ("CLIENT (SASL_SSL)", "kafka_listeners of k1, k2, k3", "kafka_inter_broker_listener"),
    ),
    (
        "sasl-plain-unencrypted",
        "one of two mechanisms",
        for_users("SASL_PLAINTEXT", **{MECHANISMS: "SCRAM-SHA-512,PLAIN"}),
        ("USERS", "kafka_listeners of k1, k2, k3", "SASL_SSL"),
    ),
    (
        "oauth-unchecked",
        "nothing is checked",
        for_users("SASL_SSL", **{MECHANISMS: "OAUTHBEARER"}),
        (
            "USERS",
            f"kafka_config[{HANDLER}]",
            f"{HANDLER}: {CHECKS_TOKENS}",
            JWKS,
            AUDIENCE,
            ISSUER,
        ),
    ),
    (
        "oauth-unchecked",
        "no handler, which is what checks",
        oauth(**{HANDLER: ""}),
        ("USERS", f"Set {HANDLER}: {CHECKS_TOKENS}"),
    ),
    (
        "oauth-unchecked",
        "a handler without the prefix, which Kafka does not read",
        oauth(**{HANDLER: "", HANDLER.rpartition("oauthbearer.")[2]: CHECKS_TOKENS}),
        (f"Set {HANDLER}: {CHECKS_TOKENS}",),
    ),
    *(
        (
            "oauth-unchecked",
            name.rpartition(".")[2],
            oauth(**{HANDLER: f"{SECURITY}.oauthbearer.{name}"}),
            (f"kafka_config[{HANDLER}]", f"{HANDLER}: {CHECKS_TOKENS}"),
        )
        for name in (
            "internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
            "OAuthBearerUnsecuredValidatorCallbackHandler",
            "internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
        )
    ),
    (
        "oauth-unchecked",
        "no audience",
        oauth(**{AUDIENCE: ""}),
        ("USERS", f"kafka_config[{AUDIENCE}]"),
    ),
    (
        "oauth-unchecked",
        "an audience of another listener",
        oauth(**{AUDIENCE: "", f"listener.name.client.oauthbearer.{AUDIENCE}": "a"}),
        ("USERS", AUDIENCE),
    ),
    (
        "oauth-unchecked",
        "no issuer at this listener",
        oauth(**{f"{OF_USERS}{ISSUER}": ""}),
        ("USERS", ISSUER),
    ),
    (
        "oauth-unchecked",
        "an empty audience of this listener, which wins",
        oauth(**{f"{OF_USERS}{AUDIENCE}": ""}),
        (f"kafka_config[{OF_USERS}{AUDIENCE}]", f"Set {OF_USERS}{AUDIENCE}"),
    ),
    (
        "oauth-unchecked",
        "the validator of clients",
        oauth(**{f"{OF_USERS}{VALIDATOR}": f"{SECURITY}.oauthbearer.ClientJwtValidator"}),
        (f"kafka_config[{OF_USERS}{VALIDATOR}]", "BrokerJwtValidator"),
    ),
    (
        "oauth-url",
        "not among those that are given, before 4.0",
        lambda d: (
            d.variable("kafka_version", "3.9.2").own(JWKS, URL),
            d.variable("kafka_java_options", [f"{ALLOWED}{FILE_URL}"]),
        ),
        (f"kafka_config[{JWKS}]", f"{ALLOWED}{FILE_URL},{URL}"),
    ),
    (
        "oauth-unencrypted",
        "keys of a listener",
        oauth(**{JWKS: "HTTP://idp.example.org/certs"}),
        (f"kafka_config[{JWKS}]", "https"),
    ),
    (
        "oauth-unencrypted",
        "keys, by the prefix of a listener",
        oauth(**{f"{OF_USERS}{JWKS}": "http://localhost.example.org/certs"}),
        (f"kafka_config[{OF_USERS}{JWKS}]",),
    ),
    *(
        (
            "oauth-unencrypted",
            f"tokens, in {variable}",
            lambda d, variable=variable: d.variable(
                variable, {"sasl.oauthbearer.token.endpoint.url": "http://10.0.0.1/token"}
            ),
            (f"{variable}[sasl.oauthbearer.token.endpoint.url]",),
        )
        for variable in (
            "kafka_client_config",
            "kafka_local_client_config",
            "spark_kafka_client_config",
        )
    ),
    (
        "user-duplicate",
        "twice",
        kafka_users({"name": "app"}, {"name": "other"}, {"name": "app"}),
        ("app", "kafka_users[app] of k1, k2, k3"),
    ),
    *(
        ("user-name", repr(name), kafka_users({"name": name}), (repr(name), "kafka_users["))
        for name in ("k2", "kafka-nodes", "ANONYMOUS", "*", " ", "a'b")
    ),
    (
        "user-password",
        "short",
        kafka_users({"name": "app", "password": "hunter2"}),
        ("app", "kafka_users of k1, k2, k3"),
    ),
    *(
        (
            "user-password",
            f"with {sign!r}",
            kafka_users({"name": "app", "password": f"{PASSWORD}{sign}{PASSWORD}"}),
            ("app", "kafka_users of k1, k2, k3"),
        )
        for sign in ("\n", '"', "\\")
    ),
    (
        "secret-visible",
        "a password",
        lambda d: closed(d).variable("kafka_users", [{"name": "app", "password": PASSWORD}]),
        ("app", "kafka_users of k1, k2, k3", "ansible-vault"),
    ),
    (
        "secret-visible",
        "one of two passwords",
        lambda d: (
            closed(d)
            .vault("kafka_users[other]")
            .variable(
                "kafka_users",
                [{"name": name, "password": PASSWORD} for name in ("app", "other")],
            )
        ),
        ("app", "kafka_users of k1, k2, k3"),
    ),
    (
        "secret-visible",
        "the key of a CA",
        lambda d: (
            closed(d).variable("kafka_ca_certificate", CERTIFICATE).variable("kafka_ca_key", KEY)
        ),
        ("kafka_ca_key of k1, k2, k3", "ansible-vault"),
    ),
    *(
        (
            "secret-visible",
            f"{variable}[{key}]",
            lambda d, variable=variable, key=key, value=value: d.variable(variable, {key: value}),
            (f"{variable}[{key}] of k1, k2, k3", "ansible-vault"),
        )
        for variable, key, value in SECRETS
    ),
    *(
        (
            "secret-visible",
            f"in {variable}",
            lambda d, variable=variable: d.variable(
                variable, ["-Xss4m", f"-Djavax.net.ssl.keyStorePassword={PASSWORD}"]
            ),
            (f"{variable} of k1, k2, k3", "ansible-vault"),
        )
        for variable in ("kafka_java_options", "spark_java_options")
    ),
    (
        "secret-visible",
        "of a variable in clear text",
        lambda d: (
            closed(d)
            .variable("kafka_users", [{"name": "app", "password": PASSWORD}])
            .expression("kafka_users[app]", Expression({PASSWORD: "all.yml:7"}, hidden=False))
        ),
        ("all.yml:7", "kafka_users of k1, k2, k3"),
    ),
    (
        "secret-visible",
        "a part of a file",
        lambda d: d.own("ssl.key.password", PASSWORD).expression(
            "kafka_config[ssl.key.password]",
            Expression({"/s.yml": "all.yml:7", f"key: {PASSWORD}": "files/s.yml"}, hidden=False),
        ),
        ("it is in files/s.yml",),
    ),
    (
        "secret-visible",
        "the default beside a vault",
        lambda d: d.own("ssl.key.password", PASSWORD).expression(
            "kafka_config[ssl.key.password]", Expression({PASSWORD: "all.yml:7"})
        ),
        ("all.yml:7", "kafka_config[ssl.key.password] of k1, k2, k3"),
    ),
    (
        "secret-visible",
        "one of two of an entry of JAAS",
        lambda d: d.own("sasl.jaas.config", TWO_LOGINS).expression(
            "kafka_config[sasl.jaas.config]",
            Expression({f'X required user_a="{PASSWORD}" user_b="': "all.yml:7"}),
        ),
        ("all.yml:7", "kafka_config[sasl.jaas.config] of k1, k2, k3"),
    ),
    *(
        (
            "login-visible",
            name,
            lambda d, name=name: d.expression(name, Expression({PASSWORD: "all.yml:7"}, False)),
            (f"{name} of k1, k2, k3", "all.yml:7", "ansible-vault"),
        )
        for name in ("ansible_password", "ansible_become_password", "ansible_ssh_private_key")
    ),
    *(
        (
            "secret-empty",
            f"a password, {name}",
            lambda d, made_of=made_of: (
                closed(d).variable("kafka_users", [{"name": "app", "password": ""}]),
                d.expressions.update(dict.fromkeys(d.groups["all"], made_of)),
            ),
            ("app", "kafka_users of k1, k2, k3"),
        )
        for name, made_of in {
            "of an environment": {"kafka_users[app]": Expression()},
            "as such": {},
            "by default": {"kafka_users[app]": Expression({"": "all.yml:7"})},
        }.items()
    ),
    (
        "secret-empty",
        "the key of a CA",
        lambda d: authority(d, certificate=CERTIFICATE).vault("kafka_ca_key"),
        ("kafka_ca_key of k1, k2, k3",),
    ),
    (
        "secret-empty",
        "of Spark",
        lambda d: d.own_spark("spark.ssl.keyPassword", "").vault(
            "spark_config[spark.ssl.keyPassword]"
        ),
        ("spark_config[spark.ssl.keyPassword] of k1, k2, k3",),
    ),
    (
        "ca-incomplete",
        "no certificate",
        lambda d: authority(d, key=KEY),
        ("kafka_ca_key of k1, k2, k3", "Set kafka_ca_certificate"),
    ),
    (
        "ca-unusable",
        "a key of another",
        lambda d: authority(d, CERTIFICATE, KEY).wrong_authority("it is of another"),
        ("kafka_ca_certificate of k1, k2, k3", "it is of another", "kafka_ca_key"),
    ),
    ("user-grant", "of nothing", granted(operations=["read"]), ("app", "kafka_users[app] of")),
    (
        "user-grant",
        "of two resources",
        granted(topic="t", group="g", operations=["read"]),
        ("app", "topic and group"),
    ),
    (
        "user-grant",
        "an operation of topics",
        granted(group="g", operations=["read", "write"]),
        ("app", "write"),
    ),
    ("user-grant", "no operation", granted(topic="t", operations=[]), ("app", "topic")),
    *(
        (
            "user-same-grants",
            case,
            kafka_users({"name": "app", "grants": [READ]}, {"name": "other", **entry}, *users),
            texts,
        )
        for case, entry, users, texts in (
            (
                "of nobody",
                {"same_grants_as": "gone"},
                (),
                ("other", "gone", "app", "kafka_users[other] of"),
            ),
            ("of itself", {"same_grants_as": "other"}, (), ("other", "none of its own", "app")),
            (
                "in a row",
                {"same_grants_as": "third"},
                ({"name": "third", "same_grants_as": "app"},),
                ("third, which has none of its own",),
            ),
            ("and its own", {"same_grants_as": "app", "grants": [READ]}, (), ("of app too",)),
        )
    ),
    (
        "users-unused",
        "on an open cluster",
        lambda d: d.variable("kafka_users", [{"name": "app"}]),
        ("kafka_users of k1, k2, k3", "kafka_security: standard"),
    ),
    (
        "users-unused",
        "a password of another mechanism",
        lambda d: (
            for_users("SASL_SSL", **{MECHANISMS: "PLAIN"})(d),
            kafka_users({"name": "app", "password": PASSWORD})(d),
        ),
        ("passwords of app", "SCRAM-SHA-512", "authentication: tls"),
    ),
    *(
        (
            "secrets-open",
            f"{mode:o}",
            lambda d, mode=mode: d.kept_secrets(mode),
            ("/inventory/.secrets", f"{mode:04o}", "chmod -R go= /inventory/.secrets"),
        )
        for mode in (0o755, 0o750, 0o701, 0o720)
    ),
]

LEGAL: list[Legal] = [
    *(
        ("secrets-open", f"{mode:o}", lambda d, mode=mode: d.kept_secrets(mode))
        for mode in (0o700, 0o500, 0)
    ),
    *(
        (
            "ensemble-security-differs",
            security,
            lambda d, security=security: d.ensemble().variable(
                "zookeeper_security", security, on=("z1", "z2", "z3")
            ),
        )
        for security in ("standard", "open")
    ),
    *(
        ("open-to-everybody", f"closed at {address}", lambda d, a=address: closed(alone(d, a)))
        for address in PUBLIC
    ),
    *(
        ("open-to-everybody", address, lambda d, address=address: alone(d, address))
        for address in ("10.0.0.1", "fd00::1", "k1.example.org")
    ),
    (
        "open-to-everybody",
        "a name with a private address",
        lambda d: alone(d, "k1.example.org").named("k1.example.org", "10.0.0.1"),
    ),
    (
        "open-to-everybody",
        "behind a firewall",
        lambda d: guarded(alone(d, "k1")).reached_at("k1", PUBLIC[0]),
    ),
    ("open-to-everybody", "closed by the site", lambda d: own_keys(alone(d, PUBLIC[0]))),
    (
        "open-to-everybody",
        "Spark closed by the site",
        lambda d: (
            closed(d)
            .reached_at("k2", PUBLIC[0])
            .own_spark("spark.authenticate", True)
            .own_spark("spark.authenticate.secret", f"{PASSWORD}{PASSWORD}")
            .vault("spark_config[spark.authenticate.secret]")
            .own_spark("spark.ui.filters", "com.example.Login")
        ),
    ),
    ("listener-port", "those of the preset", closed),
    ("plaintext-listener", "the preset in ZooKeeper mode", lambda d: closed(d).zookeeper_mode()),
    (
        "client-certificate-optional",
        "required",
        lambda d: d.pem().listeners(("CLIENT", 9092, "SSL")).own("ssl.client.auth", "required"),
    ),
    (
        "client-certificate-optional",
        "without TLS",
        lambda d: d.own("ssl.client.auth", "requested"),
    ),
    (
        "listener-unreachable",
        "SASL for clients, the brokers' own with certificates",
        lambda d: (
            closed(d).controller_listener("CONTROLLER", protocol="SSL"),
            d.listeners(("CLIENT", 9092, "SASL_SSL"), ("BROKERS", 9094, "SSL")).variable(
                "kafka_inter_broker_listener", "BROKERS"
            ),
        ),
    ),
    (
        "listener-unreachable",
        "SASL with a login of the site",
        lambda d: (
            d.pem()
            .listeners(("CLIENT", 9092, "SASL_SSL"))
            .login("CLIENT")
            .own("sasl.mechanism.inter.broker.protocol", "SCRAM-SHA-512")
            .variable(
                "kafka_client_config",
                {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": JAAS},
            )
            .vault("kafka_client_config[sasl.jaas.config]")
        ),
    ),
    (
        "sasl-plain-unencrypted",
        "SCRAM",
        for_users("SASL_PLAINTEXT", **{MECHANISMS: "SCRAM-SHA-512"}),
    ),
    ("sasl-plain-unencrypted", "TLS", for_users("SASL_SSL", **{MECHANISMS: "PLAIN"})),
    ("oauth-unchecked", "everything is checked", oauth()),
    (
        "oauth-unchecked",
        "everything is checked, of one listener",
        oauth(
            **{
                **dict.fromkeys((MECHANISMS, JWKS, AUDIENCE, ISSUER), ""),
                f"listener.name.users.{MECHANISMS}": "OAUTHBEARER",
                f"{OF_USERS}{JWKS}": URL,
                f"listener.name.users.{AUDIENCE}": "a",
                f"{OF_USERS}{ISSUER}": "x",
            }
        ),
    ),
    ("oauth-unchecked", "not taken", oauth(**{MECHANISMS: "SCRAM-SHA-512", HANDLER: ""})),
    *(
        (
            "oauth-unchecked",
            f"{case} of one's own",
            oauth(**{**dict.fromkeys((JWKS, AUDIENCE, ISSUER), ""), key: "com.example.Checks"}),
        )
        for case, key in (("checks", HANDLER), ("a validator", VALIDATOR))
    ),
    (
        "oauth-unchecked",
        "a login module of one's own",
        oauth(**{HANDLER: "", f"{OF_USERS}sasl.jaas.config": "com.example.Login required;"}),
    ),
    (
        "oauth-unchecked",
        "a handler from a config provider",
        lambda d: (oauth()(d), d.provided(HANDLER, "${file:/etc/kafka/oauth:handler}")),
    ),
    (
        "oauth-unchecked",
        "the former name of the handler",
        lambda d: (
            oauth(**{HANDLER: CHECKS_TOKENS.replace("bearer.", "bearer.secured.")})(d),
            d.variable("kafka_version", "3.9.2"),
        ),
    ),
    *(("oauth-unencrypted", url, oauth(**{JWKS: url})) for url in (FILE_URL, *LOOPBACK_URLS)),
    (
        "oauth-unencrypted",
        "tokens by TLS",
        lambda d: d.variable(
            "kafka_client_config", {"sasl.oauthbearer.token.endpoint.url": "https://example.org/t"}
        ),
    ),
    ("oauth-url", "a file", oauth(**{JWKS: FILE_URL})),
    (
        "oauth-url",
        "any, before 4.0",
        lambda d: d.variable("kafka_version", "3.9.2").own(JWKS, URL),
    ),
    ("user-duplicate", "names alike", kafka_users({"name": "app"}, {"name": "App"})),
    ("user-duplicate", "one of Millrace's own", kafka_users({"name": "admin"})),
    *(
        ("user-name", name, kafka_users({"name": name}))
        for name in ("k22", "anonymous", "team-a@example.org")
    ),
    ("user-password", "long", kafka_users({"name": "app", "password": PASSWORD})),
    ("user-password", "none", kafka_users({"name": "app"})),
    (
        "secret-visible",
        "all users from a vault",
        lambda d: (
            closed(d)
            .vault("kafka_users")
            .variable("kafka_users", [{"name": "app", "password": PASSWORD}])
        ),
    ),
    *(
        (
            "secret-visible",
            f"{key} of {variable}, {value}",
            lambda d, variable=variable, key=key, value=value: d.variable(variable, {key: value}),
        )
        for variable, key, value in NO_SECRETS
    ),
    (
        "secret-visible",
        "options of Java",
        lambda d: d.variable(
            "kafka_java_options", ["-Dcom.sun.management.jmxremote.password.file=/x"]
        ),
    ),
    (
        "secret-visible",
        "a vault in options of Java, beside a clear one of another",
        lambda d: d.variable("kafka_java_options", [f"-Da.password={PASSWORD}"]).expression(
            "kafka_java_options", Expression({"-Da.password=": "all.yml:7", "-Xss4m": "all.yml:8"})
        ),
    ),
    *(
        (
            "login-visible",
            name,
            lambda d, made_of=made_of: d.expression("ansible_password", made_of),
        )
        for name, made_of in {
            "a vault": Expression(),
            "a vault, or a default": Expression({PASSWORD: "all.yml:7"}),
            "a variable that is given later": Expression({}, hidden=False),
            "empty": Expression({"": "all.yml:7"}, hidden=False),
        }.items()
    ),
    (
        "secret-empty",
        "the key of a CA, as such",
        lambda d: authority(d, certificate=CERTIFICATE),
    ),
    (
        "secret-empty",
        "the key of a CA, by default",
        lambda d: authority(d, certificate=CERTIFICATE).expression(
            "kafka_ca_key", Expression({"": "all.yml:7"})
        ),
    ),
    ("secret-visible", "a password from a vault", kafka_users({"name": "a", "password": PASSWORD})),
    ("ca-unusable", "one that signs", lambda d: authority(d, CERTIFICATE, KEY)),
    ("ca-incomplete", "both", lambda d: authority(d, CERTIFICATE, KEY)),
    ("ca-incomplete", "an outside CA", lambda d: authority(d, certificate=CERTIFICATE)),
    *(("user-grant", name, granted(**grant)) for name, grant in GRANTS.items()),
    *(
        (
            "user-same-grants",
            f"of one that is {state}",
            kafka_users(
                {"name": "app", "state": state, "grants": [READ]},
                {"name": "other", "same_grants_as": "app"},
            ),
        )
        for state in ("present", "absent")
    ),
    ("users-unused", "closed", kafka_users({"name": "app"})),
    (
        "users-unused",
        "open, with a listener for them",
        lambda d: (
            for_users("SASL_SSL", **{MECHANISMS: "SCRAM-SHA-512"})(d),
            d.variable("kafka_users", [{"name": "app"}]),
        ),
    ),
]
