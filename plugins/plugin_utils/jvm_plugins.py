"""The plugins of an inventory on the control node: packed once, judged before a host gets them."""

import json
import shutil
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.key_table import nearest
from ..module_utils.formats.values import listing, one_line
from ..module_utils.host.distribution import sha256_of
from . import artifacts, jars
from .cluster import known_bad
from .cluster.artifacts import Distribution
from .cluster.cluster import Cluster
from .cluster.jvm_plugins import Plugin
from .cluster.service import Service
from .jar_sources import DAMAGES, SourceError, fetch
from .rules.policy import accepted_reason

OWN_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "connect": ("org.apache.kafka.", "kafka."),
    "kafka": ("org.apache.kafka.", "kafka."),
    "spark": ("org.apache.spark.",),
}
"""Product -> the beginnings of the names of its own classes."""
_WORK = ".plugin-"
"""How directories begin in which plugins are packed."""
_DAY = 86400


@dataclass(frozen=True)
class Contents:
    """What is in a packed plugin."""

    classes: Mapping[str, list[str]] = field(default_factory=dict)
    """Jar -> the names of its classes."""
    parts: Mapping[str, list[jars.Part]] = field(default_factory=dict)
    """Jar -> what is in it."""

    @property
    def names(self) -> set[str]:
        """The names of all of its classes."""
        return {name for names in self.classes.values() for name in names}


class NotRecordedError(SourceError):
    """A plugin is not the one that the inventory records, or it records none."""

    def __init__(self, message: str, contents: Contents) -> None:
        """Keep what is in it, which can be judged all the same."""
        self.contents = contents
        super().__init__(message)


def of_cluster(cluster: Cluster, product: str = "") -> list[Plugin]:
    """Return the plugins of all hosts, or of a product, each once."""
    plugins = (
        plugin
        for host in cluster.hosts
        for plugin in cluster.plugins(host)
        if product in ("", plugin.product)
    )
    return list({plugin.home: plugin for plugin in plugins}.values())


def read_for_jars(cluster: Cluster) -> list[Distribution]:
    """Return the distribution of Spark, if jobs have jars: they are compared with its classes."""
    hosts = [host for host in cluster.spark.values() if host.plugins]
    return [host.distribution for host in hosts]


def have(cluster: Cluster, display: Callable[[str], None], product: str = "") -> list[str]:
    """Pack the plugins that are missing, judge all of them, and return what was packed.

    With a product its own alone.

    Raises:
        AnsibleActionFail: names every problem of every plugin.

    """
    packed, problems = [], []
    contents: dict[str, Contents] = {}
    for plugin in of_cluster(cluster, product):
        for path in (plugin.tarball, plugin.contents_file):
            artifacts.refuse_others(path, plugin.checksum_file)
        try:
            if not _is_packed(plugin):
                display(f"  packing {plugin.where}, once")
                pack(plugin)
                packed.append(str(plugin.tarball))
            contents[plugin.home] = read_contents(plugin)
        except (SourceError, OSError, ValueError) as error:
            if isinstance(error, NotRecordedError):
                contents[plugin.home] = error.contents
            problems.append(f"{plugin.where}: {one_line(str(error))}")
            continue
        artifacts.verify(plugin.tarball, plugin.sha256, plugin.checksum_file)
    problems += dict.fromkeys(_judge(cluster, contents, product))
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        lines = "\n- ".join(problems)
        message = f"{count} with plugins, no host was touched:\n- {lines}"
        raise AnsibleActionFail(message)
    return packed


def pack(plugin: Plugin) -> None:
    """Fetch a plugin and pack it, the same bytes every time.

    Raises:
        SourceError: it cannot be had, is not what is recorded, or nothing is recorded yet.

    """
    cache = plugin.tarball.parent
    cache.mkdir(parents=True, exist_ok=True)
    _sweep(cache)
    with tempfile.TemporaryDirectory(dir=cache, prefix=_WORK) as work:
        files, found = fetch(plugin, Path(work))
        contents = _contents_of(files)
        if not plugin.recorded:
            message = f"{plugin.source} has no recorded sum. Review it, and set sha256: {found}"
            raise NotRecordedError(message, contents)
        if found != plugin.recorded:
            names = ", ".join(path.name for path in files)
            message = (
                f"what Maven resolves for {plugin.maven} has the sum {found}, and sha256 is "
                f"{plugin.recorded}: a dependency has changed, or a mirror gives another file. The "
                f"jars are {names}. After a review set sha256: {found}"
            )
            raise NotRecordedError(message, contents)
        tarball = Path(work) / "tar"
        _write_tar(plugin.name, files, tarball)
        _write(
            plugin.contents_file, json.dumps({"classes": contents.classes, "parts": contents.parts})
        )
        _write(plugin.checksum_file, f"{sha256_of(tarball)}\n")
        tarball.chmod(0o644)
        tarball.replace(plugin.tarball)


def _sweep(cache: Path) -> None:
    """Remove what runs have left that were killed a day ago or earlier."""
    for path in cache.glob(f"{_WORK}*"):
        if time.time() - path.lstat().st_mtime > _DAY:
            shutil.rmtree(path, ignore_errors=True)


def read_contents(plugin: Plugin) -> Contents:
    """Return what is in a packed plugin."""
    document = json.loads(plugin.contents_file.read_text(encoding="utf-8"))
    parts = {
        jar: [(group, name, version, license_name) for group, name, version, license_name in listed]
        for jar, listed in document["parts"].items()
    }
    return Contents(document["classes"], parts)


