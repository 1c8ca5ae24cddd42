"""What an inventory says, host by host, before anything is derived from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..services.kafka.resources.entries import ResourceFiles
from .registry import GROUPS
from .secret_store import Cipher, Store

CLUSTER_ID_FILE = "kafka_cluster_id.txt"
CONNECTION = (
    "ansible_host",
    "ansible_port",
    "ansible_connection",
    "ansible_become",
    "ansible_user",
    "ansible_python_interpreter",
)


def by_name(hosts: Iterable[str]) -> list[str]:
    """Return hosts in the order of their names, in which kafka2 is before kafka10.

    The order of a list of machines may change from run to run, and files must not change with it.
    """

    def parts(name: str) -> tuple[list[str | int], str]:
        words = re.split(r"([0-9]+)", name)
        return [int(word) if at % 2 else word for at, word in enumerate(words)], name

    return sorted(hosts, key=parts)


@dataclass(frozen=True)
class Expression:
    """What a value consists of that is an expression or encrypted."""

    clear: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Text -> where it is written, of the clear texts in it."""
    hidden: bool = True
    """Whether it has other parts: from a vault, an environment variable, a service or the command
    line."""


@dataclass(frozen=True)
class HostVariables:
    """A host's variables as they are resolved."""

    name: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    unresolved: Mapping[str, str] = field(default_factory=dict)
    """Variable -> why it has no value, with the file where it is written."""
    connection: Mapping[str, Any] = field(default_factory=dict)
    """Those of Ansible's own variables (`CONNECTION`) that are set."""
    expressions: Mapping[str, Expression] = field(default_factory=dict)
    """Place (`variable[key]`, or a whole variable) -> what the value consists of, of those that may
    be secrets and are not plain clear text."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """File -> why the variables in it are missing."""
    others: frozenset[str] = frozenset()
    """The names of all other variables."""
    places: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """A variable, or a part of one (`variable[key]`) -> the file and line where it is written, as
    far as that is known."""

    def is_unknown(self, variable: str) -> bool:
        """Return whether the inventory may set a variable to a value that is not known."""
        missing = bool(self.unreadable) and variable not in self.variables
        return missing or variable in self.unresolved


@dataclass(frozen=True)
class FileFinding:
    """A setting of an inventory file without effect."""

    kind: str
    """One of

    - `twice`: its mapping has the key again, first on the line `text`
    - `number`: YAML reads `text` as the number `value`
    - `structure`: a key of a group that is nearly the key `text`
    - `below`: a key of the group `text` that belongs below the key `value` of it
    - `member`: a key that is read as one of the group's `text` (hosts or groups)
    - `deep`: a key that is read as a variable
    - `two values`: a variable of a host has the value `value`, and another one on the line `text`
    - `vault text`: an encrypted text that needs the tag `text`
    - `bytes`: the file is no text in UTF-8; `text` says where
    - `hidden`: the directory or file `text` hides the file
    - `unused`, `unused host`: a file of variables whose name is nearly that of the group `text`,
      or that is to be renamed to `text`
    - `ending`: a file of variables that is to be renamed to `text`
    - `link`: a link among files of variables, to `text`, which is not there
    - `nobody`: a file of variables of no `text` (group or host) of the inventory
    - `folder`: a directory whose name is nearly `text`
    - `unread`: Ansible cannot read the source, because of `text`; `value` is what to do
    - `cycle`: the group has the group `text` in it, which has it
    - `secrets`: the directory of secrets cannot be used, because of `text`; `value` is what to do
    - `sealed`: the secrets are encrypted, and Ansible has no password of a vault
    """
    path: str
    line: int
    """Its line, 0 for the file as a whole."""
    name: str
    text: str
    value: str = ""

    @property
    def where(self) -> str:
        """The file, and the line."""
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True)
class Secrets:
    """What the control node keeps in a directory beside the inventory, none of it shown anywhere.

    Everything is PEM or plain text. Secrets are the same with another `store`, `mode` and `cipher`.
    """

    directory: str = ""
    authority: str = field(default="", repr=False)
    """The certificate of Kafka's CA."""
    certificates: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Keys with certificates and chain by their names (`host/node`)."""
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Those of Kafka's users that the inventory does not give, and those of the schema registry's
    (`schema_registry/user`)."""
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Other secrets by their names."""
    zookeeper_authority: str = field(default="", repr=False)
    """The certificate of the CA of ZooKeeper's members."""
    zookeeper_clients_authority: str = field(default="", repr=False)
    """The certificate of the CA of ZooKeeper's clients."""
    connect_authority: str = field(default="", repr=False)
    """The certificate of the CA of Kafka Connect's REST interface."""
    store: Store | None = field(default=None, compare=False)
    """The directory's generation, None where it has none."""
    mode: int = field(default=0, compare=False)
    """The permissions of the directory, 0 where it is not there, or its files are encrypted."""
    cipher: Cipher | None = field(default=None, compare=False, repr=False)
    """What encrypts its files, None where they are clear text."""


@dataclass(frozen=True)
class Inventory:
    """Groups, and the hosts that are in one of Millrace's."""

    groups: Mapping[str, Sequence[str]]
    hosts: Mapping[str, HostVariables]
    directory: str = ""
    """The inventory's directory."""
    cluster_id: str = ""
    """The id that is kept in the directory."""
    cluster_id_error: str = ""
    """What is wrong with the file of the id."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The variables of the command line (-e)."""
    file_findings: Sequence[FileFinding] = ()
    """The settings in its files without effect."""
    secrets: Secrets = field(default_factory=Secrets)
    """What is kept in its directory of secrets."""
    authority_error: str = ""
    """Why the site's own CA cannot be used."""
    authority_days: float | None = None
    """How long the site's own CA is valid, None where that is not known."""
    resolved: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Name -> addresses, of the hosts' names where a firewall needs them or a service may be
    open."""
    sources: Sequence[str] = ()
    """Those of the run (-i)."""
    resource_files: ResourceFiles = field(default_factory=ResourceFiles)
    """The files of what lives in the cluster."""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False, compare=False)
    """`group NAME`, `host NAME` or a variable -> the files and lines that name it."""

    @property
    def misread(self) -> list[FileFinding]:
        """What is missing here for which nothing may be done with the rest."""
        return [
            finding
            for finding in self.file_findings
            if finding.kind in ("unread", "cycle", "secrets", "sealed")
        ]

    @property
    def unread_sources(self) -> list[FileFinding]:
        """The sources that Ansible cannot read, or not all of."""
        return [finding for finding in self.file_findings if finding.kind in ("unread", "cycle")]

    def members(self, group: str) -> list[str]:
        """Return the hosts of a group, none if the group is not defined."""
        return list(self.groups.get(group, ()))

    def placed(self) -> list[str]:
        """Return the hosts that are in any of Millrace's groups, in the inventory's order."""
        names = {name for group in GROUPS for name in self.members(group)}
        return [name for name in self.hosts if name in names]

    @property
    def in_zookeeper_mode(self) -> bool:
        """Whether brokers keep their metadata in ZooKeeper: there is an ensemble, no controller."""
        return bool(self.members("zookeeper")) and not self.members("kafka_controllers")
