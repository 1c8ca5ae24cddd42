"""The drivers of the jobs on Spark: which of them run on a host, and the files of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ....module_utils.formats.values import by_name, texts
from ...cluster import files, jvm_plugins
from ...cluster.artifacts import Distribution, cache_directory
from ...cluster.files import Entry
from ...cluster.jvm_plugins import Plugin
from ...cluster.service import Service
from ..kafka.node import KafkaNode
from ..schema_registry.model import Registry
from . import environment
from . import jobs as spark_jobs
from .jobs import DIRECTORY, SERVICE, Job
from .logins import Logins

_PYTHON = "3.11"  # of Debian 12, before a host is inspected


@dataclass(frozen=True)
class Drivers:
    """The jobs of the inventory, whose drivers all run on one host of the cluster."""

    service: Service
    """The host as a service."""
    run_here: bool
    """Whether the drivers run on this host: on the first master."""
    shared_dir: str
    """The directory that all hosts share, where a job has its data and checkpoints."""
    broker: KafkaNode | None
    """One of the inventory's brokers, None without any."""
    registry: Registry | None
    """An instance of the schema registry, None without any."""
    authority: str
    """The certificate of the CA that has signed what the registry shows."""

    @cached_property
    def jobs(self) -> list[Job]:
        """The jobs of the inventory, also those that it wants removed."""
        return spark_jobs.of_settings(self.service.settings)

    @property
    def jobs_here(self) -> list[Job]:
        """The jobs that the inventory has and whose drivers run on this host."""
        return [job for job in self.jobs if job.present and self.run_here]

    @cached_property
    def logins(self) -> Logins:
        """As which users of Kafka the jobs log in."""
        return Logins(self.broker, self.jobs, self.service.user)

    @property
    def python(self) -> str:
        """The version of Python for which packages are chosen: by default the host's own."""
        facts = self.service.host.facts
        of_host = facts.python if facts else ""
        return str(self.service.settings["spark_python_version"] or of_host or _PYTHON)

    def packages(self, job: Job) -> Distribution | None:
        """Return the Python packages of a job, None if it names none; raises as `files`."""
        cache = cache_directory(self.service.settings["service_cache"])
        return job.packages(self.python, cache)

    def jars(self, job: Job) -> list[Plugin]:
        """Return the jars of a job."""
        cache = cache_directory(self.service.settings["service_cache"])
        place = f"{spark_jobs.VARIABLE}[{job.name}].jars"
        return jvm_plugins.of_entries(self.service.product, job.jars, cache, place)

    def checkpoint(self, job: Job) -> str:
        """Return the directory of a job's checkpoint, or of those of its queries."""
        return job.checkpoint or f"{self.shared_dir}/{job.name}/checkpoint"

    def _class_path(self, job: Job) -> list[str]:
        """Return its jars, after those of all jobs: one list replaces another (`spark.jars`).

        The driver hands them to the executors, which load them after the classes of Spark.
        """
        if not job.jars:
            return []
        of_all = texts(self.service.config.get("spark.jars"))
        return [*of_all, *(f"{plugin.jars}.jar" for plugin in self.jars(job))]

    def files(self, job: Job) -> dict[str, Entry]:
        """Return the files of a job: its package, its data and its units.

        Raises:
            OSError: a file on the control node cannot be read.

        """
        service = self.service
        shared = f"{self.shared_dir}/{job.name}"
        library = f"{service.distribution.home}/python/lib"
        package = {f"{job.directory}/{name}": path for name, path in job.files.items()}
        folders = {str(folder) for path in package for folder in Path(path).parents}
        packages = self.packages(job)
        home = packages.home if packages else ""
        submit = job.submit_arguments(home, self._class_path(job))
        paths = [job.directory, home, f"{library}/pyspark.zip", f"{library}/py4j.zip"]
        return {
            DIRECTORY: files.directory(),
            **{
                path: files.directory()
                for path in sorted({job.directory, *folders})
                if path.startswith(job.directory)
            },
            shared: service.own_directory(),
            job.environment: files.environment(
                {
                    **environment.of_unit(service, job.unit),
                    "PYTHONPATH": ":".join(filter(None, paths)),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    **({"PYSPARK_SUBMIT_ARGS": submit} if submit else {}),
                }
            ),
            **service.unit(
                job.unit,
                f"Spark job {job.name}",
                job.command,
                environment_file=job.environment,
                allows_setgid=True,
                listed=job.listed,
                **({} if job.schedule == SERVICE else {"type": "oneshot", "restart": "no"}),
            ),
            **_timer(job),
            **self._kafka_client(job),
            **self._registry_client(job),
            **_copies(package),
            **_copies({f"{shared}/{Path(path).name}": Path(path) for path in job.data}),
        }

    def _kafka_client(self, job: Job) -> dict[str, Entry]:
        """Return the file by which a job connects to the inventory's brokers."""
        client = self.logins.client(job.user)
        if not client:
            return {}
        config = {**client, **by_name(self.service.settings["spark_kafka_client_config"])}
        file = files.property_file(config, mode="0640", group=self.service.user, secret=True)
        return {job.kafka_client: file}

    def _registry_client(self, job: Job) -> dict[str, Entry]:
        """Return the files by which a job reaches the registry, if that has a user of its name.

        Without one a former login is removed.
        """
        path, authority = job.registry_client, job.registry_authority
        client = self.registry.client_config(job.user, authority) if self.registry else {}
        gone: Entry = {"state": "absent", "secret": True}
        entries = {path: gone, authority: gone}
        if client:
            text = files.plain_properties(client)
            entries[path] = files.text(
                text, restart=True, mode="0640", group=self.service.user, secret=True
            )
        if authority in client.values():
            entries[authority] = files.text(self.authority, restart=True)
        return entries

    def authorities(self) -> dict[str, Entry]:
        """Return the CA of the registry for each job that reaches it; drivers alone read it."""
        return {
            path: entry
            for job in self.jobs_here
            for path, entry in self._registry_client(job).items()
            if path == job.registry_authority and entry.get("state") != "absent"
        }


def _timer(job: Job) -> dict[str, Entry]:
    if not job.timer:
        return {}
    text = files.render(
        "timer.j2",
        description=f"Times of the Spark job {job.name}",
        calendar=job.schedule,
        listed=job.listed,
    )
    return {f"/etc/systemd/system/{job.timer}": files.text(text)}


def _copies(sources: Mapping[str, Path]) -> dict[str, Entry]:
    """Return the entries of files of the control node; a change of any needs a restart."""
    return {
        path: files.text(source.read_text(encoding="utf-8"), restart=True)
        for path, source in sources.items()
    }
