"""The catalogue of Kafka's faults.

Each injects, waits until it sees that the fault is there, and writes that into `proof`; then it
checks what users and operators must see. Healing is the caller's.
"""

from tests.support.catalogue import disks, network, processes, resources, zookeeper
from tests.support.catalogue.entry import FAULTS as _ENTERED

__all__ = ["FAULTS", "disks", "network", "processes", "resources", "zookeeper"]
FAULTS = sorted(_ENTERED, key=lambda fault: fault.number)
