"""The files with certificates that a host's services show, and who must have signed them."""

from .cluster import Cluster
from .service import Certified

Store = dict[str, str]


def stores(cluster: Cluster, host: str) -> list[Store]:
    """Return those of a host's services other than Kafka: certificate's path, trusted CAs."""
    secrets, parts = cluster.inventory.secrets, cluster.deployed(host)
    identities = [part.identity for part in parts.values() if part.identity]
    identity_stores = [
        {"certificate": identity.certificate.path, "trusted": identity.trusted(secrets)}
        for identity in identities
    ]
    return identity_stores + [
        store for name, part in parts.items() if name != "kafka" for store in _shown(part)
    ]


def of_kafka(cluster: Cluster, host: str) -> list[Store]:
    """Return those of a host's Kafka node, which its listeners show."""
    return [store for store in _shown(cluster.kafka.get(host)) if store["trusted"]]


def _shown(part: object) -> list[Store]:
    if not isinstance(part, Certified):
        return []
    return [
        {"certificate": certificate.path, "trusted": part.authorities}
        for certificate in part.certificates
    ]
