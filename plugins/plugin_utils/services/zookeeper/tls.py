"""What `zookeeper_security: standard` sets: TLS with certificates on both sides.

Members prove by them to be members, brokers and Spark's masters to be clients, each kind by a CA of
its own: a client's key is worth nothing in the quorum, and a user's certificate that the CA of
Kafka has signed is worth nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....module_utils.formats.values import canonical
from ...cluster import files
from ...cluster.files import Entry
from ...cluster.inventory import Secrets
from ..kafka.security import Certificate

AUTHORITY_FILE = "zookeeper-ca.pem"
"""The certificate of the members' CA, among the secrets and on the hosts of clients."""
CLIENTS_AUTHORITY_FILE = "zookeeper-clients-ca.pem"
"""The certificate of the clients' CA, among the secrets."""
CLIENTS_FILE = "zookeeper-clients.pem"
"""What members trust at the clients' port, on their hosts."""
_NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory"
_SOCKET = "org.apache.zookeeper.ClientCnxnSocketNetty"
_PROTOCOLS = "TLSv1.3,TLSv1.2"

Properties = dict[str, Any]


@dataclass(frozen=True)
class Identity:
    """The key and certificate of a process, and the path of the members' CA's certificate there."""

    certificate: Certificate
    authority: str
    clients: str = ""
    """Where a member has what it trusts at the clients' port; other processes have none."""

    @property
    def is_member(self) -> bool:
        """Whether it is one of a member."""
        return bool(self.clients)

    def trusted(self, secrets: Secrets) -> str:
        """Return the CAs by which others take it."""
        return secrets.zookeeper_authority if self.is_member else trusted_clients(secrets)

    def files(self, secrets: Secrets, user: str) -> dict[str, Entry]:
        """Return its files and their directory; only the process itself reads the key."""
        access = {"owner": user, "group": user, "mode": "0400", "secret": True}
        key = secrets.certificates.get(self.certificate.name, "")
        return {
            self.authority.rpartition("/")[0]: files.directory(),
            self.authority: files.text(secrets.zookeeper_authority, restart=True),
            self.certificate.path: files.text(key, restart=True, **access),
            **(
                {self.clients: files.text(trusted_clients(secrets), restart=True)}
                if self.is_member
                else {}
            ),
        }


def trusted_clients(secrets: Secrets) -> str:
    """Return the CAs that members trust at the clients' port.

    Their own is among them: on its host a member is a client too, and clients had certificates of
    it once.
    """
    return f"{secrets.zookeeper_clients_authority}{secrets.zookeeper_authority}"


def paths(product: str) -> tuple[str, str]:
    """Return where a product on a host has its certificate, and that of the CA."""
    directory = f"/etc/{product}/certificates"
    return f"{directory}/zookeeper.pem", f"{directory}/{AUTHORITY_FILE}"


def clients_path() -> str:
    """Return where a member has what it trusts at the clients' port."""
    return f"/etc/zookeeper/certificates/{CLIENTS_FILE}"


def is_identity(name: str) -> bool:
    """Return whether a certificate of the secrets is one of these, by its name."""
    return name.rpartition("/")[2].startswith("ensemble-")


def identity(host: str, product: str, addresses: Sequence[str] = ()) -> Identity:
    """Return what a product on a host shows the ensemble; `addresses` are those of a member.

    All processes of a product have one common name, by which the ACLs of Kafka's nodes know them.
    """
    path, authority = paths(product)
    names = tuple(dict.fromkeys(canonical(name) for name in (host, *addresses)))
    certificate = Certificate(f"{host}/ensemble-{product}", path, product, names, client=True)
    return Identity(certificate, authority, clients_path() if product == "zookeeper" else "")


def of_member(identity: Identity) -> Properties:
    """Return the properties of a member: its clients' port and those between members."""
    return {
        "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        "serverCnxnFactory": _NETTY,
        "sslQuorum": True,
        # Otherwise members do not compare names at all (ZOOKEEPER-4393).
        "fips-mode": False,
        # A member that connects has an address, of which DNS need not know the name.
        "ssl.quorum.clientHostnameVerification": False,
        **{
            f"{prefix}{key}": value
            for prefix in ("ssl.", "ssl.quorum.")
            for key, value in {
                "clientAuth": "need",
                "enabledProtocols": _PROTOCOLS,
                **_stores(identity, "keyStore", "trustStore"),
            }.items()
        },
        "ssl.trustStore.location": identity.clients,
    }


def of_broker(identity: Identity) -> Properties:
    """Return the properties of a Kafka broker, which lets other clients only read its nodes."""
    return {
        "zookeeper.clientCnxnSocket": _SOCKET,
        "zookeeper.set.acl": True,
        "zookeeper.ssl.client.enable": True,
        "zookeeper.ssl.enabled.protocols": _PROTOCOLS,
        **{
            f"zookeeper.ssl.{key}": value
            for key, value in _stores(identity, "keystore", "truststore").items()
        },
    }


def of_client(identity: Identity) -> dict[str, str]:
    """Return the properties of ZooKeeper's own client."""
    return {
        "zookeeper.client.secure": "true",
        "zookeeper.clientCnxnSocket": _SOCKET,
        # SASL, which is not used, would ask DNS for the name of a member that has an address, and
        # the certificate would be compared with that.
        "zookeeper.sasl.client": "false",
        "zookeeper.ssl.enabledProtocols": _PROTOCOLS,
        **{
            f"zookeeper.ssl.{key}": value
            for key, value in _stores(identity, "keyStore", "trustStore").items()
        },
    }


def java_options(identity: Identity) -> list[str]:
    """Return the options of a JVM whose program has ZooKeeper's client in it."""
    return [f"-D{key}={value}" for key, value in of_client(identity).items()]


def _stores(identity: Identity, key_store: str, trust_store: str) -> Mapping[str, str]:
    return {
        f"{key_store}.location": identity.certificate.path,
        f"{key_store}.type": "PEM",
        f"{trust_store}.location": identity.authority,
        f"{trust_store}.type": "PEM",
    }
