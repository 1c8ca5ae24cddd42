"""A host of HDFS: the NameNode with the process that takes its checkpoints, DataNodes.

The layers of a property: topology < security < hdfs_config < owned keys. Those that begin with
`dfs.` are in hdfs-site.xml, all others in core-site.xml.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....module_utils.formats.key_table import Table
from ...cluster import files, registry
from ...cluster.files import Entry
from ...cluster.host import HostSettings
from ...cluster.resolution import Resolution
from ...cluster.service import CLIENTS, LOOPBACK, NODES, Service
from ..kafka.security import OPEN
from ..spark import jobs as spark_jobs
from ..spark import shared as spark_shared
from ..spark.jobs import Job
from . import key_table as hdfs_key_table

CONFIG = "/etc/hdfs"
NAMENODE, SECONDARY, DATANODE = "namenode", "secondarynamenode", "datanode"
CHECKPOINT_PERIOD = "dfs.namenode.checkpoint.period"
REPLICATION = "dfs.replication"
HOME, WAREHOUSE = "/user/spark", "/user/spark/warehouse"
_INCLUDE = f"{CONFIG}/datanodes"
EXCLUDE = f"{CONFIG}/decommissioned"
"""The NameNode's list of DataNodes that leave."""
_CHECKPOINTS = "/var/lib/hdfs/checkpoint"
_LOOPBACK = "127.0.0.1"
_WEB_PORTS = ("hdfs_namenode_ui_port", "hdfs_secondarynamenode_ui_port", "hdfs_datanode_ui_port")
_DEFAULT_PORT = ":8020"  # of a URL that names none
_COPIES = 3
_CLASSES = {
    NAMENODE: "namenode.NameNode",
    SECONDARY: "namenode.SecondaryNameNode",
    DATANODE: "datanode.DataNode",
}
# The variable of each heap, and what is said of it; a checkpoint needs what the NameNode needs.
_HEAPS = {
    NAMENODE: ("hdfs_namenode_heap", ""),
    SECONDARY: ("hdfs_namenode_heap", " (checkpoints)"),
    DATANODE: ("hdfs_datanode_heap", ""),
}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TOPOLOGY: Mapping[str, Any] = {
    # A stream writes small files all the time: a checkpoint shortens the next start of the
    # NameNode, and is what a backup has.
    CHECKPOINT_PERIOD: 600,
    # A DataNode that is gone is avoided after 10 s, and its blocks are copied after 100 s; Hadoop's
    # own 30 s and 10.5 minutes are for clusters of thousands.
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 45000,
    "dfs.namenode.stale.datanode.interval": 10000,
    "dfs.namenode.avoid.read.stale.datanode": True,
    "dfs.namenode.avoid.write.stale.datanode": True,
    # After a start of the NameNode nothing can be written until its blocks are reported, and for
    # this time besides: 30 s by default, for DataNodes that are late.
    "dfs.namenode.safemode.extension": 5000,
    # A DataNode is known by its address, which may have no name.
    "dfs.namenode.datanode.registration.ip-hostname-check": False,
    # Not removed by the first mistyped command.
    "fs.trash.interval": 1440,
}
# What every client of a small cluster needs, those of Spark too: one that waits while the NameNode
# is restarted, and goes on writing when there is no spare DataNode to replace a failed one.
CLIENT: Mapping[str, Any] = {
    "dfs.client.retry.policy.enabled": True,
    "dfs.client.retry.policy.spec": "2000,150",
    "dfs.client.block.write.replace-datanode-on-failure.best-effort": True,
}
# A DataNode serves a block only to a client with a block access token of the NameNode.
_CLOSED: Mapping[str, Any] = {"dfs.block.access.token.enable": True}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "dfs.datanode.address": "hdfs_datanode_port",
    "dfs.datanode.data.dir.perm": "nothing, the directories are closed to other accounts",
    "dfs.datanode.data.dir": "hdfs_data_dirs",
    "dfs.datanode.hostname": "hdfs_host",
    "dfs.datanode.http.address": "hdfs_datanode_ui_port",
    "dfs.datanode.ipc.address": "hdfs_datanode_ipc_port",
    "dfs.hosts": "the group hdfs_datanodes",
    "dfs.hosts.exclude": "decommission.yml",
    "dfs.namenode.checkpoint.dir": "nothing, it is a copy of what the NameNode has",
    "dfs.namenode.http-address": "hdfs_namenode_ui_port",
    "dfs.namenode.name.dir": "hdfs_name_dirs",
    "dfs.namenode.storage.dir.perm": "nothing, the directories are closed to other accounts",
    "dfs.namenode.rpc-address": "hdfs_namenode_port",
    "dfs.namenode.secondary.http-address": "hdfs_secondarynamenode_ui_port",
    "dfs.permissions.superusergroup": "hdfs_user",
    "fs.defaultFS": "the group hdfs_namenode",
}


