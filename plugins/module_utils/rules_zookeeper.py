"""The rules about ZooKeeper's properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.key_table import nearest
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Inventory,
    integer,
    rule,
    yaml_type,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import own_keys

# Whole numbers, with the least that an ensemble works with where there is one.
_NUMBERS: dict[str, int | None] = {
    "autopurge.purgeInterval": None,
    "autopurge.snapRetainCount": None,
    "clientPortListenBacklog": None,
    "commitLogCount": None,
    "connectToLearnerMasterLimit": None,
    "fsync.warningthresholdms": None,
    "globalOutstandingLimit": None,
    "initLimit": 1,
    "jute.maxbuffer": None,
    "maxClientCnxns": None,
    "maxCnxns": None,
    "maxSessionTimeout": None,
    "minSessionTimeout": None,
    "observerMasterPort": None,
    "preAllocSize": None,
    "secureClientPort": None,
    "snapCount": None,
    "syncLimit": 1,
    "tickTime": 1,
}
_OTHERS = (
    "authProvider.sasl",
    "clientPortAddress",
    "dataLogDir",
    "electionAlg",
    "extendedTypesEnabled",
    "forceSync",
    "leaderServes",
    "localSessionsEnabled",
    "localSessionsUpgradingEnabled",
    "metricsProvider.className",
    "peerType",
    "portUnification",
    "quorumListenOnAllIPs",
    "secureClientPortAddress",
    "serverCnxnFactory",
    "skipACL",
    "snapshot.trust.empty",
    "sslQuorum",
    "sslQuorumReloadCertFiles",
    "syncEnabled",
)
_KNOWN = {key.lower(): key for key in (*_NUMBERS, *_OTHERS)}
_SIZE = "jute.maxbuffer"
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")  # as Java reads a property of its own


@rule(
    "zookeeper-key",
    when="a key of `zookeeper_config` is nearly, and not quite, one of ZooKeeper's",
    why="ZooKeeper takes any key for a property of some class and says nothing.",
    remedy="Correct the key; the message names the nearest one.",
)
def zookeeper_key(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a typing mistake; a key that resembles none is let pass."""
    for host, layer, key, _value in own_keys(inventory, "zookeeper"):
        near = "" if key in _KNOWN.values() else nearest(key.lower(), list(_KNOWN), 0.88)
        if near:
            what, fix = f"ZooKeeper has no key {key}.", f"Did you mean {_KNOWN[near]}?"
            yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


@rule(
    "zookeeper-value",
    when="a property of ZooKeeper that takes a whole number has another value",
    why="ZooKeeper would refuse to start, or take its default without a word.",
    remedy="Set a whole number; times are in milliseconds, limits in ticks.",
)
def zookeeper_value(inventory: Inventory) -> Iterator[Finding]:
    """Refuse what is no number, or too small for an ensemble."""
    for host, layer, key, value in own_keys(inventory, "zookeeper"):
        if key not in _NUMBERS or (key == _SIZE and _HEXADECIMAL.fullmatch(str(value))):
            continue
        number, least = integer(value), _NUMBERS[key]
        if number is None or (least is not None and number < least):
            what = f"{value!r} ({yaml_type(value)}) is no legal value of {key}."
            fix = f"Set {key} to a whole number" + (f" of {least} or more." if least else ".")
            yield Finding(f"{layer}[{key}]", what, fix, (host.name,))
