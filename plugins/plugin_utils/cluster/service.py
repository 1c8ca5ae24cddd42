"""What all that runs on a host has in common; ZooKeeper, Kafka and Spark are a class each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ...module_utils.formats.key_table import Table, nearest
from ...module_utils.formats.values import by_name, canonical
from ..services.kafka.security import OPEN, STANDARD, Certificate
from ..services.metrics import java_agent
from ..services.zookeeper.tls import Identity
from . import files, jvm_plugins, needrestart, tools
from .artifacts import HOMES, KEPT_HOMES, Distribution, cache_directory
from .crashes import Crashes
from .files import Entry
from .host import HostSettings
from .inventory import Secrets
from .jvm import Jvm
from .jvm_plugins import Plugin

# Who connects to a port, and who that is.
CLIENTS, NODES, ADMINS, LOOPBACK = "clients", "nodes", "admins", "loopback"
CALLERS: Mapping[str, str] = {
    CLIENTS: "applications, wherever they run, and the control node",
    NODES: "other hosts of the inventory",
    ADMINS: "people with a browser or a monitoring system",
    LOOPBACK: "the host itself",
}


@dataclass(frozen=True)
class Listening:
    """What a service listens on."""

    service: str
    name: str
    """A name of it."""
    port: int
    """The port as the inventory gives it, 0 for any."""
    callers: tuple[str, ...]
    """Those that connect, of `CALLERS`."""


class Part(ABC):
    """What a product is on a host: a service, programs of packages, or a database.

    `product` begins the names of its variables and paths, `title` is for people.
    `address_variable` sets `address`, `port_variables` are those of `ports`, and `connecting` are
    those who connect to any of them.
    """

    host: HostSettings
    product: ClassVar[str]
    title: ClassVar[str]
    address_variable: ClassVar[str]
    port_variables: ClassVar[tuple[str, ...]] = ()
    connecting: ClassVar[tuple[str, ...]] = ()
    closed: ClassVar[str] = STANDARD
    """What to set its variable of security to, so that it is not open to everybody."""

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects to one of `ports`, which is given by its name there."""
        del port
        return self.connecting

    @abstractmethod
    def files(self) -> dict[str, Entry]:
        """Return its configuration files; `restart` marks what only a restart brings."""

    @property
    @abstractmethod
    def units(self) -> list[str]:
        """Its systemd units."""

    @property
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it."""
        unpacked = self.distribution.unpacked if self.distribution else {}
        return {
            **{name: {**options, "kept": KEPT_HOMES} for name, options in unpacked.items()},
            "files": self._all_files(),
            "units": self.units,
            "restart_marks": self.marks,
        }

    def _all_files(self) -> dict[str, Entry]:
        """Return its configuration files, and what else is written for it."""
        return self.files()

    @property
    def marks(self) -> list[str]:
        """The restart mark of each unit."""
        return [restart_mark(unit) for unit in self.units]

    @property
    @abstractmethod
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it."""

    @property
    def ports(self) -> Mapping[str, int]:
        """What it listens on: a name for messages -> port."""
        return {name: self.settings[name] for name in self.port_variables}

    @property
    def name(self) -> str:
        """The host's name in the inventory."""
        return self.host.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The host's variables."""
        return self.host.settings

    @property
    def address(self) -> str:
        """The name or address under which others reach it."""
        return self.host.address(self.address_variable)

    @property
    def is_open(self) -> bool:
        """Whether the inventory wants it open to everybody who reaches it."""
        return bool(self.settings[f"{self.product}_security"] == OPEN)

    @property
    def user(self) -> str:
        """The account it runs as; its group has the same name."""
        return self.product

    @property
    def config_dir(self) -> str:
        """The directory of its configuration."""
        return f"/etc/{self.product}"

    @property
    def distribution(self) -> Distribution | None:
        """What is unpacked for it."""
        return None

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        return []

    @property
    def identity(self) -> Identity | None:
        """What it shows a closed ensemble of ZooKeeper, None where it need not."""
        return None

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        return []

    @property
    def listening(self) -> list[Listening]:
        """All that it listens on, and who connects."""
        ports = self.ports.items()
        return [Listening(self.product, name, port, self.callers(name)) for name, port in ports]

    def addresses(self, hosts: Mapping[str, HostSettings], port: str) -> list[str]:
        """Return where the product is on hosts, `host:port`, by the variable of the port."""
        return [host.endpoint(self.address_variable, port) for host in hosts.values()]

    def unit(self, name: str, description: str, command: str, **options: Any) -> dict[str, Entry]:
        """Return the file of a hardened systemd service."""
        values = {
            "name": name,
            "description": description,
            "user": self.user,
            "group": self.user,
            "exec": command,
            "stop_timeout": 60,
            "write_paths": [],
            **options,
        }
        text = files.render("service.j2", unit=values)
        return {f"/etc/systemd/system/{name}.service": files.text(text, restart=True)}


