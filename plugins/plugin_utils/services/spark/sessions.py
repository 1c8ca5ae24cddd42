"""What people start on a Spark host: the commands on their path, and the properties of a session.

A session may also be one of the Connect server, whose clients are elsewhere. Only members of a
group may read the properties, which have the secret of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...cluster import files
from ...cluster.files import Entry

GROUP, GROUP_ID = "spark-users", 7078
"""The group of those who may use Spark; the same number everywhere, for the shared directory."""
DIRECTORY = "/etc/spark/client"
CONNECT_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
NAMES = (
    *("spark-submit", "pyspark", "spark-sql", "spark-shell", "spark-class", "spark-pipelines"),
    *("spark-connect-shell", "run-example", "beeline", "sparkR"),
    # systemd does what these are for.
    *("start-master.sh", "stop-master.sh", "start-worker.sh", "stop-worker.sh"),
    *("start-history-server.sh", "stop-history-server.sh", "start-all.sh", "stop-all.sh"),
)
# Below what the inventory sets for all applications.
DEFAULTS: Mapping[str, Any] = {
    # Otherwise one session would take all cores of the cluster.
    "spark.cores.max": 2,
    "spark.executor.memory": "1g",
    # It needs pyarrow on the workers.
    "spark.sql.execution.pythonUDF.arrow.enabled": False,
}


def connect(home: str, port: int) -> str:
    """Return the command of the Connect server.

    It has no TLS: it listens on loopback, where its clients come by SSH.
    """
    binding = {"address": "127.0.0.1", "port": port}
    options = [f"--conf spark.connect.grpc.binding.{key}={value}" for key, value in binding.items()]
    words = [f"{home}/bin/spark-submit", "--class", _CONNECT, *options]
    return " ".join([*words, "--conf spark.connect.grpc.port.maxRetries=0", "spark-internal"])


def warehouse(shared_dir: str) -> str:
    """Return the directory of managed tables."""
    return f"{shared_dir}/warehouse"


def config(shared_dir: str) -> dict[str, Any]:
    """Return what tables in a shared directory need, which several accounts write.

    A session's directories belong to its user and its files to the executors' account, so all of
    them are open to the group. The marker of a finished job would belong to the first user alone.
    """
    return {
        "spark.sql.warehouse.dir": f"file://{warehouse(shared_dir)}",
        "spark.hadoop.fs.permissions.umask-mode": "007",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": False,
    }


def shared(owner: str, mode: str) -> Entry:
    """Return a directory in which all of the group write."""
    return files.directory(owner, mode, group=GROUP)


def property_files(config: Mapping[str, Any], ui_token: str) -> dict[str, Entry]:
    """Return the files that sessions read; `ui_token` opens their own web interfaces."""
    own = {"mode": "0640", "group": GROUP, "secret": True}
    token = {f"{DIRECTORY}/ui-token": files.text(f"{ui_token}\n", **own)} if ui_token else {}
    path = f"{DIRECTORY}/spark-defaults.conf"
    text = files.properties(config)
    return {
        DIRECTORY: files.directory(),
        path: files.text(text, format="properties", **own),
        **token,
    }
