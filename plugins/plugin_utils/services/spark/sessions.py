"""What people start on a Spark host: the commands on their path, and the properties of a session.

A session may also be one of the Connect server, whose clients are elsewhere. Only members of a
group may read the properties, which have the secret of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...cluster import files
from ...cluster.files import Entry
from ...cluster.service import Service
from ..hdfs.model import WAREHOUSE, HdfsHost
from ..kafka.security import SPARK_METASTORE, SPARK_SESSION_UI_KEY
from . import metastore as spark_metastore
from . import shared
from .security import Security, ui_token
from .standalone import StandaloneCluster

HDFS = "hdfs"
"""What puts the tables of sessions there, of spark_file_system."""
DIRECTORY = "/etc/spark/client"
UI_TOKEN = f"{DIRECTORY}/ui-token"
CONNECT_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
NAMES = (
    "spark-submit",
    "pyspark",
    "spark-sql",
    "spark-shell",
    "spark-class",
    "spark-pipelines",
    "spark-connect-shell",
    "run-example",
    "beeline",
    "sparkR",
    # systemd does what these are for.
    "start-master.sh",
    "stop-master.sh",
    "start-worker.sh",
    "stop-worker.sh",
    "start-history-server.sh",
    "stop-history-server.sh",
    "start-all.sh",
    "stop-all.sh",
)
# Below what the inventory sets for all applications.
DEFAULTS: Mapping[str, Any] = {
    # Otherwise one session would take all cores of the cluster.
    "spark.cores.max": 2,
    "spark.executor.memory": "1g",
    # It needs pyarrow on the workers.
    "spark.sql.execution.pythonUDF.arrow.enabled": False,
}
# As the cluster has them.
_EVENT_LOGS = ("spark.eventLog.enabled", "spark.eventLog.dir")


@dataclass(frozen=True)
class Sessions:
    """The sessions that people start on a host: their properties, and the files of these."""

    service: Service
    """The host, whose layers of properties sessions share."""
    standalone: StandaloneCluster
    """The cluster whose catalog they use."""
    security: Security
    """The secrets of the cluster, and theirs."""
    shared_dir: str
    """The directory with their tables, unless these are in HDFS."""
    hdfs: HdfsHost | None
    """A host of HDFS in the inventory, None without it."""

    @cached_property
    def config(self) -> dict[str, Any]:
        """The properties of a session."""
        service, layers = self.service, self.service.layers
        catalog = next(iter(self.standalone.metastore_addresses), "")
        password = self.security.secret(SPARK_METASTORE)
        return {
            **layers["topology"],
            **layers["security"],
            **DEFAULTS,
            **_tables(self.shared_dir),
            **self._file_system,
            **layers["spark_config"],
            **{key: service.config[key] for key in _EVENT_LOGS},
            **self.security.ui_config(SPARK_SESSION_UI_KEY),
            **(spark_metastore.client_config(catalog, password) if catalog else {}),
        }

    @property
    def _file_system(self) -> dict[str, Any]:
        """The properties of sessions whose tables, and paths without a scheme, are in HDFS."""
        if self.hdfs is None or self.service.settings["spark_file_system"] != HDFS:
            return {}
        url = self.hdfs.url
        return {"spark.hadoop.fs.defaultFS": url, "spark.sql.warehouse.dir": f"{url}{WAREHOUSE}"}

    def files(self) -> dict[str, Entry]:
        """Return the files that they read; a token opens their own web interfaces."""
        readers = {"mode": "0640", "group": shared.GROUP, "secret": True}
        token = ui_token(self.config)
        return {
            DIRECTORY: files.directory(),
            f"{DIRECTORY}/spark-defaults.conf": files.text(
                files.properties(self.config), format="properties", **readers
            ),
            **({UI_TOKEN: files.text(f"{token}\n", **readers)} if token else {}),
        }


def connect(home: str, port: int) -> str:
    """Return the command of the Connect server.

    It has no TLS: it listens on loopback, where its clients come by SSH.
    """
    binding = {"address": "127.0.0.1", "port": port}
    options = [f"--conf spark.connect.grpc.binding.{key}={value}" for key, value in binding.items()]
    words = [f"{home}/bin/spark-submit", "--class", _CONNECT, *options]
    return " ".join([*words, "--conf spark.connect.grpc.port.maxRetries=0", "spark-internal"])


def _tables(shared_dir: str) -> dict[str, Any]:
    """Return what tables in a shared directory need, which several accounts write.

    A session's directories belong to its user and its files to the executors' account, so all of
    them are open to the group. The marker of a finished job would belong to the first user alone.
    """
    return {
        "spark.sql.warehouse.dir": f"file://{shared.warehouse(shared_dir)}",
        "spark.hadoop.fs.permissions.umask-mode": "007",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": False,
    }
