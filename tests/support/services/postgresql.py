"""The database of a cluster, by its own client."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql.model import (
    PORT,
    SOCKET,
    Database,
)
from testinfra.host import Host


def sql(host: Host, database: Database, statements: str) -> list[str]:
    """Run statements on its host as the superuser, and return the lines of their results."""
    command = f"cd / && printf '%%s' %s | {_client(database)}"
    return [line for line in host.check_output(command, statements).splitlines() if line]


def answers(host: Host, database: Database) -> bool:
    """Whether it answers a query."""
    return bool(host.run(f"cd / && {_client(database)} -c 'SELECT 1'").succeeded)


def _client(database: Database) -> str:
    port = database.ports[PORT]
    client = f"psql -XAtq -v ON_ERROR_STOP=1 -h {SOCKET} -p {port} -d {database.database}"
    return f"runuser -u postgres -- {client}"
