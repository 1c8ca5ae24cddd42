"""The catalogue of Kafka's faults, by their numbers in the design.

Each injects, waits until it sees that the fault is there, and says so in `proof`; then it looks at
what users and operators must see. Healing is the caller's.
"""

from tests.support.catalogue import disks, limits, network, processes, zookeeper
from tests.support.catalogue.entry import FAULTS as _ENTERED

__all__ = ["FAULTS", "disks", "limits", "network", "processes", "zookeeper"]
FAULTS = sorted(_ENTERED, key=lambda fault: fault.number)
