"""The rules about plugins that an inventory adds to a service: names, sources and sums.

What is in them is judged once they are packed, before a host is touched (`plugin_utils`,
`jvm_plugins.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..cluster.cluster import Cluster
from ..cluster.jvm_plugins import SUFFIXES, Coordinates, Plugin, file_sum, variable
from ..cluster.service import Service
from .engine import Finding, Findings, rule
from .shared import falls_back_to_default, one_value, shared_values, wrong_path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SUM = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"https?://[^\s/?#]+/\S+")
_LOGIN = re.compile(r"[^/]*//[^/?#]*@")
_ENDS = ", ".join(SUFFIXES)


def _services(cluster: Cluster) -> Iterator[tuple[str, Service]]:
    """Yield the services whose plugins are those that the inventory writes."""
    for host in cluster.hosts:
        for service in cluster.services(host).values():
            if service.plugins and not falls_back_to_default(
                cluster, host, service.plugins_variable
            ):
                yield host, service


def _plugins(cluster: Cluster) -> Iterator[tuple[str, Plugin]]:
    for host, service in _services(cluster):
        for plugin in service.plugins:
            yield host, plugin


@rule("plugins-differ")
def _plugins_differ(cluster: Cluster) -> Findings:
    """Any worker may get any task, and would not find its class."""
    return one_value(
        cluster, "in the group variables of all workers", cluster.connect, variable("connect")
    )


@rule("plugin-duplicate", each=_services)
def _plugin_duplicate(service: Service) -> Findings:
    """One name is one directory."""
    names = {
        number: (plugin.variable, plugin.name) for number, plugin in enumerate(service.plugins)
    }
    for (place, name), numbers in shared_values(names):
        problem, fix = f"{name} is named {len(numbers)} times.", "Give each plugin its own name."
        yield Finding(problem, fix, place)


@rule("plugin-name", each=_plugins)
def _plugin_name(plugin: Plugin) -> Findings:
    """It is the name of a directory, and a part of a class path."""
    if not _NAME.fullmatch(plugin.name):
        fix = "Choose letters, digits, ., - and _, at most 63; a letter or a digit comes first."
        problem = f"{plugin.name!r} is no name for a plugin."
        yield Finding(problem, fix, plugin.variable)


@rule("plugin-source", each=_plugins)
def _plugin_source(plugin: Plugin) -> Findings:
    """Nothing, or not always the same, would be packed."""
    sources = {"maven": plugin.maven, "url": plugin.url, "file": plugin.file}
    named = [key for key, source in sources.items() if source]
    coordinates = Coordinates.of(plugin.maven)
    problem, fix = "", ""
    if len(named) != 1:
        problem = f"has {' and '.join(named) or 'no source'}"
        fix = "Set one of maven, url and file."
    elif plugin.maven and not coordinates:
        problem = f"has maven: {plugin.maven}, which are no coordinates of one version"
        fix = "Write group:artifact:version, as org.example:connector:1.2.3."
    elif coordinates and not coordinates.is_pinned:
        problem = f"has the version {coordinates.version}, which is another one tomorrow"
        fix = "Name a version that was released."
    elif coordinates and not f".{coordinates.packaging}".endswith(SUFFIXES):
        problem = f"has the packaging {coordinates.packaging}, which has no jars to read"
        fix = f"Choose one of {_ENDS}, without the dot."
    elif _LOGIN.match(plugin.url):  # which is not shown
        problem = "has a url with a login, which would be in logs and is not used"
        fix = "Fetch the file, and name it as file."
    elif plugin.url and not _URL.fullmatch(plugin.url):
        problem = f"has url: {plugin.url}, which is no address of a file"
        fix = "Write https://, a host and a path."
    elif not plugin.maven and not _path(plugin).endswith(SUFFIXES):
        problem = f"has the file {_path(plugin)}, which is neither a jar nor an archive"
        fix = f"Name a file that ends with one of {_ENDS}."
    if problem:
        yield Finding(f"{plugin.where} {problem}.", fix, plugin.variable)


@rule("plugin-file", each=_plugins)
def _plugin_file(plugin: Plugin) -> Findings:
    """Nothing could be packed."""
    if plugin.file.endswith(SUFFIXES) and (
        problem := wrong_path(plugin.file, "no file", is_there=Path(plugin.file).is_file())
    ):
        text = f"{plugin.file} of {plugin.where} {problem[0]}."
        yield Finding(text, problem[1], plugin.variable)


@rule("plugin-sum", each=_plugins)
def _plugin_sum(plugin: Plugin) -> Findings:
    """What runs in the process, with all that it may do, must be what was reviewed."""
    path, where = Path(plugin.file), plugin.variable
    if plugin.recorded and not _SUM.fullmatch(plugin.recorded):
        problem = f"sha256 of {plugin.where} is not 64 hexadecimal digits."
        yield Finding(problem, "Write what sha256sum prints of the file.", where)
    elif plugin.url.startswith("http:") and not plugin.recorded:
        problem = f"{plugin.where} is fetched without encryption, and has no sha256."
        yield Finding(problem, "Set sha256 to the published sum, or use https.", where)
    elif plugin.file and path.is_absolute() and path.is_file():
        status = path.stat()
        try:
            actual = file_sum(plugin.file, status.st_mtime_ns, status.st_size)
        except OSError as error:
            problem = f"{plugin.file} of {plugin.where} cannot be read: {error.strerror}."
            yield Finding(problem, "Make it readable.", where)
            return
        if not plugin.recorded:
            problem = f"{plugin.where} has no sha256."
            yield Finding(problem, f"Review the file, and set sha256: {actual}", where)
        elif actual != plugin.recorded:
            problem = f"{plugin.file} has the sha256 {actual}, and that of {plugin.where} is "
            problem += f"{plugin.recorded}."
            yield Finding(problem, "Copy the right file, or review it and set its sum.", where)


@rule("plugin-without-sum", each=_plugins, severity="warning")
def _plugin_without_sum(plugin: Plugin) -> Findings:
    """It is not installed: what Maven or a server gives tomorrow may be something else."""
    if not plugin.recorded and (plugin.maven or plugin.url.startswith("https:")):
        problem = f"{plugin.where} has no sha256."
        fix = "Run playbooks/artifacts.yml: it fetches the plugin and shows the sum to set."
        yield Finding(problem, fix, plugin.variable)


@rule("plugin-remote-storage", each=_services)
def _plugin_remote_storage(service: Service) -> Findings:
    """Kafka has one remote storage, with one class loader."""
    names = [plugin.name for plugin in service.plugins if plugin.remote_storage]
    if len(names) > 1:
        problem = f"{' and '.join(names)} have remote_storage."
        yield Finding(problem, "Set it for one of them.", service.plugins_variable)


def _path(plugin: Plugin) -> str:
    """Return the path of a file, or of a URL without its query."""
    return plugin.file or re.split(r"[?#]", plugin.url)[0]
