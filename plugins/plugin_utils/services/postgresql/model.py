"""A PostgreSQL server for the lab: a database whose tables are captured, and to which sinks write.

It is no service in the sense of `service.py`: no JVM, and a package of the system. The layers of a
setting: topology < postgresql_config < owned keys.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.values import by_name, texts
from ...cluster import files
from ...cluster.artifacts import HOMES
from ...cluster.files import Entry
from ...cluster.host import HostSettings
from ...cluster.inventory import Secrets
from ...cluster.resolution import Resolution
from ...cluster.service import NODES, Certified
from ..connect.connectors import CLASS, Connector
from ..kafka.security import Certificate
from . import GROUP, PRODUCT

ADDRESS, CONFIG_VARIABLE, PORT = "postgresql_host", "postgresql_config", "postgresql_port"
ACCOUNT = "postgres"
"""The account of Debian's package, and the superuser, who can log in on the host alone."""
OWNER, DEBEZIUM, SINK = "owner", "debezium", "sink"
USERS: Mapping[str, str] = {OWNER: "", DEBEZIUM: "REPLICATION", SINK: ""}
"""User -> its attribute: who owns all tables, who captures them, and who writes results."""
SOURCE, RESULTS = "source", "results"
"""Schemas: of tables that are captured, and of tables that sinks write."""
PUBLICATION = "millrace"
UNIT = "millrace-postgresql"
CONFIG, STATE, SOCKET = f"/etc/{UNIT}", "/var/lib/postgresql", f"/run/{UNIT}"
DATA = f"{STATE}/millrace"
START = f"{HOMES}/postgresql-start"
WAL_LEVEL = "wal_level"
LOGICAL = "logical"
SOURCE_CLASS = "PostgresConnector"
_SETTINGS, _HBA, _STORE = (
    f"{CONFIG}/postgresql.conf",
    f"{CONFIG}/pg_hba.conf",
    f"{CONFIG}/server.pem",
)
# Debian's package would make and start a server of its own.
_PACKAGE = "/etc/postgresql-common/createcluster.d"
_ITERATIONS = 4096
_TOPOLOGY: Mapping[str, Any] = {
    WAL_LEVEL: LOGICAL,
    # What a connector that does not run may keep back: without a limit it fills the disk.
    "max_slot_wal_keep_size": "1GB",
    "max_replication_slots": 4,
    "max_wal_senders": 6,
    "password_encryption": "scram-sha-256",
    "ssl": "on",
    "ssl_min_protocol_version": "TLSv1.2",
}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "data_directory": "nothing, it is that of the role",
    "hba_file": "nothing, it admits the role's users with TLS alone",
    "listen_addresses": "nothing, it listens on all addresses",
    "port": PORT,
    "ssl_cert_file": "nothing, the certificate is made for the host",
    "ssl_key_file": "nothing, the key is made for the host",
    "unix_socket_directories": "nothing, it is the unit's own",
}


