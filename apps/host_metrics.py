"""Metrics of Millrace on this host, for Prometheus; and those of Spark, which asks for a token.

    host_metrics.py SETTINGS

It listens on the loopback address: `/metrics` is what it finds itself, `/NAME` the answer of one of
the `sources`, `/spark_streams` what the drivers of this host say of their queries. The token is for
Spark's account alone: what another account listens on is not asked. On the NameNode's host it reads
checkpoints in HDFS, too. It changes nothing.
"""

from __future__ import annotations

import base64
import calendar
import contextlib
import json
import os
import pwd
import re
import stat
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

RECORD = Path("/var/lib/millrace/operation.json")
RUN = Path("/run")
CRASHES = Path("/var/lib/millrace/crash")
NET = Path("/proc/net")
QUIET_SECONDS = 120
"""Where a record gives no other number, as host/operation_file.py has it."""
SHOWN_FIELDS = ("id", "who", "started", "state", "reason", "verdict")
SHOWN_NODES = ("plan", "done", "left")
LONGEST_TEXT = 1000
LARGEST_ANSWER = 16 * 2**20
LARGEST_ENDS = 2**16
SOURCE_SECONDS = 8.0
DRIVER_SECONDS = 2.0
HDFS_SECONDS = 2.0
"""For all checkpoints together: the other metrics of the host are in the same answer."""
# The accounts of services write the directories of crashes: only what is like this counts.
_ENDS = re.compile(r"(?P<unit>[A-Za-z0-9][\w@:.-]*)\.ends", re.ASCII)
_END = re.compile(r"(?P<time>[0-9]{1,10}) (?P<result>[\w-]+) .*", re.ASCII)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LISTEN = "0A"  # in NET/tcp
STREAMS = "spark_streams"
# A query's gauge (MetricsReporter.scala) -> our name, what it means, the factor to its unit.
QUERY_METRICS: Mapping[str, tuple[str, str, float]] = {
    "inputRate-total": ("spark_stream_input_rows_per_second", "Rows that arrive.", 1),
    "processingRate-total": ("spark_stream_processed_rows_per_second", "Rows while it works.", 1),
    "latency": ("spark_stream_batch_seconds", "Time that the last micro-batch took.", 0.001),
    "states-rowsTotal": ("spark_stream_state_rows", "Rows in the state.", 1),
    "states-usedBytes": ("spark_stream_state_bytes", "Memory of the state.", 1),
}
_QUERY = re.compile(r".+?\.driver\.spark\.streaming\.(?P<query>.+)\.(?P<gauge>[^.]+)")
# What a request raises where no server answers, or one of another kind, or one that ends.
_NO_ANSWER = (
    OSError,
    HTTPException,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_CERTIFICATE = re.compile(b"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
# The validity in DER: two times, each UTCTime or GeneralizedTime (RFC 5280, 4.1.2.5).
_TIME = rb"(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)"
_VALIDITY = re.compile(rb"\x30." + _TIME + _TIME, re.DOTALL)

Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True)
class Metric:
    """A gauge: its name, what it means, and its samples."""

    name: str
    help: str
    samples: list[Sample] = field(default_factory=list)

    @property
    def lines(self) -> Iterator[str]:
        """What Prometheus reads (text format 0.0.4)."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.samples:
            inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{{{inner}}} {value}" if inner else f"{self.name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def certificate_end(pem: bytes) -> float | None:
    """Return when the first certificate of a text ends, in seconds since 1970; None without one."""
    block = _CERTIFICATE.search(pem)
    match = _VALIDITY.search(base64.b64decode(block[1])) if block else None
    if match is None:
        return None
    if match[3]:  # of 1950 to 2049
        short = match[3].decode()
        text = f"{19 if short >= '5' else 20}{short}"
    else:
        text = match[4].decode()
    return float(calendar.timegm(time.strptime(text, "%Y%m%d%H%M%S")))


def certificates(paths: Mapping[str, str]) -> Metric:
    """Return until when certificates are valid, by their names; one that is not there has none."""
    metric = Metric(
        "millrace_certificate_expiry_timestamp_seconds", "When a certificate of this host ends."
    )
    for name, path in paths.items():
        try:
            end = certificate_end(Path(path).read_bytes())
        except (OSError, ValueError):
            end = None
        if end is not None:
            metric.samples.append(({"name": name}, end))
    return metric


def operation(path: Path) -> list[Metric]:
    """Return the record of an operation here, and whether it runs or has not ended."""
    shown = Metric(
        "millrace_operation_record",
        "When the record of the last operation was written on this host, with what it says.",
    )
    running = Metric(
        "millrace_operation_running_since_timestamp_seconds",
        "When the operation began whose record on this host says that it runs.",
    )
    written = Metric(
        "millrace_operation_written_timestamp_seconds",
        "When the operation that runs last wrote its record on this host.",
    )
    quiet = Metric(
        "millrace_operation_quiet_seconds",
        "For how long the operation that runs may write nothing before it counts as dead.",
    )
    node = Metric(
        "millrace_operation_node",
        "1 for the node that is being restarted by the operation that runs.",
    )
    failed = Metric(
        "millrace_operation_failed", "1 for an operation that stopped before its last step."
    )
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        labels = {"playbook": str(record.get("what", ""))}
        last = round(path.stat().st_mtime, 3)
        if record["state"] == "running":
            begun = calendar.timegm(time.strptime(record["started"], "%Y-%m-%dT%H:%M:%SZ"))
            running.samples.append((labels, float(begun)))
            written.samples.append((labels, last))
            allowed = float(record.get("quiet_seconds") or QUIET_SECONDS)
            quiet.samples.append((labels, allowed))
            # Of one that has died nobody watches the node any more.
            if record.get("node") and time.time() - last <= allowed:
                node.samples.append(({**labels, "node": str(record["node"])}, 1))
        failed.samples.append((labels, int(record["state"] == "stopped")))
        texts = {name: str(record.get(name, ""))[:LONGEST_TEXT] for name in SHOWN_FIELDS}
        nodes = {name: " ".join(record.get(name, ())) for name in SHOWN_NODES}
        shown.samples.append(({**labels, **texts, **nodes}, last))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass  # there is none, or it is being replaced
    return [running, written, quiet, node, failed, shown]


def restart_marks(run: Path) -> Metric:
    """Return which units run with older files than they have."""
    metric = Metric("millrace_restart_pending", "1 for a unit that runs with former files.")
    for mark in sorted(run.glob("*/restart-pending")):
        metric.samples.append(({"unit": mark.parent.name}, 1))
    return metric


def unit_ends(crashes: Path) -> Metric:
    """Return when each unit last ended without being asked to (templates/unit-end.sh.j2)."""
    metric = Metric(
        "millrace_unit_end_timestamp_seconds", "When a unit last ended without being asked to."
    )
    for path in sorted(crashes.glob("*/*.ends")):
        name = _ENDS.fullmatch(path.name)
        match = _END.fullmatch(_last_line(path)) if name else None
        # A time to come would be reported for ever.
        if name and match and int(match["time"]) <= time.time():
            labels = {"unit": name["unit"], "result": match["result"]}
            metric.samples.append((labels, float(match["time"])))
    return metric


def _last_line(path: Path) -> str:
    """Return the last line of a record; empty for what is none, or is being replaced."""
    try:
        with os.fdopen(os.open(path, _READ), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return ""
            content = stream.read(LARGEST_ENDS + 1)
    except OSError:
        return ""
    lines = content.decode("utf-8", "replace").splitlines()
    return lines[-1] if lines and len(content) <= LARGEST_ENDS else ""


def streams(jobs: Mapping[str, Mapping[str, Any]], newest: Mapping[str, float]) -> list[Metric]:
    """Return when each job on Spark last committed a micro-batch, and when it is late."""
    last = Metric(
        "spark_stream_last_batch_timestamp_seconds",
        "When a job's checkpoint last got a commit of a micro-batch.",
    )
    late = Metric(
        "spark_stream_late_after_seconds",
        "After how many seconds without a commit a job is late, by its late_after.",
    )
    for job, stream in jobs.items():
        labels = {"job_name": job}
        if job in newest:
            last.samples.append((labels, round(newest[job], 3)))
        if stream["late_after"]:
            late.samples.append((labels, float(stream["late_after"])))
    return [last, late]


def commits(jobs: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return job -> its last commit, where checkpoints are directories of this host."""
    latest = {
        job: max(_commits(Path(stream["checkpoint"])), default=None) for job, stream in jobs.items()
    }
    return {job: newest for job, newest in latest.items() if newest is not None}


def _commits(checkpoint: Path) -> Iterator[float]:
    """Yield when the commits of a checkpoint, or of those in it, were written."""
    for folder in (checkpoint / "commits", *checkpoint.glob("*/commits")):
        try:
            # A directory's own time is that of its newest file: none is written in place.
            yield folder.stat().st_mtime
        except OSError:
            continue


def hdfs_commits(settings: Mapping[str, Any], net: Path = NET) -> dict[str, float]:
    """Return job -> its last commit, where checkpoints are in HDFS and the NameNode is here.

    What is not answered within `HDFS_SECONDS` is left out, and all of it in standby.
    """
    jobs, namenode, user = (settings[key] for key in ("hdfs_streams", "namenode", "hdfs_user"))
    if not jobs or urlsplit(f"//{namenode}").port not in ports_of(user, net):
        return {}
    end = time.monotonic() + HDFS_SECONDS

    def asked(path: str, operation: str) -> Any:
        query = urlencode({"op": operation, "user.name": user})
        url = f"http://{namenode}/webhdfs/v1{quote(path)}?{query}"
        # Without any time left it fails at once.
        return json.loads(fetched(url, "", max(0.0, end - time.monotonic())))

    latest = {}
    for job, stream in jobs.items():
        with contextlib.suppress(*_NO_ANSWER):
            latest[job] = max(_hdfs_commits(asked, stream["checkpoint"]))
    return latest


def _hdfs_commits(ask: Callable[[str, str], Any], checkpoint: str) -> Iterator[float]:
    """Yield as `_commits` does; times of WebHDFS are in milliseconds."""
    statuses = ask(checkpoint, "LISTSTATUS")["FileStatuses"]["FileStatus"]
    folders = {status["pathSuffix"]: status for status in statuses if status["type"] == "DIRECTORY"}
    if "commits" in folders:
        yield folders["commits"]["modificationTime"] / 1000
        return
    for name in folders:
        with contextlib.suppress(HTTPError):  # no checkpoint
            status = ask(f"{checkpoint}/{name}/commits", "GETFILESTATUS")["FileStatus"]
            yield status["modificationTime"] / 1000


def written(metrics: Iterable[Metric]) -> str:
    """Return metrics as Prometheus reads them."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines)


def text(
    settings: Mapping[str, Any], record: Path = RECORD, run: Path = RUN, crashes: Path = CRASHES
) -> str:
    """Return all that this host says of itself."""
    metrics: Iterable[Metric] = [
        certificates(settings["certificates"]),
        *operation(record),
        restart_marks(run),
        unit_ends(crashes),
        *streams(
            {**settings["streams"], **settings["hdfs_streams"]},
            {**commits(settings["streams"]), **hdfs_commits(settings)},
        ),
    ]
    return written(metrics)


def ports_of(user: str, net: Path = NET) -> set[int]:
    """Return the ports of this host on which an account listens, and no other."""
    listeners: dict[int, set[int]] = {}
    for table in (net / "tcp", net / "tcp6"):
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:  # without IPv6
            continue
        for _, local, _, state, _, _, _, owner, *_ in map(str.split, lines):
            if state == _LISTEN:
                listeners.setdefault(int(local.rpartition(":")[2], 16), set()).add(int(owner))
    try:
        expected = {pwd.getpwnam(user).pw_uid}
    except KeyError:
        return set()
    return {port for port, owners in listeners.items() if owners == expected}


def queries(ports: Iterable[int], token: str) -> list[Metric]:
    """Return what the drivers at these ports say of their streaming queries."""
    metrics = {gauge: Metric(name, text) for gauge, (name, text, _) in QUERY_METRICS.items()}
    for port in ports:
        try:
            url = f"http://127.0.0.1:{port}"
            application = json.loads(fetched(f"{url}/api/v1/applications", token, DRIVER_SECONDS))[
                0
            ]["name"]
            gauges = json.loads(fetched(f"{url}/metrics/json/", token, DRIVER_SECONDS))["gauges"]
        except _NO_ANSWER:
            continue
        for name, gauge in gauges.items():
            match = _QUERY.fullmatch(name)
            if match and match["gauge"] in metrics and isinstance(gauge.get("value"), (int, float)):
                labels = {"application": str(application), "query": match["query"]}
                value = gauge["value"] * QUERY_METRICS[match["gauge"]][2]
                metrics[match["gauge"]].samples.append((labels, value))
    return list(metrics.values())


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for a refusal: where it leads would get the token, too."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def fetched(url: str, token: str, seconds: float = SOURCE_SECONDS) -> bytes:
    """Return what a source answers.

    Raises:
        OSError: it does not answer, refuses the token, or answers too much.

    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http of this host
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects())
    with opener.open(request, timeout=seconds) as response:
        content = bytes(response.read(LARGEST_ANSWER + 1))
    if len(content) > LARGEST_ANSWER:
        message = f"the answer of {url} is larger than {LARGEST_ANSWER} bytes"
        raise OSError(message)
    return content


