"""A standalone cluster of Spark: its hosts by their roles, and how a new master recovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...cluster.host import HostSettings

ADDRESS_VARIABLE = "spark_host"


@dataclass(frozen=True)
class StandaloneCluster:
    """The hosts of each role by name, and the ensemble with which masters elect a leader."""

    masters: Mapping[str, HostSettings]
    """Those of which one leads; drivers of jobs run on the first."""
    workers: Mapping[str, HostSettings]
    """Those that run executors."""
    histories: Mapping[str, HostSettings]
    """Those with a history server."""
    metastores: Mapping[str, HostSettings]
    """Those with the server of the catalog; it is one at most."""
    ensemble: Sequence[str] = ()
    """The addresses of ZooKeeper, none without an ensemble."""
    ensemble_secured: bool = False
    """Whether the ensemble wants certificates."""

    @property
    def recovery(self) -> str:
        """How a new master recovers applications: zookeeper, filesystem, or not at all.

        With an ensemble, one of several masters leads and another takes over when it is gone. A
        single one reads its own directory: without that, drivers would wait for ever.
        """
        if len(self.masters) == 1:
            return "filesystem"
        return "zookeeper" if self.ensemble else ""

    def recovery_config(self, state_dir: str) -> dict[str, Any]:
        """Return the properties by which a master with that directory of state recovers."""
        if not self.recovery:
            return {}
        mode = {"spark.deploy.recoveryMode": self.recovery.upper()}
        if self.recovery == "filesystem":
            return {**mode, "spark.deploy.recoveryDirectory": f"{state_dir}/recovery"}
        return {
            **mode,
            "spark.deploy.zookeeper.dir": "/spark",
            "spark.deploy.zookeeper.url": ",".join(self.ensemble),
        }

    @property
    def master_url(self) -> str:
        """The address of all masters, for workers and applications."""
        return f"spark://{','.join(self.at_masters('spark_master_port'))}"

    def at_masters(self, variable: str) -> list[str]:
        """Return `host:port` of all masters, the port by the variable of each."""
        return [host.endpoint(ADDRESS_VARIABLE, variable) for host in self.masters.values()]

    @property
    def metastore_addresses(self) -> list[str]:
        """`host:port` of the catalog's server, none without one."""
        hosts = self.metastores.values()
        return [host.endpoint(ADDRESS_VARIABLE, "spark_metastore_port") for host in hosts]
