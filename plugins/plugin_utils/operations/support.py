"""A support bundle: what is read of a host for it, and the files that it is made of.

Pure: the caller reads and writes. Secrets are removed from everything that enters a bundle.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import re
import tarfile
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.formats import secret_texts
from ...module_utils.formats.values import property_text
from ..cluster import files
from ..cluster.cluster import Cluster
from ..cluster.desired import of_service
from ..cluster.service import Configured, Service
from ..rules.catalogue import RULES
from ..rules.engine import check_cluster
from ..services.kafka.node import AUTHORIZER_LOG
from ..services.spark import shared
from . import explain, explain_report
from .redaction import Redaction

Result = Mapping[str, Any]
WINDOW = "24h"
LONGEST_DAYS = 30
HOST_SECONDS = 12
"""In which all of a host is read."""
CALL_SECONDS, STATE_SECONDS = 18, 6
"""How long the control node waits for that, and for the state of units, disks and certificates."""
TEXT_BYTES = 2**18
HOST_BYTES = 2 * 2**20
_UNPACKED_BYTES = 8 * HOST_BYTES
"""JSON writes a character with up to six."""
ALL_BYTES = 64 * 2**20
_SECONDS = {"m": 60, "h": 3600, "d": 86400}
_HIDDEN = "(hidden)"


def window_seconds(text: str) -> int:
    """Return a duration in seconds.

    Raises:
        ValueError: it is none, or too long; says what to set.

    """
    match = re.fullmatch(r"([0-9]{1,6})\s*([mhd])", text.strip())
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_DAYS * _SECONDS["d"]:
        message = (
            f"support_window is {text!r}, which is no duration that a bundle covers: set a number "
            f"with m, h or d, such as 90m, 24h or 7d, of at most {LONGEST_DAYS}d"
        )
        raise ValueError(message)
    return seconds


def host_options(cluster: Cluster, host: str, window: int) -> dict[str, Any]:
    """Return the options of the module support_host: what there is on a host, and the bounds."""
    parts = cluster.deployed(host)
    units = [unit for part in parts.values() for unit in part.units]
    spark = cluster.spark.get(host)
    readers = next(iter(cluster.spark.values())).standalone.histories if cluster.spark else {}
    if spark:
        units += [job.unit for job in spark.drivers.jobs_here]
    events = spark and (host in readers or (not readers and "master" in spark.roles))
    services = [part for part in parts.values() if isinstance(part, Service)]
    return {
        "units": list(dict.fromkeys(units)),
        "accounts": sorted({part.user for part in parts.values()}),
        "files": readable_files(cluster, host),
        "logs": [AUTHORIZER_LOG] if host in cluster.kafka else [],
        "javas": sorted({service.host.java.binary for service in services}),
        "seconds_back": window,
        "largest": TEXT_BYTES,
        "total": min(HOST_BYTES, ALL_BYTES // max(1, len(cluster.hosts))),
        "deadline": HOST_SECONDS,
        **(
            {
                "event_logs": shared.events(spark.shared_dir),
                "spark_user": spark.user,
                "spark_group": shared.GROUP,
            }
            if spark and events
            else {}
        ),
    }


def readable_files(cluster: Cluster, host: str) -> list[str]:
    """Return the files of a host's services that hold no secret: configuration and units."""
    entries: dict[str, Any] = {}
    for name in ("host", *cluster.deployed(host)):
        entries |= of_service(cluster, host, name)["files"]
    return [
        path
        for path, entry in entries.items()
        if path.startswith("/etc/")
        and entry.get("state", "file") == "file"
        and not entry.get("secret")
        and not path.endswith((".pem", ".key", ".jks", ".p12"))
    ]


def state_of(result: Result) -> Result:
    """Return what the module report_host has found, of a result of the action support_host."""
    return result.get("report") or result


def silence(hosts: Mapping[str, Result]) -> str:
    """Return why nothing can be written, where no host has answered; else an empty text."""
    if any("pieces" in result for result in hosts.values()):
        return ""
    reasons = "; ".join(f"{host}: {result.get('msg')}" for host, result in hosts.items())
    return (
        f"no bundle was written, since no host answered ({reasons or 'the run has none'}): see "
        "whether ssh with the inventory's ansible_host and ansible_user reaches one, and sudo there"
    )


def unpacked(result: Result) -> list[tuple[str, str, str]]:
    """Return name, text and note of each piece that the module support_host has read."""
    if "pieces" not in result:
        return []
    try:
        packed = base64.b64decode(result["pieces"])
        content = zlib.decompressobj().decompress(packed, _UNPACKED_BYTES)
        return [(str(name), str(text), str(note)) for name, text, note in json.loads(content)]
    except (TypeError, ValueError, RecursionError, zlib.error):
        return [("pieces.txt", "", "not read: what the host sent is no list of texts")]


