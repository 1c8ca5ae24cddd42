"""The rules about ZooKeeper's properties."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....module_utils.formats.key_table import nearest
from ....module_utils.formats.values import integer, is_true, listing, yaml_type
from ...cluster.ca_change import signing
from ...cluster.cluster import Cluster
from ...cluster.x509 import identities, identities_of
from ...rules.engine import Finding, Findings, host_rule, rule
from ...rules.inspection import InspectedHost
from ...rules.shared import Property, holders, properties
from .model import Member
from .tls import AUTHORITY_FILE, CLIENTS_AUTHORITY_FILE

# Integers, each with the minimum that an ensemble works with, if there is one.
_NUMBERS: Mapping[str, int | None] = {
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
    "tickTime": 100,
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
_FACTORY, _NETTY = "serverCnxnFactory", "NettyServerCnxnFactory"
_PROMETHEUS = "org.apache.zookeeper.metrics.prometheus."
_SIMILAR = 0.88
_SIZE = "jute.maxbuffer"
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")  # as Java reads a property of its own


@rule("zookeeper-key", each=properties("zookeeper"))
def _zookeeper_key(_: Member, entry: Property) -> Findings:
    """ZooKeeper accepts every key and silently ignores those that it does not know."""
    near = nearest(entry.key.lower(), list(_KNOWN), _SIMILAR)
    if near and entry.key not in _KNOWN.values():
        problem = f"ZooKeeper has no key {entry.key}."
        yield Finding(problem, f"Did you mean {_KNOWN[near]}?", entry.where)


@rule("zookeeper-members", each=properties("zookeeper"))
def _zookeeper_members(_: Member, entry: Property) -> Findings:
    """ZooKeeper does not start with members in zoo.cfg: they are in its dynamic file, from the
    group zookeeper and its variables (QuorumPeerConfig).
    """
    if entry.key.startswith(("server.", "group.", "weight.")):
        fix = "Delete it; set zookeeper_id and zookeeper_host of each member."
        yield Finding(f"{entry.key} is in zoo.cfg.", fix, entry.where)


@rule("zookeeper-sessions", each=properties("zookeeper", key="minSessionTimeout"))
def _zookeeper_sessions(member: Member, entry: Property) -> Findings:
    """ZooKeeper does not start with it."""
    least, most = integer(entry.value), integer(member.config.get("maxSessionTimeout"))
    if least is not None and most is not None and least > most >= 0:
        problem = f"minSessionTimeout {least} > maxSessionTimeout {most}."
        fix = f"Set minSessionTimeout: {most} or less, or maxSessionTimeout: {least} or more."
        yield Finding(problem, fix, entry.where)


@rule("zookeeper-classes", each=properties("zookeeper"))
def _zookeeper_classes(member: Member, entry: Property) -> Findings:
    """ZooKeeper does not start: TLS needs Netty, and not every class is in its distribution."""
    options = " ".join(member.settings["zookeeper_java_options"])  # a system property works too
    factory = f"{member.config.get(_FACTORY, '')} {options}"
    if entry.key == "secureClientPort" and _NETTY not in factory:
        fix = f"Set {_FACTORY}: org.apache.zookeeper.server.{_NETTY}."
        yield Finding(f"{entry.key} is set, and {_FACTORY} is not {_NETTY}.", fix, entry.where)
    if entry.key == "metricsProvider.className" and _PROMETHEUS in str(entry.value):
        fix = "Delete it; JMX and the command mntr give the same numbers."
        yield Finding(f"The distribution has no {entry.value}.", fix, entry.where)


@rule("zookeeper-value", each=properties("zookeeper"))
def _zookeeper_value(_: Member, entry: Property) -> Findings:
    """ZooKeeper would refuse to start, or take its default silently."""
    if entry.key not in _NUMBERS or (
        entry.key == _SIZE and _HEXADECIMAL.fullmatch(str(entry.value))
    ):
        return
    number, least = integer(entry.value), _NUMBERS[entry.key]
    if number is None or (least is not None and number < least):
        problem = f"{entry.value!r} ({yaml_type(entry.value)}) is not a valid value of {entry.key}."
        fix = f"Set {entry.key} to a whole number" + (f" of {least} or more." if least else ".")
        yield Finding(problem, fix, entry.where)


@rule("ensemble-security-differs", where="zookeeper_security")
def _ensemble_security_differs(cluster: Cluster) -> Findings:
    """Members with certificates and those without do not talk to each other."""
    by_security = holders({name: member.is_secured for name, member in cluster.zookeeper.items()})
    if len(by_security) > 1:
        problem = f"{listing(by_security[True])} would be secured, and {listing(by_security[False])} open."
        fix = "Set zookeeper_security once, for the whole group zookeeper."
        yield Finding(problem, fix, hosts=tuple(cluster.zookeeper))


@host_rule("ensemble-closed", where="zookeeper_security")
def _ensemble_closed(host: InspectedHost) -> Findings:
    """While members are restarted one after the other, those with TLS and those without would not
    talk to each other. Clients with the old configuration would reach none that is restarted.
    """
    member, broker = host.zookeeper, host.kafka
    current, expected, deployed = host.inspection.zookeeper.secured, False, False
    if member is not None:
        expected = is_true(member.config.get("sslQuorum"))
        deployed = any(directory.elected for _, directory in host.data())
    elif broker is not None and broker.mode == "zookeeper":  # alone in a run with --limit
        current = host.inspection.zookeeper.client_secured
        expected = is_true(broker.config.get("zookeeper.ssl.client.enable"))
        deployed = any(directory.meta for _, directory in host.data())
    if current is not None and deployed and current != expected:
        problem = f"The ensemble runs {_state(current)}, and would be {_state(expected)}."
        before = "standard" if current else "open"
        yield Finding(problem, f"Set zookeeper_security: {before}, what it was deployed with.")


def _state(secured: bool) -> str:
    return "with TLS" if secured else "without TLS"


@host_rule("ensemble-authority-differs", where="kafka_secrets_dir")
def _ensemble_authority_differs(host: InspectedHost) -> Findings:
    """Members trust the certificates of one CA, and those of clients of another: with certificates
    of others they could not talk to the members that still have the old ones.
    """
    member = host.zookeeper
    if member is None or not member.is_secured or not member.secrets.zookeeper_authority:
        return
    secrets, deployed = member.secrets, host.inspection.zookeeper
    # While the CAs are changed a member may have the phase before, or the one gone back from.
    pairs = [
        (deployed.authorities, signing(secrets, AUTHORITY_FILE)),
        (deployed.member_signed_by, secrets.zookeeper_authority),
    ]
    if secrets.zookeeper_clients_authority:
        pairs.append((deployed.clients, signing(secrets, CLIENTS_AUTHORITY_FILE)))
    identity_pairs = [(identities_of(found), {*identities(text)}) for found, text in pairs]
    if any(current and not current & expected for current, expected in identity_pairs):
        problem = f"The member trusts another CA than that of {secrets.directory}."
        fix = "Copy that directory from the control node that deployed the ensemble. If it is "
        fix += "lost, remove ZooKeeper from all members, which keeps the data (teardown.yml), and "
        fix += "run site.yml."
        yield Finding(problem, fix)
