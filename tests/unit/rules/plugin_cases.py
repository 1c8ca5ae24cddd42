"""Wrong inventories and legal variations: what operators write about plugins."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.lab.topology import ROOT
from tests.unit.rules.draft import Case, Change, Draft, Legal

_FOLDER = TemporaryDirectory(prefix="millrace-plugins-")
FILE = Path(_FOLDER.name) / "timer.jar"
FILE.write_text("a jar")
SUM = hashlib.sha256(FILE.read_bytes()).hexdigest()
OTHER = "0" * 64
MAVEN = "org.example:timer:1.2.3"


def plugin(**keys: Any) -> dict[str, Any]:
    """Return an entry with a name, and what is given."""
    return {"name": "timer", **keys}


def connect(*entries: object) -> Change:
    """Give all workers plugins."""
    return lambda draft: draft.connect().variable("connect_plugins", list(entries))


def kafka(*entries: object) -> Change:
    """Give all nodes of Kafka plugins."""
    return lambda draft: draft.variable("kafka_plugins", list(entries))


def on_one_worker(draft: Draft) -> None:
    """Give one of two workers a plugin."""
    (first, *_) = draft.connect().groups["kafka_connect"]
    draft.variable("connect_plugins", [plugin(maven=MAVEN, sha256=SUM)], on=(first,))


GOOD = plugin(maven=MAVEN, sha256=SUM)


def job(*entries: object) -> Change:
    """Give a job jars."""
    written = {"name": "clicks", "source": str(ROOT / "spark/flights"), "module": "flights.batch"}
    return lambda draft: draft.variable("spark_jobs", [{**written, "jars": list(entries)}])


REFUSED: list[Case] = [
    ("plugin-duplicate", "of a job", job(GOOD, GOOD), ("timer", "spark_jobs[clicks].jars")),
    ("plugin-source", "of a job", job(plugin()), ("spark_jobs[clicks].jars[timer]",)),
    ("plugins-differ", "on one worker", on_one_worker, ("connect_plugins", "k1", "k2")),
    ("plugin-duplicate", "of a worker", connect(GOOD, GOOD), ("timer", "connect_plugins")),
    ("plugin-duplicate", "of a broker", kafka(GOOD, GOOD), ("timer", "kafka_plugins")),
    *(
        ("plugin-name", repr(name), connect({**GOOD, "name": name}), (repr(name),))
        for name in ("", "..", "a/b", "../a", "a b", "-a", "a:b", "a,b", "x" * 64)
    ),
    *(
        ("plugin-source", name, connect(plugin(sha256=SUM, **keys)), phrases)
        for name, keys, phrases in (
            ("none", {}, ("no source", "maven, url and file")),
            ("two", {"maven": MAVEN, "file": str(FILE)}, ("maven and file",)),
            ("no version", {"maven": "org.example:timer"}, ("group:artifact:version",)),
            ("a range", {"maven": "org.example:timer:[1,2)"}, ("[1,2)",)),
            ("a login", {"url": "https://me:pw@example.org/a.zip"}, ("a login", "name it as file")),
            ("a snapshot", {"maven": "org.example:timer:1-SNAPSHOT"}, ("1-SNAPSHOT",)),
            ("the newest", {"maven": "org.example:timer:LATEST"}, ("LATEST",)),
            ("a program", {"maven": "org.example:timer:1:exe"}, ("exe", ".tar.gz")),
            ("of another kind", {"url": "ftp://example.org/timer.jar"}, ("ftp://", "https://")),
            ("a path of a server", {"url": "file:///etc/timer.jar"}, ("file:///etc",)),
            ("a page", {"url": "https://example.org/timer"}, ("timer", ".zip")),
            ("a text", {"file": "/plugins/timer.txt"}, ("timer.txt", ".zip")),
        )
    ),
    ("plugin-file", "missing", connect(plugin(file="/none/a.jar", sha256=SUM)), ("/none/a.jar",)),
    ("plugin-file", "relative", kafka(plugin(file="a.jar", sha256=SUM)), ("inventory_dir",)),
    ("plugin-sum", "short", connect(plugin(maven=MAVEN, sha256="abc")), ("64 hexadecimal",)),
    ("plugin-sum", "wrong", connect(plugin(file=str(FILE), sha256=OTHER)), (SUM, OTHER)),
    ("plugin-sum", "of a file", kafka(plugin(file=str(FILE))), (f"sha256: {SUM}",)),
    (
        "plugin-sum",
        "in clear text",
        connect(plugin(url="http://example.org/timer.jar")),
        ("encryption", "https"),
    ),
    (
        "plugin-remote-storage",
        "twice",
        kafka(
            plugin(maven=MAVEN, sha256=SUM, remote_storage=True),
            {**GOOD, "name": "other", "remote_storage": True},
        ),
        ("timer and other",),
    ),
    ("plugin-without-sum", "of Maven", connect(plugin(maven=MAVEN)), ("artifacts.yml",)),
    (
        "plugin-without-sum",
        "of a server",
        kafka(plugin(url="https://example.org/timer.jar")),
        ("artifacts.yml",),
    ),
]
LEGAL: list[Legal] = [
    ("plugin-source", "jars of a job", job(GOOD)),
    (
        "plugins-differ",
        "a plugin of brokers alone",
        lambda draft: draft.variable("kafka_plugins", [GOOD], on=("k1",)),
    ),
    ("plugin-duplicate", "two names", connect(GOOD, {**GOOD, "name": "other"})),
    ("plugin-name", "with a version", connect({**GOOD, "name": "Timer_1.2-x"})),
    (
        "plugin-source",
        "an archive of Maven",
        connect(plugin(maven="org.example:timer:1.2.3.Final:tar.gz:plugin", sha256=SUM)),
    ),
    (
        "plugin-source",
        "a URL with a query",
        connect(plugin(url="https://example.org/a/timer.zip?raw=1", sha256=SUM)),
    ),
    (
        "plugin-source",
        "an @ in a path",
        connect(plugin(url="https://example.org/@a/timer.zip", sha256=SUM)),
    ),
    ("plugin-file", "there", kafka(plugin(file=str(FILE), sha256=SUM))),
    ("plugin-sum", "in capitals", connect(plugin(file=str(FILE), sha256=SUM.upper()))),
    (
        "plugin-sum",
        "without encryption, with a sum",
        connect(plugin(url="http://example.org/timer.jar", sha256=SUM)),
    ),
    ("plugin-without-sum", "with one", connect(GOOD)),
    (
        "plugin-remote-storage",
        "one of two",
        kafka({**GOOD, "remote_storage": True}, {**GOOD, "name": "other"}),
    ),
]
