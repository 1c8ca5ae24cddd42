"""Prometheus and Alertmanager: what they ask, for how long they keep it, and whom they notify.

What they read is one directory, in which all paths are relative: a copy of it can be checked before
it is in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.values import by_name, mapping, sequence
from ...cluster import files, pages
from ...cluster.files import COLLECTION, Entry
from ...cluster.host import HostSettings
from ...cluster.resolution import Resolution
from ...cluster.service import ADMINS, NODES
from ..kafka.security import AUTHORITY_FILE, Certificate
from ..metrics.model import TOKEN, Metrics
from . import GROUP
from .packaged import Packaged

PRODUCT = "monitoring"
PASSWORD, PASSWORD_HASH = "monitoring_password", "monitoring_password_hash"
ADMIN = "admin"
"""The one user of both web interfaces."""
CONFIG = f"/etc/{PRODUCT}"
AUTHORITY = f"{CONFIG}/certificates/{AUTHORITY_FILE}"
UNITS = {"prometheus": "millrace-prometheus", "alertmanager": "millrace-alertmanager"}
PROMETHEUS, ALERTMANAGER = "monitoring_port", "monitoring_alertmanager_port"
SETTINGS = {"prometheus": "prometheus.yml", "alertmanager": "alertmanager.yml"}
RECEIVERS, ROUTES, ROUTE = "monitoring_receivers", "monitoring_routes", "monitoring_route"
DATA, SIZE = "monitoring_data_dir", "monitoring_retention_size"
NOBODY = "nobody"
"""The receiver that notifies nobody."""
_CAN_WAIT = 'severity = "info"'
_ALERTS, _SITE = f"roles/{PRODUCT}/files/alerts", "site.yml"
_WEB, _STORE = "web.yml", "certificates/web.pem"
_PASSWORD_FILE, _TOKEN_FILE = "password", "token"
_SHARE = 2
"""By default metrics have this part of their file system: one of so many."""
_GIB = 1024


@dataclass(frozen=True)
class Monitoring(Packaged):
    """The servers of a host."""

    peers: Mapping[str, HostSettings] = field(default_factory=dict)
    """All such hosts."""
    targets: Mapping[str, Metrics] = field(default_factory=dict)
    """All exporters by host."""
    product = PRODUCT
    title = "Prometheus and Alertmanager"
    address_variable = "monitoring_host"
    port_variables = (PROMETHEUS, ALERTMANAGER)
    connecting = (NODES, ADMINS)
    programs = UNITS
    leftovers = (
        "alerts/site.yml",
        "alerts/",
        f"certificates/{AUTHORITY_FILE}",
        _STORE,
        "certificates/",
        *SETTINGS.values(),
        _WEB,
        _PASSWORD_FILE,
        _TOKEN_FILE,
    )

    @property
    def data_dir(self) -> str:
        """The directory of its data."""
        return str(self.settings[DATA])

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of its directory of data."""
        return [(DATA, self.data_dir)]

    @property
    def certificates(self) -> list[Certificate]:
        """What both servers show."""
        return [] if self.is_open else [self.server_certificate(f"{CONFIG}/{_STORE}")]

    @property
    def password(self) -> str:
        """The password of both web interfaces, empty where none is asked for or known yet."""
        return "" if self.is_open else self.secrets.texts.get(PASSWORD, "")

    @property
    def login(self) -> str:
        """What Millrace's own modules log in with, `user:password`, empty if nobody needs to."""
        return f"{ADMIN}:{self.password}" if self.password else ""

    @property
    def asks_in_clear(self) -> bool:
        """Whether the exporters are open."""
        return all(target.is_open for target in self.targets.values())

    @property
    def _needs_authority(self) -> bool:
        return not (self.is_open and self.asks_in_clear)

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        texts = self.secrets.texts
        needed_texts = {}
        if self._needs_authority:
            needed_texts[AUTHORITY_FILE] = self.secrets.authority
        if not self.asks_in_clear:
            needed_texts[TOKEN] = texts.get(TOKEN, "")
        if not self.is_open:
            needed_texts |= {name: texts.get(name, "") for name in (PASSWORD, PASSWORD_HASH)}
        return self.lacking(needed_texts)

    @property
    def retention_size(self) -> str:
        """At most how much metrics take, empty as long as the size of the disk is not known."""
        configured = str(self.settings[SIZE] or "")
        disk = self.host.facts.disk_mb.get(self.data_dir, 0) if self.host.facts else 0
        share = disk // _SHARE
        default = f"{share // _GIB}GB" if share >= _GIB else f"{share}MB"
        return configured or (default if share else "")

    @property
    def receivers(self) -> list[dict[str, Any]]:
        """The receivers of notifications; one notifies nobody."""
        receivers = [by_name(mapping(entry)) for entry in self.settings[RECEIVERS]]
        names = [receiver.get("name") for receiver in receivers]
        return receivers if NOBODY in names else [*receivers, {"name": NOBODY}]

    @property
    def route(self) -> dict[str, Any]:
        """The tree of routes."""
        return {
            "receiver": self.receivers[0].get("name"),
            "group_by": ["alertname", "host"],
            "group_wait": "10s",
            "group_interval": "1m",
            "repeat_interval": "4h",
            **by_name(self.settings[ROUTE]),
            # After the routes of the inventory, which may have a receiver for it.
            "routes": [*self.settings[ROUTES], {"receiver": NOBODY, "matchers": [_CAN_WAIT]}],
        }

    @property
    def named_receivers(self) -> list[str]:
        """The receivers that routes name."""
        return [*_named(self.route)]

    def address_of(self, name: str, variable: str) -> str:
        """Return where a server of a host of the group is, `host:port`."""
        host = self.peers[name]
        return f"{host.address(self.address_variable)}:{host.settings[variable]}"

    @property
    def jobs(self) -> dict[str, dict[str, str]]:
        """Name of a job -> host -> where it is asked, of exporters and of the servers."""
        jobs: dict[str, dict[str, str]] = {}
        for host, target in self.targets.items():
            address = f"{target.address}:{target.settings['metrics_port']}"
            for module in target.modules:
                jobs.setdefault(module, {})[host] = address
        for job, variable in (("prometheus", PROMETHEUS), ("alertmanager", ALERTMANAGER)):
            jobs[job] = {name: self.address_of(name, variable) for name in self.peers}
        return jobs

    def _prometheus(self) -> dict[str, Any]:
        interval = str(self.settings["monitoring_scrape_interval"])
        alertmanagers = [self.address_of(name, ALERTMANAGER) for name in self.peers]
        client = self._own_client()
        return {
            "global": {
                "scrape_interval": interval,
                "scrape_timeout": _timeout(interval),
                "evaluation_interval": interval,
            },
            "rule_files": ["alerts/*.yml"],
            "alerting": {
                "alertmanagers": [{**client, "static_configs": [{"targets": alertmanagers}]}]
            },
            "scrape_configs": [
                {
                    "job_name": job,
                    **(client if job in UNITS else self._proxy_client(job)),
                    "static_configs": [
                        {"targets": [address], "labels": {"host": host}}
                        for host, address in hosts.items()
                    ],
                }
                for job, hosts in self.jobs.items()
            ],
        }

    def _proxy_client(self, module: str) -> dict[str, Any]:
        client: dict[str, Any] = {"metrics_path": "/proxy", "params": {"module": [module]}}
        if not self.asks_in_clear:
            client |= {"scheme": "https", "tls_config": _tls()}
            client["authorization"] = {"credentials_file": _TOKEN_FILE}
        return client

    def _own_client(self) -> dict[str, Any]:
        if self.is_open:
            return {"scheme": "http"}
        login = {"username": ADMIN, "password_file": _PASSWORD_FILE}
        return {"scheme": "https", "tls_config": _tls(), "basic_auth": login}

    @property
    def configuration(self) -> dict[str, Entry]:
        """The files of the directory of the configuration, by their paths in it."""
        texts = self.secrets.texts
        notified = {"route": self.route, "receivers": self.receivers}
        entries = {
            SETTINGS["prometheus"]: files.text(files.yaml_text(self._prometheus())),
            # It may hold what a receiver is logged in to with.
            SETTINGS["alertmanager"]: self.secret(files.yaml_text(notified)),
            **{
                f"alerts/{name}": files.text(text)
                for name, text in alert_files(self.settings["docs_url"]).items()
            },
        }
        groups = self.settings["monitoring_rule_groups"]
        if groups:
            entries[f"alerts/{_SITE}"] = files.text(files.yaml_text({"groups": groups}))
        if not self.asks_in_clear:
            entries[_TOKEN_FILE] = self.secret(texts.get(TOKEN, ""))
        if self._needs_authority:
            entries[f"certificates/{AUTHORITY_FILE}"] = files.text(self.secrets.authority)
        if not self.is_open:
            web = {
                "tls_server_config": {"cert_file": _STORE, "key_file": _STORE},
                "basic_auth_users": {ADMIN: texts.get(PASSWORD_HASH, "")},
            }
            store = self.secrets.certificates.get(self.certificates[0].name, "")
            entries |= {
                _WEB: self.secret(files.yaml_text(web)),
                _PASSWORD_FILE: self.secret(self.password),
                _STORE: self.secret(store),
            }
        return entries

    def own_files(self) -> dict[str, Entry]:
        """Return its files. Both servers read changed ones when they are asked to."""
        site = {} if self.settings["monitoring_rule_groups"] else {_SITE: {"state": "absent"}}
        folders = [
            f"{CONFIG}/alerts",
            *([f"{CONFIG}/certificates"] if self._needs_authority else []),
        ]
        return {
            **{path: files.directory() for path in folders},
            self.data_dir: files.directory(self.user, "0750"),
            **{f"{CONFIG}/{path}": entry for path, entry in self.configuration.items()},
            **{f"{CONFIG}/alerts/{name}": entry for name, entry in site.items()},
            **self._units(),
        }

    def _units(self) -> dict[str, Entry]:
        web = [] if self.is_open else [f"--web.config.file={CONFIG}/{_WEB}"]
        scheme = "http" if self.is_open else "https"
        size = self.retention_size
        commands = {
            "prometheus": [
                f"--storage.tsdb.path={self.data_dir}/prometheus",
                f"--storage.tsdb.retention.time={self.settings['monitoring_retention']}",
                *([f"--storage.tsdb.retention.size={size}"] if size else []),
                f"--web.listen-address=:{self.settings[PROMETHEUS]}",
                f"--web.external-url={scheme}://{self.address_of(self.name, PROMETHEUS)}/",
            ],
            "alertmanager": [
                f"--storage.path={self.data_dir}/alertmanager",
                f"--web.listen-address=:{self.settings[ALERTMANAGER]}",
                f"--web.external-url={scheme}://{self.address_of(self.name, ALERTMANAGER)}/",
                # Each server is for itself: its port of a cluster would be open.
                "--cluster.listen-address=",
            ],
        }
        entries: dict[str, Entry] = {}
        for program, words in commands.items():
            config = f"--config.file={CONFIG}/{SETTINGS[program]}"
            command = " ".join([self.binary(program), config, *words, *web])
            options = {"write_paths": [self.data_dir], "reload": True, "stop_timeout": 120}
            entries |= self.unit(UNITS[program], program.capitalize(), command, **options)
        return entries

    @property
    def operated(self) -> dict[str, Any]:
        """How modules on its host reach both servers."""
        return {
            "prometheus": self.address_of(self.name, PROMETHEUS),
            "alertmanager": self.address_of(self.name, ALERTMANAGER),
            "login": self.login,
            **({} if self.is_open else {"authority": AUTHORITY}),
        }


