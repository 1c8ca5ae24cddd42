"""Faults of ZooKeeper under brokers of its mode."""

from __future__ import annotations

from tests.support.faults.catalogue.entry import fault
from tests.support.faults.catalogue.processes import refused_topic, topics
from tests.support.faults.target import Record, Target
from tests.support.services.zookeeper import four_letter_word, leader_of, modes
from tests.support.wait import wait_for

KILL = "systemctl kill --signal=KILL zookeeper; systemctl stop zookeeper"
START = "systemctl reset-failed zookeeper; systemctl start zookeeper"
REFUSES = "not currently serving requests"


@fault(46, "the majority of ZooKeeper is down", on="zookeeper")
def zookeeper_lost(target: Target, record: Record) -> None:
    """Producers are not affected; metadata cannot be changed, and none of it is lost."""
    members, before = target.topology.group("zookeeper"), topics(target)
    leader = leader_of(target.topology)
    last, *followers = (name for name in members if name != leader)
    down = [leader, *followers]
    record.node = ", ".join(down)
    try:
        for where in down:
            target.sh(where, KILL)
        wait_for(
            lambda: REFUSES in four_letter_word(target.topology, last, "srvr"),
            seconds=60,
            what=f"{last} serves nobody alone",
        )
        target.wait_for_acks()
        refused = refused_topic(target)
        target.wait_for_acks()
    finally:
        for where in down:
            target.sh(where, START)
    wait_for(
        lambda: set(modes(target.topology)) == set(members), seconds=60, what="all of ZooKeeper"
    )
    wait_for(lambda: topics(target) >= before, seconds=60, what="all topics")
    record.proof = f"{last} alone serves nobody; a new topic was refused ({refused})"