@dataclass(frozen=True)
class Database(Certified):
    """The server of a host, with one database."""

    host: HostSettings
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    product = PRODUCT
    title = "PostgreSQL"
    address_variable = ADDRESS
    port_variables = (PORT,)
    connecting = (NODES,)  # the workers of Kafka Connect
    of_connect = True

    @property
    def database(self) -> str:
        """The name of the database."""
        return str(self.settings["postgresql_database"])

    @property
    def is_open(self) -> bool:
        """Never: its users show a password, over TLS."""
        return False

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [UNIT]

    @property
    def user(self) -> str:
        """The account it runs as."""
        return ACCOUNT

    @property
    def config(self) -> dict[str, Any]:
        """The effective settings."""
        owned = {
            "data_directory": DATA,
            "hba_file": _HBA,
            # As Kafka: behind NAT a host does not have the address of its name.
            "listen_addresses": "*",
            "port": self.settings[PORT],
            "ssl_cert_file": _STORE,
            "ssl_key_file": _STORE,
            "unix_socket_directories": SOCKET,
        }
        return {**_TOPOLOGY, **by_name(self.settings[CONFIG_VARIABLE]), **owned}

    @property
    def certificates(self) -> list[Certificate]:
        """What it shows clients, of the CA of Kafka Connect, which signs for nobody else."""
        name, names = f"{self.name}/{PRODUCT}", self.certificate_names
        return [Certificate(name, _STORE, PRODUCT, names, client=False)]

    @property
    def missing_secrets(self) -> list[str]:
        """What it needs and the secrets do not have, by its name."""
        return [*self.lacking({}), *missing_passwords(self.secrets)]

    def files(self) -> dict[str, Entry]:
        """Return its files; `restart` marks what only a restart brings."""
        ownership = {"owner": ACCOUNT, "group": ACCOUNT}
        account = f'u {ACCOUNT} - "{self.title} administrator" {STATE} /bin/bash\n'
        return {
            "/etc/sysusers.d": files.directory(),
            f"/etc/sysusers.d/millrace-{PRODUCT}.conf": files.text(account),
            "/etc/postgresql-common": files.directory(),
            _PACKAGE: files.directory(),
            f"{_PACKAGE}/millrace.conf": files.text("create_main_cluster = false\n"),
            HOMES: files.directory(),
            START: files.text(
                files.read(f"roles/{PRODUCT}/files/start"), mode="0755", restart=True
            ),
            CONFIG: files.directory(),
            STATE: files.directory(ACCOUNT),
            _SETTINGS: files.text(_lines(self.config), restart=True),
            _HBA: files.text(self._access(), mode="0640", restart=True, **ownership),
            **self.certificate_files(),
            **self.unit(
                UNIT,
                f"{self.title} (database {self.database})",
                f"/bin/sh {START}",
                write_paths=[STATE],
                # Asked by the usual signal, it would wait until all clients have gone.
                stop_signal="SIGINT",
            ),
        }

    def _access(self) -> str:
        """Return who may log in: the superuser on the host, the users over TLS by password."""
        users = ",".join(USERS)
        remote = [
            f"hostssl {self.database} {users} {net} scram-sha-256" for net in ("0.0.0.0/0", "::/0")
        ]
        return "\n".join([f"local all {ACCOUNT} peer", *remote]) + "\n"

    @property
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it; the package stays."""
        paths = [path for path, entry in self.files().items() if entry.get("state") != "directory"]
        data = [DATA] if self.settings["postgresql_remove_data"] else []
        return {"state": "absent", "units": [UNIT], "removed": [*paths, CONFIG, *data]}

    @property
    def connection(self) -> dict[str, Any]:
        """How the superuser reaches it on its host."""
        return {"socket": SOCKET, "port": self.settings[PORT], "user": ACCOUNT}

    @property
    def steps(self) -> list[dict[str, str]]:
        """What it has to have, in its order.

        Each is a name, the database to ask, a query that is true once it is there, and the
        statements that make it so.
        """
        texts = self.secrets.texts
        return [
            *(_user(user, kind, texts.get(secret(user), "")) for user, kind in USERS.items()),
            _step(
                f"the database {self.database}",
                f"SELECT EXISTS (SELECT FROM pg_database WHERE datname = '{self.database}')",  # noqa: S608 - names that a rule has checked
                f'CREATE DATABASE "{self.database}" OWNER {OWNER}',
            ),
            _step(
                f"who may connect to {self.database}",
                f"SELECT NOT has_database_privilege('public', '{self.database}', 'CONNECT')",
                # In this order: the check is true after the second one, however far a run came.
                f'GRANT CONNECT ON DATABASE "{self.database}" TO {DEBEZIUM}, {SINK}; '
                f'REVOKE ALL ON DATABASE "{self.database}" FROM PUBLIC',
            ),
            *_schema(self.database, SOURCE, DEBEZIUM, "SELECT"),
            *_schema(self.database, RESULTS, SINK, "SELECT, INSERT, UPDATE, DELETE"),
            _step(
                f"the publication {PUBLICATION}",
                f"SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = '{PUBLICATION}')",  # noqa: S608 - names that a rule has checked
                f"CREATE PUBLICATION {PUBLICATION} FOR TABLES IN SCHEMA {SOURCE}",
                self.database,
            ),
        ]

    @property
    def health(self) -> list[dict[str, str]]:
        """Queries of which each line is a problem."""
        query = (
            "SELECT format('the replication slot %s of the database %s is lost: its connector did "
            "not read for so long that max_slot_wal_keep_size was exceeded, and cannot continue. "
            "docs/operate/cdc.md describes how to begin again', slot_name, database) "
            "FROM pg_replication_slots WHERE wal_status = 'lost' ORDER BY slot_name"
        )
        return [{"database": ACCOUNT, "query": query}]

    def needed(self, connectors: Sequence[Connector]) -> list[dict[str, str]]:
        """Return queries of which each line is what a connector of the inventory lacks here."""
        connected = [
            connector for connector in connectors if connector.present and self.has(connector)
        ]
        return [
            {"database": self.database, "query": query}
            for connector in connected
            for query in (
                _needed_of_source(connector)
                if not connector.is_sink
                else _needed_of_sink(connector)
            )
        ]

    def has(self, connector: Connector) -> bool:
        """Return whether a connector uses this database, by its address."""
        config = connector.given
        url = str(config.get("connection.url", ""))
        location = f"//{self.address}:{self.settings[PORT]}/{self.database}"
        source = (str(config.get("database.hostname", "")), str(config.get("database.dbname", "")))
        matches = source == (self.address.strip("[]"), self.database)
        return url.partition("?")[0].endswith(location) or (matches and is_source(connector))


def is_source(connector: Connector) -> bool:
    """Return whether a connector captures tables of PostgreSQL."""
    return str(connector.given.get(CLASS, "")).rpartition(".")[2] == SOURCE_CLASS


def secret(user: str) -> str:
    """Return the name of a user's password among the secrets."""
    return f"{PRODUCT}_{user}"


