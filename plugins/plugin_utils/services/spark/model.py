"""A host of Spark standalone: masters, workers, history server, and the jobs that run there.

The layers of a property: topology < security < spark_config < owned keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ....module_utils.formats import secret_texts
from ....module_utils.formats.key_table import Table
from ....module_utils.formats.values import by_name, is_true
from ...cluster import files, registry
from ...cluster.artifacts import HOMES, Distribution, cache_directory
from ...cluster.files import Entry
from ...cluster.host import HostSettings
from ...cluster.inventory import Secrets
from ...cluster.resolution import Resolution
from ...cluster.service import ADMINS, CLIENTS, LOOPBACK, NODES, Listening, Service
from ..hdfs.model import WAREHOUSE, HdfsHost
from ..kafka import security
from ..kafka.node import KafkaNode, any_broker
from ..kafka.security import User
from ..schema_registry.model import Registry, any_instance
from ..zookeeper import tls as zookeeper_tls
from ..zookeeper.model import Member
from ..zookeeper.tls import Identity
from . import jobs as spark_jobs
from . import key_table as spark_key_table
from . import metastore as spark_metastore
from . import sessions as spark_sessions
from .jobs import CONFIG as _CONFIG
from .jobs import SERVICE, Job

SECRET = "spark.authenticate.secret"  # noqa: S105 - the name of a key
UI_FILTERS, _UI_FILTER = "spark.ui.filters", "org.apache.spark.ui.JWSFilter"
UI_KEY = f"spark.{_UI_FILTER}.param.secretKey"
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
_CLASSES = {
    "master": "master.Master",
    "worker": "worker.Worker",
    "history": "history.HistoryServer",
}
_STATE = "/var/lib/spark"
_LOCAL = f"{_STATE}/local"
CLEAN, _CLEAN_PROGRAM = "spark-clean", f"{HOMES}/spark-clean.py"
_PYTHON = "3.11"  # of Debian 12, before a host is inspected
HDFS = "hdfs"
"""What puts the tables of sessions there, of spark_file_system."""
KAFKA_AUTHORITY = f"{_CONFIG}/kafka-ca.pem"
# Of all jobs, before each had one of its own.
_FORMER_LOGIN = f"{_CONFIG}/kafka-login.properties"
_LOGIN_KEY = "sasl.jaas.config"
_PROVIDER: Mapping[str, str] = {
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.file.param.allowed.paths": _CONFIG,
}
_SHUFFLE_PORT = "spark.shuffle.service.port"
_BLOCKS_PORT = "spark.blockManager.port"
_CALLERS = {
    "spark_master_port": (CLIENTS, NODES),
    "spark_worker_port": (NODES,),
    _SHUFFLE_PORT: (NODES,),
    "spark_metastore_port": (NODES,),
    "spark_connect_port": (LOOPBACK,),
}
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
# Whoever does not have the secret can submit no job and be no worker, and reads nothing that Spark
# sends or spills; without the token nobody opens a web interface.
_STANDARD: Mapping[str, Any] = {
    "spark.authenticate": True,
    "spark.network.crypto.enabled": True,
    "spark.network.crypto.authEngineVersion": 2,
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.network.crypto.saslFallback": False,
    "spark.io.encryption.enabled": True,
    # The web interfaces of services and drivers show plans and settings, and end jobs.
    UI_FILTERS: _UI_FILTER,
    "spark.master.ui.decommission.allow.mode": "DENY",
}
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
    """One host of a Spark cluster; `masters`, `workers` and the like are those of the cluster.

    `broker` is one of Kafka's in the inventory, None without any; `ensemble_secured` tells whether
    the ensemble wants certificates, `hdfs` is a host of HDFS in the inventory, None without it, and
    `registry` an instance of the schema registry.
    """

    roles: tuple[str, ...]
    masters: Mapping[str, HostSettings]
    workers: Mapping[str, HostSettings]
    histories: Mapping[str, HostSettings]
    metastores: Mapping[str, HostSettings]
    ensemble: Sequence[str]
    broker: KafkaNode | None = None
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    ensemble_secured: bool = False
    hdfs: HdfsHost | None = None
    registry: Registry | None = None
    product = "spark"
    title = "Apache Spark"
    address_variable = "spark_host"
    heap_variable = "spark_daemon_heap"
    scripts = spark_sessions.NAMES
    tool_template = "spark-tool.sh.j2"
    leftovers = (
        *(f"{_CONFIG}/job-*", f"{_CONFIG}/kafka-login*", KAFKA_AUTHORITY),
        f"{_CONFIG}/connect-environment",
        *(*zookeeper_tls.paths("spark"), f"{_CONFIG}/certificates/"),
        *(f"{spark_sessions.DIRECTORY}/ui-token", f"{spark_sessions.DIRECTORY}/"),
        *(f"{_CONFIG}/", spark_jobs.DIRECTORY),
        f"{HOMES}/{spark_jobs.PACKAGES}-*",
    )

    @property
    def accounts(self) -> list[str]:
        """Its account, which is a member of the group of those who may use Spark."""
        group = spark_sessions.GROUP
        made = f"g {group} {spark_sessions.GROUP_ID}"
        return [made, *super().accounts, f"m {self.user} {group}"]

    @property
    def tool_values(self) -> dict[str, str]:
        """What the template of its commands takes."""
        return {
            **super().tool_values,
            "config": spark_sessions.DIRECTORY,
            "group": spark_sessions.GROUP,
            "master_url": self.master_url,
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
    def python(self) -> str:
        """The version of Python for which packages are chosen: by default the host's own."""
        found = self.host.facts.python if self.host.facts else ""
        return str(self.settings["spark_python_version"] or found or _PYTHON)

    @property
    def shared_dir(self) -> str:
        """The directory that all Spark hosts share."""
        return str(self.settings["spark_shared_dir"])

    @property
    def recovery(self) -> str:
        """How a new master recovers applications: zookeeper, filesystem, or not at all.

        With an ensemble, one of several masters leads and another takes over when it is gone. A
        single one reads its own directory: without that, drivers would wait for ever.
        """
        if len(self.masters) == 1:
            return "filesystem"
        return "zookeeper" if self.ensemble else ""

    @property
    def owned(self) -> dict[str, str]:
        """The keys that only Millrace writes here, with the variable that sets each."""
        return {key: OWNED[key] for key in self.layers["owned"]}

    @property
    def master_url(self) -> str:
        """The address of all masters, for workers and applications."""
        return f"spark://{','.join(self.at_masters('spark_master_port'))}"

    def at_masters(self, variable: str) -> list[str]:
        """Return `host:port` of all masters, the port by the variable of each."""
        return self.addresses(self.masters, variable)

    @property
    def metastore_addresses(self) -> list[str]:
        """`host:port` of the catalog's server, none without one."""
        return self.addresses(self.metastores, "spark_metastore_port")

    @property
    def metrics_addresses(self) -> dict[str, str]:
        """Job of Prometheus -> where a process of this host has its metrics, by role."""
        found = {}
        if "master" in self.roles:
            own = f"http://127.0.0.1:{self.settings['spark_master_ui_port']}/metrics"
            found["spark_master"] = f"{own}/master/prometheus/"
            found["spark_applications"] = f"{own}/applications/prometheus/"
        if "worker" in self.roles:
            port = self.settings["spark_worker_ui_port"]
            found["spark_worker"] = f"http://127.0.0.1:{port}/metrics/prometheus/"
        return found

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [f"spark-{role}" for role in self.roles]

    @property
    def starts_after(self) -> dict[str, list[str]]:
        """The masters, before a worker.

        One that reaches no master tries again only after 5 to 15 s (Spark's Worker.scala).
        """
        return {"spark-worker": self.at_masters("spark_master_port")}

    @property
    def all_units(self) -> list[str]:
        """Patterns of all units of ours that teardown removes, those of jobs too."""
        return ["spark-*"]

    @property
    def kept_units(self) -> list[str]:
        """Those of all roles, also former ones, and of jobs: a site may have others named so."""
        return [*(f"spark-{role}" for role in ROLES), "spark-job-*", CLEAN]

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
            "metastore": ("spark_metastore_port",),
            "connect": ("spark_connect_port",),
        }
        found = {x: self.settings[x] for role in self.roles for x in variables[role]}
        if "worker" in self.roles and is_true(self.config.get("spark.shuffle.service.enabled")):
            found[_SHUFFLE_PORT] = self.config.get(_SHUFFLE_PORT, 7337)
        return found

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: drivers are clients, and what is for a browser is for admins."""
        return _CALLERS.get(port, (ADMINS,))

    @property
    def listening(self) -> list[Listening]:
        """All that it listens on, executors included, and who connects."""
        own = super().listening
        if "worker" in self.roles:
            port = self.config.get(_BLOCKS_PORT, 0)
            own.append(Listening(self.product, _BLOCKS_PORT, port, (CLIENTS, NODES)))
        return own

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap, of each JVM; a worker's memory counts, since its executors take it."""
        daemons = [role for role in self.roles if role in _CLASSES]
        found = {f"spark_daemon_heap ({x})": self.settings["spark_daemon_heap"] for x in daemons}
        if "metastore" in self.roles:
            found["spark_metastore_heap"] = self.settings["spark_metastore_heap"]
        if "connect" in self.roles:
            found["spark.driver.memory"] = self.session_config.get("spark.driver.memory", "1g")
        if "worker" in self.roles:
            found["spark_worker_memory"] = self.settings["spark_worker_memory"]
        return found

    def _defaults(self) -> dict[str, dict[str, Any]]:
        secret = self._secret(security.SPARK_SECRET)
        of_hdfs = self.hdfs.client_config if self.hdfs else {}
        return {
            "topology": {
                **_TOPOLOGY,
                **(_RECOVERY if self.recovery else {}),
                **(_METRICS if self.host.monitored else {}),
                **{f"spark.hadoop.{key}": one for key, one in of_hdfs.items()},
            },
            "security": {**_STANDARD, SECRET: secret} if self.is_secured else {},
        }

    @property
    def session_secrets(self) -> list[str]:
        """The names of the secrets of sessions, their catalog and Connect; Millrace makes all."""
        wanted = {
            security.SPARK_SESSION_UI_KEY: True,
            security.SPARK_METASTORE: bool(self.metastores),
            security.SPARK_CONNECT: "connect" in self.roles,
        }
        return [name for name, needed in wanted.items() if needed and self.is_secured]

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        users = self.kafka_users_without_password
        return [*(f"the password of {name}" for name in users), *self.missing_texts]

    @property
    def missing_texts(self) -> list[str]:
        """The names of the secrets that Millrace has to make for it, and has not made yet."""
        keys = {security.SPARK_SECRET: SECRET, security.SPARK_UI_KEY: UI_KEY}
        own = [name for name, key in keys.items() if self.is_secured and not self.config[key]]
        kept = self.secrets.texts
        return own + [name for name in self.session_secrets if not kept.get(name)]

    @property
    def identity(self) -> Identity | None:
        """What a master shows a closed ensemble, None where it needs none."""
        wanted = self.ensemble_secured and "master" in self.roles and self.recovery == "zookeeper"
        return zookeeper_tls.identity(self.name, self.product) if wanted else None

    @property
    def has_secrets(self) -> bool:
        """Whether a property holds a secret."""
        return any(secret_texts.of_property(key, one) for key, one in self.config.items())

    @property
    def ui_token(self) -> str:
        """What its web interfaces ask for, empty where they are open or have another filter."""
        return self._token_of(self.config)

    @staticmethod
    def _token_of(config: Mapping[str, Any]) -> str:
        key = str(config.get(UI_KEY) or "")
        filtered = _UI_FILTER in str(config.get(UI_FILTERS))
        return security.bearer_token(key) if key and filtered else ""

    def directories(self) -> dict[str, Entry]:
        """Return the directories of services and jobs."""
        own = [_STATE, _LOCAL, f"{_STATE}/work"]
        return {
            **super().directories(),
            **{path: self.own_directory() for path in own},
            self.shared_dir: spark_sessions.shared(self.user, "0750"),
            # What others wrote can be read, and not removed.
            self.events_dir: spark_sessions.shared(self.user, "3770"),
            spark_sessions.warehouse(self.shared_dir): spark_sessions.shared(self.user, "2770"),
        }

    @property
    def _file_system(self) -> dict[str, Any]:
        """The properties of sessions whose tables, and paths without a scheme, are in HDFS."""
        if self.hdfs is None or self.settings["spark_file_system"] != HDFS:
            return {}
        url = self.hdfs.url
        return {"spark.hadoop.fs.defaultFS": url, "spark.sql.warehouse.dir": f"{url}{WAREHOUSE}"}

    @cached_property
    def session_config(self) -> dict[str, Any]:
        """The properties of the sessions that people start on its hosts."""
        at = next(iter(self.metastore_addresses), "")
        password = self._secret(security.SPARK_METASTORE)
        return {
            **self.layers["topology"],
            **self.layers["security"],
            **spark_sessions.DEFAULTS,
            **spark_sessions.config(self.shared_dir),
            **self._file_system,
            **self.layers["spark_config"],
            **{key: self.config[key] for key in ("spark.eventLog.enabled", "spark.eventLog.dir")},
            **({UI_KEY: self._secret(security.SPARK_SESSION_UI_KEY)} if self.is_secured else {}),
            **(spark_metastore.client_config(at, password) if at else {}),
        }

    def _secret(self, name: str) -> str:
        """Return one of the secrets that Millrace keeps, empty if it is open or not made yet."""
        return self.secrets.texts.get(name, "") if self.is_secured else ""

    @cached_property
    def jobs(self) -> list[Job]:
        """The jobs of the inventory, also those that it wants removed."""
        return spark_jobs.of_settings(self.settings)

    @property
    def runs_jobs(self) -> bool:
        """Whether the drivers of jobs run here: on the first master."""
        return self.name == next(iter(self.masters), "")

    def checkpoint(self, job: Job) -> str:
        """Return the directory of a job's checkpoint, or of those of its queries."""
        return job.checkpoint or f"{self.shared_dir}/{job.name}/checkpoint"

    @property
    def kafka_users(self) -> list[str]:
        """The users of Kafka that jobs log in as, that of the platform's own first."""
        users = [security.STREAM, *(job.user for job in self.jobs if job.user and job.present)]
        return list(dict.fromkeys(users))

    def kafka_login(self, user: str) -> Mapping[str, Any]:
        """Return the client properties with which a user of jobs logs in, empty if it need not."""
        if self.broker is None or not user:
            return {}
        return self.broker.clients.user_config(user, KAFKA_AUTHORITY)

    def kafka_client(self, user: str) -> Mapping[str, Any]:
        """Return the client properties of a job, empty without Kafka."""
        if login := self.kafka_login(user):
            reference = f"${{file:{spark_jobs.login_file(user)}:{_LOGIN_KEY}}}"
            return {**login, **_PROVIDER, _LOGIN_KEY: reference}
        return self.broker.clients.config if self.broker else {}

    @property
    def kafka_users_without_password(self) -> list[str]:
        """The users of jobs whose passwords are not known."""
        users = self.broker.security.users_without_password if self.broker else []
        missing = {one.name for one in users}
        return [name for name in self.kafka_users if name in missing and self.kafka_login(name)]

    def kafka_login_files(self) -> dict[str, Entry]:
        """Return what every host needs on which an executor may run."""
        logins = {user: login for user in self.kafka_users if (login := self.kafka_login(user))}
        if self.broker is None or not logins:
            return {}
        return {
            KAFKA_AUTHORITY: files.text(self.broker.secrets.authority),
            **{
                spark_jobs.login_file(user): files.text(
                    files.properties({_LOGIN_KEY: login[_LOGIN_KEY]}),
                    mode="0640",
                    group=self.user,
                    secret=True,
                )
                for user, login in logins.items()
            },
        }

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        secret = self.has_secrets
        mode, group = ("0640", self.user) if secret else ("0644", "root")
        return {
            **super().files(),
            **self.kafka_login_files(),
            _FORMER_LOGIN: {"state": "absent", "secret": True},
            **(self.identity.files(self.secrets, self.user) if self.identity else {}),
            f"{_CONFIG}/spark-defaults.conf": files.property_file(
                self.config, mode=mode, group=group, format="properties", secret=secret
            ),
            **spark_sessions.property_files(
                self.session_config, self._token_of(self.session_config)
            ),
            **self.copy("log4j2.properties"),
            **{path: one for role in self.roles for path, one in self._unit_files(role).items()},
        }

    def _all_files(self) -> dict[str, Entry]:
        return {**super()._all_files(), **self._clean_files()}

    def _clean_files(self) -> dict[str, Entry]:
        """Return the program that removes what killed processes leave, and its times."""
        service = self.unit(
            CLEAN,
            "Removal of blocks that killed processes of Spark left",
            f"/usr/bin/python3 -I {_CLEAN_PROGRAM} {_LOCAL}",
            **{"type": "oneshot", "restart": "no", "write_paths": [_LOCAL]},
        )
        timer = files.render(
            "timer.j2", description="Times at which blocks of Spark are removed", calendar="hourly"
        )
        return {
            _CLEAN_PROGRAM: files.text(files.read("roles/spark/files/clean_local.py")),
            # The next run has a changed unit by itself.
            **{path: {**entry, "restart": False} for path, entry in service.items()},
            f"/etc/systemd/system/{CLEAN}.timer": files.text(timer),
        }

    @property
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it, with the timer of the removal of blocks."""
        state = super().state
        return {**state, "units": [*state["units"], f"{CLEAN}.timer"]}

    def _unit_files(self, role: str) -> dict[str, Entry]:
        own = {"metastore": self._metastore, "connect": self._connect}
        return own[role]() if role in own else self._daemon(role)

    def _connect(self) -> dict[str, Entry]:
        environment = f"{_CONFIG}/connect-environment"
        token = self._secret(security.SPARK_CONNECT)
        values = {
            **self._environment("spark-connect"),
            "SPARK_CONF_DIR": spark_sessions.DIRECTORY,
            "MASTER": self.master_url,
            **({spark_sessions.CONNECT_TOKEN: token} if token else {}),
        }
        return {
            environment: files.environment(values, mode="0640", group=self.user, secret=True),
            **self.unit(
                "spark-connect",
                f"{self.title} {self.version} Connect server",
                spark_sessions.connect(self.distribution.home, self.settings["spark_connect_port"]),
                environment_file=environment,
                allows_setgid=True,
            ),
        }

    def _metastore(self) -> dict[str, Entry]:
        started = spark_metastore.server(
            self.host.java.binary,
            f"{self.distribution.home}/jars/*",
            self.settings["spark_metastore_heap"],
            f"{self.address}:{self.settings['spark_metastore_port']}",
            closed=self.is_secured,
        )
        return {
            **spark_metastore.server_files(self._secret(security.SPARK_METASTORE), self.user),
            **self.unit(
                "spark-metastore", f"{self.title} {self.version} metastore database", **started
            ),
        }

    def job_files(self, job: Job) -> dict[str, Entry]:
        """Return the files of a job: its package, its data and its units.

        Raises:
            OSError: a file on the control node cannot be read.

        """
        shared = f"{self.shared_dir}/{job.name}"
        library = f"{self.distribution.home}/python/lib"
        package = {f"{job.directory}/{name}": path for name, path in job.files.items()}
        folders = {str(one) for path in package for one in Path(path).parents}
        packages = self.job_packages(job)
        home = packages.home if packages else ""
        submit = job.submit_arguments(home)
        paths = [job.directory, home, f"{library}/pyspark.zip", f"{library}/py4j.zip"]
        return {
            spark_jobs.DIRECTORY: files.directory(),
            **{
                path: files.directory()
                for path in sorted({job.directory, *folders})
                if path.startswith(job.directory)
            },
            shared: self.own_directory(),
            job.environment: files.environment(
                {
                    **self._environment(job.unit),
                    "PYTHONPATH": ":".join(filter(None, paths)),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    **({"PYSPARK_SUBMIT_ARGS": submit} if submit else {}),
                }
            ),
            **self.unit(
                job.unit,
                f"Spark job {job.name}",
                job.command,
                environment_file=job.environment,
                allows_setgid=True,
                listed=job.listed,
                **({} if job.schedule == SERVICE else {"type": "oneshot", "restart": "no"}),
            ),
            **self._timer(job),
            **self._job_kafka_client(job),
            **self._job_registry_client(job),
            **_copies(package),
            **_copies({f"{shared}/{Path(path).name}": Path(path) for path in job.data}),
        }

    def job_packages(self, job: Job) -> Distribution | None:
        """Return the Python packages of a job, None if it names none; raises as `job_files`."""
        cache = cache_directory(self.settings["service_cache"])
        return job.packages(self.python, cache)

    @staticmethod
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

    def _job_kafka_client(self, job: Job) -> dict[str, Entry]:
        """Return the file by which a job connects to the inventory's brokers."""
        client = self.kafka_client(job.user)
        if not client:
            return {}
        config = {**client, **by_name(self.settings["spark_kafka_client_config"])}
        file = files.property_file(config, mode="0640", group=self.user, secret=True)
        return {job.kafka_client: file}

    def _job_registry_client(self, job: Job) -> dict[str, Entry]:
        """Return the files by which a job reaches the registry, if that has a user of its name.

        Without one a former login is removed.
        """
        path, authority = job.registry_client, job.registry_authority
        client = self.registry.client_config(job.user, authority) if self.registry else {}
        gone: Entry = {"state": "absent", "secret": True}
        found = {path: gone, authority: gone}
        if client:
            own = {"mode": "0640", "group": self.user, "secret": True}
            found[path] = files.text(files.plain_properties(client), restart=True, **own)
        if authority in client.values():
            found[authority] = files.text(self.secrets.authority, restart=True)
        return found

    def job_authorities(self) -> dict[str, Entry]:
        """Return the CA of the registry for each job that reaches it; drivers alone read it."""
        wanted = [one for one in self.jobs if one.present and self.runs_jobs]
        return {
            path: entry
            for job in wanted
            for path, entry in self._job_registry_client(job).items()
            if path == job.registry_authority and entry.get("state") != "absent"
        }

    @property
    def events_dir(self) -> str:
        """Where applications write their event logs."""
        return f"{self.shared_dir}/events"

    def _owned_config(self) -> dict[str, Any]:
        # REST takes jobs from anybody and is on by default since Spark 4.1.
        return {
            "spark.master": self.master_url,
            "spark.master.rest.enabled": False,
            "spark.eventLog.enabled": bool(self.histories),
            "spark.eventLog.dir": f"file://{self.events_dir}",
            "spark.history.fs.logDirectory": f"file://{self.events_dir}",
            "spark.history.ui.port": self.settings["spark_history_port"],
            **({UI_KEY: self._secret(security.SPARK_UI_KEY)} if self.is_secured else {}),
            **self._recovery_config(),
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

    def _environment(self, unit: str = "spark") -> dict[str, str]:
        """Return the environment of a unit, in whose own directory its processes keep blocks."""
        own = zookeeper_tls.java_options(self.identity) if self.identity else []
        options = " ".join([*own, *self.settings["spark_java_options"]])
        return {
            "JAVA_HOME": self.host.java.home,
            "SPARK_HOME": self.distribution.home,
            "SPARK_CONF_DIR": _CONFIG,
            "SPARK_LOCAL_DIRS": f"{_LOCAL}/{unit}",
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_HOSTNAME": self.address,
            "SPARK_DAEMON_OPTIONS": f"-Xmx{self.settings['spark_daemon_heap']} {options}",
        }

    def _daemon(self, role: str) -> dict[str, Entry]:
        settings, what = self.settings, role
        words: list[Any] = [
            *(self.host.java.binary, "$SPARK_DAEMON_OPTIONS"),
            *("-cp", f"{_CONFIG}:{self.distribution.home}/jars/*"),
            f"org.apache.spark.deploy.{_CLASSES[role]}",
        ]
        if role == "history":
            what = "history server"
        else:
            port, ui = settings[f"spark_{role}_port"], settings[f"spark_{role}_ui_port"]
            words += ["--host", self.address, "--port", port, "--webui-port", ui]
        if role == "worker":
            words += ["--cores", settings["spark_worker_cores"] or self.host.cores]
            words += ["--memory", settings["spark_worker_memory"]]
            words += ["--work-dir", f"{_STATE}/work", self.master_url]
        # A master that loses ZooKeeper exits with 0, as after a stop: systemd is to start it again,
        # as a standby.
        may_be_standby = role == "master" and self.recovery == "zookeeper"
        return self.unit(
            f"spark-{role}",
            f"{self.title} {self.version} {what}",
            " ".join(map(str, words)),
            allows_setgid=role == "worker",
            **({"restart": "always"} if may_be_standby else {}),
        )


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
    ensemble = next((member.client_addresses for member in members.values()), [])
    return {
        name: SparkHost(
            host,
            roles,
            groups["master"],
            groups["worker"],
            groups["history"],
            groups["metastore"],
            ensemble,
            any_broker(resolution),
            resolution.inventory.secrets,
            any(member.is_secured for member in members.values()),
            next(iter(resolution.parts("hdfs").values()), None),
            any_instance(resolution),
        )
        for name, host in resolution.hosts.items()
        if (roles := tuple(role for role, names in groups.items() if name in names))
    }


def _copies(sources: Mapping[str, Path]) -> dict[str, Entry]:
    """Return the entries of files of the control node; a change of any needs a restart."""
    return {
        path: files.text(source.read_text(encoding="utf-8"), restart=True)
        for path, source in sources.items()
    }