def answer(settings: Mapping[str, Any], name: str) -> bytes | None:
    """Return what is at a path, None where nothing is.

    Raises:
        OSError: a source does not answer, refuses the token, or is not Spark's.

    """
    sources, user, token = settings["sources"], settings["user"], settings["token"]
    if name == "metrics":
        return text(settings).encode()
    if name == STREAMS:
        ports = ports_of(user).intersection(range(*settings["drivers"]))
        return written(queries(sorted(ports), token)).encode()
    if name not in sources:
        return None
    if urlsplit(sources[name]).port not in ports_of(user):
        message = f"{user} does not listen at {sources[name]}"
        raise OSError(message)
    return fetched(sources[name], token)


def handler(settings: Mapping[str, Any]) -> type[BaseHTTPRequestHandler]:
    """Return what answers requests."""

    class Handler(BaseHTTPRequestHandler):
        """Answers GET alone."""

        timeout = 10

        def do_GET(self) -> None:
            """Answer."""
            try:
                body = answer(settings, self.path.partition("?")[0].strip("/"))
            except (OSError, HTTPException, ValueError) as error:
                self.send_error(502, explain=str(error))
                return
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", _TEXT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: Prometheus asks several times a minute."""

    return Handler


def main() -> None:
    """Serve until the unit is stopped."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    address = ("127.0.0.1", int(settings["port"]))
    ThreadingHTTPServer(address, handler(settings)).serve_forever()


if __name__ == "__main__":
    main()