@dataclass(frozen=True)
class HdfsHost(Service):
    """One host of HDFS."""

    roles: tuple[str, ...]
    namenodes: Mapping[str, HostSettings]
    """The NameNodes of the cluster, by name."""
    datanodes: Mapping[str, HostSettings]
    """The DataNodes of the cluster, by name."""
    spark_user: str = ""
    """The account of Spark in the inventory, empty without Spark."""
    jobs: Sequence[Job] = ()
    """The jobs of Spark."""
    product = "hdfs"
    title = "Apache Hadoop HDFS"
    address_variable = "hdfs_host"
    heap_name = "namenode_heap"
    closed = "hosts and host_firewall: nftables"
    scripts = ("hdfs", "hadoop")
    tool_template = "hdfs-tool.sh.j2"
    leftovers = (_INCLUDE, EXCLUDE, f"{CONFIG}/", _CHECKPOINTS)

    @property
    def owned(self) -> Mapping[str, str]:
        """The keys that only Millrace writes here, with the variable that sets each."""
        return OWNED

    @property
    def table(self) -> Table:
        """The keys that its version knows, none for a version that is not known."""
        return hdfs_key_table.load(self.version)

    def knows(self, key: str) -> bool:
        """Return whether its version reads a key, or something else may."""
        return hdfs_key_table.is_known(key, self.version)

    @property
    def name_dirs(self) -> list[str]:
        """The directories of the NameNode, each with a full copy of its image and edit log."""
        return list(self.settings["hdfs_name_dirs"])

    @property
    def data_dirs(self) -> list[str]:
        """The directories of blocks."""
        return list(self.settings["hdfs_data_dirs"])

    @property
    def namenode(self) -> HostSettings | None:
        """The host of the NameNode."""
        return next(iter(self.namenodes.values()), None)

    @property
    def url(self) -> str:
        """The address of the file system, empty without a NameNode."""
        namenode = self.namenode
        if namenode is None:
            return ""
        return (
            f"hdfs://{namenode.address(self.address_variable)}"
            f":{namenode.settings['hdfs_namenode_port']}"
        )

    @property
    def namenode_ui(self) -> str:
        """Where the NameNode answers by HTTP, on its own host alone."""
        namenode = self.namenode
        return f"{_LOOPBACK}:{namenode.settings['hdfs_namenode_ui_port']}" if namenode else ""

    @property
    def accounts(self) -> list[str]:
        """Its account; the NameNode asks its own host who is in the group of Spark's users."""
        needs_group = self.spark_user and NAMENODE in self.roles
        group = f"g {spark_shared.GROUP} {spark_shared.GROUP_ID}"
        return [*([group] if needs_group else []), *super().accounts]

    @property
    def client_config(self) -> dict[str, Any]:
        """The properties of a client that has none of these files, as Spark."""
        return {key: self.config[key] for key in (*CLIENT, REPLICATION)}

    @property
    def shared_directories(self) -> list[dict[str, str]]:
        """Directories in the file system that others need: path, and mode and owner if given."""
        if not self.spark_user:
            return []
        access = {"owner": f"{self.spark_user}:{spark_shared.GROUP}", "mode": "770"}
        return [
            {"path": "/tmp", "mode": "1777"},  # noqa: S108 - of HDFS
            {"path": HOME, **access},
            {"path": WAREHOUSE, **access},
        ]

    @property
    def streams(self) -> dict[str, dict[str, Any]]:
        """Job -> path and late_after, of those that run all the time with a checkpoint in HDFS."""
        return {
            job.name: {"checkpoint": path, "late_after": job.late_after}
            for job in self.jobs
            if job.present and job.services and (path := self._path(job.checkpoint))
        }

    def _path(self, url: str) -> str:
        """Return the path of a URL of this file system, empty for that of another one."""
        starts = [self.url, self.url.removesuffix(_DEFAULT_PORT)] if self.url else []
        path = next((url[len(start) :] for start in starts if url.startswith(f"{start}/")), "")
        # WebHDFS refuses a path with two slashes.
        return posixpath.normpath(f"/{path.lstrip('/')}") if path else ""

    @property
    def units(self) -> list[str]:
        """Its systemd units, in the order in which they are started."""
        return [f"hdfs-{role}" for role in self.roles]

    @property
    def starts_after(self) -> dict[str, list[str]]:
        """The NameNode, before the others.

        A DataNode would try again after 5 s, and the process that takes checkpoints end after 10.
        """
        at = [self.url.rpartition("/")[2]]
        return {f"hdfs-{role}": at for role in self.roles if role != NAMENODE}

    @property
    def all_units(self) -> list[str]:
        """Patterns of all units of ours that teardown removes."""
        return ["hdfs-*"]

    @property
    def kept_units(self) -> list[str]:
        """Those of all roles, also former ones: a site may have others named so."""
        return [f"hdfs-{role}" for role in (NAMENODE, SECONDARY, DATANODE)]

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        names = self.name_dirs if NAMENODE in self.roles else []
        blocks = self.data_dirs if DATANODE in self.roles else []
        return [
            *(("hdfs_name_dirs", path) for path in names),
            *(("hdfs_data_dirs", path) for path in blocks),
        ]

    @property
    def ports(self) -> dict[str, int]:
        """Variable -> port."""
        variables = {
            NAMENODE: ("hdfs_namenode_port", "hdfs_namenode_ui_port"),
            SECONDARY: ("hdfs_secondarynamenode_ui_port",),
            DATANODE: ("hdfs_datanode_port", "hdfs_datanode_ipc_port", "hdfs_datanode_ui_port"),
        }
        return {name: self.settings[name] for role in self.roles for name in variables[role]}

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: clients are among the hosts of the inventory, unless it is open."""
        if port in _WEB_PORTS:
            return (LOOPBACK,)
        return (CLIENTS, NODES) if self.is_open else (NODES,)

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap, of each JVM."""
        of_roles = [_HEAPS[role] for role in self.roles]
        return {f"{variable}{use}": self.settings[variable] for variable, use in of_roles}

    def _defaults(self) -> dict[str, dict[str, Any]]:
        copies = {REPLICATION: max(1, min(_COPIES, len(self.datanodes)))}
        closed = {} if self.settings["hdfs_security"] == OPEN else _CLOSED
        return {"topology": {**_TOPOLOGY, **CLIENT, **copies}, "security": dict(closed)}

    def _owned_config(self) -> dict[str, Any]:
        settings, address = self.settings, self.address
        web = {name: f"{_LOOPBACK}:{settings[name]}" for name in _WEB_PORTS}
        return {
            "fs.defaultFS": self.url,
            "dfs.namenode.rpc-address": self.url.rpartition("/")[2],
            # Of the NameNode's host; nobody else connects to it.
            "dfs.namenode.http-address": self.namenode_ui,
            "dfs.namenode.secondary.http-address": web["hdfs_secondarynamenode_ui_port"],
            "dfs.namenode.name.dir": [f"file://{path}" for path in self.name_dirs],
            "dfs.namenode.storage.dir.perm": 750,
            "dfs.namenode.checkpoint.dir": f"file://{_CHECKPOINTS}",
            "dfs.hosts": _INCLUDE,
            # Of the NameNode's host alone: others need no restart for it.
            **({"dfs.hosts.exclude": EXCLUDE} if NAMENODE in self.roles else {}),
            "dfs.datanode.data.dir": [f"file://{path}" for path in self.data_dirs],
            "dfs.datanode.data.dir.perm": 750,
            "dfs.datanode.hostname": address.strip("[]"),
            "dfs.datanode.address": f"{address}:{settings['hdfs_datanode_port']}",
            "dfs.datanode.ipc.address": f"{address}:{settings['hdfs_datanode_ipc_port']}",
            "dfs.datanode.http.address": web["hdfs_datanode_ui_port"],
            "dfs.permissions.superusergroup": self.user,
        }

    def directories(self) -> dict[str, Entry]:
        """Return its directories."""
        paths = [_CHECKPOINTS] if SECONDARY in self.roles else []
        return {**super().directories(), **{path: self.own_directory() for path in paths}}

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        site = {key: value for key, value in self.config.items() if key.startswith("dfs.")}
        core = {key: value for key, value in self.config.items() if key not in site}
        return {
            **super().files(),
            f"{CONFIG}/core-site.xml": _xml(core),
            f"{CONFIG}/hdfs-site.xml": _xml(site),
            **self._include(),
            **self.copy("log4j.properties"),
            **{path: entry for role in self.roles for path, entry in self._daemon(role).items()},
        }

    def _include(self) -> dict[str, Entry]:
        """Return the lists of DataNodes that the NameNode can read again.

        It accepts those of one. Those of the other give away their blocks: decommission.yml names
        one there until the inventory does not have it any more.
        """
        if NAMENODE not in self.roles:
            return {}
        names = [host.address(self.address_variable) for host in self.datanodes.values()]
        text = "".join(f"{name.strip('[]')}\n" for name in names)
        return {_INCLUDE: files.text(text), EXCLUDE: files.text("")}

    def _environment(self) -> dict[str, str]:
        options = " ".join(self.settings["hdfs_java_options"])
        return {
            f"HDFS_{role.upper()}_OPTIONS": f"-Xms{heap} -Xmx{heap} {options}"
            for role, heap in zip(self.roles, self.heaps.values(), strict=False)
        }

    def _daemon(self, role: str) -> dict[str, Entry]:
        command = (
            f"{self.host.java.binary} -server -XX:+ExitOnOutOfMemoryError "
            f"$HDFS_{role.upper()}_OPTIONS -Djava.awt.headless=true "
            f"-cp {self.class_path} org.apache.hadoop.hdfs.server.{_CLASSES[role]}"
        )
        return self.unit(f"hdfs-{role}", f"{self.title} {self.version} {role}", command)

    @property
    def class_path(self) -> str:
        """Where daemons find their configuration, the directories of web pages, and classes."""
        home = self.distribution.home
        return f"{CONFIG}:{home}:{home}/libs/*"


def seconds(value: object) -> int | None:
    """Return a duration as Hadoop writes it, such as 600, 600s or 10m, None if it is none."""
    match = re.fullmatch(r"(\d+)([smhd]?)", str(value).strip(), re.ASCII)
    return int(match[1]) * _SECONDS[match[2]] if match else None


def _xml(values: Mapping[str, Any]) -> Entry:
    return files.text(files.render("hadoop.xml.j2", properties=values), restart=True)


def resolve(resolution: Resolution) -> dict[str, HdfsHost]:
    """Return host -> its part of HDFS, of all hosts of HDFS's groups."""
    hosts = resolution.hosts
    sparks = [
        host for group in registry.groups_of("spark") for host in resolution.members(group).values()
    ]
    spark_user = next((str(host.settings["spark_user"]) for host in sparks), "")
    jobs = spark_jobs.of_driver(resolution)
    namenodes, datanodes = map(resolution.members, registry.groups_of("hdfs"))
    return {
        name: HdfsHost(host, roles, namenodes, datanodes, spark_user, jobs)
        for name, host in hosts.items()
        if (
            roles := (
                *((NAMENODE, SECONDARY) if name in namenodes else ()),
                *((DATANODE,) if name in datanodes else ()),
            )
        )
    }