def missing_passwords(secrets: Secrets) -> list[str]:
    """Return the names of the passwords that the secrets do not have."""
    return [secret(user) for user in USERS if not secrets.texts.get(secret(user))]


def passwords(secrets: Secrets) -> dict[str, str]:
    """Return user -> password, of those that connectors log in as."""
    return {user: secrets.texts.get(secret(user), "") for user in (DEBEZIUM, SINK)}


def salt_of(user: str) -> bytes:
    """Return the salt of a user's verifier, always the same, so that verifiers can be compared.

    It must not follow from the password: the server shows it to whoever wants to log in.
    """
    return hashlib.sha256(f"{PRODUCT}:{user}".encode()).digest()[:16]


def verifier(password: str, salt: bytes) -> str:
    """Return what the server keeps of a password (SCRAM-SHA-256, RFC 5803)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    client = hmac.new(salted, b"Client Key", hashlib.sha256).digest()
    keys = hashlib.sha256(client).digest(), hmac.new(salted, b"Server Key", hashlib.sha256).digest()
    text, stored, server = (base64.b64encode(value).decode() for value in (salt, *keys))
    return f"SCRAM-SHA-256${_ITERATIONS}:{text}${stored}:{server}"


def _step(name: str, check: str, apply: str, database: str = ACCOUNT) -> dict[str, str]:
    return {"what": name, "database": database, "check": check, "apply": apply}


def _user(name: str, attribute: str, password: str) -> dict[str, str]:
    stored = verifier(password, salt_of(name))
    replicates = "" if attribute else "NOT "
    check = (
        f"SELECT EXISTS (SELECT FROM pg_authid WHERE rolname = '{name}' AND rolcanlogin AND "  # noqa: S608 - names that a rule has checked
        f"{replicates}rolreplication AND NOT rolsuper AND rolpassword = '{stored}')"
    )
    create = (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}') THEN "
        f"CREATE ROLE {name}; END IF; END $$"
    )
    replication = attribute or "NOREPLICATION"
    alter = f"ALTER ROLE {name} LOGIN {replication} NOSUPERUSER PASSWORD '{stored}'"
    return _step(f"the user {name}", check, f"{create}; {alter}")


def _schema(database: str, schema: str, user: str, privileges: str) -> list[dict[str, str]]:
    """Return the steps of a schema of the owner, in which a user has privileges on all tables."""
    granted = (
        "SELECT EXISTS (SELECT FROM pg_default_acl a, aclexplode(a.defaclacl) x "  # noqa: S608 - names that a rule has checked
        f"WHERE a.defaclrole = '{OWNER}'::regrole AND a.defaclnamespace = '{schema}'::regnamespace "
        f"AND x.grantee = '{user}'::regrole) "
        f"AND has_schema_privilege('{user}', '{schema}', 'USAGE')"
    )
    return [
        _step(
            f"the schema {schema}",
            f"SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{schema}')",  # noqa: S608 - names that a rule has checked
            f"CREATE SCHEMA {schema} AUTHORIZATION {OWNER}",
            database,
        ),
        _step(
            f"what {user} may do in {schema}",
            granted,
            f"GRANT USAGE ON SCHEMA {schema} TO {user}; GRANT {privileges} ON ALL TABLES IN SCHEMA "
            f"{schema} TO {user}; ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA {schema} "
            f"GRANT {privileges} ON TABLES TO {user}",
            database,
        ),
    ]


def _needed_of_source(connector: Connector) -> list[str]:
    """Return what a source needs besides what its own validation asks for."""
    publication = _literal(connector.given.get("publication.name") or "dbz_publication")
    missing = _literal(
        f"{connector.name}: there is no publication {publication.strip(chr(39))}; set "
        f"publication.name to {PUBLICATION}, which the role postgresql creates, or create the "
        "missing one"
    )
    absent = f"SELECT FROM pg_publication WHERE pubname = {publication}"
    tables = [_literal(table) for table in texts(connector.given.get("table.include.list"))]
    listed = ", ".join(f"({table})" for table in tables)
    uncaptured = _literal(
        f"{connector.name}: there is no table %s in the publication; correct table.include.list, "
        f"or create the table in the schema {SOURCE}"
    )
    user = _literal(connector.given.get("database.user"))
    cannot = _literal(
        f"{connector.name}: {user.strip(chr(39))} may not replicate; set database.user to "
        f"{DEBEZIUM}, or give the user REPLICATION"
    )
    physical = _literal(
        f"{connector.name}: wal_level of the server is %s, so its changes cannot be decoded; "
        f"set {CONFIG_VARIABLE}[{WAL_LEVEL}]: {LOGICAL}, and run site.yml"
    )
    level = f"current_setting('{WAL_LEVEL}')"
    replicating = f"SELECT FROM pg_roles WHERE rolname = {user} AND (rolreplication OR rolsuper)"
    queries = [
        f"SELECT format({physical}, {level}) WHERE {level} <> '{LOGICAL}'",
        f"SELECT {cannot} WHERE NOT EXISTS ({replicating})",
        f"SELECT {missing} WHERE NOT EXISTS ({absent})",
    ]
    if tables:
        queries.append(
            f"SELECT format({uncaptured}, name) FROM (VALUES {listed}) AS wanted (name) "  # noqa: S608 - names that a rule has checked
            f"WHERE EXISTS ({absent}) AND NOT EXISTS (SELECT FROM pg_publication_tables WHERE "
            f"pubname = {publication} AND schemaname || '.' || tablename = name)"
        )
    return queries


def _needed_of_sink(connector: Connector) -> list[str]:
    """Return what a sink needs that makes no tables itself."""
    config = connector.given
    if str(config.get("schema.evolution", "none")) != "none":
        return []
    name = str(config.get("collection.name.format") or "${topic}")
    tables = [
        name.replace("${topic}", topic.replace(".", "_")) for topic in texts(config.get("topics"))
    ]
    text = _literal(
        f"{connector.name}: there is no table %s; create it, or correct topics or "
        "collection.name.format"
    )
    listed = ", ".join(f"({_literal(table)})" for table in tables)
    query = f"SELECT format({text}, name) FROM (VALUES {listed}) AS wanted (name) "  # noqa: S608 - names that a rule has checked
    return [f"{query}WHERE to_regclass(name) IS NULL"] if tables else []


def _literal(value: object) -> str:
    text = str(value).replace("'", "''")
    return f"'{text}'"


def _lines(config: Mapping[str, Any]) -> str:
    """Return the text of postgresql.conf."""
    head = "# Written by Millrace; change the inventory, not this file.\n"
    return head + "".join(f"{key} = {_literal(_plain(config[key]))}\n" for key in sorted(config))


def _plain(value: object) -> object:
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def resolve(resolution: Resolution) -> dict[str, Database]:
    """Return host -> database of all hosts of the group postgresql."""
    secrets = resolution.inventory.secrets
    return {name: Database(host, secrets) for name, host in resolution.members(GROUP).items()}
