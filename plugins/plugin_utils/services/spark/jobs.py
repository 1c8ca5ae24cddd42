"""The jobs on Spark: what the inventory says of each, the units and the users of Kafka they are."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...cluster.artifacts import HOMES, Distribution
from ...cluster.files import COLLECTION
from ...cluster.resolution import Resolution
from ..kafka import security
from ..kafka.security import Grant, User

VARIABLE = "spark_jobs"
DIRECTORY = f"{HOMES}/jobs"
CONFIG = "/etc/spark"
PACKAGES = "python-packages"
_PLAIN = re.compile(r"[\w@%$+=:,./-]+", re.ASCII)
HELPER = COLLECTION / "spark/lib/millrace_job.py"
_IMPORT = re.compile(rf"^\s*(from|import) {HELPER.stem}\b", re.MULTILINE)
# Its functions that make the file by which a job says that it works.
_REPORT = re.compile(r"\b(run|supervise)\(")
AVRO = COLLECTION / "spark/lib/millrace_avro.py"
_IMPORT_AVRO = re.compile(rf"^\s*(from|import) {AVRO.stem}\b", re.MULTILINE)
PIPELINES = COLLECTION / "spark/lib/millrace_pipelines.py"
PIPELINE = "spark-pipeline.yml"
# Of a package: programs, operators in Scala that a driver compiles, and declarative pipelines.
_COPIED = ("*.py", "*.scala", "*.sql", PIPELINE)
SERVICE, ONCE = "service", "once"
"""The schedules besides a timer: a process that runs all the time, or a run when asked for."""


@dataclass(frozen=True)
class Job:
    """A PySpark job whose driver is a service."""

    name: str
    module: str
    source: str
    """The local path of a package or a single file."""
    arguments: Sequence[str] = ()
    data: Sequence[str] = ()
    """Local paths."""
    cores: int | None = None
    """All that it may have; Spark's properties decide without them."""
    memory: str = ""
    """That of an executor; Spark's properties decide without it."""
    schedule: str = SERVICE
    user: str = ""
    """The one of Kafka that it logs in as."""
    grants: Sequence[Grant] = ()
    """What the user may do, if that is not said elsewhere."""
    topics: Sequence[str] = ()
    checkpoint: str = ""
    requirements: str = ""
    """A file of pip's on the control node: the Python packages that it needs and their hashes."""
    jars: Sequence[Mapping[str, Any]] = ()
    """Entries of jars for its classes, as those of plugins."""
    late_after: int = 0
    """Seconds without a commit in its `checkpoint`, or without the end of a run, until it is late.

    With 0 it never is.
    """
    present: bool = True
    listed: bool = False
    """Whether it is in the inventory's `spark_jobs`, so that it is removed with its entry."""

    @property
    def unit(self) -> str:
        """Its systemd unit."""
        return f"spark-job-{self.name}"

    @property
    def timer(self) -> str:
        """The unit that starts it at its times, empty if it has none."""
        return "" if self.schedule in (SERVICE, ONCE) else f"{self.unit}.timer"

    @property
    def started(self) -> list[str]:
        """The units that are enabled and started with it."""
        return {SERVICE: [self.unit], ONCE: []}.get(self.schedule, [self.timer])

    @property
    def services(self) -> list[str]:
        """The units among them that run all the time."""
        return [self.unit] if self.schedule == SERVICE else []

    @property
    def ready(self) -> str:
        """What is there once it works: a file of `millrace_job`, else what systemd makes for it."""
        paths = [path for path in self.files.values() if path != HELPER]
        texts = (path.read_text(encoding="utf-8") for path in paths)
        made = any(_IMPORT.search(text) and _REPORT.search(text) for text in texts)
        return f"/run/{self.unit}/ready" if made else f"/run/{self.unit}"

    @property
    def previous(self) -> str:
        """The file that keeps what its process runs with while its files are replaced."""
        return f"{self.directory}.previous.json"

    @property
    def unit_files(self) -> list[str]:
        """The names of its units' files."""
        return [f"{self.unit}.service", *filter(None, [self.timer])]

    @property
    def directory(self) -> str:
        """Where its package lies on the host."""
        return f"{DIRECTORY}/{self.name}"

    @property
    def environment(self) -> str:
        """The file with its environment."""
        return f"{CONFIG}/job-{self.name}"

    @property
    def kafka_client(self) -> str:
        """The file with Kafka's client properties."""
        return f"{self.environment}-kafka.properties"

    @property
    def registry_client(self) -> str:
        """The file by which it reaches the schema registry, as confluent-kafka writes it."""
        return f"{self.environment}-registry.conf"

    @property
    def registry_authority(self) -> str:
        """The file with the CA of the schema registry."""
        return f"{self.environment}-registry.pem"

    @property
    def command(self) -> str:
        """How its driver is started."""
        words = [_unit_word(word) for word in (self.module, *self.arguments)]
        return " ".join(["/usr/bin/python3", "-m", *words])

    def packages(self, python: str, cache: str) -> Distribution | None:
        """Return its Python packages, packed for that version of Python; None if it names none.

        Raises:
            OSError: the requirements cannot be read.

        """
        if not self.requirements:
            return None
        checksum = hashlib.sha512(Path(self.requirements).read_bytes()).hexdigest()
        source = {"url": self.requirements, "sha512": checksum}
        return Distribution(PACKAGES, python, cache, source)

    def submit_arguments(self, packages: str, jars: Sequence[str] = ()) -> str:
        """Return what PySpark hands to spark-submit: the program's own settings win over them.

        `packages` is the directory with its Python packages, empty without any, and `jars` are
        paths that may have patterns.
        """
        properties = {
            "spark.cores.max": self.cores,
            "spark.executor.memory": self.memory,
            "spark.executorEnv.PYTHONPATH": packages,
            "spark.jars": ",".join(jars),
        }
        options = [
            word
            for key, value in properties.items()
            if value
            for word in ("--conf", f"{key}={value}")
        ]
        return shlex.join(["--name", self.name, *options, "pyspark-shell"]) if self.listed else ""

    @cached_property
    def files(self) -> dict[str, Path]:
        """Path below `directory` -> local path: its package or only file, and what drivers use."""
        source = Path(self.source)
        copied = [path for kind in _COPIED for path in source.rglob(kind)]
        paths = sorted(copied) if source.is_dir() else [source]
        below = source.parent
        reads_avro = any(
            _IMPORT_AVRO.search(path.read_text("utf-8")) for path in paths if path.is_file()
        )
        helpers = [
            HELPER,
            *([AVRO] if reads_avro else []),
            *([PIPELINES] if any(path.name == PIPELINE for path in paths) else []),
        ]
        return {
            **{path.name: path for path in helpers},
            **{str(path.relative_to(below)): path for path in paths},
        }

    @property
    def entries(self) -> list[Path]:
        """The files of which one has to be there: the module, or a package that can be run."""
        source, (first, *remaining) = Path(self.source), self.module.split(".")
        if source.suffix == ".py":
            return [source] if not remaining and source.stem == first else []
        if not all(name and "/" not in name for name in remaining):
            return []
        path = source.joinpath(*remaining)
        modules = [path.with_suffix(".py")] if remaining else []
        return [*modules, path / "__main__.py"] if source.name == first else []


