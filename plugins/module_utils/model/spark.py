"""A host of Spark standalone: masters, workers, history server, and the jobs that run there.

The layers of a property: topology < spark_config < owned keys.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.model import files
from ansible_collections.millrace.streaming.plugins.module_utils.model.artifacts import (
    HOMES,
    Distribution,
    cache_directory,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.files import Entry
from ansible_collections.millrace.streaming.plugins.module_utils.model.host import HostSettings
from ansible_collections.millrace.streaming.plugins.module_utils.model.inventory import (
    SPARK_GROUPS,
    Inventory,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    is_true,
    mapping,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.zookeeper import (
    client_addresses,
)

LAYERS = ("spark_config",)
SECRET = "spark.authenticate.secret"  # noqa: S105 - the name of a key
JOBS = f"{HOMES}/jobs"
_STATE = "/var/lib/spark"
_CONFIG = "/etc/spark"
_SHUFFLE_PORT = "spark.shuffle.service.port"
_TOPOLOGY: Mapping[str, Any] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Delta's own default is 50 tasks to read its log; a table of a small cluster needs few.
    "spark.databricks.delta.snapshotPartitions": 2,
    # Spark's own regular expressions overflow the default stack when a driver is stopped.
    "spark.driver.extraJavaOptions": "-Xss4m",
    "spark.ui.showConsoleProgress": False,
    "spark.sql.shuffle.partitions": 4,
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming"
    ".state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
    "spark.worker.cleanup.enabled": True,
}
# A new master waits for the workers it knows of; one that died with the old master would cost
# spark.worker.timeout, 60 s, in which nothing is scheduled.
_RECOVERY = {"spark.deploy.recoveryTimeout": "10s"}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "spark.master": "the group spark_masters",
    "spark.master.rest.enabled": "nothing, it is open to everybody",
    "spark.eventLog.enabled": "nothing, the history server reads it",
    "spark.eventLog.dir": "spark_shared_dir",
    "spark.history.fs.logDirectory": "spark_shared_dir",
    "spark.history.ui.port": "spark_history_port",
}
_RECOVERY_MODE = {"spark.deploy.recoveryMode": "the groups spark_masters and zookeeper"}
OWNED_BY_RECOVERY: Mapping[str, Mapping[str, str]] = {
    "": {},
    "filesystem": {
        **_RECOVERY_MODE,
        "spark.deploy.recoveryDirectory": "nothing, it is the master's own",
    },
    "zookeeper": {
        **_RECOVERY_MODE,
        "spark.deploy.zookeeper.dir": "nothing, the inventory is one cluster",
        "spark.deploy.zookeeper.url": "the group zookeeper",
    },
}


@dataclass(frozen=True)
class Job:
    """A PySpark job whose driver is a service; `source` and `data` are paths of the controller."""

    name: str
    module: str
    source: str
    arguments: Sequence[str] = ()
    data: Sequence[str] = ()

    @property
    def unit(self) -> str:
        """Its systemd unit."""
        return f"spark-job-{self.name}"

    @property
    def directory(self) -> str:
        """Where its package lies on the host."""
        return f"{JOBS}/{self.name}"

    @property
    def kafka_client(self) -> str:
        """The file with Kafka's client properties."""
        return f"{_CONFIG}/job-{self.name}-kafka.properties"


