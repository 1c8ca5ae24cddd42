"""Which faults are made at the same time."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.faults.alerting.brokers import (
    BROKER_STOPPED,
    CERTIFICATE_ENDS,
    DAMAGED_SEGMENT,
    DISK_FILLS,
    DISK_FULL,
    HOST_UNREACHABLE,
    SLOW_LEADER,
    UNCLEAN_ELECTION,
    WRONG_CLOCK,
)
from tests.support.faults.alerting.groups import GROUP_ABANDONED, GROUP_STOPPED
from tests.support.faults.alerting.operations import (
    NODE_DOES_NOT_START,
    RESTART_PENDING,
    ROLL_KILLED,
)
from tests.support.faults.alerting.pipelines import (
    REGISTRY_STOPPED,
    STREAM_HANGS,
    TASK_FAILS,
    TASK_WITHOUT_LOGIN,
    WORKER_STOPPED,
)
from tests.support.faults.alerting.quorum import (
    CONTROLLER_ISOLATED,
    CONTROLLERS_KILLED,
    CONTROLLERS_LOST,
    ZOOKEEPER_LOST,
)
from tests.support.faults.alerting.watched import AlertingFault
from tests.support.faults.alerting.watchers import (
    CONFIG_REJECTED,
    EXPORTER_FAILS,
    EXPORTER_STOPPED,
    LAG_UNKNOWN,
    RECEIVER_REFUSES,
    RULE_FAILS,
)

ROUNDS: Mapping[str, tuple[AlertingFault, ...]] = {
    "services": (
        BROKER_STOPPED,
        TASK_WITHOUT_LOGIN,
        TASK_FAILS,
        REGISTRY_STOPPED,
        EXPORTER_STOPPED,
        CERTIFICATE_ENDS,
    ),
    # Of a host whose exporters do not answer nothing else is seen.
    # The disk first: its healing, which comes last then, heals all faults of hosts.
    "a host": (DISK_FULL, HOST_UNREACHABLE, WORKER_STOPPED, RECEIVER_REFUSES, LAG_UNKNOWN),
    "an isolated controller": (CONTROLLER_ISOLATED, EXPORTER_FAILS),
    "no controller": (CONTROLLERS_LOST,),
    # The kills first: a controller counts elections since its own start.
    "elections": (
        RULE_FAILS,
        DAMAGED_SEGMENT,
        CONFIG_REJECTED,
        CONTROLLERS_KILLED,
        UNCLEAN_ELECTION,
    ),
    "a stopped operation": (NODE_DOES_NOT_START,),
    "an abandoned operation": (ROLL_KILLED,),
    # The abandoned group before the other one: the exporter of lags is restarted for it.
    "minutes": (
        STREAM_HANGS,
        DISK_FILLS,
        RESTART_PENDING,
        GROUP_ABANDONED,
        GROUP_STOPPED,
        SLOW_LEADER,
    ),
    "ZooKeeper": (ZOOKEEPER_LOST,),
    "a machine": (WRONG_CLOCK,),
}
"""Rounds of faults that are there at the same time, one round after the other."""
FIRST = next(iter(ROUNDS))
"""The round that is not part of --full alone."""
KRAFT = (
    "an isolated controller",
    "no controller",
    "a stopped operation",
    "an abandoned operation",
)
NOT_HERE = {
    "ZooKeeper": "no ZooKeeper here",
    "a machine": "no machines here",
    **dict.fromkeys(KRAFT, "ZooKeeper elects the controller here"),
}
"""Why a round is skipped of which no fault can be made."""
