"""The rules about mirrors: which cluster is followed, how, and under which names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .....module_utils.formats.values import by_name, listing
from ....cluster import x509
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import parts, shared_values
from .. import mirrors
from ..mirrors import ALIAS, VARIABLE, Mirror
from ..model import Worker

# The first dot of a topic's name ends the name of the cluster from which it was copied
# (DefaultReplicationPolicy.topicSource).
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")
_NAMING = "letters, digits, - and _, at most 30; a letter or a digit comes first"
_PATTERN = re.compile(r"[A-Za-z0-9._-]+\*?|\*")
_ADDRESS = re.compile(r"(?P<host>[^\s,:/]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})")
_first = parts("connect", VARIABLE, ALIAS, first=True)
"""The first worker: all have the same mirrors."""


def _every(cluster: Cluster) -> Iterator[tuple[str, Worker, Mirror]]:
    """Yield the mirrors that are to be there."""
    for name, worker in _first(cluster):
        for mirror in worker.mirrors:
            if mirror.present:
                yield name, worker, mirror


def _at(mirror: Mirror, key: str) -> str:
    return f"{VARIABLE}[{mirror.source}].{key}"


@rule("mirror-alias", each=_first, where=ALIAS)
def _mirror_alias(worker: Worker) -> Findings:
    """MirrorMaker recognizes by this name which topics were copied from this cluster, and does not
    copy them back.
    """
    if not worker.mirrors:
        return
    alias = worker.mirrors[0].target  # all have the same
    if not alias:
        fix = f"Set {ALIAS} to the name by which other clusters call this one."
        yield Finding("This cluster has no name.", fix)
    elif not _NAME.fullmatch(alias):
        yield Finding(f"{alias!r} is no name for a cluster.", f"Choose {_NAMING}.")


@rule("mirror-name", each=_first, where=VARIABLE)
def _mirror_name(worker: Worker) -> Findings:
    """The name is the prefix of copied topics. If two clusters shared it, their records would be in
    one topic. If a cluster used its own, it would copy its copies.
    """
    for mirror in worker.mirrors:
        if not _NAME.fullmatch(mirror.source):
            yield Finding(f"{mirror.source!r} is no name for a cluster.", f"Choose {_NAMING}.")
        elif mirror.source == mirror.target:
            problem = f"{mirror.source} is this cluster."
            yield Finding(problem, f"Set from to the {ALIAS} of another cluster.")
    for name, places in shared_values(
        {number: mirror.source for number, mirror in enumerate(worker.mirrors)}
    ):
        fix = f"Keep one entry for {name}, with all its topics and groups."
        yield Finding(f"{name} is named {len(places)} times.", fix)


@rule("mirror-address", each=_every)
def _mirror_address(worker: Worker, mirror: Mirror) -> Findings:
    """The connectors would not reach the other cluster, or copy this one without end."""
    where = _at(mirror, "bootstrap_servers")
    clients = worker.broker.clients if worker.broker else None
    addresses = {*clients.user_bootstrap, *clients.bootstrap} if clients else set()
    if not mirror.bootstrap:
        yield Finding("It is empty.", "Write brokers of the other cluster as host:port.", where)
    for address in mirror.bootstrap:
        if not _ADDRESS.fullmatch(address):
            fix = "Write the host and the port of the listener for clients, as host:9095."
            yield Finding(f"{address!r} is no address.", fix, where)
        elif address in addresses:
            problem = f"{address} is a broker of this cluster."
            yield Finding(problem, "Write brokers of the other cluster.", where)


@rule("mirror-login", each=_every)
def _mirror_login(_: Worker, mirror: Mirror) -> Findings:
    """A user needs a password, and sends it only to a server whose certificate a known CA has
    signed.
    """
    login = {"user": mirror.user, "password": mirror.password, "ca": mirror.authority}
    missing = [key for key, value in login.items() if not value]
    if 0 < len(missing) < len(login):
        has = listing(key for key in login if key not in missing)
        problem = f"It has {has} and no {listing(missing, 'or')}."
        yield Finding(problem, f"Set {listing(missing)}, too.", _at(mirror, missing[0]))
    elif mirror.authority and not x509.readable(mirror.authority):
        fix = "Set it to the text of the file ca.pem, which begins with BEGIN CERTIFICATE."
        yield Finding("It contains no certificate.", fix, _at(mirror, "ca"))
    elif any(sign in mirror.user + mirror.password for sign in '"\\\n'):
        problem = "The user or the password contains a quote, a backslash or a line break."
        yield Finding(problem, "Choose another.", _at(mirror, "password"))


@rule("mirror-open", each=_every, severity="warning")
def _mirror_open(_: Worker, mirror: Mirror) -> Findings:
    """Anyone between the clusters can read and change the records."""
    if not (mirror.user or mirror.password or mirror.authority):
        problem = f"The connection to {mirror.source} is not encrypted."
        yield Finding(problem, "Set user, password and ca.", _at(mirror, "user"))


@rule("mirror-topic", each=_every)
def _mirror_topic(_: Worker, mirror: Mirror) -> Findings:
    """With such names MirrorMaker waits without an error, and it never copies back what was copied
    from this cluster.
    """
    if not mirror.topics:
        fix = "List topics; [orders, 'shop-*'] is orders and all topics that begin with shop-."
        yield Finding("It is empty.", fix, _at(mirror, "topics"))
    for key, names in (("topics", mirror.topics), ("groups", mirror.groups)):
        for name in names:
            if not _PATTERN.fullmatch(name):
                fix = "Write a name, or a prefix followed by *."
                yield Finding(f"{name!r} is neither a name nor a prefix.", fix, _at(mirror, key))
    for name in mirror.topics:
        if name.startswith(f"{mirror.target}."):
            problem = f"{name} was copied from here to {mirror.source}."
            fix = f"Delete it: here it is {name.removeprefix(f'{mirror.target}.')}."
            yield Finding(problem, fix, _at(mirror, "topics"))


@rule("mirror-config", each=_every)
def _mirror_config(_: Worker, mirror: Mirror) -> Findings:
    """Connectors of one mirror, and the mirrors of two clusters, have to agree on these."""
    for key in by_name(mirror.given):
        if key in mirrors.OWNED:
            fix = f"Delete it; it is set by {mirrors.OWNED[key]}."
            yield Finding(f"Millrace sets {key} itself.", fix, _at(mirror, "config"))
