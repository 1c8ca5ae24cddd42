"""The daemons of Spark on a host, one for each of its roles, and what they listen on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....module_utils.formats.values import is_true
from ...cluster import files
from ...cluster.files import Entry
from ...cluster.service import ADMINS, CLIENTS, LOOPBACK, NODES, Listening, Service
from ..kafka.security import SPARK_CONNECT, SPARK_METASTORE
from . import environment
from . import metastore as spark_metastore
from . import sessions as spark_sessions
from .jobs import CONFIG
from .security import Security
from .sessions import Sessions
from .standalone import StandaloneCluster

CONNECT_ENVIRONMENT = f"{CONFIG}/connect-environment"
_CLASSES = {
    "master": "master.Master",
    "worker": "worker.Worker",
    "history": "history.HistoryServer",
}
_PORTS = {
    "master": ("spark_master_port", "spark_master_ui_port"),
    "worker": ("spark_worker_port", "spark_worker_ui_port"),
    "history": ("spark_history_port",),
    "metastore": ("spark_metastore_port",),
    "connect": ("spark_connect_port",),
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


@dataclass(frozen=True)
class Daemons:
    """The processes of a host's roles, with their ports, heaps, metrics and units."""

    service: Service
    """The host as a service."""
    roles: tuple[str, ...]
    """The roles of the host."""
    standalone: StandaloneCluster
    """The cluster that they are of."""
    security: Security
    """The secrets that they need."""
    sessions: Sessions
    """What a session has that a client of the Connect server opens."""

    @property
    def ports(self) -> dict[str, int]:
        """Variable or property -> port, of what they listen on."""
        config, settings = self.service.config, self.service.settings
        ports = {name: settings[name] for role in self.roles for name in _PORTS[role]}
        if "worker" in self.roles and is_true(config.get("spark.shuffle.service.enabled")):
            ports[_SHUFFLE_PORT] = config.get(_SHUFFLE_PORT, 7337)
        return ports

    @staticmethod
    def callers(port: str) -> tuple[str, ...]:
        """Return who connects: drivers are clients, and what is for a browser is for admins."""
        return _CALLERS.get(port, (ADMINS,))

    @property
    def executors(self) -> list[Listening]:
        """What the executors of a worker listen on."""
        if "worker" not in self.roles:
            return []
        port = self.service.config.get(_BLOCKS_PORT, 0)
        return [Listening(self.service.product, _BLOCKS_PORT, port, (CLIENTS, NODES))]

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap, of each JVM; a worker's memory counts, since its executors take it."""
        settings = self.service.settings
        daemons = [role for role in self.roles if role in _CLASSES]
        heaps = {f"spark_daemon_heap ({role})": settings["spark_daemon_heap"] for role in daemons}
        if "metastore" in self.roles:
            heaps["spark_metastore_heap"] = settings["spark_metastore_heap"]
        if "connect" in self.roles:
            heaps["spark.driver.memory"] = self.sessions.config.get("spark.driver.memory", "1g")
        if "worker" in self.roles:
            heaps["spark_worker_memory"] = settings["spark_worker_memory"]
        return heaps

    @property
    def metrics_addresses(self) -> dict[str, str]:
        """Job of Prometheus -> where a process of this host has its metrics, by role."""
        addresses, settings = {}, self.service.settings
        if "master" in self.roles:
            metrics = f"http://127.0.0.1:{settings['spark_master_ui_port']}/metrics"
            addresses["spark_master"] = f"{metrics}/master/prometheus/"
            addresses["spark_applications"] = f"{metrics}/applications/prometheus/"
        if "worker" in self.roles:
            port = settings["spark_worker_ui_port"]
            addresses["spark_worker"] = f"http://127.0.0.1:{port}/metrics/prometheus/"
        return addresses

    def files(self) -> dict[str, Entry]:
        """Return the files of their units."""
        return {path: entry for role in self.roles for path, entry in self._unit(role).items()}

    def _unit(self, role: str) -> dict[str, Entry]:
        special = {"metastore": self._metastore, "connect": self._connect}
        return special[role]() if role in special else self._daemon(role)

    def _connect(self) -> dict[str, Entry]:
        service = self.service
        token = self.security.secret(SPARK_CONNECT)
        port = service.settings["spark_connect_port"]
        values = {
            **environment.of_unit(service, "spark-connect"),
            "SPARK_CONF_DIR": spark_sessions.DIRECTORY,
            "MASTER": self.standalone.master_url,
            **({spark_sessions.CONNECT_TOKEN: token} if token else {}),
        }
        return {
            CONNECT_ENVIRONMENT: files.environment(
                values, mode="0640", group=service.user, secret=True
            ),
            **service.unit(
                "spark-connect",
                self._description("Connect server"),
                spark_sessions.connect(service.distribution.home, port),
                environment_file=CONNECT_ENVIRONMENT,
                allows_setgid=True,
            ),
        }

    def _metastore(self) -> dict[str, Entry]:
        service = self.service
        started = spark_metastore.server(
            service.host.java.binary,
            self._class_path,
            service.settings["spark_metastore_heap"],
            f"{service.address}:{service.settings['spark_metastore_port']}",
            closed=service.is_secured,
        )
        password = self.security.secret(SPARK_METASTORE)
        return {
            **spark_metastore.server_files(password, service.user),
            **service.unit("spark-metastore", self._description("metastore database"), **started),
        }

    def _daemon(self, role: str) -> dict[str, Entry]:
        service, settings, process = self.service, self.service.settings, role
        words: list[Any] = [
            service.host.java.binary,
            "$SPARK_DAEMON_OPTIONS",
            "-cp",
            f"{CONFIG}:{self._class_path}",
            f"org.apache.spark.deploy.{_CLASSES[role]}",
        ]
        if role == "history":
            process = "history server"
        else:
            port, ui = settings[f"spark_{role}_port"], settings[f"spark_{role}_ui_port"]
            words += ["--host", service.address, "--port", port, "--webui-port", ui]
        if role == "worker":
            words += ["--cores", settings["spark_worker_cores"] or service.host.cores]
            words += ["--memory", settings["spark_worker_memory"]]
            words += ["--work-dir", f"{service.state_dir}/work", self.standalone.master_url]
        # A master that loses ZooKeeper exits with 0, as after a stop: systemd is to start it again,
        # as a standby.
        may_be_standby = role == "master" and self.standalone.recovery == "zookeeper"
        return service.unit(
            f"spark-{role}",
            self._description(process),
            " ".join(map(str, words)),
            allows_setgid=role == "worker",
            **({"restart": "always"} if may_be_standby else {}),
        )

    @property
    def _class_path(self) -> str:
        return f"{self.service.distribution.home}/jars/*"

    def _description(self, process: str) -> str:
        return f"{self.service.title} {self.service.version} {process}"
