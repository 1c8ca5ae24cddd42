"""The quorum of controllers as one Kafka node knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.uuids import directory_id, is_cluster_id
from .node_listeners import NodeListeners
from .peers import Peer, addresses


@dataclass(frozen=True)
class NodeQuorum:
    """The quorum of a node's cluster, and how the node joins it."""

    settings: Mapping[str, Any] = field(repr=False)
    """The host's variables."""
    cluster_id: str
    """The cluster id, empty before there is one."""
    voters: Sequence[Peer]
    """All controllers of the cluster."""
    listeners: NodeListeners
    """What the node listens on, and the controllers with it."""

    @property
    def metadata_dir(self) -> str:
        """The directory of metadata.log.dir, empty for the first data directory."""
        return str(self.settings["kafka_metadata_dir"])

    @property
    def addresses(self) -> list[str]:
        """The controllers' listeners of all voters, `host:port`."""
        return addresses(self.listeners.controller, self.voters)

    @property
    def initial_controllers(self) -> str:
        """The voters as `kafka-storage format --initial-controllers` reads them (KIP-853).

        `id@host:port:directory-id` joined by commas; empty before there is a cluster id.
        """
        if not is_cluster_id(self.cluster_id):
            return ""
        return ",".join(
            f"{voter.id}@{address}:{directory_id(self.cluster_id, voter.id)}"
            for voter, address in zip(self.voters, self.addresses, strict=False)
            if voter.id is not None
        )

    @property
    def config(self) -> dict[str, str]:
        """The properties by which the node is a member of the quorum, or follows it."""
        key, voters = "controller.quorum.bootstrap.servers", self.addresses
        if self.settings["kafka_quorum"] == "static":
            key = "controller.quorum.voters"
            voters = [
                f"{voter.id}@{address}" for voter, address in zip(self.voters, voters, strict=False)
            ]
        return {
            "process.roles": ",".join(self.listeners.roles),
            "metadata.log.dir": self.metadata_dir,
            "controller.listener.names": ",".join(
                listener.name for listener in self.listeners.controllers
            ),
            key: ",".join(voters),
        }
