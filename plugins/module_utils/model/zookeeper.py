"""A member of a ZooKeeper ensemble.

The layers of a property: topology < zookeeper_config < owned keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.model import files
from ansible_collections.millrace.streaming.plugins.module_utils.model.artifacts import (
    Distribution,
    cache_directory,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.files import Entry
from ansible_collections.millrace.streaming.plugins.module_utils.model.host import HostSettings
from ansible_collections.millrace.streaming.plugins.module_utils.model.inventory import Inventory
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    integer,
    mapping,
)

LAYERS = ("zookeeper_config",)
MARK = "/run/zookeeper/restart-pending"
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
    "4lw.commands.whitelist": "nothing, the health check needs srvr and mntr and nobody the rest",
    "admin.enableServer": "nothing, it is open to everybody",
    "clientPort": "zookeeper_client_port",
    "dataDir": "zookeeper_data_dir",
    "dynamicConfigFile": "the group zookeeper",
    "reconfigEnabled": "nothing, the inventory is the ensemble",
    "standaloneEnabled": "the group zookeeper",
}
_STATE = "/var/lib/zookeeper"


@dataclass(frozen=True)
class Member:
    """One member; `ensemble` are all members by name, itself included."""

    host: HostSettings
    ensemble: Mapping[str, HostSettings]
    address_variable = "zookeeper_host"
    owned = OWNED

    @property
    def name(self) -> str:
        """The host's name in the inventory."""
        return self.host.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The host's variables."""
        return self.host.settings

    @property
    def id(self) -> int | None:
        """The number of the member, None where none or no number is given."""
        return integer(self.settings["zookeeper_id"])

    @property
    def version(self) -> str:
        """The ZooKeeper version."""
        return str(self.settings["zookeeper_version"])

    @property
    def address(self) -> str:
        """The name or address under which others reach it."""
        return zookeeper_host(self.settings, self.host.name)

    @property
    def data_dir(self) -> str:
        """The directory of snapshots and transaction logs."""
        return str(self.settings["zookeeper_data_dir"])

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        return [("zookeeper_data_dir", self.data_dir)]

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap."""
        return {"zookeeper_heap": self.settings["zookeeper_heap"]}

    @property
    def ports(self) -> dict[str, int]:
        """Variable -> port."""
        kinds = ("client", "peer", "election")
        return {f"zookeeper_{kind}_port": self.settings[f"zookeeper_{kind}_port"] for kind in kinds}

    @property
    def distribution(self) -> Distribution:
        """What is installed."""
        return Distribution(
            "zookeeper", self.version, cache_directory(self.settings["service_cache"]), {}
        )

    @property
    def clients_of_all(self) -> list[str]:
        """Where each member of the ensemble serves clients, `host:port`."""
        return client_addresses(self.ensemble)

    @cached_property
    def layers(self) -> dict[str, dict[str, Any]]:
        """Layer -> key -> value, from the weakest to the strongest."""
        return {
            "topology": dict(_TOPOLOGY),
            "zookeeper_config": {
                str(key): one for key, one in mapping(self.settings["zookeeper_config"]).items()
            },
            "owned": {
                "4lw.commands.whitelist": "srvr,mntr",
                "admin.enableServer": False,
                "dataDir": self.data_dir,
                "dynamicConfigFile": "/etc/zookeeper/zoo.cfg.dynamic",
                "reconfigEnabled": False,
                "standaloneEnabled": False,
            },
        }

    @cached_property
    def config(self) -> dict[str, Any]:
        """The effective properties."""
        return {key: value for layer in self.layers.values() for key, value in layer.items()}

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        heap, options = self.settings["zookeeper_heap"], self.settings["zookeeper_java_options"]
        jvm = f"-Xms{heap} -Xmx{heap} {' '.join(options)}"
        return {
            self.distribution.link: files.link(self.distribution.home),
            "/etc/zookeeper/zoo.cfg": files.text(files.properties(self.config), restart=True),
            "/etc/zookeeper/zoo.cfg.dynamic": files.text(
                files.properties(self._servers()), restart=True
            ),
            "/etc/zookeeper/environment": files.text(
                files.environment({"ZOOKEEPER_JVM_OPTIONS": jvm}), restart=True
            ),
            "/etc/zookeeper/logback.xml": files.text(
                files.read("roles/zookeeper/files/logback.xml"), restart=True
            ),
            "/etc/systemd/system/zookeeper.service": files.text(self._unit(), restart=True),
            f"{self.data_dir}/myid": files.text(f"{self.id}\n", restart=True),
        }

    def _servers(self) -> dict[str, str]:
        """Return the ensemble as a dynamic configuration file has it."""
        return {
            f"server.{host.settings['zookeeper_id']}": f"{zookeeper_host(host.settings, name)}"
            f":{host.settings['zookeeper_peer_port']}:{host.settings['zookeeper_election_port']}"
            f":participant;{host.settings['zookeeper_client_port']}"
            for name, host in self.ensemble.items()
        }

    def _unit(self) -> str:
        # Out of memory a JVM may go on with half of its threads: better it ends, and systemd
        # starts it.
        return files.unit(
            {
                "name": "zookeeper",
                "description": f"Apache ZooKeeper {self.version} (member {self.id})",
                "user": self.settings["zookeeper_user"],
                "group": self.settings["zookeeper_user"],
                "environment_file": "/etc/zookeeper/environment",
                "exec": f"{self.host.java.binary} -server -XX:+ExitOnOutOfMemoryError "
                "$ZOOKEEPER_JVM_OPTIONS -Djava.awt.headless=true "
                "-Dzookeeper.jmx.log4j.disable=true "
                "-Dlogback.configurationFile=/etc/zookeeper/logback.xml "
                f"-cp {self.distribution.home}/libs/* "
                "org.apache.zookeeper.server.quorum.QuorumPeerMain /etc/zookeeper/zoo.cfg",
                "stop_timeout": self.settings["zookeeper_stop_timeout"],
                "write_paths": [_STATE, self.data_dir],
            }
        )


def zookeeper_host(settings: Mapping[str, Any], name: str) -> str:
    """Return the name or address under which others reach a member."""
    return str(settings["zookeeper_host"] or settings["ansible_host"] or name)


def client_addresses(ensemble: Mapping[str, HostSettings]) -> list[str]:
    """Return where each member serves clients, `host:port`."""
    return [
        f"{zookeeper_host(host.settings, name)}:{host.settings['zookeeper_client_port']}"
        for name, host in ensemble.items()
    ]


def resolve(inventory: Inventory, hosts: Mapping[str, HostSettings]) -> dict[str, Member]:
    """Return host -> member of all hosts of the group zookeeper."""
    names = [name for name in inventory.members("zookeeper") if name in hosts]
    ensemble = {name: hosts[name] for name in names}
    return {name: Member(hosts[name], ensemble) for name in names}
