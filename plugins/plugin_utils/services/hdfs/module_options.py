"""The options of modules that operate HDFS, from the model of the cluster."""

from __future__ import annotations

from ....module_utils.formats.values import integer
from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .model import CHECKPOINT_PERIOD, EXCLUDE, REPLICATION, HdfsHost, seconds


def _hdfs_health(hdfs: HdfsHost, _: Cluster) -> Options:
    local = {name: host for name, host in hdfs.datanodes.items() if name == hdfs.name}
    return {
        "namenode": hdfs.namenode_ui,
        "datanodes": hdfs.addresses(hdfs.datanodes, "hdfs_datanode_port"),
        "checkpoint_seconds": 3 * (seconds(hdfs.config[CHECKPOINT_PERIOD]) or 600),
        "replication": integer(hdfs.config[REPLICATION]) or 1,
        "exclude_file": EXCLUDE,
        "own": next(iter(hdfs.addresses(local, "hdfs_datanode_port")), ""),
    }


def _hdfs_job_health(hdfs: HdfsHost, _: Cluster) -> Options:
    return {"namenode": hdfs.namenode_ui, "user": hdfs.user, "jobs": hdfs.streams}


def _hdfs_storage(hdfs: HdfsHost, _: Cluster) -> Options:
    return {
        "name_dirs": hdfs.name_dirs,
        "java": hdfs.host.java.binary,
        "class_path": hdfs.class_path,
        "user": hdfs.user,
    }


def _hdfs_directories(hdfs: HdfsHost, cluster: Cluster) -> Options:
    return {
        **_hdfs_storage(hdfs, cluster),
        "directories": hdfs.shared_directories,
        "mark": f"{hdfs.state_dir}/directories",
    }


def _hdfs_image(hdfs: HdfsHost, _: Cluster) -> Options:
    return {"namenode": hdfs.namenode_ui, "name_dirs": hdfs.name_dirs}


OPERATIONS: Operations = {
    "hdfs_health": _hdfs_health,
    "hdfs_job_health": _hdfs_job_health,
    "hdfs_storage": _hdfs_storage,
    "hdfs_directories": _hdfs_directories,
    "hdfs_image": _hdfs_image,
}
