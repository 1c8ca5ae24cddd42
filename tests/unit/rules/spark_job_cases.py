"""Wrong inventories and legal variations: what operators write about jobs on Spark."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.lab.topology import ROOT
from tests.unit.rules.draft import NODES, Case, Change, Draft, Legal

SOURCE = str(ROOT / "spark/flights")
PINNED = str(ROOT / "requirements/control-node.txt")
ARGUMENTS = [
    "--client-config=/etc/spark/job-clicks-kafka.properties",
    *(f"--{name}=/srv/spark/clicks/{name}" for name in ("checkpoint", "output", "progress")),
    "--weather=/srv/spark/clicks/weather.csv",
]
GRANTS = [
    {"topic": "clicks", "operations": ["read"]},
    {"topic": "clicks.", "pattern": "prefixed", "operations": ["write"]},
]
OWN_USER = {"kafka_user": "clicks", "grants": GRANTS}


def job(**changes: Any) -> dict[str, Any]:
    """Return a good job, but for what is given."""
    good = {"name": "clicks", "source": SOURCE, "module": "flights.stream", "arguments": ARGUMENTS}
    return {**good, **changes}


def jobs(*written: object) -> Change:
    """Give all hosts some jobs."""
    return lambda draft: draft.variable("spark_jobs", list(written))


def with_cores(draft: Draft) -> Draft:
    """Let both workers offer two cores."""
    return draft.variable("spark_worker_cores", 2)


REFUSED: list[Case] = [
    *(
        ("variable-value", name, jobs(written), phrases)
        for name, written, phrases in (
            ("a key of a job", job(corse=2), ("spark_jobs.corse", "Did you mean cores?")),
            (
                "a key of a grant",
                job(grants=[{"topik": "a", "operations": ["read"]}]),
                ("topik", "Did you mean topic?"),
            ),
            ("a job without a name", {"source": SOURCE}, ("name", "spark_jobs")),
        )
    ),
    (
        "spark-jobs-differ",
        "of one host",
        lambda d: d.variable("spark_jobs", [job()], on=("k1", "k2")),
        ("spark_jobs", "k3", "group variables"),
    ),
    (
        "spark-job-duplicate",
        "twice",
        jobs(job(), job(schedule="daily")),
        ("clicks", "2 times"),
    ),
    *(
        ("spark-job-name", name, jobs(job(name=name)), (name,))
        for name in ("events", "flights", "two words", "../up", "a.b")
    ),
    *(
        ("spark-job-files", name, jobs(written), phrases)
        for name, written, phrases in (
            ("no source", {"name": "clicks"}, ("spark_jobs[clicks].source",)),
            ("a relative path", job(source="jobs/clicks"), ("inventory_dir", "jobs/clicks")),
            ("no such directory", job(source="/none/flights"), ("/none/flights",)),
            (
                "no such module",
                job(module="flights.steam"),
                ("flights/steam.py", "Set module: flights.stream"),
            ),
            ("a module of another package", job(module="clicks.stream"), ("clicks.stream",)),
            ("a package that cannot be run", job(module=None), ("__main__.py",)),
            ("no Python", job(source=str(ROOT / "README.md"), module=None), ("README.md",)),
            ("a module without a name", job(module="flights..stream"), ("Set module: flights.",)),
            ("data that is no text", job(data=[sys.executable]), ("UTF-8", ".data")),
            ("data without a path", job(data=[""]), ("inventory_dir", ".data")),
            (
                "data of the same name",
                job(data=[str(ROOT / "README.md"), str(ROOT / "spark/README.md")]),
                ("both be README.md", ".data"),
            ),
            ("missing data", job(data=["/none/x.csv"]), ("/none/x.csv", ".data")),
        )
    ),
    *(
        ("spark-job-arguments", name, jobs(job(arguments=arguments)), phrases)
        for name, arguments, phrases in (
            (
                "one too many",
                [*ARGUMENTS, "again"],
                ("unrecognized arguments: …", "spark_jobs[clicks].arguments"),
            ),
            ("an unknown one", [*ARGUMENTS, "--tiers=3"], ("--tiers",)),
            (
                "a misspelt one",
                [*ARGUMENTS[1:], "--client-confg=x"],
                ("required: --client-config", "It has --client-config,"),
            ),
            ("too short a beginning", [*ARGUMENTS, "--t=x"], ("--t",)),
            ("a missing one", ARGUMENTS[1:], ("required: --client-config",)),
        )
    ),
    *(
        ("spark-job-requirements", name, jobs(job(requirements=path)), phrases)
        for name, path, phrases in (
            ("a relative path", "requirements.txt", ("inventory_dir", ".requirements")),
            ("no file", "/none/requirements.txt", ("/none/requirements.txt",)),
            ("no text", sys.executable, ("UTF-8",)),
            (
                "without hashes",
                str(ROOT / "requirements/control-node.in"),
                ("ansible", "--generate-hashes"),
            ),
        )
    ),
    (
        "spark-job-room",
        "cores",
        lambda d: jobs(job(cores=5))(with_cores(d)),
        ("cores 5", "4 of all workers", "spark_jobs[clicks].cores"),
    ),
    (
        "spark-job-room",
        "fewer cores than an executor",
        lambda d: jobs(job(cores=1))(with_cores(d).own_spark("spark.executor.cores", 2)),
        ("cores 1", "spark.executor.cores 2", "2 or more"),
    ),
    ("spark-job-room", "no cores", jobs(job(cores=0)), ("cores", "1 or more")),
    (
        "spark-jobs-room",
        "two services",
        lambda d: jobs(job(cores=3), job(name="views", cores=2))(with_cores(d)),
        ("5 cores", "clicks 3", "views 2", "have 4"),
    ),
    (
        "spark-jobs-room",
        "a service that takes all",
        lambda d: jobs(job(cores=1), job(name="views"))(with_cores(d)),
        ("views 4", "have 4"),
    ),
    ("spark-job-room", "memory", jobs(job(memory="3g")), ("3072 MiB", "2048m or less")),
    ("spark-job-room", "no size", jobs(job(memory="much")), ("much", "1g")),
    *(
        (
            "spark-job-late",
            url,
            lambda d, url=url: jobs(job(checkpoint=url, late_after=60))(d.hdfs()),
            (url, "Delete late_after", "spark_jobs[clicks].late_after"),
        )
        for url in ("hdfs://other:8020/user/spark/it", "s3a://bucket/it")
    ),
    (
        "spark-job-late",
        "without HDFS",
        jobs(job(checkpoint="hdfs://k1:8020/it", late_after=60)),
        ("hdfs://k1:8020/it",),
    ),
    ("spark-job-room", "too small", jobs(job(memory="100m")), ("100m", "450m")),
    *(
        ("spark-job-schedule-text", repr(text), jobs(job(schedule=text)), (".schedule", wanted))
        for text, wanted in {
            "servcie": "Set schedule: service.",
            "Service": "Set schedule: service.",
            "ONCE": "Set schedule: once.",
            " \n": "schedule of the job clicks is empty",
            "daily\0": "daily\\x00",
            "\x1b[31mdaily": "\\x1b[31mdaily",
        }.items()
    ),
    ("spark-job-late-after", "negative", jobs(job(late_after=-1)), ("-1", ".late_after")),
    (
        "spark-job-checkpoint",
        "of two jobs",
        jobs(job(), job(name="views", checkpoint="/srv/spark/clicks/checkpoint")),
        ("clicks and views", "/srv/spark/clicks/checkpoint"),
    ),
    (
        "spark-job-checkpoint",
        "a relative path",
        jobs(job(checkpoint="checkpoint")),
        ("/srv/spark/clicks/checkpoint", "spark_jobs[clicks].checkpoint"),
    ),
    *(
        ("spark-job-user", name, change, phrases)
        for name, change, phrases in (
            (
                "without grants",
                jobs(job(kafka_user="clicks")),
                ("clicks", "no grants", "spark_jobs[clicks].grants"),
            ),
            ("grants without a user", jobs(job(grants=GRANTS)), ("Set kafka_user: clicks",)),
            ("topics without a user", jobs(job(topics=["clicks"])), ("Set kafka_user: clicks",)),
            ("a node", jobs(job(kafka_user="k1", grants=GRANTS)), ("k1", "name of a node")),
            ("a path", jobs(job(kafka_user="../x", grants=GRANTS)), ("../x",)),
            *(
                (
                    f"of Millrace, {state}",
                    jobs(job(kafka_user="ledger", grants=GRANTS, state=state)),
                    ("ledger", "Millrace's own", "Set kafka_user: clicks"),
                )
                for state in ("present", "absent")
            ),
            (
                "a node of a job that is to go",
                jobs(job(kafka_user="k1", grants=GRANTS, state="absent")),
                ("k1", "name of a node"),
            ),
            (
                "that is to go",
                lambda d: jobs(job(kafka_user="clicks"))(
                    d.variable("kafka_users", [{"name": "clicks", "state": "absent"}]).variable(
                        "kafka_security", "standard"
                    )
                ),
                ("clicks", "absent in kafka_users"),
            ),
            (
                "of two jobs",
                jobs(job(**OWN_USER), job(name="views", **OWN_USER)),
                ("clicks and views",),
            ),
        )
    ),
    (
        "spark-job-grant",
        "an operation of a group",
        jobs(job(kafka_user="c", grants=[{"group": "g", "operations": ["write"]}])),
        ("A grant of c on a group", "spark_jobs[clicks].grants"),
    ),
    *(
        (
            "spark-job-topic",
            topic,
            jobs(job(**OWN_USER, topics=["clicks", topic])),
            (f"no grant for {topic}", "operations: [read]"),
        )
        for topic in ("views", "clicks-other")
    ),
]

LEGAL: list[Legal] = [
    ("spark-jobs-differ", "of Spark's hosts", jobs(job())),
    (
        "spark-jobs-differ",
        "a host of Kafka alone",
        lambda d: d.leave("spark_workers", "k3").variable("spark_jobs", [job()], on=("k1", "k2")),
    ),
    ("spark-job-duplicate", "two", jobs(job(), job(name="views"))),
    ("spark-job-name", "letters", jobs(job(name="Clicks_per-hour2"))),
    ("spark-job-files", "one file", jobs(job(source=f"{SOURCE}/stream.py", module=None))),
    ("spark-job-files", "that is to go", jobs({"name": "old", "state": "absent"})),
    ("spark-job-files", "data", jobs(job(data=[f"{SOURCE}/stream.py"]))),
    (
        "spark-job-arguments",
        "a beginning of a name, and a value after it",
        jobs(job(arguments=[*ARGUMENTS[1:], "--client", "/etc/spark/job-clicks-kafka.properties"])),
    ),
    ("spark-job-requirements", "of pip-compile", jobs(job(requirements=PINNED))),
    ("spark-job-room", "all", lambda d: jobs(job(cores=4, memory="2g"))(with_cores(d))),
    ("spark-job-room", "cores of the hosts", jobs(job(cores=64))),
    (
        "spark-jobs-room",
        "a timer beside services",
        lambda d: jobs(
            job(cores=2), job(name="views", cores=2), job(name="report", schedule="daily")
        )(with_cores(d)),
    ),
    (
        "spark-jobs-room",
        "the most of an application",
        lambda d: jobs(job(), job(name="views"))(with_cores(d).own_spark("spark.cores.max", 2)),
    ),
    *(
        ("spark-job-schedule-text", repr(text), jobs(job(schedule=text)))
        for text in (
            None,
            "service",
            "once",
            "daily",
            "mon",
            "Mon..Fri\n 06:30",
            "*-*-01 00:00 Europe/Berlin",
            "--help",
        )
    ),
    ("spark-job-late-after", "seconds", jobs(job(late_after=600))),
    ("spark-job-checkpoint", "its own", jobs(job(checkpoint="file:///srv/c"), job(name="views"))),
    ("spark-job-late", "on the hosts", jobs(job(checkpoint="file:///srv/x", late_after=60))),
    *(
        (
            "spark-job-late",
            url,
            lambda d, url=url: jobs(job(checkpoint=url, late_after=60))(d.hdfs()),
        )
        for url in ("hdfs://k1:8020/user/spark/it", "hdfs://k1/it")
    ),
    ("spark-job-late", "never late", jobs(job(checkpoint="hdfs://h1:8020/user/spark/it"))),
    ("spark-job-user", "its own", jobs(job(**OWN_USER))),
    ("spark-job-user", "without Kafka", jobs(job())),
    (
        "spark-job-user",
        "none of a broker",
        lambda d: (
            d.without_kafka(*NODES).drop_group("kafka_brokers").drop_group("kafka_controllers")
            and d.variable("spark_jobs", [job()])
        ),
    ),
    ("spark-job-grant", "both", jobs(job(**OWN_USER))),
    ("spark-job-topic", "covered", jobs(job(**OWN_USER, topics=["clicks", "clicks.hourly"]))),
]
