"""A member of a ZooKeeper ensemble.

The layers of a property: topology < security < zookeeper_config < owned keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.values import integer
from ...cluster import files
from ...cluster.files import Entry
from ...cluster.host import HostSettings
from ...cluster.inventory import Secrets
from ...cluster.resolution import Resolution
from ...cluster.service import NODES, Server
from . import tls as zookeeper_tls
from .tls import Identity

CLIENT_PROPERTIES = "/etc/zookeeper/client.properties"
_TOPOLOGY: Mapping[str, int] = {
    # A session ends within one and a half ticks of its timeout: a short tick finds a dead client
    # sooner.
    "tickTime": 500,
    "initLimit": 40,
    "syncLimit": 20,
    # Spark asks for 60 s and Kafka for 18 s; a dead master or controller is replaced after this.
    "maxSessionTimeout": 8000,
    "maxClientCnxns": 200,
    "autopurge.snapRetainCount": 5,
    "autopurge.purgeInterval": 1,
}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "4lw.commands.whitelist": "nothing, the health check needs srvr and mntr, and no others",
    "admin.enableServer": "nothing, it is open to everybody",
    "clientPort": "zookeeper_client_port",
    "dataDir": "zookeeper_data_dir",
    "dynamicConfigFile": "the group zookeeper",
    "reconfigEnabled": "nothing, the inventory is the ensemble",
    "secureClientPort": "zookeeper_client_port",
    "standaloneEnabled": "the group zookeeper",
}


@dataclass(frozen=True)
class Member(Server):
    """One member; `ensemble` are all members by name, itself included."""

    ensemble: Mapping[str, HostSettings]
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    product = "zookeeper"
    title = "Apache ZooKeeper"
    address_variable = "zookeeper_host"
    port_variables = ("zookeeper_client_port", "zookeeper_peer_port", "zookeeper_election_port")
    leftovers = (
        "/etc/zookeeper/client.properties",
        zookeeper_tls.clients_path(),
        *zookeeper_tls.paths("zookeeper"),
        "/etc/zookeeper/certificates/",
        "/etc/zookeeper/",
    )

    @property
    def id(self) -> int | None:
        """The number of the member, None where none or no number is given."""
        return integer(self.settings["zookeeper_id"])

    @property
    def data_dir(self) -> str:
        """The directory of snapshots and transaction logs."""
        return str(self.settings["zookeeper_data_dir"])

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        return [("zookeeper_data_dir", self.data_dir)]

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: brokers, Spark's masters and the other members."""
        return (NODES,)

    @property
    def client_addresses(self) -> list[str]:
        """Where each member of the ensemble serves clients, `host:port`."""
        return self.addresses(self.ensemble, "zookeeper_client_port")

    @property
    def owned(self) -> dict[str, str]:
        """The keys that only Millrace writes here; an open member may have a port with TLS."""
        return {k: by for k, by in OWNED.items() if self.is_secured or k != "secureClientPort"}

    @property
    def identity(self) -> Identity | None:
        """What it shows members and clients, None if it is open."""
        if not self.is_secured:
            return None
        return zookeeper_tls.identity(self.name, self.product, [self.address])

    def _defaults(self) -> dict[str, dict[str, Any]]:
        security = zookeeper_tls.of_member(self.identity) if self.identity else {}
        return {"topology": dict(_TOPOLOGY), "security": security}

    def _owned_config(self) -> dict[str, Any]:
        return {
            "4lw.commands.whitelist": "srvr,mntr",
            "admin.enableServer": False,
            "dataDir": self.data_dir,
            "dynamicConfigFile": "/etc/zookeeper/zoo.cfg.dynamic",
            "reconfigEnabled": False,
            "standaloneEnabled": False,
            **({"secureClientPort": self.ports["zookeeper_client_port"]} if self.identity else {}),
        }

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        config = "/etc/zookeeper/zoo.cfg"
        logging = (
            "-Dzookeeper.jmx.log4j.disable=true "
            "-Dlogback.configurationFile=/etc/zookeeper/logback.xml"
        )
        program = f"org.apache.zookeeper.server.quorum.QuorumPeerMain {config}"
        return {
            **super().files(),
            config: files.property_file(self.config),
            f"{config}.dynamic": files.property_file(self._servers()),
            **self.copy("logback.xml"),
            **self.server(f"member {self.id}", logging, program),
            f"{self.data_dir}/myid": files.text(f"{self.id}\n", restart=True),
            **self._tls_files(),
        }

    def _tls_files(self) -> dict[str, Entry]:
        """Return key and certificates, and what ZooKeeper's own client needs on this host."""
        if not self.identity:
            return {}
        client = files.text(files.properties(zookeeper_tls.of_client(self.identity)))
        return {**self.identity.files(self.secrets, self.user), CLIENT_PROPERTIES: client}

    def _servers(self) -> dict[str, str]:
        """Return the ensemble as a dynamic configuration file has it.

        A clients' port in it has no TLS: without one ZooKeeper opens none.
        """
        return {
            f"server.{host.settings['zookeeper_id']}": f"{host.address(self.address_variable)}"
            f":{host.settings['zookeeper_peer_port']}:{host.settings['zookeeper_election_port']}"
            f":participant{'' if self.is_secured else _client_port(host)}"
            for host in self.ensemble.values()
        }


def _client_port(host: HostSettings) -> str:
    return f";{host.settings['zookeeper_client_port']}"


def resolve(resolution: Resolution) -> dict[str, Member]:
    """Return host -> member of all hosts of the group zookeeper."""
    ensemble, secrets = resolution.members("zookeeper"), resolution.inventory.secrets
    return {name: Member(host, ensemble, secrets) for name, host in ensemble.items()}
