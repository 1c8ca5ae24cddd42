"""What services have in common that keep their state in topics of the inventory's brokers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...cluster.host import HostSettings
from ...cluster.inventory import Secrets
from ...cluster.service import Certified, Server
from .node import KafkaNode


@dataclass(frozen=True)
class KafkaService(Server, Certified):
    """Such a service on a host."""

    peers: Mapping[str, HostSettings]
    """All hosts of its group by name, itself included."""
    broker: KafkaNode | None = None
    """A broker of the inventory, None without any."""
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    port_variable: ClassVar[str]
    """The variable that sets the port of its REST interface."""
    kafka_user: ClassVar[str]
    """Its user of Kafka."""
    kafka_authority: ClassVar[str]
    """The file with the CA of the brokers."""

    @property
    def rest_addresses(self) -> dict[str, str]:
        """Host -> where its REST interface is, `host:port`, of all hosts of the group."""
        return dict(zip(self.peers, self.addresses(self.peers, self.port_variable), strict=False))

    @property
    def kafka_login(self) -> Mapping[str, Any]:
        """The client properties with which it logs in to Kafka, empty if it need not."""
        broker = self.broker
        return broker.clients.user_config(self.kafka_user, self.kafka_authority) if broker else {}

    @property
    def kafka_bootstrap(self) -> str:
        """The addresses of brokers, for a client."""
        return ",".join(self.broker.clients.user_bootstrap) if self.broker else ""

    @property
    def kafka_client(self) -> dict[str, Any]:
        """Its client properties for Kafka, without addresses."""
        properties = self.kafka_login or (self.broker.clients.config if self.broker else {})
        return {key: value for key, value in properties.items() if key != "bootstrap.servers"}

    def missing_passwords(self, users: Collection[str]) -> list[str]:
        """Return the passwords of users of Kafka that it needs and that are not there."""
        if not self.broker or not self.kafka_login:
            return []
        without = self.broker.security.users_without_password
        return [f"the password of {user.name}" for user in without if user.name in users]
