"""What every host of a monitored cluster has: exporters, and the one port that serves them all.

Exporters listen on the loopback address alone. exporter_exporter asks them for whoever shows the
token, each under the name of a module (`/proxy?module=kafka`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.values import integer
from ...cluster import files
from ...cluster.artifacts import HOMES, Distribution, cache_directory
from ...cluster.files import Entry
from ...cluster.resolution import Resolution
from ...cluster.service import ADMINS, LOOPBACK, NODES, Certified, Part
from ..hdfs.model import NAMENODE, HdfsHost
from ..kafka.node import KafkaNode
from ..kafka.security import AUTHORITY, Certificate, pem_stores
from ..monitoring.packaged import Packaged
from ..schema_registry.model import Registry
from ..spark.model import SparkHost
from . import java_agent

PRODUCT = "metrics"
TOKEN = "metrics_token"  # noqa: S105 - its name among the secrets
CONFIG = java_agent.CONFIG
HOST, NODE, STREAMS = "host", "node", "spark_streams"
"""Modules of Millrace itself, of the operating system, and of streams where jobs run."""
PROXY_UNIT, NODE_UNIT = "millrace-exporter-exporter", "millrace-node-exporter"
HOST_UNIT = "millrace-host-metrics"
NODE_EXPORTER = "metrics_node_exporter"
OURS, SITE, ABSENT = "millrace", "site", "none"
"""Whose node exporter it is."""
_MODULES, _TOKEN_FILE = f"{CONFIG}/modules.yml", f"{CONFIG}/token"
_SETTINGS, _STORE = f"{CONFIG}/host.json", f"{CONFIG}/certificates/proxy.pem"
HOST_PROGRAM = f"{HOMES}/host-metrics"
# Spark tries the next one where a port is taken, so often (spark.port.maxRetries).
_UI_PORT, _UI_PORTS = 4040, 17
_COLLECTORS = (
    "cpu",
    "conntrack",
    "diskstats",
    "filefd",
    "filesystem",
    "loadavg",
    "meminfo",
    "netdev",
    "netstat",
    "pressure",
    "sockstat",
    "stat",
    "time",
    "timex",
    "uname",
    "vmstat",
)
# Product on the monitoring host that exports metrics -> its module.
_EXPORTERS: Mapping[str, tuple[str, str]] = {"lag_exporter": ("lag", "lag_exporter_port")}


@dataclass(frozen=True)
class Module:
    """What a module asks: a port of the loopback address, and a path there."""

    port: int
    path: str = "/metrics"


@dataclass(frozen=True)
class Metrics(Packaged):
    """The exporters of a host."""

    parts: Mapping[str, Part] = field(default_factory=dict)
    """What else the host has, by product."""
    product = PRODUCT
    title = "Metrics exporters"
    address_variable = "metrics_host"
    programs = {"node_exporter": NODE_UNIT, "exporter_exporter": PROXY_UNIT}  # noqa: RUF012 - never changed
    leftovers = (
        *(f"{product}.yml" for product in java_agent.PORTS),
        "certificates/proxy.pem",
        "certificates/",
        "host.json",
        "modules.yml",
        "token",
    )

    @property
    def runs_node_exporter(self) -> bool:
        """True if the node exporter is that of Millrace."""
        return bool(self.settings[NODE_EXPORTER] == OURS)

    @property
    def own_programs(self) -> Mapping[str, str]:
        """All, or all but the node exporter."""
        return {
            program: unit
            for program, unit in self.programs.items()
            if unit != NODE_UNIT or self.runs_node_exporter
        }

    @property
    def ports(self) -> dict[str, int]:
        """Variable -> port."""
        agents = [name for product, name in java_agent.PORTS.items() if product in self.parts]
        node = ["metrics_node_port"] if self.runs_node_exporter else []
        variables = ("metrics_port", *node, "metrics_host_port", *agents)
        return {name: self.settings[name] for name in variables}

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: Prometheus to the proxy alone.

        It is on a host of the inventory, or one of the site where `metrics_enabled` is set.
        """
        if port != "metrics_port":
            return (LOOPBACK,)
        return (NODES, ADMINS) if self.settings["metrics_enabled"] else (NODES,)

    @property
    def certificates(self) -> list[Certificate]:
        """What the proxy shows."""
        return [] if self.is_open else [self.server_certificate(_STORE)]

    @property
    def token(self) -> str:
        """What Prometheus shows, empty where it need not or none is known yet."""
        return "" if self.is_open else self.secrets.texts.get(TOKEN, "")

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        return self.lacking({} if self.is_open else {TOKEN: self.token})

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [*super().units, HOST_UNIT]

    @property
    def distribution(self) -> Distribution | None:
        """The agent of JVMs, where there is one."""
        if not java_agent.PORTS.keys() & self.parts.keys():
            return None
        cache = cache_directory(self.settings["service_cache"])
        return Distribution(java_agent.PRODUCT, java_agent.VERSION, cache, {})

    @property
    def modules(self) -> dict[str, Module]:
        """Name -> module, the names that Prometheus has for jobs, too."""
        host_port = self.settings["metrics_host_port"]
        node = {NODE: Module(self.settings["metrics_node_port"])}
        modules = {
            **(node if self.settings[NODE_EXPORTER] != ABSENT else {}),
            HOST: Module(host_port),
        }
        for product, variable in java_agent.PORTS.items():
            if product in self.parts:
                modules[product] = Module(self.settings[variable])
        if isinstance(self.parts.get("schema_registry"), Registry):
            modules["registry"] = Module(self.settings["schema_registry_management_port"])
        modules |= {name: Module(host_port, f"/{name}") for name in self._spark_sources}
        if self._driver_ports:
            modules[STREAMS] = Module(host_port, f"/{STREAMS}")
        for product, (name, variable) in _EXPORTERS.items():
            if product in self.parts:
                modules[name] = Module(self.parts[product].ports[variable])
        return modules

    @property
    def _spark(self) -> SparkHost | None:
        spark = self.parts.get("spark")
        return spark if isinstance(spark, SparkHost) else None

    @property
    def _hdfs(self) -> HdfsHost | None:
        """HDFS, if this host has its NameNode."""
        hdfs = self.parts.get("hdfs")
        return hdfs if isinstance(hdfs, HdfsHost) and NAMENODE in hdfs.roles else None

    @property
    def _streams(self) -> dict[str, Any]:
        """Job -> checkpoint and late_after, of those that are in files of this host."""
        spark = self._spark
        if not spark or not spark.drivers.run_here:
            return {}
        drivers, elsewhere = spark.drivers, spark.hdfs.streams if spark.hdfs else {}
        return {
            job.name: {"checkpoint": drivers.checkpoint(job), "late_after": job.late_after}
            for job in drivers.jobs_here
            # Another job commits when it is its time: its last commit says nothing.
            if job.services and job.name not in elsewhere
        }

    @property
    def _spark_sources(self) -> dict[str, str]:
        """Module -> address, of interfaces that may ask for a token which the proxy cannot give."""
        return self._spark.daemons.metrics_addresses if self._spark else {}

    @property
    def _driver_ports(self) -> list[int]:
        """The first port that drivers of jobs may have for their interface, and the first after."""
        spark = self._spark
        if not spark or not spark.drivers.run_here:
            return []
        first = integer(spark.config.get("spark.ui.port")) or _UI_PORT
        return [first, first + _UI_PORTS]

    @property
    def _certificate_paths(self) -> dict[str, str]:
        """Name -> file, of every certificate of the host whose end matters."""
        paths = {certificate.name: certificate.path for certificate in self.certificates}
        for part in self.parts.values():
            if isinstance(part, Certified):
                paths |= {certificate.name: certificate.path for certificate in part.certificates}
            if part.identity:
                paths[part.identity.certificate.name] = part.identity.certificate.path
        node = self.parts.get("kafka")
        if isinstance(node, KafkaNode):
            recorded = {*paths.values()}
            stores = [path for path in pem_stores(node.config) if path not in recorded]
            paths |= {path: path for path in stores if path != AUTHORITY}
            if node.certificates:
                paths["ca"] = AUTHORITY
        return paths

    def own_files(self) -> dict[str, Entry]:
        """Return its files."""
        readers = {"owner": "root", "group": self.user, "mode": "0640", "restart": True}
        token = {_TOKEN_FILE: self.secret(self.token, restart=True)} if not self.is_open else {}
        certificates = f"{CONFIG}/certificates"
        return {
            HOMES: files.directory(),
            **({} if self.is_open else {certificates: files.directory()}),
            **self._agent_files(),
            _MODULES: files.text(self._modules_text(), **readers),
            **token,
            **self.certificate_files(),
            HOST_PROGRAM: files.text(files.read("apps/host_metrics.py"), restart=True),
            _SETTINGS: files.text(self._settings_text(), **readers, secret=bool(self._ui_token)),
            **self._proxy_unit(),
            **(self._node_unit() if self.runs_node_exporter else {}),
            **self.unit(
                HOST_UNIT,
                "Metrics of Millrace on this host",
                f"/usr/bin/python3 -I {HOST_PROGRAM} {_SETTINGS}",
                # Keys are readable for the services that have them alone.
                capabilities="CAP_DAC_READ_SEARCH",
                memory_max="256M",
            ),
        }

    def _agent_files(self) -> dict[str, Entry]:
        agent = self.distribution
        if agent is None:
            return {}
        products = [product for product in java_agent.PORTS if product in self.parts]
        return {
            agent.link: files.link(agent.home),
            # The agent reads a changed file by itself.
            **{
                java_agent.rules(product): files.text(
                    files.read(f"roles/{PRODUCT}/files/{product}.yml")
                )
                for product in products
            },
        }

    def _modules_text(self) -> str:
        modules: dict[str, Any] = {
            name: {
                "method": "http",
                "timeout": "10s",
                "http": {
                    "address": "127.0.0.1",
                    "port": module.port,
                    "path": module.path,
                    # The answer is passed on as it is: Prometheus itself reads it.
                    "verify": False,
                },
            }
            for name, module in self.modules.items()
        }
        return files.yaml_text({"modules": modules})

    @property
    def _ui_token(self) -> str:
        return self._spark.security.ui_token if self._spark else ""

    def _settings_text(self) -> str:
        spark, hdfs = self._spark, self._hdfs
        settings = {
            "port": self.settings["metrics_host_port"],
            "certificates": self._certificate_paths,
            "streams": self._streams,
            "hdfs_streams": hdfs.streams if hdfs else {},
            "namenode": hdfs.namenode_ui if hdfs else "",
            "hdfs_user": hdfs.user if hdfs else "",
            "sources": self._spark_sources,
            "drivers": self._driver_ports or [0],
            "user": spark.user if spark else "",
            "token": self._ui_token,
        }
        return json.dumps(settings, indent=2) + "\n"

    def _proxy_unit(self) -> dict[str, Entry]:
        port = self.settings["metrics_port"]
        words = [self.binary("exporter_exporter"), f"-config.file={_MODULES}"]
        if self.is_open:
            words.append(f"-web.listen-address=:{port}")
        else:
            words += ["-web.listen-address=", f"-web.tls.listen-address=:{port}"]
            words += [f"-web.tls.cert={_STORE}", f"-web.tls.key={_STORE}"]
            words.append(f"-web.bearer.token-file={_TOKEN_FILE}")
        return self.unit(PROXY_UNIT, "Metrics of this host for Prometheus", " ".join(words))

    def _node_unit(self) -> dict[str, Entry]:
        listen = f"--web.listen-address=127.0.0.1:{self.settings['metrics_node_port']}"
        words = [self.binary("node_exporter"), listen, "--web.disable-exporter-metrics"]
        words += [
            "--collector.disable-defaults",
            *(f"--collector.{collector}" for collector in _COLLECTORS),
        ]
        return self.unit(
            NODE_UNIT,
            "Metrics of the operating system",
            " ".join(words),
            # What it reads: the mounts of the host, its clock, and network devices.
            **{"sees_host": True, "address_families": "AF_INET AF_INET6 AF_UNIX AF_NETLINK"},
        )


def resolve(resolution: Resolution) -> dict[str, Metrics]:
    """Return host -> exporters, of all hosts if one collects metrics or the inventory says so.

    An exporter says until when the certificates of the servers are valid, too, and these collect
    from the exporters: it is given the servers as they are without any.
    """
    parts: dict[str, dict[str, Part]] = {}
    for product, hosts in resolution.without_parts(PRODUCT).all_parts().items():
        for name, part in hosts.items():
            parts.setdefault(name, {})[product] = part
    return {
        name: Metrics(host, resolution.inventory.secrets, parts.get(name, {}))
        for name, host in resolution.hosts.items()
        if host.monitored
    }
