"""Wrong inventories and legal variations: Java's options and packages."""

from __future__ import annotations

from tests.unit.rules.draft import Case, Change, Draft, Legal

JAVA = "kafka_java_options"
DRIVER = "spark.driver.extraJavaOptions"
JMX = "-Dcom.sun.management.jmxremote.port"
ANYBODY = "-Dcom.sun.management.jmxremote.authenticate=false"
WITHOUT_TLS = "-Dcom.sun.management.jmxremote.ssl=false"
CERTIFICATES = "-Dcom.sun.management.jmxremote.ssl.need.client.auth=true"
HOST = "-Dcom.sun.management.jmxremote.host"
DEBUGGER = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address"
OLD_DEBUGGER = "-Xrunjdwp:transport=dt_socket,server=y,suspend=n,address"
PUBLIC = {"k1": "8.8.8.8", "k2": "8.8.8.9", "k3": "8.8.8.10"}


def closed(*options: str, variable: str = JAVA) -> Change:
    """Give closed services options of Java."""

    def change(draft: Draft) -> None:
        draft.variable("kafka_security", "standard").variable("spark_security", "standard")
        draft.variable(variable, [*options])

    return change


def at_public_address(change: Change) -> Change:
    """Let the internet reach all hosts."""
    return lambda d: (change(d), [d.reached_at(host, PUBLIC[host]) for host in PUBLIC])


REFUSED: list[Case] = [
    *(
        (
            "java-option-text",
            word,
            lambda d, word=word: d.variable(JAVA, ["-Xss1m", *word.split()]),
            (JAVA, word.partition(" ")[0]),
        )
        for word in ("-jar /opt/a.jar", "-version", "--module=a/b", "-Xlog:help")
    ),
    (
        "java-option-text",
        "of drivers",
        lambda d: d.own_spark(DRIVER, "-Xss1m UseSerialGC"),
        (f"spark_config[{DRIVER}]", "after -Xss1m"),
    ),
    (
        "java-collectors",
        "of drivers",
        lambda d: d.own_spark(DRIVER, "-XX:+UseG1GC -XX:+UseSerialGC"),
        (f"spark_config[{DRIVER}]",),
    ),
    *(
        (
            "java-package",
            package,
            lambda d, package=package: d.variable("java_package", package),
            (package, release, "17"),
        )
        for package, release in (
            ("openjdk-11-jre-headless", "Java 11"),
            ("java-1.8.0-openjdk-headless", "Java 8"),
            ("temurin-22-jre", "Java 22"),
        )
    ),
    (
        "jvm-port-shared",
        "master and history",
        lambda d: d.variable("spark_java_options", [f"{JMX}=9010"]),
        ("9010", "spark-history"),
    ),
    (
        "jvm-port-shared",
        "of a debugger",
        lambda d: d.variable(
            "spark_java_options",
            ["-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=*:5005"],
        ),
        ("5005",),
    ),
    *(
        ("jvm-open", name, closed(*options), (JAVA, lacks))
        for name, options, lacks in (
            ("JMX for anybody", (f"{JMX}=9010", ANYBODY), "a login"),
            ("JMX at any port", (f"{JMX}=0", ANYBODY, WITHOUT_TLS), "a login"),
            ("JMX with passwords in clear text", (f"{JMX}=9010", WITHOUT_TLS), "TLS"),
            ("a debugger", (f"{DEBUGGER}=*:5005",), "a login"),
            ("a debugger in the old way", (f"{OLD_DEBUGGER}=*:5005",), "a login"),
            ("a debugger at one address", (f"{DEBUGGER}=10.0.0.1:5005",), "a login"),
        )
    ),
    (
        "jvm-open",
        "of drivers",
        lambda d: d.variable("spark_security", "standard").own_spark(
            DRIVER, f"-Xss4m {DEBUGGER}=*:5005"
        ),
        (f"spark_config[{DRIVER}]", "jdwp"),
    ),
    (
        "jvm-open",
        "with passwords in clear text, on the internet",
        at_public_address(closed(f"{JMX}=9010", WITHOUT_TLS)),
        (JAVA, "TLS"),
    ),
    *(
        (
            "jvm-open-to-everybody",
            name,
            at_public_address(closed(*options)),
            (f"{JAVA} of k1, k2, k3", "the internet"),
        )
        for name, options in (
            ("JMX", (f"{JMX}=9010", ANYBODY, WITHOUT_TLS)),
            ("a debugger", (f"{DEBUGGER}=*:5005",)),
        )
    ),
]

LEGAL: list[Legal] = [
    *(
        ("java-option-text", word, lambda d, word=word: d.variable(JAVA, [word]))
        for word in (
            "-XX:MaxGCPauseMilis=20",  # a host's Java is asked
            "-cp /opt/jars/*",
            "--module-path=/opt/modules",
            "-Xdebug",
        )
    ),
    ("java-package", "of a vendor", lambda d: d.variable("java_package", "acme2-jdk-17")),
    ("java-package", "21", lambda d: d.variable("java_package", "openjdk-21-jre-headless")),
    ("java-package", "without a release", lambda d: d.variable("java_package", "default-jre")),
    ("jvm-port-shared", "of Kafka", lambda d: d.variable(JAVA, [f"{JMX}=9010"])),
    (
        "jvm-port-shared",
        "any port",
        lambda d: d.variable("spark_java_options", [f"{JMX}=0"]),
    ),
    *(
        ("jvm-open", name, closed(*options))
        for name, options in (
            ("JMX with a login and TLS", (f"{JMX}=9010",)),
            ("JMX of the host itself", (f"{JMX}=9010", ANYBODY, f"{HOST}=127.0.0.1")),
            ("JMX with certificates", (f"{JMX}=9010", ANYBODY, CERTIFICATES)),
            ("no port", (ANYBODY, WITHOUT_TLS)),
            ("a debugger of the host itself", (f"{DEBUGGER}=5005",)),
        )
    ),
    ("jvm-open", "of an open service", lambda d: d.variable(JAVA, [f"{JMX}=9010", ANYBODY])),
    (
        "jvm-open-to-everybody",
        "with a login and TLS",
        at_public_address(closed(f"{JMX}=9010")),
    ),
]
