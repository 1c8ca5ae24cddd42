"""The rules about HDFS: who may connect, how many copies there are, and whose data is on disks."""

from __future__ import annotations

from collections.abc import Sequence

from ....module_utils.formats.key_table import expected_value
from ....module_utils.formats.values import integer, listing
from ...cluster.cluster import Cluster
from ...cluster.firewall import NFTABLES
from ...rules.engine import Finding, Findings, hosts_rule, rule
from ...rules.inspection import InspectedHost
from ...rules.shared import Property, parts, properties
from .model import DATANODE, NAMENODE, REPLICATION, HdfsHost

_GROUP = "group hdfs_namenode"


@rule("hdfs-namenodes", where=_GROUP)
def _hdfs_namenodes(cluster: Cluster) -> Findings:
    """Each would have a file system of its own: a second NameNode that stands by needs a quorum of
    journals, which Millrace does not run.
    """
    if (hosts := cluster.inventory.members("hdfs_namenode"))[1:]:
        yield Finding(f"{listing(hosts)} would each be a NameNode.", f"Keep {hosts[0]} alone.")


@rule("hdfs-without-firewall", each=parts("hdfs"), where="host_firewall")
def _hdfs_without_firewall(host: HdfsHost) -> Findings:
    """Without Kerberos HDFS accepts any user name that a client sends, that of its superuser too:
    whoever reaches a port can read and delete everything.
    """
    if not host.is_open and host.settings["host_firewall"] != NFTABLES:
        problem = "hdfs_security is hosts, and no firewall keeps others out."
        fix = (
            f"Set host_firewall: {NFTABLES}; or, where the network does that, hdfs_security: open."
        )
        yield Finding(problem, fix)


@rule("hdfs-replication", each=properties("hdfs", key=REPLICATION))
def _hdfs_replication(host: HdfsHost, setting: Property) -> Findings:
    """With fewer DataNodes than copies every block would lack one, and no DataNode could be
    restarted.
    """
    copies, most = integer(setting.value), len(host.datanodes)
    wrong = expected_value(setting.key, setting.value, host.table)  # which has a rule of its own
    if most and not wrong and (copies is None or not 1 <= copies <= most):
        problem = (
            f"{REPLICATION} is {setting.value}, with {most} DataNode{'s' if most > 1 else ''}."
        )
        yield Finding(problem, f"Set {REPLICATION}: {min(3, most)}.", setting.where)


@rule("hdfs-single-copy", where="group hdfs_datanodes", severity="warning")
def _hdfs_single_copy(cluster: Cluster) -> Findings:
    """The loss of a disk is the loss of files, and while its DataNode is down they cannot be
    read.
    """
    for host in cluster.hdfs.values():
        if host.datanodes and integer(host.config.get(REPLICATION)) == 1:
            problem = "Every block has a single copy."
            fix = f"Have 3 DataNodes, and {REPLICATION} 3; then run hdfs dfs -setrep -R 3 /."
            yield Finding(problem, fix)
            return


def _ids(hosts: Sequence[InspectedHost], role: str, service: str) -> dict[str, set[str]]:
    """Return host -> the ids of file systems on its disks, of the hosts with a role."""
    return {
        host.name: {
            directory.hdfs_id
            for configured, directory in host.data()
            if configured.variable == service and directory.hdfs_id
        }
        for host in hosts
        if host.hdfs and role in host.hdfs.roles
    }


@hosts_rule("hdfs-namenode-empty", where="hdfs_name_dirs")
def _hdfs_namenode_empty(hosts: Sequence[InspectedHost]) -> Findings:
    """A newly formatted NameNode has no record of the existing blocks: all files would be lost."""
    names, blocks = _ids(hosts, NAMENODE, "hdfs_name_dirs"), _ids(hosts, DATANODE, "hdfs_data_dirs")
    for name, ids in names.items():
        cluster = hosts[0].cluster
        if ids:
            continue
        full = [host for host, disk_ids in blocks.items() if disk_ids]
        absent = [
            host for host in cluster.inventory.members("hdfs_datanodes") if host not in blocks
        ]
        if full:
            problem = f"The NameNode {name} has no data, and {listing(full)} "
            problem += f"{'have' if full[1:] else 'has'}."
            fix = "Mount its disk, or restore a backup (docs/operate/hdfs.md). For a new file system empty "
            fix += "hdfs_data_dirs."
            yield Finding(problem, fix, hosts=(name,))
        elif absent:
            problem = f"The NameNode {name} has no data, and it is not known whether "
            problem += f"{listing(absent)} {'have' if absent[1:] else 'has'}."
            yield Finding(problem, "Run site.yml once without --limit.", hosts=(name,))


@hosts_rule("hdfs-data-of-another", where="hdfs_data_dirs")
def _hdfs_data_of_another(hosts: Sequence[InspectedHost]) -> Findings:
    """The blocks are those of another file system, and the DataNode would not start."""
    names = _ids(hosts, NAMENODE, "hdfs_name_dirs").values()
    namenode_ids = {hdfs_id for ids in names for hdfs_id in ids}
    for host, datanode_ids in _ids(hosts, DATANODE, "hdfs_data_dirs").items():
        if len(datanode_ids) > 1 or (len(namenode_ids) == 1 and datanode_ids - namenode_ids):
            problem = f"The disks of {host} are of {listing(sorted(datanode_ids))}"
            problem += (
                f", the NameNode is of {listing(sorted(namenode_ids))}." if namenode_ids else "."
            )
            yield Finding(problem, "Mount the right disks, or move the data away.", hosts=(host,))
