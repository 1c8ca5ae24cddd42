"""Fixtures: the instances of the schema registry, and their REST interfaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    Registry as Client,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    AUTHORITY_FILE,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.model import (
    Registry,
    RegistryUser,
)

from tests.support.lab.topology import Topology

ADMIN = "admin"
Login = Callable[[str], str]
"""Returns what a user with a role, read, write or admin, logs in with: `user:password`."""


@pytest.fixture(scope="module")
def registry_instances(topology: Topology) -> dict[str, Registry]:
    if not topology.cluster.schema_registry:
        pytest.skip("no schema registry here")
    return dict(topology.cluster.schema_registry)


@pytest.fixture(scope="module")
def registry_addresses(topology: Topology, registry_instances: dict[str, Registry]) -> list[str]:
    """Where the instances answer, `host:port`."""
    instances = registry_instances.items()
    return [
        f"{topology.addresses[name]}:{instance.ports['schema_registry_port']}"
        for name, instance in instances
    ]


@pytest.fixture(scope="module")
def registry_secrets(topology: Topology, registry_instances: dict[str, Registry]) -> Path:
    """Where the passwords and the certificate of the CA are."""
    if not next(iter(registry_instances.values())).is_secured:
        pytest.skip("the schema registry is open here")
    return Path(topology.cluster.inventory.secrets.directory)


@pytest.fixture(scope="module")
def registry_authority(registry_secrets: Path) -> str:
    return str(registry_secrets / AUTHORITY_FILE)


@pytest.fixture(scope="module")
def registry_users(
    registry_instances: dict[str, Registry], registry_secrets: Path
) -> list[RegistryUser]:
    """The users of the registry, with their passwords."""
    return next(iter(registry_instances.values())).users


@pytest.fixture(scope="module")
def registry_login(registry_users: list[RegistryUser]) -> Login:
    def login(role: str) -> str:
        logins = [f"{user.name}:{user.password}" for user in registry_users if user.role == role]
        return logins[0] if logins else pytest.skip(f"no user of the registry has the role {role}")

    return login


@pytest.fixture(scope="module")
def registry_as(
    registry_addresses: list[str], registry_authority: str, registry_login: Login
) -> Callable[[str], Client]:
    """Return the registry as a user with a role has it, nobody by an empty one."""
    return lambda role: Client(
        registry_addresses, registry_authority, registry_login(role) if role else ""
    )


@pytest.fixture(scope="module")
def registry(registry_as: Callable[[str], Client]) -> Client:
    """The registry as its admin has it."""
    return registry_as(ADMIN)