def of_settings(settings: Mapping[str, Any]) -> list[Job]:
    """Return the jobs that a host's variables name, in their order."""
    return [_job(entry) for entry in settings[VARIABLE]]


def of_driver(resolution: Resolution) -> list[Job]:
    """Return the jobs of an inventory: its first Spark master's, which starts their drivers."""
    drivers = [*resolution.members("spark_masters").values()][:1]
    return [job for driver in drivers for job in of_settings(driver.settings)]


def _job(entry: Mapping[str, Any]) -> Job:
    source = str(entry.get("source") or "")
    return Job(
        name=str(entry["name"]),
        module=str(entry.get("module") or Path(source).stem),
        source=source,
        arguments=[str(word) for word in entry.get("arguments") or ()],
        data=[str(path) for path in entry.get("data") or ()],
        cores=entry.get("cores"),
        memory=str(entry.get("memory") or ""),
        schedule=" ".join(str(entry.get("schedule") or SERVICE).split()),
        user=str(entry.get("kafka_user") or ""),
        grants=[security.grant(grant) for grant in entry.get("grants") or ()],
        topics=[str(topic) for topic in entry.get("topics") or ()],
        checkpoint=str(entry.get("checkpoint") or "").removeprefix("file://"),
        requirements=str(entry.get("requirements") or ""),
        jars=[dict(jar) for jar in entry.get("jars") or ()],
        late_after=entry.get("late_after") or 0,
        present=entry.get("state") != "absent",
        listed=True,
    )


def _unit_word(text: str) -> str:
    """Return an argument as it stands in ExecStart, where systemd expands and unquotes."""
    expanded = text.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(text):
        return expanded
    escaped = expanded.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def users(jobs: Sequence[Job]) -> list[User]:
    """Return the users of Kafka that jobs bring; one of a job that is absent is removed.

    A job whose user has its grants in `kafka_users` brings none, and that entry wins over these.
    """
    present = {job.user for job in jobs if job.present}
    by_name = {
        job.user: User(job.user, job.grants if job.present else (), present=job.present)
        for job in jobs
        if job.user and (job.grants if job.present else job.user not in present)
    }
    return list(by_name.values())


def login_file(user: str) -> str:
    """Return the file with the login of a user, on every host on which an executor may run.

    The options of a job only refer to it (KIP-297), so that the login is neither in a web
    interface, nor in an event log, nor among a process's arguments.
    """
    return f"{CONFIG}/kafka-login-{user}.properties"
