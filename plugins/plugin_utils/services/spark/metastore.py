"""The catalog that all sessions of Spark share: Hive's metastore database on a Derby server.

Spark brings Hive's and Derby's classes. Sessions connect to the database themselves, with a
password and TLS; Hive's own metastore service has no authentication but Kerberos
(docs/decisions/0031).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...cluster import files
from ...cluster.files import Entry

DIRECTORY = "/var/lib/spark/metastore"
"""Derby's home: its configuration, its key, and the database."""
_USER = "spark"
_KEYS = f"{DIRECTORY}/key.p12"
# It protects nothing: whoever may read the file may read this too.
_KEY_PASSWORD = "changeit"  # noqa: S105 - as Java calls it
_STRONG_SUBSTITUTE = 8  # the password itself is never sent (USRSSBPWD of DRDA)
_JDO = "spark.hadoop.javax.jdo.option"


def client_config(address: str, password: str) -> dict[str, Any]:
    """Return the properties of a session that uses the catalog at `host:port`.

    Without a password the server is open. The first session creates the tables (DataNucleus).
    """
    closed = f";ssl=basic;securityMechanism={_STRONG_SUBSTITUTE}" if password else ""
    login = {f"{_JDO}.ConnectionUserName": _USER, f"{_JDO}.ConnectionPassword": password}
    return {
        "spark.sql.catalogImplementation": "hive",
        f"{_JDO}.ConnectionURL": f"jdbc:derby://{address}/metastore;create=true{closed}",
        f"{_JDO}.ConnectionDriverName": "org.apache.derby.client.ClientAutoloadedDriver",
        **(login if password else {}),
        "spark.hadoop.datanucleus.schema.autoCreateAll": True,
        "spark.hadoop.hive.metastore.schema.verification": False,
    }


def server_files(password: str, user: str) -> dict[str, Entry]:
    """Return Derby's configuration, with its one user if there is a password."""
    authentication = {
        "derby.connection.requireAuthentication": True,
        "derby.authentication.provider": "BUILTIN",
        f"derby.user.{_USER}": password,
        "derby.database.defaultConnectionMode": "noAccess",
        "derby.database.fullAccessUsers": _USER,
    }
    config = {
        "derby.stream.error.field": "java.lang.System.err",
        **(authentication if password else {}),
    }
    return {
        DIRECTORY: files.directory(user, "0750"),
        f"{DIRECTORY}/derby.properties": files.property_file(
            config, mode="0640", group=user, secret=True
        ),
    }


def server(
    java: str, classpath: str, heap: str, address: str, *, closed: bool
) -> Mapping[str, Any]:
    """Return what the server's unit starts: `command`, and `prepare` before it.

    `address` is `host:port`. TLS is there for encryption alone, so the host generates its own key.
    """
    host, _, port = address.rpartition(":")
    stores = {
        "javax.net.ssl.keyStore": _KEYS,
        "javax.net.ssl.keyStoreType": "PKCS12",
        "javax.net.ssl.keyStorePassword": _KEY_PASSWORD,
    }
    options = {"derby.system.home": DIRECTORY, **(stores if closed else {})}
    words = [
        java,
        "$SPARK_DAEMON_OPTIONS",
        f"-Xmx{heap}",
        *(f"-D{key}={value}" for key, value in options.items()),
        "-cp",
        classpath,
        "org.apache.derby.drda.NetworkServerControl",
        "start",
        "-h",
        host.strip("[]"),
        "-p",
        port,
        "-ssl",
        "basic" if closed else "off",
        "-noSecurityManager",  # Java 18 and newer has none
    ]
    keytool = f"{java.removesuffix('java')}keytool"
    make_key = (
        f"/bin/sh -c 'test -e {_KEYS} || {keytool} -genkeypair -alias derby"
        f" -keyalg EC -groupname secp256r1 -dname CN=metastore -validity 36500 -keystore {_KEYS}"
        f" -storetype PKCS12 -storepass {_KEY_PASSWORD}'"
    )
    return {"command": " ".join(words), **({"prepare": make_key} if closed else {})}
