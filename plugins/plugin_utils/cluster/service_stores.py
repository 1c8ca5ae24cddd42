"""The files with certificates that a host's services show, and who must have signed them."""

from .cluster import Cluster
from .service import Certified

Store = dict[str, str]


def stores(cluster: Cluster, host: str) -> list[Store]:
    """Return those of a host's services other than Kafka: certificate's path, trusted CAs."""
    secrets, parts = cluster.inventory.secrets, cluster.deployed(host)
    identities = [part.identity for part in parts.values() if part.identity]
    own = [
        {"certificate": one.certificate.path, "trusted": one.trusted(secrets)} for one in identities
    ]
    return own + [one for name, part in parts.items() if name != "kafka" for one in _shown(part)]


def of_kafka(cluster: Cluster, host: str) -> list[Store]:
    """Return those of a host's Kafka node, which its listeners show."""
    return [one for one in _shown(cluster.kafka.get(host)) if one["trusted"]]


def _shown(part: object) -> list[Store]:
    if not isinstance(part, Certified):
        return []
    return [{"certificate": one.path, "trusted": part.authorities} for one in part.certificates]
