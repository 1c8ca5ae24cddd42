"""What an inventory says, host by host, before anything is derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .registry import GROUPS
from .secret_store import Store

CLUSTER_ID_FILE = "kafka_cluster_id.txt"
CONNECTION = (
    *("ansible_host", "ansible_port", "ansible_connection", "ansible_become", "ansible_user"),
    "ansible_python_interpreter",
)


@dataclass(frozen=True)
class Expression:
    """What a value consists of that is an expression or encrypted.

    `clear` is text -> where it is written, of the clear texts in it; `hidden` says whether it has
    other parts: from a vault, an environment variable, a service or the command line.
    """

    clear: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: bool = True


@dataclass(frozen=True)
class HostVariables:
    """A host's variables as they are resolved.

    `unresolved` is variable -> why it has no value, with the file where it is written, `unreadable`
    file -> why the variables in it are missing.
    `connection` holds those of Ansible's own variables (`CONNECTION`) that are set, `others` the
    names of all other variables. `places` is a variable, or a part of one (`variable[key]`) -> the
    file and line where it is written, as far as that is known. `expressions` is place
    (`variable[key]`, or a whole variable) -> what the value consists of, of those that may be
    secrets and are not plain clear text.
    """

    name: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    unresolved: Mapping[str, str] = field(default_factory=dict)
    connection: Mapping[str, Any] = field(default_factory=dict)
    expressions: Mapping[str, Expression] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def is_unknown(self, variable: str) -> bool:
        """Return whether the inventory may set a variable to a value that is not known."""
        missing = bool(self.unreadable) and variable not in self.variables
        return missing or variable in self.unresolved


@dataclass(frozen=True)
class FileFinding:
    """A setting of an inventory file without effect; `line` is 0 for the file as a whole.

    `kind` is one of

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
    - `secrets`: the directory of secrets cannot be used, because of `text`
    """

    kind: str
    path: str
    line: int
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

    `authority` is the certificate of Kafka's CA, `zookeeper_authority` that of the CA of
    ZooKeeper's members, `zookeeper_clients_authority` that of its clients, `connect_authority` that
    of Kafka Connect's REST interface, `certificates` are keys with certificates and chain by their
    names (`host/node`), `passwords` those of Kafka's users that the inventory does not give, and
    those of the schema registry's (`schema_registry/user`), `texts` other secrets by their names.
    Everything is PEM or plain text. `store` is the directory's generation, None where it has none,
    `mode` the permissions of the directory, 0 where it is not there; secrets are the same with
    others of both.
    """

    directory: str = ""
    authority: str = field(default="", repr=False)
    certificates: Mapping[str, str] = field(default_factory=dict, repr=False)
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    zookeeper_authority: str = field(default="", repr=False)
    zookeeper_clients_authority: str = field(default="", repr=False)
    connect_authority: str = field(default="", repr=False)
    store: Store | None = field(default=None, compare=False)
    mode: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Inventory:
    """Groups, and the hosts that are in one of Millrace's; `directory` is the inventory's.

    `cluster_id` is the id that is kept there, `cluster_id_error` what is wrong with its file;
    `secrets` are what is kept in its directory of secrets, `authority_error` is why the site's own
    CA cannot be used, `authority_days` how long it is valid, None where that is not known.
    `parameters` are the variables of the command line (-e), `file_findings` the settings in
    its files without effect. `resolved` is name -> addresses, of the hosts' names
    where a firewall needs them or a service may be open. `sources` are those of the run (-i),
    `places` is `group NAME`, `host NAME` or a variable -> the files and lines that name it.
    """

    groups: Mapping[str, Sequence[str]]
    hosts: Mapping[str, HostVariables]
    directory: str = ""
    cluster_id: str = ""
    cluster_id_error: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    file_findings: Sequence[FileFinding] = ()
    secrets: Secrets = field(default_factory=Secrets)
    authority_error: str = ""
    authority_days: float | None = None
    resolved: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sources: Sequence[str] = ()
    places: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def misread(self) -> list[FileFinding]:
        """What is missing here for which nothing may be done with the rest."""
        return [
            finding
            for finding in self.file_findings
            if finding.kind in ("unread", "cycle", "secrets")
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