def classes_of(distribution: Distribution) -> set[str]:
    """Return the names of all classes of a distribution; they are read once and kept beside it."""
    path = distribution.tarball.with_suffix(".tar.classes")
    head = f"{distribution.sha256}\n"
    if path.is_file():
        artifacts.refuse_others(distribution.tarball, path)
        text = path.read_text(encoding="utf-8")
        if text.startswith(head):
            return set(text.splitlines()[1:])
    names = {
        name for _, jar in jars.in_tarball(distribution.tarball) for name in jars.classes_of(jar)
    }
    _write(path, head + "\n".join(sorted(names)) + "\n")
    return names


def write_boms(cluster: Cluster, directory: Path) -> list[str]:
    """Write a CycloneDX file for each distribution and each plugin; return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    documents = {
        f"{distribution.product}-{distribution.version}-jars": jars.parts(distribution.tarball)
        for distribution in artifacts.wanted(cluster)
    } | {
        f"{plugin.product}_plugin-{plugin.name}-{plugin.version}": sorted(
            {part for listed in read_contents(plugin).parts.values() for part in listed}
        )
        for plugin in of_cluster(cluster)
    }
    written = []
    for name, parts in documents.items():
        path = directory / f"{name}.json"
        path.write_text(f"{json.dumps(jars.bom(parts), indent=2)}\n", encoding="utf-8")
        written.append(str(path))
    return written


def _is_packed(plugin: Plugin) -> bool:
    files = (plugin.tarball, plugin.checksum_file, plugin.contents_file)
    return bool(plugin.recorded) and all(path.is_file() for path in files)


def _judge(cluster: Cluster, contents: Mapping[str, Contents], product: str) -> Iterator[str]:
    """Yield what is wrong with what plugins contain, and with classes that none contains."""
    for host in cluster.hosts:
        for name, service in cluster.services(host).items():
            if product not in ("", name):
                continue
            plugins = [plugin for plugin in service.plugins if plugin.home in contents]
            for plugin in plugins:
                yield from _bad_parts(plugin, contents[plugin.home], service)
                yield from _shadowed(plugin, contents[plugin.home], service)
            if len(plugins) == len(service.plugins) and service.required_classes:
                added = [contents[plugin.home].names for plugin in plugins]
                yield from _missing(service, set().union(classes_of(service.distribution), *added))


def _bad_parts(plugin: Plugin, contents: Contents, service: Service) -> Iterator[str]:
    listed = [(jar, part) for jar, parts in contents.parts.items() for part in parts]
    for jar, (group, name, version, _) in listed:
        part = f"{group}:{name}"
        for entry in known_bad.recorded():
            if known_bad.means(entry, part, version) and not accepted_reason(service, entry):
                better = f"use {entry['below']} or later" if "below" in entry else "use another"
                yield (
                    f"{plugin.where}: {jar} is known to be bad ({part.removeprefix(':')} {version}, "
                    f"{entry['id']}: {entry['reason']}): {better}, leave it out (exclude: [{jar}]), "
                    f'or accept it: accepted_risks: {{"{entry["id"]}": <why it is no danger here>}}.'
                )


def _shadowed(plugin: Plugin, contents: Contents, service: Service) -> Iterator[str]:
    prefixes = OWN_PACKAGES[plugin.product]
    own = {
        jar: {name for name in names if name.startswith(prefixes)}
        for jar, names in contents.classes.items()
    }
    if any(own.values()):
        known = classes_of(service.distribution)
        shadowed = {jar: sorted(known & names) for jar, names in own.items() if known & names}
        if shadowed:
            examples = listing(f"{names[0]} in {jar}" for jar, names in shadowed.items())
            yield (
                f"{plugin.where} has classes that {service.title} has itself, such as {examples}: "
                "two versions of one class fail with each other. "
                f"Add exclude: [{', '.join(shadowed)}]."
            )


def _missing(service: Service, classes: set[str]) -> Iterator[str]:
    simple: dict[str, str] = {}
    for name in classes:
        simple[name.rpartition(".")[2]] = name
    variable = service.plugins_variable
    for where, name in service.required_classes.items():
        # A connector may have its short name (KIP-285), with Connector or without.
        known = name in classes if "." in name else bool({name, f"{name}Connector"} & simple.keys())
        if not known:
            last = name.rpartition(".")[2]
            near = simple.get(last) or simple.get(nearest(last, list(simple)))
            hint = f" Did you mean {near}?" if near else ""
            yield (
                f"{where} is {name}, a class that neither {service.title} {service.version} nor one "
                f"of {variable} has ({_named(service)}).{hint} Add its plugin to {variable}."
            )


def _named(service: Service) -> str:
    return listing(plugin.name for plugin in service.plugins) or "there is none"


def _contents_of(files: Iterable[Path]) -> Contents:
    classes, parts = {}, {}
    for path in files:
        try:
            with zipfile.ZipFile(path) as jar:
                classes[path.name] = sorted(set(jars.classes_of(jar)))
                parts[path.name] = sorted({*jars.parts_of(path.name, jar)})
        except DAMAGES as error:
            message = f"{path.name} cannot be read as a jar: {error}"
            raise SourceError(message) from error
    return Contents(classes, parts)


def _write_tar(name: str, files: Iterable[Path], out: Path) -> None:
    """Write a tar file with the jars in a directory of the plugin's name."""
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as archive:
        directory = tarfile.TarInfo(name)
        directory.type, directory.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(directory)
        for path in sorted(files):
            entry = tarfile.TarInfo(f"{name}/{path.name}")
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as stream:
                archive.addfile(entry, stream)


def _write(path: Path, text: str) -> None:
    """Write a file as a whole, whatever the umask is."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)
    partial.replace(path)