class Certified(Part):
    """What shows certificates that Millrace makes, and has the secrets with their keys.

    `of_connect` says whether they are of the CA of Kafka Connect's REST interface.
    """

    secrets: Secrets
    of_connect: ClassVar[bool] = False

    @property
    @abstractmethod
    def certificates(self) -> list[Certificate]:
        """What it shows to those who connect."""

    @property
    def authorities(self) -> str:
        """The certificates of the CAs by which others take what it shows."""
        return self.secrets.connect_authority if self.of_connect else self.secrets.authority

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names in its certificates."""
        names = (self.name, self.address, "localhost")
        return tuple(dict.fromkeys(canonical(name) for name in names))

    def server_certificate(self, path: str) -> Certificate:
        """Return one that has the name of the host, of the CA that clients of Kafka trust."""
        # Not for a client: with one that is, it could connect to Kafka by its common name.
        name, names = f"{self.name}/{self.product}", self.certificate_names
        return Certificate(name, path, self.name[:64], names, client=False)

    def secret(self, text: str, **options: Any) -> Entry:
        """Return the entry of a file that its account alone can read."""
        defaults = {"owner": self.user, "group": self.user, "mode": "0400", "secret": True}
        return files.text(text, **{**defaults, **options})

    def certificate_files(self) -> dict[str, Entry]:
        """Return its keys with their certificates, which are read at a start."""
        recorded = self.secrets.certificates
        return {
            certificate.path: self.secret(recorded.get(certificate.name, ""), restart=True)
            for certificate in self.certificates
        }

    def lacking(self, texts: Mapping[str, str]) -> list[str]:
        """Return the names of certificates and of texts, name -> text, that are not there."""
        recorded = self.secrets.certificates
        required = {
            **{
                certificate.name: recorded.get(certificate.name)
                for certificate in self.certificates
            },
            **texts,
        }
        return [name for name, text in required.items() if not text]


class Configured(Part):
    """What has properties, in layers, whose keys its version knows."""

    @property
    @abstractmethod
    def owned(self) -> Mapping[str, str]:
        """The keys that only Millrace writes here, with the variable that sets each."""

    @property
    def version(self) -> str:
        """The version of the product."""
        return str(self.settings[f"{self.product}_version"])

    @property
    def table(self) -> Table:
        """The keys that its version knows, none where they are not recorded."""
        return {}

    def knows(self, key: str) -> bool:
        """Return whether its version reads a key, or hands it on to something that does."""
        return key in self.table

    def nearest_key(self, key: str) -> str:
        """Return the most similar key that its version reads, empty if none is similar."""
        return nearest(key, list(self.table))

    @property
    def own_layers(self) -> tuple[str, ...]:
        """The variables in which the inventory sets properties, the weakest first."""
        return (f"{self.product}_config",)

    @abstractmethod
    def _defaults(self) -> dict[str, dict[str, Any]]:
        """Return the layers of properties below the inventory's."""

    @abstractmethod
    def _owned_config(self) -> dict[str, Any]:
        """Return the properties that only Millrace writes."""

    @cached_property
    def layers(self) -> dict[str, dict[str, Any]]:
        """Layer -> key -> value, from the weakest to the strongest."""
        configured = {name: by_name(self.settings[name]) for name in self.own_layers}
        return {**self._defaults(), **configured, "owned": self._owned_config()}

    @cached_property
    def config(self) -> dict[str, Any]:
        """The effective properties."""
        return {key: value for layer in self.layers.values() for key, value in layer.items()}


