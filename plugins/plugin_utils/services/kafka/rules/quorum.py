"""The rules about the records of quorums: which members hold them, and who may vote without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .....module_utils.formats.values import listing
from ....rules.engine import Finding, Findings, hosts_rule
from ....rules.inspection import InspectedHost


@hosts_rule("majority-without-data")
def _majority_without_data(hosts: Sequence[InspectedHost]) -> Findings:
    """An empty majority can elect a leader without the committed records, and the members that
    have them then truncate theirs.
    """
    for group, kind in (("kafka_controllers", "controllers"), ("zookeeper", "ZooKeeper members")):
        members = hosts[0].cluster.inventory.members(group) if hosts else []
        of_group = zookeeper_data if group == "zookeeper" else kafka_data
        data = of_group(hosts)
        # A broker has the records of the controllers too, but no vote.
        full = [host for host, held in data.items() if held]
        empty = [host for host in members if data.get(host) is False]
        if full and 2 * len(empty) > len(members):
            problem = f"{listing(empty)} have no data and are a majority of the {len(members)} "
            problem += f"{kind}, while {listing(full)} has data: they would elect a leader without "
            problem += "its records."
            fix = "Restore data until a majority has its own; add new members one at a time."
            yield Finding(problem, fix, f"group {group}", hosts=tuple(empty))


@hosts_rule("quorum-data-unknown", where="group kafka_controllers")
def _quorum_data_unknown(hosts: Sequence[InspectedHost]) -> Findings:
    """If one of them has records, a controller without data must not vote: it could elect a leader
    that lacks committed records.
    """
    data = kafka_data(hosts)
    controllers = hosts[0].cluster.inventory.members("kafka_controllers") if hosts else []
    present = {host.name for host in hosts}
    empty = [name for name in controllers if name in present and data[name] is False]
    # A disk of this run that is yet to be mounted is inspected again.
    unknown = [name for name in controllers if name not in present and data.get(name) is None]
    if empty and unknown and not any(data.values()):
        problem = f"No data on {listing(empty)}, and it is not known whether there is any on "
        problem += f"{listing(unknown)}."
        fix = f"Make {listing(unknown)} reachable: its disk is looked at also outside --limit, and "
        fix += "while its Kafka does not run."
        yield Finding(problem, fix, hosts=tuple(empty))


def kafka_data(hosts: Sequence[InspectedHost]) -> dict[str, bool | None]:
    """Return Kafka host -> whether it holds metadata that a quorum with a leader has written.

    That is None where it is not known. Hosts outside the run are among them, if they were asked.
    """
    outside = hosts[0].outside if hosts else ()
    return {host.name: holds_metadata(host) for host in (*hosts, *outside) if host.kafka}


def may_vote(data: Mapping[str, bool | None], host: str, controllers: Sequence[str]) -> bool | None:
    """Return whether a controller without data may vote: None if that is not known.

    It may not while any other node has records of the quorum, since it may have had some that the
    others lack, and has lost them with its votes. `data` is as from `kafka_data`.
    """
    if any(held for name, held in data.items() if name != host):
        return False
    all_empty = all(data.get(name) is False for name in controllers if name != host)
    return True if all_empty else None


def holds_metadata(host: InspectedHost) -> bool | None:
    """Return whether a Kafka node's disk has records of a quorum that once had a leader.

    None if it is not known.
    """
    if not host.kafka:
        return None
    return _elected(host, host.kafka.quorum.metadata_dir or next(iter(host.kafka.data_dirs), ""))


def zookeeper_data(hosts: Sequence[InspectedHost]) -> dict[str, bool | None]:
    """Return ZooKeeper host -> whether it was part of an elected ensemble, None if unknown."""
    return {host.name: _elected(host, host.zookeeper.data_dir) for host in hosts if host.zookeeper}


def _elected(host: InspectedHost, path: str) -> bool | None:
    elected = {directory.path: directory.elected for _, directory in host.on_present_disks()}
    return elected.get(path)
