"""The rules about the PostgreSQL server of the lab."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....module_utils.formats.values import by_name, listing
from ...cluster.cluster import Cluster
from ...rules.engine import Finding, Findings, host_rule, rule
from ...rules.inspection import InspectedHost
from ...rules.services import wrong_address
from ...rules.shared import falls_back_to_default, parts
from ..connect.connectors import VARIABLE, Connector
from ..connect.model import Worker
from . import GROUP
from .model import ADDRESS, CONFIG_VARIABLE, LOGICAL, OWNED, WAL_LEVEL, Database, is_source

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PACKAGES = "apt"


def _sources(cluster: Cluster) -> Iterator[tuple[str, Database, Connector]]:
    """Yield each database with the connectors that capture its tables."""
    workers: list[Worker] = [*cluster.connect.values()][:1]
    for name, database in cluster.databases.items():
        is_valid = not falls_back_to_default(cluster, name, CONFIG_VARIABLE, VARIABLE)
        for worker in workers if is_valid else ():
            for connector in worker.connectors:
                if connector.present and is_source(connector) and database.has(connector):
                    yield name, database, connector


@rule("postgresql-hosts", where=f"group {GROUP}")
def _postgresql_hosts(cluster: Cluster) -> Findings:
    """Its passwords and its name are those of one server, and the others would get no connector."""
    if len(cluster.databases) > 1:
        problem = f"There are several hosts: {listing(cluster.databases)}."
        yield Finding(problem, f"Leave one host in the group {GROUP}.")


@rule("postgresql-database-name", each=parts("postgresql"), where="postgresql_database")
def _postgresql_database_name(database: Database) -> Findings:
    """The name is written into SQL statements and into pg_hba.conf."""
    if not _NAME.fullmatch(database.database):
        fix = "Choose lowercase letters, digits and _, at most 63; a letter or _ comes first."
        yield Finding(f"{database.database!r} is not a valid name for the database.", fix)


@rule("postgresql-address", each=parts("postgresql"))
def _postgresql_address(database: Database) -> Findings:
    """Workers of Kafka Connect reach it at `address:port`, and its certificate is for it."""
    yield from wrong_address(database.settings, ADDRESS, database.address)


@rule("postgresql-owned-key", each=parts("postgresql"))
def _postgresql_owned_key(database: Database) -> Findings:
    """The value would be overwritten."""
    for key in by_name(database.settings[CONFIG_VARIABLE]):
        if key in OWNED:
            fix = f"Delete it; what sets it: {OWNED[key]}."
            yield Finding(f"Millrace writes {key} itself.", fix, f"{CONFIG_VARIABLE}[{key}]")


@rule("postgresql-wal-level", each=_sources, where=f"{CONFIG_VARIABLE}[{WAL_LEVEL}]")
def _postgresql_wal_level(database: Database, connector: Connector) -> Findings:
    """The write-ahead log would not contain what logical decoding needs, and the task would fail
    once it has started.
    """
    level = database.config[WAL_LEVEL]
    if level != LOGICAL:
        problem = f"{WAL_LEVEL} is {level}, and {connector.name} captures tables."
        yield Finding(problem, f"Set {WAL_LEVEL}: {LOGICAL}, or delete it.")


@host_rule("postgresql-system", where=f"group {GROUP}")
def _postgresql_system(host: InspectedHost) -> Findings:
    """The role installs Debian's package, and expects the programs where that package puts them."""
    if host.name in host.cluster.databases and host.host.family.package_manager != _PACKAGES:
        problem = f"{host.host.family.name} is not Debian."
        yield Finding(problem, f"Take {host.name} out of {GROUP}: the role is for the lab.")