@dataclass(frozen=True)
class SparkHost:
    """One host of a Spark cluster; `masters` and `workers` are all of the cluster by name.

    `kafka_client` are the client properties of the inventory's brokers, empty without any.
    """

    host: HostSettings
    roles: tuple[str, ...]
    masters: Mapping[str, HostSettings]
    workers: Mapping[str, HostSettings]
    ensemble: tuple[str, ...]
    kafka_client: Mapping[str, Any] = field(default_factory=dict)
    address_variable = "spark_host"

    @property
    def name(self) -> str:
        """The host's name in the inventory."""
        return self.host.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The host's variables."""
        return self.host.settings

    @property
    def version(self) -> str:
        """The Spark version."""
        return str(self.settings["spark_version"])

    @property
    def address(self) -> str:
        """The name or address under which others reach it."""
        return spark_host(self.host)

    @property
    def shared_dir(self) -> str:
        """The directory that all Spark hosts share."""
        return str(self.settings["spark_shared_dir"])

    @property
    def recovery(self) -> str:
        """How a master knows its applications again: zookeeper, filesystem, or not at all.

        With an ensemble, one of several masters leads and another takes over when it is gone. A
        single one reads its own directory: without that, drivers would wait for ever.
        """
        if len(self.masters) == 1:
            return "filesystem"
        return "zookeeper" if self.ensemble else ""

    @property
    def owned(self) -> dict[str, str]:
        """The keys that only Millrace writes here, with the variable that sets each."""
        return {**OWNED, **OWNED_BY_RECOVERY[self.recovery]}

    @property
    def master_url(self) -> str:
        """The address of all masters, for workers and applications."""
        return f"spark://{','.join(self.at_masters('spark_master_port'))}"

    @property
    def worker_hosts(self) -> list[str]:
        """The hosts of all workers, as they register."""
        return [spark_host(host) for host in self.workers.values()]

    def at_masters(self, variable: str) -> list[str]:
        """Return `host:port` of all masters, the port by this host's variable."""
        return [f"{spark_host(host)}:{self.settings[variable]}" for host in self.masters.values()]

    @property
    def distribution(self) -> Distribution:
        """What is installed."""
        return Distribution(
            "spark", self.version, cache_directory(self.settings["service_cache"]), {}
        )

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [f"spark-{role}" for role in self.roles]

    @property
    def marks(self) -> list[str]:
        """The restart mark of each unit."""
        return [f"/run/{unit}/restart-pending" for unit in self.units]

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        return [("spark_shared_dir", self.shared_dir)]

    @property
    def ports(self) -> dict[str, int]:
        """Variable or property -> port, of what it listens on."""
        variables = {
            "master": ("spark_master_port", "spark_master_ui_port"),
            "worker": ("spark_worker_port", "spark_worker_ui_port"),
            "history": ("spark_history_port",),
        }
        found = {x: self.settings[x] for role in self.roles for x in variables[role]}
        if "worker" in self.roles and is_true(self.config.get("spark.shuffle.service.enabled")):
            found[_SHUFFLE_PORT] = self.config.get(_SHUFFLE_PORT, 7337)
        return found

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap, of each JVM; a worker's memory counts, since its executors take it."""
        found = {f"spark_daemon_heap ({x})": self.settings["spark_daemon_heap"] for x in self.roles}
        if "worker" in self.roles:
            found["spark_worker_memory"] = self.settings["spark_worker_memory"]
        return found

    @cached_property
    def layers(self) -> dict[str, dict[str, Any]]:
        """Layer -> key -> value, from the weakest to the strongest."""
        own = mapping(self.settings["spark_config"])
        return {
            "topology": {**_TOPOLOGY, **(_RECOVERY if self.recovery else {})},
            "spark_config": {str(key): value for key, value in own.items()},
            "owned": {**self._owned_config(), **self._recovery_config()},
        }

    @cached_property
    def config(self) -> dict[str, Any]:
        """The effective properties."""
        return {key: value for layer in self.layers.values() for key, value in layer.items()}

    @property
    def keeps_secret(self) -> bool:
        """Whether a property holds a secret."""
        return SECRET in self.config

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        readers = (
            {"mode": "0640", "group": self.settings["spark_user"]}
            if self.keeps_secret
            else {"mode": "0644", "group": "root"}
        )
        return {
            self.distribution.link: files.link(self.distribution.home),
            f"{_CONFIG}/spark-defaults.conf": files.text(
                files.properties(self.config),
                **readers,
                format="properties",
                secret=self.keeps_secret,
                restart=True,
            ),
            f"{_CONFIG}/environment": files.text(
                files.environment(self._environment()), restart=True
            ),
            f"{_CONFIG}/log4j2.properties": files.text(
                files.read("roles/spark/files/log4j2.properties"), restart=True
            ),
            **{
                f"/etc/systemd/system/spark-{role}.service": files.text(
                    files.unit({**self._unit(), **self._daemon(role)}), restart=True
                )
                for role in self.roles
            },
        }

    def directories(self) -> dict[str, Entry]:
        """Return the directories of services and jobs."""
        own = [_STATE, f"{_STATE}/local", f"{_STATE}/work", self.shared_dir, self.events_dir]
        return {
            HOMES: files.directory(),
            _CONFIG: files.directory(),
            **{path: self._own_directory() for path in own},
        }

    def job_files(self, job: Job) -> dict[str, Entry]:
        """Return the files of a job: its package, its data and its unit.

        Raises:
            OSError: a file of the controller cannot be read.

        """
        package = f"{job.directory}/{Path(job.source).name}"
        shared = f"{self.shared_dir}/{job.name}"
        environment = f"{_CONFIG}/job-{job.name}"
        words = " ".join(shlex.quote(str(word)) for word in job.arguments)
        return {
            JOBS: files.directory(),
            job.directory: files.directory(),
            package: files.directory(),
            shared: self._own_directory(),
            environment: files.text(
                files.environment({**self._environment(), **self._job_environment(job)}),
                restart=True,
            ),
            f"/etc/systemd/system/{job.unit}.service": files.text(
                files.unit(
                    {
                        **self._unit(),
                        "name": job.unit,
                        "description": f"Spark job {job.name}",
                        "environment_file": environment,
                        "exec": f"/usr/bin/python3 -m {job.module} {words}",
                    }
                ),
                restart=True,
            ),
            **self._job_kafka_client(job),
            **_copies(sorted(Path(job.source).glob("*.py")), package),
            **_copies([Path(path) for path in job.data], shared),
        }

    def _job_kafka_client(self, job: Job) -> dict[str, Entry]:
        """Return the file by which a job connects to the inventory's brokers."""
        config = {**self.kafka_client, **mapping(self.settings["spark_kafka_client_config"])}
        if not self.kafka_client:
            return {}
        content = files.properties(config)
        user = self.settings["spark_user"]
        readers: dict[str, Any] = {"mode": "0640", "group": user}
        return {job.kafka_client: files.text(content, **readers, secret=True, restart=True)}

    @property
    def events_dir(self) -> str:
        """Where applications write their event logs."""
        return f"{self.shared_dir}/events"

    def _owned_config(self) -> dict[str, Any]:
        # REST takes jobs from anybody and is on by default since Spark 4.1.
        return {
            "spark.master": self.master_url,
            "spark.master.rest.enabled": False,
            "spark.eventLog.enabled": True,
            "spark.eventLog.dir": f"file://{self.events_dir}",
            "spark.history.fs.logDirectory": f"file://{self.events_dir}",
            "spark.history.ui.port": self.settings["spark_history_port"],
        }

    def _recovery_config(self) -> dict[str, Any]:
        if not self.recovery:
            return {}
        mode = {"spark.deploy.recoveryMode": self.recovery.upper()}
        if self.recovery == "filesystem":
            return {**mode, "spark.deploy.recoveryDirectory": f"{_STATE}/recovery"}
        return {
            **mode,
            "spark.deploy.zookeeper.dir": "/spark",
            "spark.deploy.zookeeper.url": ",".join(self.ensemble),
        }

    def _environment(self) -> dict[str, str]:
        options = " ".join(self.settings["spark_java_options"])
        return {
            "JAVA_HOME": self.host.java.home,
            "SPARK_HOME": self.distribution.home,
            "SPARK_CONF_DIR": _CONFIG,
            "SPARK_LOCAL_DIRS": f"{_STATE}/local",
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_HOSTNAME": self.address,
            "SPARK_DAEMON_OPTIONS": f"-Xmx{self.settings['spark_daemon_heap']} {options}",
        }

    def _job_environment(self, job: Job) -> dict[str, str]:
        library = f"{self.distribution.home}/python/lib"
        return {
            "PYTHONPATH": f"{job.directory}:{library}/pyspark.zip:{library}/py4j.zip",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _unit(self) -> dict[str, Any]:
        return {
            "user": self.settings["spark_user"],
            "group": self.settings["spark_user"],
            "environment_file": f"{_CONFIG}/environment",
            "stop_timeout": 60,
            "write_paths": [_STATE, self.shared_dir],
        }

    def _daemon(self, role: str) -> dict[str, Any]:
        java = f"{self.host.java.home}/bin/java $SPARK_DAEMON_OPTIONS"
        deploy = f"{java} -cp {_CONFIG}:{self.distribution.home}/jars/* org.apache.spark.deploy"
        place = f"--host {self.address} --port {{port}} --webui-port {{ui}}"
        if role == "master":
            ports = place.format(
                port=self.settings["spark_master_port"], ui=self.settings["spark_master_ui_port"]
            )
            command = f"{deploy}.master.Master {ports}"
        elif role == "worker":
            ports = place.format(
                port=self.settings["spark_worker_port"], ui=self.settings["spark_worker_ui_port"]
            )
            cores = self.settings["spark_worker_cores"] or self.host.cores
            command = (
                f"{deploy}.worker.Worker {ports} --cores {cores} "
                f"--memory {self.settings['spark_worker_memory']} --work-dir {_STATE}/work "
                f"{self.master_url}"
            )
        else:
            command = f"{deploy}.history.HistoryServer"
        unit = {
            "name": f"spark-{role}",
            "description": f"Apache Spark {self.version} "
            + {"history": "history server"}.get(role, role),
            "exec": command,
        }
        # A master that loses ZooKeeper ends with 0, as if it had been asked to; it is to come back
        # and stand by.
        if role == "master" and self.recovery == "zookeeper":
            unit["restart"] = "always"
        return unit

    def _own_directory(self) -> Entry:
        return files.directory(self.settings["spark_user"], "0750")


def spark_host(host: HostSettings) -> str:
    """Return the name or address under which others reach a Spark host."""
    return str(host.settings["spark_host"] or host.settings["ansible_host"] or host.name)


def resolve(
    inventory: Inventory, hosts: Mapping[str, HostSettings], kafka_client: Mapping[str, Any]
) -> dict[str, SparkHost]:
    """Return host -> Spark host of all hosts of Spark's groups.

    `kafka_client` are the client properties of a broker, empty without any.
    """
    members = {group: [x for x in inventory.members(group) if x in hosts] for group in SPARK_GROUPS}
    roles = {"master": "spark_masters", "worker": "spark_workers", "history": "spark_history"}
    ensemble = {name: hosts[name] for name in inventory.members("zookeeper") if name in hosts}
    masters, workers = (
        {name: hosts[name] for name in members[group]} for group in SPARK_GROUPS[:2]
    )
    return {
        name: SparkHost(
            host,
            tuple(role for role, group in roles.items() if name in members[group]),
            masters,
            workers,
            tuple(client_addresses(ensemble)),
            kafka_client,
        )
        for name, host in hosts.items()
        if any(name in names for names in members.values())
    }


def _copies(sources: Sequence[Path], directory: str) -> dict[str, Entry]:
    """Return the entries of files of the controller; a change of any asks for a restart."""
    return {
        f"{directory}/{source.name}": files.text(source.read_text(encoding="utf-8"), restart=True)
        for source in sources
    }
