"""A host of Spark standalone: masters, workers, history server, and the jobs that run there.

The layers of a property: topology < security < spark_config < owned keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....module_utils.formats.key_table import Table
from ...cluster import files, jvm_plugins, registry
from ...cluster.artifacts import HOMES
from ...cluster.files import Entry
from ...cluster.inventory import Secrets
from ...cluster.jvm_plugins import Plugin
from ...cluster.resolution import Resolution
from ...cluster.service import Listening, Service
from ..hdfs.model import HdfsHost
from ..kafka.node import KafkaNode, any_broker
from ..kafka.security import SPARK_UI_KEY, User
from ..schema_registry.model import Registry, any_instance
from ..zookeeper import tls as zookeeper_tls
from ..zookeeper.model import Member
from ..zookeeper.tls import Identity
from . import blocks, environment, logins, shared
from . import jobs as spark_jobs
from . import key_table as spark_key_table
from . import sessions as spark_sessions
from .daemons import CONNECT_ENVIRONMENT, Daemons
from .drivers import Drivers
from .jobs import CONFIG as _CONFIG
from .security import UI_KEY, Security
from .sessions import Sessions
from .standalone import ADDRESS_VARIABLE, StandaloneCluster

# Beside the metrics as JSON that each process has anyway.
_SINK = "sink.prometheusServlet"
_METRICS: Mapping[str, Any] = {
    f"spark.metrics.conf.*.{_SINK}.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    f"spark.metrics.conf.*.{_SINK}.path": "/metrics/prometheus",
    f"spark.metrics.conf.master.{_SINK}.path": "/metrics/master/prometheus",
    f"spark.metrics.conf.applications.{_SINK}.path": "/metrics/applications/prometheus",
    "spark.sql.streaming.metricsEnabled": True,
}
ROLES = ("master", "worker", "history", "metastore", "connect")
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
    # A worker that leaves (decommission.yml) lets its executors end their tasks, and give shuffle
    # files and cached blocks to others.
    "spark.decommission.enabled": True,
    "spark.storage.decommission.enabled": True,
    # What grows for ever otherwise: the output of executors of a stream, and event logs, of which
    # those of a stream are compacted.
    "spark.executor.logs.rolling.strategy": "size",
    "spark.executor.logs.rolling.maxSize": 16 * 1024**2,
    "spark.executor.logs.rolling.maxRetainedFiles": 5,
    "spark.eventLog.rolling.enabled": True,
    "spark.history.fs.eventLog.rolling.maxFilesToRetain": 2,
    "spark.history.fs.cleaner.enabled": True,
    "spark.history.fs.cleaner.maxAge": "14d",
}
# A new master waits for the workers it knows of; one that died with the old master would cost
# spark.worker.timeout, 60 s, in which nothing is scheduled.
_RECOVERY = {"spark.deploy.recoveryTimeout": "10s"}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "spark.master": "the group spark_masters",
    "spark.master.rest.enabled": "nothing, it is open to everybody",
    UI_KEY: "nothing, it is kept in kafka_secrets_dir",
    "spark.eventLog.enabled": "the group spark_history, whose server removes old ones",
    "spark.eventLog.dir": "spark_shared_dir",
    "spark.history.fs.logDirectory": "spark_shared_dir",
    "spark.history.ui.port": "spark_history_port",
    "spark.deploy.recoveryMode": "the groups spark_masters and zookeeper",
    "spark.deploy.recoveryDirectory": "nothing, it is the master's own",
    "spark.deploy.zookeeper.dir": "nothing, the inventory is one cluster",
    "spark.deploy.zookeeper.url": "the group zookeeper",
}


@dataclass(frozen=True)
class SparkHost(Service):
    """One host of a Spark cluster: what it is there, and what its services and jobs need."""

    roles: tuple[str, ...]
    """What it is in the cluster, of `ROLES`."""
    standalone: StandaloneCluster
    """The cluster, with all hosts of each role."""
    broker: KafkaNode | None = None
    """A broker of the inventory, None without any."""
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    """What Millrace keeps."""
    hdfs: HdfsHost | None = None
    """A host of HDFS in the inventory, None without it."""
    registry: Registry | None = None
    """An instance of the schema registry, None without any."""
    product = "spark"
    title = "Apache Spark"
    address_variable = ADDRESS_VARIABLE
    heap_name = "daemon_heap"
    scripts = spark_sessions.NAMES
    tool_template = "spark-tool.sh.j2"
    leftovers = (
        f"{_CONFIG}/job-*",
        f"{_CONFIG}/kafka-login*",
        logins.KAFKA_AUTHORITY,
        CONNECT_ENVIRONMENT,
        *zookeeper_tls.paths("spark"),
        f"{_CONFIG}/certificates/",
        spark_sessions.UI_TOKEN,
        f"{spark_sessions.DIRECTORY}/",
        f"{_CONFIG}/",
        spark_jobs.DIRECTORY,
        f"{HOMES}/{spark_jobs.PACKAGES}-*",
        jvm_plugins.directory("spark"),
    )

    @cached_property
    def security(self) -> Security:
        """Its secrets, and what its web interfaces ask for."""
        has_catalog = bool(self.standalone.metastores)
        return Security(self, self.secrets, has_catalog, has_connect="connect" in self.roles)

    @cached_property
    def sessions(self) -> Sessions:
        """What people start there."""
        return Sessions(self, self.standalone, self.security, self.shared_dir, self.hdfs)

    @cached_property
    def daemons(self) -> Daemons:
        """The processes of its roles, and what they listen on."""
        return Daemons(self, self.roles, self.standalone, self.security, self.sessions)

    @cached_property
    def drivers(self) -> Drivers:
        """The jobs of the inventory, with their drivers."""
        return Drivers(
            self,
            self.name == next(iter(self.standalone.masters), ""),
            self.shared_dir,
            self.broker,
            self.registry,
            self.secrets.authority,
        )

    @cached_property
    def plugins(self) -> list[Plugin]:
        """The jars of the jobs whose drivers run there."""
        return [plugin for job in self.drivers.jobs_here for plugin in self.drivers.jars(job)]

    @property
    def plugins_variable(self) -> str:
        """The variable with them."""
        return spark_jobs.VARIABLE

    @property
    def accounts(self) -> list[str]:
        """Its account, which is a member of the group of those who may use Spark."""
        group = f"g {shared.GROUP} {shared.GROUP_ID}"
        return [group, *super().accounts, f"m {self.user} {shared.GROUP}"]

    @property
    def tool_values(self) -> dict[str, str]:
        """What the template of its commands takes."""
        return {
            **super().tool_values,
            "config": spark_sessions.DIRECTORY,
            "group": shared.GROUP,
            "master_url": self.standalone.master_url,
            "address": self.address,
        }

    @property
    def table(self) -> Table:
        """The keys that its version knows, none for a version that is not known."""
        return spark_key_table.load(self.version)

    def knows(self, key: str) -> bool:
        """Return whether its version reads a key, or hands it on to applications."""
        return spark_key_table.is_known(key, self.version)

    @property
    def shared_dir(self) -> str:
        """The directory that all Spark hosts share."""
        return str(self.settings["spark_shared_dir"])

    @property
    def owned(self) -> dict[str, str]:
        """The keys that only Millrace writes here, with the variable that sets each."""
        return {key: OWNED[key] for key in self.layers["owned"]}

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [f"spark-{role}" for role in self.roles]

    @property
    def starts_after(self) -> dict[str, list[str]]:
        """The masters, before a worker.

        One that reaches no master tries again only after 5 to 15 s (Spark's Worker.scala).
        """
        return {"spark-worker": self.standalone.at_masters("spark_master_port")}

    @property
    def all_units(self) -> list[str]:
        """Patterns of all units of ours that teardown removes, those of jobs too."""
        return ["spark-*"]

    @property
    def kept_units(self) -> list[str]:
        """Those of all roles, also former ones, and of jobs: a site may have others named so."""
        return [*(f"spark-{role}" for role in ROLES), "spark-job-*", blocks.REMOVAL]

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        return [("spark_shared_dir", self.shared_dir)]

    @property
    def ports(self) -> dict[str, int]:
        """Variable or property -> port, of what it listens on."""
        return self.daemons.ports

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: drivers are clients, and what is for a browser is for admins."""
        return self.daemons.callers(port)

    @property
    def listening(self) -> list[Listening]:
        """All that it listens on, executors included, and who connects."""
        return [*super().listening, *self.daemons.executors]

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap, of each JVM; a worker's memory counts, since its executors take it."""
        return self.daemons.heaps

    def _defaults(self) -> dict[str, dict[str, Any]]:
        of_hdfs = self.hdfs.client_config if self.hdfs else {}
        return {
            "topology": {
                **_TOPOLOGY,
                **(_RECOVERY if self.standalone.recovery else {}),
                **(_METRICS if self.host.monitored else {}),
                **{f"spark.hadoop.{key}": value for key, value in of_hdfs.items()},
            },
            "security": self.security.config,
        }

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        users = self.drivers.logins.without_password
        return [*(f"the password of {name}" for name in users), *self.security.missing]

    @property
    def identity(self) -> Identity | None:
        """What a master shows a closed ensemble, None where it needs none."""
        elects = "master" in self.roles and self.standalone.recovery == "zookeeper"
        if not (elects and self.standalone.ensemble_secured):
            return None
        return zookeeper_tls.identity(self.name, self.product)

    def directories(self) -> dict[str, Entry]:
        """Return the directories of services and jobs."""
        paths = [self.state_dir, blocks.DIRECTORY, f"{self.state_dir}/work"]
        return {
            **super().directories(),
            **{path: self.own_directory() for path in paths},
            **shared.directories(self.shared_dir, self.user),
        }

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        secret = self.security.has_secrets
        mode, group = ("0640", self.user) if secret else ("0644", "root")
        return {
            **super().files(),
            **self.drivers.logins.files(),
            logins.FORMER: {"state": "absent", "secret": True},
            **(self.identity.files(self.secrets, self.user) if self.identity else {}),
            f"{_CONFIG}/spark-defaults.conf": files.property_file(
                self.config, mode=mode, group=group, format="properties", secret=secret
            ),
            **self.sessions.files(),
            **self.copy("log4j2.properties"),
            **self.daemons.files(),
        }

    def _all_files(self) -> dict[str, Entry]:
        return {**super()._all_files(), **blocks.removal_files(self)}

    @property
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it, with the timer of the removal of blocks."""
        state = super().state
        return {**state, "units": [*state["units"], blocks.TIMER]}

    def _owned_config(self) -> dict[str, Any]:
        events = f"file://{shared.events(self.shared_dir)}"
        # REST takes jobs from anybody and is on by default since Spark 4.1.
        return {
            "spark.master": self.standalone.master_url,
            "spark.master.rest.enabled": False,
            "spark.eventLog.enabled": bool(self.standalone.histories),
            "spark.eventLog.dir": events,
            "spark.history.fs.logDirectory": events,
            "spark.history.ui.port": self.settings["spark_history_port"],
            **self.security.ui_config(SPARK_UI_KEY),
            **self.standalone.recovery_config(self.state_dir),
        }

    def _environment(self) -> dict[str, str]:
        """Return the environment of its daemons, which have no blocks of a unit's own."""
        return environment.of_unit(self, self.product)


def kafka_users(resolution: Resolution) -> list[User]:
    """Return the users of Kafka that jobs are."""
    return spark_jobs.users(spark_jobs.of_driver(resolution))


def resolve(resolution: Resolution) -> dict[str, SparkHost]:
    """Return host -> Spark host of all hosts of Spark's groups."""
    groups = {
        role: resolution.members(group)
        for role, group in zip(ROLES, registry.groups_of("spark"), strict=False)
    }
    members: Mapping[str, Member] = resolution.parts("zookeeper")
    standalone = StandaloneCluster(
        groups["master"],
        groups["worker"],
        groups["history"],
        groups["metastore"],
        next((member.client_addresses for member in members.values()), []),
        any(member.is_secured for member in members.values()),
    )
    return {
        name: SparkHost(
            host,
            roles,
            standalone,
            any_broker(resolution),
            resolution.inventory.secrets,
            next(iter(resolution.parts("hdfs").values()), None),
            any_instance(resolution),
        )
        for name, host in resolution.hosts.items()
        if (roles := tuple(role for role, names in groups.items() if name in names))
    }
