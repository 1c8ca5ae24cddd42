"""The catalogue of Kafka's faults.

Each fault is injected, waits until it is observed, and records that in `proof`; then it checks
what users and operators must see. The caller repairs the cluster.
"""

from tests.support.faults.catalogue import (
    disks,
    identities,
    network,
    processes,
    resources,
    zookeeper,
)
from tests.support.faults.catalogue.entry import FAULTS as _ENTERED

__all__ = ["FAULTS", "disks", "identities", "network", "processes", "resources", "zookeeper"]
FAULTS = sorted(_ENTERED, key=lambda fault: fault.number)
