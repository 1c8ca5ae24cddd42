"""The options of modules that operate HDFS, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .model import CHECKPOINT_PERIOD, HdfsHost, seconds


def _hdfs_health(own: HdfsHost, _: Cluster) -> Options:
    return {
        "namenode": own.namenode_ui,
        "datanodes": own.addresses(own.datanodes, "hdfs_datanode_port"),
        "checkpoint_seconds": 3 * (seconds(own.config[CHECKPOINT_PERIOD]) or 600),
    }


def _hdfs_job_health(own: HdfsHost, _: Cluster) -> Options:
    return {"namenode": own.namenode_ui, "user": own.user, "jobs": own.streams}


def _hdfs_storage(own: HdfsHost, _: Cluster) -> Options:
    return {
        "name_dirs": own.name_dirs,
        "java": own.host.java.binary,
        "class_path": own.class_path,
        "user": own.user,
    }


def _hdfs_directories(own: HdfsHost, cluster: Cluster) -> Options:
    return {
        **_hdfs_storage(own, cluster),
        "directories": own.shared_directories,
        "mark": f"{own.state_dir}/directories",
    }


def _hdfs_image(own: HdfsHost, _: Cluster) -> Options:
    return {"namenode": own.namenode_ui, "name_dirs": own.name_dirs}


OPERATIONS: Operations = {
    "hdfs_health": _hdfs_health,
    "hdfs_job_health": _hdfs_job_health,
    "hdfs_storage": _hdfs_storage,
    "hdfs_directories": _hdfs_directories,
    "hdfs_image": _hdfs_image,
}