@dataclass
class Bundle:
    """The files of a bundle, by their paths in it, without secrets."""

    redaction: Redaction
    files: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    """Path -> what is missing there; it may have no file."""

    def add(self, path: str, text: str, note: str = "", *, is_plain: bool = True) -> None:
        """Add a file without its secrets; one without text is only named with what is missing.

        What is not plain is made of values without secrets, and its form would not survive.
        """
        path = self._free(safe_path(self.redaction.known(path)))
        if note:
            self.notes[path] = self.redaction.text(note)
        if text.strip():
            self.files[path] = self.redaction.text(text) if is_plain else text

    def add_json(self, path: str, value: Any) -> None:
        """Add plain data."""
        text = json.dumps(self.redaction.value(value), indent=1, default=str)
        self.add(path, f"{text}\n", is_plain=False)

    def _free(self, path: str) -> str:
        """Return a path that no other file has: two names may be the same without their secrets."""
        stem, dot, ending = path.rpartition(".")
        free, number = path, 1
        while free in self.files or free in self.notes:
            number += 1
            free = f"{stem}-{number}{dot}{ending}"
        return free


def safe_path(path: str) -> str:
    """Return a path in the archive that leads out of no directory, in characters of any system."""
    names = (re.sub(r"[^\w.@+-]", "_", name, flags=re.ASCII) for name in path.split("/"))
    return "/".join(name[:100] for name in names if name.strip("."))


def add_hosts(bundle: Bundle, hosts: Mapping[str, Result]) -> dict[str, list[str]]:
    """Add what was read of each host; return host -> paths of its files, and of what is missing."""
    paths = {}
    for host, result in hosts.items():
        before = {*bundle.files, *bundle.notes}
        for name, text, note in unpacked(result):
            bundle.add(f"hosts/{host}/{name}", text, note)
        paths[host] = [path for path in {**bundle.files, **bundle.notes} if path not in before]
    return paths


def add_cluster(bundle: Bundle, cluster: Cluster, snapshot: Result, page: str) -> None:
    """Add what the inventory makes of the cluster, and what services say of themselves."""
    bundle.add("cluster.html", page, is_plain=False)  # its script counts by its hash
    bundle.add_json("cluster.json", snapshot)
    explanation = explain.explain(cluster)
    text = explain_report.report(explanation, ports=True)
    bundle.add("configuration/kafka.txt", text)
    bundle.add_json("configuration/kafka.json", explanation)
    for product, text in layers(cluster).items():
        bundle.add(f"configuration/{product}.txt", text)
    problems = [
        f"{problem.severity}: {problem.where}: {problem.what} {problem.fix} [{problem.rule}]\n"
        for problem in check_cluster(RULES, cluster)
    ]
    bundle.add("configuration/problems.txt", "".join(problems) or "no problem was found\n")
    for name, text in descriptions(snapshot).items():
        bundle.add(f"kafka/{name}.txt", text)


def layers(cluster: Cluster) -> dict[str, str]:
    """Return product -> the properties of its hosts with their layers, the weakest first.

    Kafka is not among them: `explain` has more of it.
    """
    texts: dict[str, list[str]] = {}
    for host in cluster.hosts:
        for product, part in cluster.deployed(host).items():
            if product != "kafka" and isinstance(part, Configured):
                lines = texts.setdefault(product, [])
                lines.append(f"{host}: {part.title} {part.version}")
                lines += _properties(part)
                lines.append("")
    return {product: "\n".join(lines) for product, lines in texts.items()}


def _properties(part: Configured) -> list[str]:
    return [
        f"  {key} = {_shown(key, part.config[key])}    ("
        + ", then ".join(name for name, layer in part.layers.items() if key in layer)
        + ")"
        for key in sorted(part.config)
    ]


def _shown(key: str, value: Any) -> str:
    text = property_text(value)
    hidden = secret_texts.of_property(key, value)
    for secret in sorted(filter(None, hidden), key=len, reverse=True):
        text = (text or "").replace(secret, _HIDDEN)
    return text or ""