@dataclass(frozen=True)
class Service(Configured):
    """A service on a host; a new one is one more such class."""

    host: HostSettings
    scripts: ClassVar[tuple[str, ...]] = ()
    """Commands besides the distribution's tools."""
    tool_template: ClassVar[str] = "tool.sh.j2"
    """What starts `scripts`."""
    heap_name: ClassVar[str] = "heap"
    """The end of the name of the variable with the heap of its JVM."""
    previous: ClassVar[str] = ""
    """The file with what the service was started with, where one is kept."""
    takes_plugins: ClassVar[bool] = False
    """Whether the inventory may add plugins to it, in a variable of their own."""
    leftovers: ClassVar[tuple[str, ...]]
    """What teardown removes besides its files, such as files that another inventory brings; with a
    slash at the end only if it is empty: what Millrace did not bring may be in it."""

    @property
    @abstractmethod
    def heaps(self) -> Mapping[str, str]:
        """Variable -> heap, of each JVM."""

    @cached_property
    def jvm(self) -> Jvm:
        """The heap and the options of its JVM."""
        return Jvm(self.product, self.heap_name, self.settings)

    @cached_property
    def crashes(self) -> Crashes:
        """What its crashes leave."""
        return Crashes(self.product, self.user)

    @property
    def is_secured(self) -> bool:
        """Whether the inventory wants what `standard` is for it."""
        return bool(self.settings[f"{self.product}_security"] == STANDARD)

    @property
    def user(self) -> str:
        """The account it runs as; its group has the same name."""
        return str(self.settings[f"{self.product}_user"])

    @property
    def accounts(self) -> list[str]:
        """Its groups and user, as lines of sysusers.d(5)."""
        uid = self.settings.get(f"{self.product}_uid", "-")
        return [f'u {self.user} {uid} "{self.title}" /nonexistent /usr/sbin/nologin']

    @property
    def tool_values(self) -> dict[str, str]:
        """What the template of its tools takes."""
        return {
            "home": self.distribution.link,
            "service": self.product,
            "java_home": self.host.java.home,
        }

    @property
    def distribution(self) -> Distribution:
        """What is installed."""
        settings, archive = self.settings, {}
        if settings.get(f"{self.product}_distribution_source") == "archive":
            archive = settings[f"{self.product}_archive"]
        cache = cache_directory(settings["service_cache"])
        return Distribution(self.product, self.version, cache, archive)

    @cached_property
    def plugins(self) -> list[Plugin]:
        """The plugins that the inventory adds to its class path."""
        if not self.takes_plugins:
            return []
        entries = self.settings[self.plugins_variable]
        cache = cache_directory(self.settings["service_cache"])
        return jvm_plugins.of_entries(self.product, entries, cache)

    @property
    def plugins_variable(self) -> str:
        """The variable with them."""
        return jvm_plugins.variable(self.product)

    @property
    def plugin_state(self) -> dict[str, Any]:
        """The options of the module `service` that unpack its plugins."""
        if not self.takes_plugins:
            return {}
        return {
            "plugins": [plugin.unpacked for plugin in self.plugins],
            "plugin_directory": jvm_plugins.directory(self.product),
        }

    @property
    def required_classes(self) -> dict[str, str]:
        """Property or entry that names a class which a plugin may have -> the class."""
        return {}

    @property
    def state_dir(self) -> str:
        """The directory of its data, where nothing else is set."""
        return f"/var/lib/{self.product}"

    @property
    def units(self) -> list[str]:
        """Its systemd units."""
        return [self.product]

    @property
    def starts_after(self) -> Mapping[str, list[str]]:
        """Unit -> `host:port` of the services of which one should listen before it is started."""
        return {}

    @property
    def all_units(self) -> list[str]:
        """Patterns of all units that teardown removes."""
        return self.units

    @property
    def kept_units(self) -> list[str]:
        """Patterns of its units that updates of packages do not restart."""
        return self.all_units

    @property
    def listening(self) -> list[Listening]:
        """All that it listens on, and who connects."""
        return super().listening + [
            Listening(
                self.product,
                f"{self.jvm.options_variable} ({opened.option})",
                opened.port,
                (LOOPBACK if opened.loopback else ADMINS,),
            )
            for opened in self.jvm.ports
        ]

    @property
    def write_paths(self) -> list[str]:
        """The directories that its processes write to."""
        return [self.state_dir, *(path for _, path in self.data_directories)]

    def directories(self) -> dict[str, Entry]:
        """Return its directories; those with data are closed to others."""
        return {
            self.config_dir: files.directory(),
            self.state_dir: files.directory(),
            **self.crashes.directories(),
            **{path: self.own_directory() for _, path in self.data_directories},
        }

    def own_directory(self) -> Entry:
        """Return a directory of its account, closed to others."""
        return files.directory(self.user, "0750")

    def files(self) -> dict[str, Entry]:
        """Return its configuration files; `restart` marks what only a restart brings."""
        return {
            self.distribution.link: files.link(self.distribution.home),
            f"{self.config_dir}/environment": files.environment(self._environment()),
        }

    def _all_files(self) -> dict[str, Entry]:
        accounts = "".join(f"{line}\n" for line in self.accounts)
        names = [*self.distribution.tools, *self.scripts]
        return {
            "/etc/sysusers.d": files.directory(),
            f"/etc/sysusers.d/millrace-{self.product}.conf": files.text(accounts),
            HOMES: files.directory(),
            **tools.commands(self.product, names, self.tool_template, self.tool_values),
            **self.crashes.files(),
            **needrestart.settings(self.product, self.kept_units),
            **self.directories(),
            **self.files(),
        }

    @property
    def state(self) -> dict[str, Any]:
        """The options of the module `service` for it."""
        return {
            **super().state,
            **self.plugin_state,
            "starts_after": self.starts_after,
            **({"previous": self.previous} if self.previous else {}),
        }

    @property
    def removal(self) -> dict[str, Any]:
        """The options of the module `service` that remove it."""
        entries = self._all_files().items()
        written = [path for path, entry in entries if entry.get("state") != "directory"]
        data = [path for _, path in self.data_directories]
        data += [self.state_dir, self.crashes.directory]
        return {
            "state": "absent",
            "units": self.all_units,
            "removed": [
                *written,
                *self.leftovers,
                self.distribution.home,
                *([jvm_plugins.directory(self.product)] if self.takes_plugins else []),
                *(data if self.settings[f"{self.product}_remove_data"] else []),
                *self.crashes.leftovers,
                *needrestart.LEFTOVERS,
            ],
        }

    @abstractmethod
    def _environment(self) -> dict[str, str]:
        """Return the environment of its processes."""

    def unit(self, name: str, description: str, command: str, **options: Any) -> dict[str, Entry]:
        """Return the file of a hardened systemd service."""
        values = {
            "environment_file": f"{self.config_dir}/environment",
            "stop_timeout": self.settings.get(f"{self.product}_stop_timeout", 60),
            "write_paths": self.write_paths,
            "crash_dir": self.crashes.directory,
            "end_script": self.crashes.end_script,
            **options,
        }
        return super().unit(name, description, command, **values)

    def copy(self, name: str) -> dict[str, Entry]:
        """Return a file of the service's role as it lies among its configuration."""
        text = files.read(f"roles/{self.product}/files/{name}")
        return {f"{self.config_dir}/{name}": files.text(text, restart=True)}


