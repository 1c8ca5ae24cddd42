"""Options of the modules that operate a service, from the model of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..services.connect import connectors
from ..services.connect import model as connect
from ..services.connect.model import Worker
from ..services.hdfs.model import CHECKPOINT_PERIOD, HdfsHost, seconds
from ..services.kafka import node as kafka
from ..services.kafka import security
from ..services.kafka.listeners import MOVED
from ..services.kafka.node import KafkaNode
from ..services.kafka.security import User
from ..services.monitoring import model as monitoring
from ..services.monitoring.model import Monitoring
from ..services.postgresql.model import Database
from ..services.schema_registry import model as schema_registry
from ..services.schema_registry.model import Registry
from ..services.spark.jobs import SERVICE
from ..services.spark.model import SparkHost
from ..services.zookeeper.model import Member
from .cluster import Cluster

Options = dict[str, Any]


def of_module(module: str, cluster: Cluster, host: str) -> Options:
    """Return the options of a module that operates a service of a host, by the module's name.

    Raises:
        NoServiceError: the host does not have the service.

    """
    product = next(one for one in cluster.by_product if module.startswith(f"{one}_"))
    return OPERATIONS[module](cluster.part(host, product), cluster)


def _zookeeper_health(member: Member, _: Cluster) -> Options:
    own = member.identity
    files = {"certificate": own.certificate.path, "authority": own.authority} if own else {}
    return {"members": member.client_addresses, **files}


def _spark_health(spark: SparkHost, _: Cluster) -> Options:
    return {
        "masters": spark.at_masters("spark_master_ui_port"),
        # As they register.
        "workers": [one.address(spark.address_variable) for one in spark.workers.values()],
        "token": spark.ui_token,
        "metastores": spark.metastore_addresses,
    }


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


def _connect_health(own: Worker, _: Cluster) -> Options:
    files = {"certificate": connect.REST_STORE, "authority": connect.AUTHORITY}
    return {"workers": [*own.rest_addresses.values()], **(files if own.is_secured else {})}


def _connect_connectors(own: Worker, cluster: Cluster) -> Options:
    found = [(one, own.connector_config(one)) for one in own.connectors]
    return {
        **_connect_health(own, cluster),
        "connectors": [
            {
                "name": one.name,
                "config": config if one.present else {},
                "state": one.state,
                "former_user": connectors.former_user(one, own.connectors)
                if own.kafka_login
                else "",
            }
            for one, config in found
        ],
        "secret_files": sorted(own.secret_files()),
    }


def _registry(own: Registry, _: Cluster) -> Options:
    authority = {"authority": schema_registry.AUTHORITY} if own.is_secured else {}
    return {"instances": [*own.rest_addresses.values()], "login": own.login, **authority}


def _schema_registry_health(own: Registry, cluster: Cluster) -> Options:
    return {
        **_registry(own, cluster),
        "own": own.rest_addresses[own.name],
        "management_port": own.settings["schema_registry_management_port"],
    }


def _schema_registry_subjects(own: Registry, cluster: Cluster) -> Options:
    return {
        **_registry(own, cluster),
        "compatibility": own.settings["schema_registry_compatibility"],
        "subjects": [
            {
                "name": one.name,
                "state": "present" if one.present else "absent",
                "type": one.type,
                "schema": one.text or "",
                "compatibility": one.compatibility,
                "references": list(one.references),
            }
            for one in own.subjects
        ],
    }


def _postgresql_setup(own: Database, _: Cluster) -> Options:
    return {**own.connection, "steps": own.steps}


def _postgresql_checks(own: Database, cluster: Cluster) -> Options:
    worker = next(iter(cluster.connect.values()), None)
    needed = own.needed(worker.connectors) if worker else []
    return {**own.connection, "health": own.health, "connectors": needed}


def _monitoring_check(own: Monitoring, _: Cluster) -> Options:
    return {"files": {path: one["content"] for path, one in own.configuration.items()}}


def _monitoring_reload(own: Monitoring, _: Cluster) -> Options:
    return {**own.operated, "directory": monitoring.CONFIG}


def _monitoring_health(own: Monitoring, cluster: Cluster) -> Options:
    targets = [f"{job}/{name}" for job, hosts in own.jobs.items() for name in hosts]
    of_console = cluster.consoles[own.name].operated if own.name in cluster.consoles else {}
    return {**own.operated, **of_console, "targets": targets}


def _spark_job_health(spark: SparkHost, _: Cluster) -> Options:
    in_hdfs = spark.hdfs.streams if spark.hdfs else {}
    return {
        "jobs": [
            {
                "name": job.name,
                "unit": job.unit,
                "timer": job.timer,
                "continuous": job.schedule == SERVICE,
                # hdfs_job_health finds those in HDFS that are late.
                "late_after": 0 if job.name in in_hdfs else job.late_after,
                "checkpoint": spark.checkpoint(job),
            }
            for job in spark.jobs
            if job.present and spark.runs_jobs
        ]
    }


def _spark_job_checkpoints(spark: SparkHost, _: Cluster) -> Options:
    return {
        "jobs": [
            {"name": job.name, "checkpoint": spark.checkpoint(job), "topics": list(job.topics)}
            for job in spark.jobs
            if job.present and spark.runs_jobs
        ]
    }


def _kafka_health(node: KafkaNode, cluster: Cluster) -> Options:
    return {**_gate(node, cluster), "tls_addresses": node.tls_addresses}


def _expected(node: KafkaNode, _: Cluster) -> Options:
    return {
        "bootstrap": node.other_brokers_first,
        "expect_brokers": [peer.id for peer in node.brokers],
        "expect_voters": [peer.id for peer in node.voters],
        **({"cluster_id": node.cluster_id} if node.cluster_id else {}),
    }


def _gate(node: KafkaNode, cluster: Cluster) -> Options:
    return {
        **_expected(node, cluster),
        "strict": node.settings["kafka_gate_strict"],
        "allow_outage": node.settings["kafka_allow_outage"],
        "allow_unsafe_quorum": node.settings["kafka_allow_unsafe_quorum"],
    }


def _kafka_restart(node: KafkaNode, cluster: Cluster) -> Options:
    # The options that stay the same for a whole roll.
    return {
        **_gate(node, cluster),
        "node": {
            "id": node.id,
            "broker": node.is_broker,
            "controller": node.is_controller,
            "address": node.own_address,
            "ports": [one.port for one in node.listeners],
            "data_dirs": node.data_dirs,
            "replication": node.replication_factor,
            "peers": _peers(node),
        },
    }


def limits(node: KafkaNode) -> Mapping[str, float]:
    """Return the seconds that each phase of a restart may take."""
    settings = node.settings
    return {
        "gate": settings["kafka_gate_timeout"],
        # After its timeout systemd kills the process; 30 s are for that and for a slow host.
        "stop": settings["kafka_stop_timeout"] + 30,
        "reboot": settings["kafka_reboot_timeout"],
        "start": settings["kafka_start_timeout"],
        "ready": settings["kafka_isr_timeout"],
    }


def _kafka_storage(node: KafkaNode, _: Cluster) -> Options:
    return {
        **_as_service_user(node),
        "cluster_id": node.cluster_id,
        "log_dirs": list(dict.fromkeys(path for _, path in node.data_directories)),
        "controller": node.is_controller,
        "initial_controllers": node.initial_controllers,
        "bootstrap": node.other_brokers_first,
    }


def _kafka_voter(node: KafkaNode, _: Cluster) -> Options:
    return {
        **_as_service_user(node),
        "bootstrap": node.bootstrap,
        "timeout": node.settings["kafka_start_timeout"],
    }


def _kafka_features(node: KafkaNode, cluster: Cluster) -> Options:
    return {**_expected(node, cluster), "target": node.version}


def _kafka_dynamic_config(node: KafkaNode, _: Cluster) -> Options:
    # The connection is to the broker itself. Before its restart the certificate that it shows lacks
    # an address that has changed since.
    port = node.own_address.rpartition(":")[2]
    return {
        "bootstrap": [f"localhost:{port}" if node.keys_are_ours else node.own_address],
        "node_id": node.id,
        "keys": node.dynamic_keys,
        "path": kafka.SERVER_PROPERTIES,
        "content": node.files()[kafka.SERVER_PROPERTIES]["content"],
    }


def _kafka_users(node: KafkaNode, _: Cluster) -> Options:
    # A login shows whether a user's password is the one that it should have.
    login = node.login_listener
    trust = {k: one for k, one in node.client_config.items() if k.startswith("ssl.truststore.")}
    return {
        "bootstrap": node.bootstrap,
        "users": [_user(one, may_replace=node.may_replace(one)) for one in node.users],
        "mechanism": node.login_mechanism,
        "iterations": security.ITERATIONS,
        "login_bootstrap": node.client_bootstrap if login else [],
        "login_properties": {"security.protocol": login.protocol, **trust} if login else {},
        "wait": node.settings["kafka_start_timeout"],
    }


def _kafka_topics(node: KafkaNode, cluster: Cluster) -> Options:
    worker = next(iter(cluster.connect.values()), None)
    found = connectors.topics_read(worker.connectors) if worker else {}
    return {"bootstrap": node.bootstrap, "topics": found}


def _kafka_service_topics(node: KafkaNode, cluster: Cluster) -> Options:
    found = schema_registry.topics(node.replication_factor) if cluster.schema_registry else {}
    wait = node.settings["kafka_start_timeout"]
    return {"bootstrap": node.bootstrap, "topics": found, "wait": wait}


def _kafka_listeners(node: KafkaNode, _: Cluster) -> Options:
    # Who still uses the former listeners counts when they are about to be closed.
    leaves = node.change is not None and node.change.complete and node.change.phase == MOVED
    return {"ports": [one.port for one in node.former_listeners] if leaves else []}


def _user(user: User, *, may_replace: bool) -> Options:
    login = {"password": user.password, **({} if may_replace else {"replace": False})}
    return {
        "name": user.name,
        "state": "present" if user.present else "absent",
        "grants": [*user.grants],
        **(login if user.scram and user.password else {}),
    }


OPERATIONS: Mapping[str, Callable[[Any, Cluster], Options]] = {
    "zookeeper_health": _zookeeper_health,
    "spark_health": _spark_health,
    "spark_job_health": _spark_job_health,
    "hdfs_health": _hdfs_health,
    "hdfs_job_health": _hdfs_job_health,
    "hdfs_storage": _hdfs_storage,
    "hdfs_directories": _hdfs_directories,
    "hdfs_image": _hdfs_image,
    "spark_job_checkpoints": _spark_job_checkpoints,
    "connect_health": _connect_health,
    "connect_connectors": _connect_connectors,
    "postgresql_setup": _postgresql_setup,
    "postgresql_checks": _postgresql_checks,
    "monitoring_check": _monitoring_check,
    "monitoring_reload": _monitoring_reload,
    "monitoring_health": _monitoring_health,
    "kafka_contents": _expected,
    "kafka_health": _kafka_health,
    "kafka_restart": _kafka_restart,
    "kafka_storage": _kafka_storage,
    "kafka_voter": _kafka_voter,
    "kafka_features": _kafka_features,
    "kafka_dynamic_config": _kafka_dynamic_config,
    "kafka_listeners": _kafka_listeners,
    "kafka_users": _kafka_users,
    "kafka_topics": _kafka_topics,
    "kafka_service_topics": _kafka_service_topics,
    "schema_registry_archive": _registry,
    "schema_registry_health": _schema_registry_health,
    "schema_registry_subjects": _schema_registry_subjects,
}


def _as_service_user(node: KafkaNode) -> Options:
    """Return what Kafka's own tools are run with on the node's host."""
    user = node.settings["kafka_user"]
    return {
        "home": node.distribution.home,
        "java": node.host.java.binary,
        "node_id": node.id,
        "user": user,
        "group": user,
    }


def _peers(node: KafkaNode) -> list[str]:
    """Return the addresses of all other nodes."""
    brokers = zip(node.bootstrap, (peer.id for peer in node.brokers), strict=False)
    voters = zip(node.quorum_addresses, (peer.id for peer in node.voters), strict=False)
    found = [*brokers, *voters]
    own = {address for address, peer in found if peer == node.id}
    return list(dict.fromkeys(address for address, _ in found if address not in own))