def descriptions(snapshot: Result) -> dict[str, str]:
    """Return what a cluster of Kafka says of itself, as its own tools write it."""
    kafka = snapshot.get("kafka") or {}
    if "topics" not in kafka:
        return {}
    topics = [
        f"Topic: {name}\tPartition: {number}\tLeader: {leader}\t"
        f"Replicas: {_numbers(replicas)}\tIsr: {_numbers(isr)}"
        for name, partitions, _ in kafka["topics"]
        for number, (leader, replicas, isr) in enumerate(partitions)
    ]
    groups = [
        f"Group: {group.get('id')}\tState: {group.get('state')}\tTopic: {topic}\t"
        f"Lag: {_numbers(lags)}"
        for group in kafka.get("groups") or ()
        for topic, lags in (group.get("lags") or {"": []}).items()
    ]
    quorum = kafka.get("quorum") or {}
    head = [f"LeaderId: {quorum.get('leader')}\tLeaderEpoch: {quorum.get('epoch')}"]
    members = [
        f"{kind}: " + "\t".join(f"{key}={value}" for key, value in member.items())
        for kind in ("voters", "observers")
        for member in quorum.get(kind) or ()
    ]
    described = {"topics": topics, "groups-and-lag": groups}
    described["quorum"] = [*head, *members] if quorum else []
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in described.items()}


def _numbers(values: Iterable[Any] | Mapping[Any, Any]) -> str:
    entries = values.values() if isinstance(values, Mapping) else values
    return ",".join(map(str, entries))


@dataclass(frozen=True)
class Head:
    """What an index says above all else."""

    cluster: str
    made: float
    window: str
    versions: Mapping[str, str]
    """Of what runs on the control node."""


def index(
    bundle: Bundle,
    head: Head,
    snapshot: Result,
    problems: Sequence[str],
    paths: Mapping[str, Sequence[str]],
) -> str:
    """Return the page that leads to all files; it needs no server and runs no script."""
    redacted = bundle.redaction.value
    made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(head.made))
    rest = [path for path in {**bundle.files, **bundle.notes} if not path.startswith("hosts/")]
    versions = ", ".join(f"{name} {version}" for name, version in head.versions.items())
    sections = [
        f"<h1>Support bundle of {_text(redacted(head.cluster))}</h1>",
        f"<p>Made {made}, of the last {_text(head.window)}. {_text(versions)}.</p>",
        "<p>Secrets of the cluster and private keys are replaced by (secret). So are values of what "
        "is called a password, a secret or a token.</p>",
        "<h2>What is wrong, or was not read</h2>",
        _list([_text(text) for text in redacted(list(problems))] or ["nothing"]),
        "<h2>Cluster</h2>",
        _list(_entry(bundle, path) for path in rest),
        "<h2>Last operations</h2>",
        _list([_text(_operation(entry)) for entry in redacted(snapshot["operations"])] or ["none"]),
    ]
    for host in redacted(snapshot["hosts"]):
        products = ", ".join(f"{p['title']} {p['version']}" for p in host["products"])
        sections.append(f"<h2>{_text(host['name'])}</h2><p>{_text(products)}</p>")
        if host["error"]:
            sections.append(f"<p class=wrong>{_text(host['error'])}</p>")
        units = [f"{unit['name']}: {unit['active']}" for unit in host["units"]]
        sections.append(f"<p>{_text(', '.join(units))}</p>")
    sections += [
        f"<h2>Files of {_text(redacted(host))}</h2>" + _list(_entry(bundle, path) for path in own)
        for host, own in paths.items()
        if own
    ]
    title = _text(redacted(head.cluster))
    return files.render("support.html.j2", title=title, body="\n".join(sections))


def _operation(record: Mapping[str, Any]) -> str:
    done, left = (
        ", ".join(map(str, record.get(key) or ())) or "nothing" for key in ("done", "left")
    )
    return (
        f"{record.get('what')}: {record.get('state')}, started {record.get('started')} by "
        f"{record.get('who')}; done: {done}; left: {left}. {record.get('reason') or ''}"
    )


def _entry(bundle: Bundle, path: str) -> str:
    note = f" <i>{_text(bundle.notes[path])}</i>" if path in bundle.notes else ""
    if path not in bundle.files:
        return f"{_text(path)}{note}"
    size = len(bundle.files[path].encode("utf-8", "replace"))
    return f'<a href="{_text(path)}">{_text(path)}</a> {size:,} bytes{note}'


def _text(text: object) -> str:
    return html.escape(str(text))


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>"


def archive(folder: str, texts: Mapping[str, str], made: float) -> bytes:
    """Return an archive (tar.gz) with a folder of these files, which only their owner can read."""
    stream = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=int(made), filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, text in texts.items():
            content = text.encode("utf-8", "replace")
            member = tarfile.TarInfo(f"{folder}/{path}")
            member.size, member.mtime, member.mode = len(content), int(made), 0o600
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()