class Server(Service):
    """A service that is one JVM, run from the libraries of its distribution."""

    @property
    def heap(self) -> str:
        """The heap of its JVM."""
        return str(self.settings[self.jvm.heap_variable])

    @property
    def heaps(self) -> dict[str, str]:
        """Variable -> heap."""
        return {self.jvm.heap_variable: self.heap}

    @property
    def class_path(self) -> str:
        """Where its JVM finds classes."""
        return f"{self.distribution.home}/libs/*"

    def _environment(self) -> dict[str, str]:
        """Return the options of its JVM."""
        agent = java_agent.options(self.product, self.host)
        options = " ".join([*self.settings[self.jvm.options_variable], *agent])
        return {self._options: f"-Xms{self.heap} -Xmx{self.heap} {options}"}

    def server(self, role: str, logging: str, program: str, **options: Any) -> dict[str, Entry]:
        """Return its systemd service: who it is, options of its logging, class and arguments."""
        # A JVM that ran out of memory may go on without some of its threads: it exits instead, and
        # systemd starts it again.
        command = (
            f"{self.host.java.binary} -server -XX:+ExitOnOutOfMemoryError ${self._options} "
            f"-Djava.awt.headless=true {logging} -cp {self.class_path} {program}"
        )
        return self.unit(self.product, f"{self.title} {self.version} ({role})", command, **options)

    @property
    def _options(self) -> str:
        return f"{self.product.upper()}_JVM_OPTIONS"


def restart_mark(unit: str) -> str:
    """Return the file that marks a unit as running with older files than it has."""
    return f"/run/{unit}/restart-pending"