def alert_files(docs_url: str) -> dict[str, str]:
    """Return name -> text of the files with alerts, whose runbooks are on the site if there is one."""
    repository_url, site_url = (pages.address(url, pages.ALERTS, "") for url in ("", docs_url))
    return {
        path.name: path.read_text(encoding="utf-8").replace(f" {repository_url}", f" {site_url}")
        for path in sorted((COLLECTION / _ALERTS).glob("*.yml"))
    }


def _timeout(interval: str) -> str:
    """Return how long an exporter may take, at most as long as the interval of seconds."""
    number = interval.removesuffix("s")
    return interval if number.isdigit() and int(number) < 10 else "10s"


def _tls() -> dict[str, Any]:
    return {"ca_file": f"certificates/{AUTHORITY_FILE}", "min_version": "TLS12"}


def _named(route: Mapping[str, Any]) -> Iterator[str]:
    if route.get("receiver") is not None:
        yield str(route["receiver"])
    for child in sequence(route.get("routes")):
        yield from _named(mapping(child))


def missing_texts(monitoring: Sequence[Monitoring], metrics: Sequence[Metrics]) -> list[str]:
    """Return the names of the secrets that are needed."""
    names = [PASSWORD] if any(not server.is_open for server in monitoring) else []
    return names + ([TOKEN] if any(not exporters.is_open for exporters in metrics) else [])


def resolve(resolution: Resolution) -> dict[str, Monitoring]:
    """Return host -> servers of all hosts of the group monitoring."""
    hosts, secrets = resolution.members(GROUP), resolution.inventory.secrets
    exporters = resolution.parts("metrics")
    return {name: Monitoring(host, secrets, hosts, exporters) for name, host in hosts.items()}
