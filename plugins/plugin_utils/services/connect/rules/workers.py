"""The rules about Kafka Connect: what its workers need."""

from __future__ import annotations

from .....module_utils.formats.values import integer, listing
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, host_rule, rule
from ....rules.inspection import InspectedHost
from ....rules.shared import Property, differing, properties, taken_user
from .. import GROUP, KAFKA_USER
from ..model import EXACTLY_ONCE, Worker, internal_topics


@rule("connect-without-kafka", where=f"group {GROUP}")
def _connect_without_kafka(cluster: Cluster) -> Findings:
    """Workers keep connectors, offsets and states in topics of the inventory's brokers."""
    if cluster.connect and not cluster.brokers:
        problem = f"There are workers of Kafka Connect ({listing(cluster.connect)}) and no brokers."
        yield Finding(problem, f"Add the group kafka_brokers, or delete the group {GROUP}.")


@rule("connect-groups-differ", where="connect_group")
def _connect_groups_differ(cluster: Cluster) -> Findings:
    """Each name makes a group of its own, with connectors of its own; the rest of the inventory has
    one.
    """
    values = {name: worker.group for name, worker in cluster.connect.items()}
    if differences := differing(cluster, "connect_group", values):
        yield Finding(f"connect_group is {differences}.", "Set it once, for the whole group.")


@rule("connect-name-taken", where="kafka_users")
def _connect_name_taken(cluster: Cluster) -> Findings:
    """Workers log in as this user, whose grants Millrace makes: an entry of the inventory would
    replace them.
    """
    if cluster.connect:
        yield from taken_user(cluster, KAFKA_USER, "the workers")


@rule("connect-replication", each=properties("connect"))
def _connect_replication(worker: Worker, setting: Property) -> Findings:
    """No broker can have a second copy of a partition: the workers would not start."""
    keys = [f"{kind}.storage.replication.factor" for kind in internal_topics(worker.group)]
    most = len(worker.broker.brokers) if worker.broker else 0
    copies = integer(setting.value)
    is_legal = copies is None or copies == -1 or 1 <= copies <= most
    if setting.key in keys and most and not is_legal:
        problem = f"{setting.key} is {setting.value}, with {most} broker{'s' if most > 1 else ''}."
        yield Finding(problem, f"Set {setting.key}: {min(3, most)}, or delete it.", setting.where)


@rule("connect-repeats", each=properties("connect", key=EXACTLY_ONCE), severity="warning")
def _connect_repeats(_: Worker, setting: Property) -> Findings:
    """A source connector whose worker fails writes records again that it has written before, and a
    worker that was cut off goes on writing beside its successor.
    """
    if str(setting.value).lower() != "enabled":
        problem = f"{EXACTLY_ONCE} is {setting.value}."
        yield Finding(problem, f"Delete {setting.where}.", setting.where)


@host_rule("connect-without-openssl", where="connect_security")
def _connect_without_openssl(host: InspectedHost) -> Findings:
    """The worker's REST interface reads no PEM: at each start OpenSSL makes a key store of it."""
    worker = host.cluster.connect.get(host.name)
    if worker and worker.is_secured and not host.inspection.software.openssl:
        yield Finding("The program openssl is not installed.", "Install the package openssl.")
