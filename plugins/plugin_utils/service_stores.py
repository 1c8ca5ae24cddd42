"""The files with certificates that a host's services show, and who must have signed them."""

from ..module_utils.model.cluster import Cluster

Store = dict[str, str]


def stores(cluster: Cluster, host: str) -> list[Store]:
    """Return those of a host's services other than Kafka: certificate's path, trusted CAs."""
    secrets = cluster.inventory.secrets
    identities = [one.identity for one in cluster.services(host).values() if one.identity]
    own = [
        {"certificate": one.certificate.path, "trusted": one.trusted(secrets)} for one in identities
    ]
    owners = [
        (cluster.connect.get(host), secrets.connect_authority),
        (cluster.databases.get(host), secrets.connect_authority),
        (cluster.schema_registry.get(host), secrets.authority),
        (cluster.metrics.get(host), secrets.authority),
        (cluster.monitoring.get(host), secrets.authority),
        (cluster.consoles.get(host), secrets.authority),
    ]
    return own + [
        {"certificate": one.path, "trusted": authority}
        for owner, authority in owners
        if owner
        for one in owner.certificates
    ]


def of_kafka(cluster: Cluster, host: str) -> list[Store]:
    """Return those of a host's Kafka node, which its listeners show."""
    node = cluster.kafka.get(host)
    trusted = cluster.inventory.secrets.authority
    found = node.certificates if node and trusted else []
    return [{"certificate": one.path, "trusted": trusted} for one in found]
