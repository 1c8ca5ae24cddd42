"""What a host says of itself to Prometheus: certificates, operations, restarts and streams."""

from __future__ import annotations

import calendar
import contextlib
import importlib.util
import json
import os
import pwd
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    issue,
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)
from cryptography import x509

from tests.support.lab.topology import ROOT
from tests.unit.webhdfs import namenode

OWN = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """The program as it is on a host."""
    path = ROOT / "apps/host_metrics.py"
    spec = importlib.util.spec_from_file_location("host_metrics", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["host_metrics"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pem() -> str:
    certificate = Certificate("k1/node", "", "k1", ("k1",), client=False)
    return issue(new_authority("test"), certificate)


def settings(**values: Any) -> dict[str, Any]:
    return {
        "certificates": {},
        "streams": {},
        "hdfs_streams": {},
        "namenode": "",
        "hdfs_user": OWN,
        "sources": {},
        "token": "",
        "user": OWN,
        "drivers": [0],
        "port": 0,
        **values,
    }


def test_the_end_of_a_certificate_is_that_of_the_first_one(
    program: ModuleType, pem: str, tmp_path: Path
) -> None:
    store = tmp_path / "node.pem"
    store.write_text(pem)
    gone = str(tmp_path / "none.pem")
    metric = program.certificates({"k1/node": str(store), "k1/other": gone})
    certificate = x509.load_pem_x509_certificates(pem.encode())[0]
    end = certificate.not_valid_after_utc.timestamp()
    assert metric.samples == [({"name": "k1/node"}, end)]


def test_a_time_after_2049_has_four_digits_of_its_year(program: ModuleType) -> None:
    der = b"\x30\x20\x17\x0d491231235959Z\x18\x0f20600102030405Z"
    assert program._VALIDITY.search(der)[4] == b"20600102030405"


@pytest.mark.parametrize("text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_what_is_no_certificate_has_no_end(program: ModuleType, text: str) -> None:
    assert program.certificate_end(text.encode()) is None


@pytest.mark.parametrize(
    ("state", "running", "failed"),
    [("running", 1, 0), ("stopped", 0, 1), ("finished", 0, 0)],
)
def test_an_operation_runs_or_was_left(
    program: ModuleType, tmp_path: Path, state: str, running: int, failed: int
) -> None:
    record = tmp_path / "operation.json"
    record.write_text(
        json.dumps({"state": state, "what": "rolling_restart", "started": "2026-11-27T00:00:00Z"})
    )
    begun, written, quiet, _, stopped, _ = program.operation(record)
    assert len(begun.samples) == len(written.samples) == len(quiet.samples) == running
    if running:
        expected = calendar.timegm((2026, 11, 27, 0, 0, 0))
        assert begun.samples == [({"playbook": "rolling_restart"}, expected)]
    assert stopped.samples == [({"playbook": "rolling_restart"}, failed)]


@pytest.mark.parametrize(
    ("state", "age", "nodes"),
    [("running", 0, ["k2"]), ("running", 600, []), ("stopped", 0, []), ("finished", 0, [])],
)
def test_the_node_that_an_operation_restarts(
    program: ModuleType, tmp_path: Path, state: str, age: int, nodes: list[str]
) -> None:
    record = tmp_path / "operation.json"
    operation = {"state": state, "what": "rolling_restart", "started": "2026-11-27T00:00:00Z"}
    record.write_text(json.dumps({**operation, "node": "k2", "quiet_seconds": 120}))
    os.utime(record, (time.time() - age,) * 2)
    metrics = {metric.name: metric for metric in program.operation(record)}
    shown = metrics["millrace_operation_node"].samples
    assert [labels["node"] for labels, _ in shown] == nodes


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"state": "running"}'])
def test_a_record_that_cannot_be_read_says_nothing(
    program: ModuleType, tmp_path: Path, text: str
) -> None:
    record = tmp_path / "operation.json"
    record.write_text(text)
    assert not any(metric.samples for metric in program.operation(record))


def test_the_record_of_an_operation_is_shown_without_its_command(
    program: ModuleType, tmp_path: Path
) -> None:
    record = tmp_path / "operation.json"
    operation = {"id": "1", "what": "site", "state": "stopped", "who": "anna on c", "command": "x"}
    operation |= {"started": "2026-11-27T00:00:00Z", "reason": "k2\nwas late", "verdict": "PASS"}
    record.write_text(
        json.dumps({**operation, "plan": ["k1", "k2"], "done": ["k1"], "left": ["k2"]})
    )
    ((labels, written),) = program.operation(record)[-1].samples
    assert written == pytest.approx(record.stat().st_mtime, abs=1)
    assert labels == {
        "id": "1",
        "playbook": "site",
        "state": "stopped",
        "who": "anna on c",
        "started": operation["started"],
        "reason": operation["reason"],
        "verdict": "PASS",
        "plan": "k1 k2",
        "done": "k1",
        "left": "k2",
    }


def test_restart_marks_are_named_by_their_unit(program: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka/restart-pending").touch()
    (tmp_path / "connect").mkdir()
    assert program.restart_marks(tmp_path).samples == [({"unit": "kafka"}, 1)]


def test_the_last_end_of_each_unit_is_named_with_its_result(
    program: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "kafka").mkdir()
    record = tmp_path / "kafka/kafka.ends"
    record.write_text("100 exit-code exited 1\n200 oom-kill killed KILL\n")
    (tmp_path / "kafka/other.ends").write_text("")
    (tmp_path / "kafka/third.ends").write_text("no record\n")
    expected = [({"unit": "kafka", "result": "oom-kill"}, 200)]
    assert program.unit_ends(tmp_path).samples == expected
    assert "millrace_unit_end_timestamp_seconds" in program.text(
        {"certificates": {}, "streams": {}, "hdfs_streams": {}, "namenode": "", "hdfs_user": ""},
        crashes=tmp_path,
    )


def test_a_stream_is_as_old_as_its_newest_commit(program: ModuleType, tmp_path: Path) -> None:
    for path, when in (
        ("flights/a/commits", 100),
        ("flights/b/commits", 200),
        ("plain/commits", 9),
    ):
        (tmp_path / path).mkdir(parents=True)
        os.utime(tmp_path / path, (when, when))
    jobs = {
        name: {"checkpoint": str(tmp_path / name), "late_after": late}
        for name, late in (("flights", 60), ("plain", 0), ("none", 0))
    }
    last, late = program.streams(jobs, program.commits(jobs))
    assert last.samples == [({"job_name": "flights"}, 200), ({"job_name": "plain"}, 9)]
    assert late.samples == [({"job_name": "flights"}, 60)]


HDFS_JOBS = {
    "archive": {"checkpoint": "/user/spark/archive", "late_after": 60},
    "none": {"checkpoint": "/user/spark/none", "late_after": 0},
    "views": {"checkpoint": "/user/spark/views of all", "late_after": 0},
}


def test_checkpoints_in_hdfs_are_read_at_the_namenode(program: ModuleType) -> None:
    folders = {
        "/user/spark/archive/commits": 100.5,
        "/user/spark/archive/offsets": 300,
        "/user/spark/views of all/a/commits": 100,
        "/user/spark/views of all/b/commits": 200,
        "/user/spark/views of all/files": 300,
    }
    with namenode(folders) as (address, users):
        configured = settings(hdfs_streams=HDFS_JOBS, namenode=address)
        assert program.hdfs_commits(configured) == {"archive": 100.5, "views": 200}
        status, text = asked(program, configured, "/metrics")
        foreign = {**configured, "hdfs_user": "daemon"}
        assert program.hdfs_commits(foreign) == {}, "the port is not of its account"
    assert users == {OWN}
    assert status == 200
    assert 'spark_stream_last_batch_timestamp_seconds{job_name="archive"} 100.5\n' in text
    assert 'spark_stream_late_after_seconds{job_name="archive"} 60.0\n' in text
    assert program.hdfs_commits(configured) == {}, "nobody listens"


class Other(BaseHTTPRequestHandler):
    """A NameNode in standby, another server, or one that hangs, by the name of the checkpoint."""

    def do_GET(self) -> None:
        kind = self.path.partition("?")[0].rpartition("/")[2]
        if kind == "hangs":
            with contextlib.suppress(OSError):
                self.connection.recv(1)  # until the client leaves
            return
        answers = {"standby": (403, b"{}"), "text": (200, b"<html>"), "list": (200, b"[]")}
        status, body = answers.get(kind, (200, b'{"FileStatuses": {"FileStatus": [1]}}'))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def test_what_is_no_namenode_ready_to_answer_gives_no_commits(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "HDFS_SECONDS", 0.5)
    kinds = ("standby", "text", "list", "numbers", "hangs", "never asked")
    jobs = {kind: {"checkpoint": f"/{kind}", "late_after": 60} for kind in kinds}
    server = serving(Other)
    try:
        address = f"127.0.0.1:{server.server_port}"
        begun = time.monotonic()
        commits = program.hdfs_commits(settings(hdfs_streams=jobs, namenode=address))
        assert commits == {}
        assert time.monotonic() - begun < 10
    finally:
        server.shutdown()
        server.server_close()


def test_labels_are_escaped(program: ModuleType) -> None:
    metric = program.Metric("a", "b", [({"name": 'x"\\\n'}, 1)])
    assert [*metric.lines][-1] == 'a{name="x\\"\\\\\\n"} 1'


class Spark(BaseHTTPRequestHandler):
    shown: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.shown.append(self.headers["Authorization"])
        authorized = self.headers["Authorization"] == "Bearer secret"
        self.send_response(200 if authorized else 403)
        self.end_headers()
        self.wfile.write(b"metrics_of_spark 1\n" if authorized else b"")

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def serving(handler: Any) -> HTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def spark() -> Iterator[str]:
    server = serving(Spark)
    Spark.shown.clear()
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()


def test_an_account_chooses_nothing_by_its_records(program: ModuleType, tmp_path: Path) -> None:
    """Nothing is followed, waited for or read without end; the record of the other unit counts."""
    kafka = tmp_path / "kafka"
    kafka.mkdir()
    end = "100 signal killed KILL\n"
    (kafka / "kafka.ends").write_text(end)
    secret = tmp_path / "secret"
    secret.write_text(end)
    (kafka / "link.ends").symlink_to(secret)
    (kafka / "endless.ends").symlink_to("/dev/zero")
    (kafka / "dangling.ends").symlink_to("nowhere")
    os.mkfifo(kafka / "fifo.ends")
    (kafka / "directory.ends").mkdir()
    (kafka / ".kafka.ends").write_text(end)
    (kafka / "large.ends").write_text(end * 10000)
    (kafka / "future.ends").write_text(f"{int(time.time()) + 3600} signal killed KILL\n")
    (kafka / "digit.ends").write_text("\u00b2 signal killed KILL\n")
    (kafka / "infinite.ends").write_text("inf signal killed KILL\n")
    (kafka / "\u00fc.ends").write_text(end)
    with contextlib.suppress(OSError):  # a file system may refuse the name
        Path(os.fsdecode(os.fsencode(kafka) + b"/\xff.ends")).write_text(end)
    assert program.unit_ends(tmp_path).samples == [({"unit": "kafka", "result": "signal"}, 100)]


def test_what_cannot_be_encoded_is_an_error_of_the_request(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "text", lambda _: "\udcff")
    assert asked(program, settings(), "/metrics")[0] == 502


def test_an_answer_has_a_limit(
    program: ModuleType, spark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "LARGEST_ANSWER", 3)
    configured = settings(sources={"spark_worker": spark}) | {"token": "secret"}
    assert asked(program, configured, "/spark_worker")[0] == 502


def asked(program: ModuleType, configured: dict[str, Any], path: str) -> tuple[int, str]:
    server = serving(program.handler(configured))
    try:
        url = f"http://127.0.0.1:{server.server_port}{path}"
        with urllib.request.urlopen(url) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""
    finally:
        server.shutdown()
        server.server_close()


def test_a_source_is_asked_with_the_token(program: ModuleType, spark: str) -> None:
    configured = settings(sources={"spark_worker": spark}) | {"token": "secret"}
    assert asked(program, configured, "/spark_worker") == (200, "metrics_of_spark 1\n")
    assert asked(program, {**configured, "token": "old"}, "/spark_worker")[0] == 502
    assert asked(program, {**configured, "sources": {}}, "/spark_worker")[0] == 404


def test_own_metrics_are_served_without_any_source(program: ModuleType) -> None:
    status, text = asked(program, settings(), "/metrics")
    assert status == 200
    assert "# TYPE millrace_certificate_expiry_timestamp_seconds gauge\n" in text


NET = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0FC8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     {own}        0 1 1 0
   1: 0100007F:0FC9 00000000:0000 0A 00000000:00000000 00:00000000 00000000 12345        0 2 1 0
   2: 0100007F:0FCA 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     {own}        0 3 1 0
   3: 0100007F:0FCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     {own}        0 4 1 0
"""
NET6 = """\
  sl  local_address                         remote_address        st
   0: 00000000000000000000000000000000:0FCB 0000000000000000:0000 0A 0:0 0:0 0 12345 0
   1: 00000000000000000000000000000000:0FCC 0000000000000000:0000 0A 0:0 0:0 0 {own} 0
"""


def test_a_port_is_of_an_account_if_no_other_listens_there(
    program: ModuleType, tmp_path: Path
) -> None:
    for name, table in (("tcp", NET), ("tcp6", NET6)):
        (tmp_path / name).write_text(table.format(own=os.getuid()))
    assert program.ports_of(OWN, tmp_path) == {0x0FC8, 0x0FCC}
    assert program.ports_of("nobody-of-this-host", tmp_path) == set()
    (tmp_path / "tcp6").unlink()
    assert program.ports_of(OWN, tmp_path) == {0x0FC8, 0x0FCB}


def test_another_account_is_not_shown_the_token(program: ModuleType, spark: str) -> None:
    port = int(spark.rpartition(":")[2].partition("/")[0])
    for user in ("daemon", "nobody-of-this-host"):
        configured = settings(sources={"spark_worker": spark}, user=user) | {"token": "secret"}
        assert asked(program, configured, "/spark_worker")[0] == 502
        configured = settings(drivers=[port, port + 1], user=user) | {"token": "secret"}
        assert asked(program, configured, "/spark_streams")[0] == 200
    assert not Spark.shown
    assert asked(program, {**configured, "user": OWN}, "/spark_streams")[0] == 200
    assert Spark.shown == ["Bearer secret"]


GAUGES = {
    "app-1.driver.spark.streaming.delays.by_hour.inputRate-total": {"value": 120.5},
    "app-1.driver.spark.streaming.delays.by_hour.latency": {"value": 1500},
    "app-1.driver.spark.streaming.delays.by_hour.states-rowsTotal": {"value": 7},
    "app-1.driver.spark.streaming.delays.by_hour.eventTime-watermark": {"value": 9},
    "app-1.driver.BlockManager.memory.maxMem_MB": {"value": 400},
}


class Driver(Spark):
    def do_GET(self) -> None:
        answers = {"/metrics/json/": {"gauges": GAUGES}, "/api/v1/applications": [{"name": "f"}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answers[self.path]).encode())


def test_queries_of_drivers_have_rows_and_times(program: ModuleType, spark: str) -> None:
    driver = serving(Driver)
    closed = int(spark.rpartition(":")[2].partition("/")[0])
    metrics = program.queries([closed, driver.server_port], "")
    driver.shutdown()
    driver.server_close()
    labels = {"application": "f", "query": "delays.by_hour"}
    assert {metric.name: metric.samples for metric in metrics if metric.samples} == {
        "spark_stream_input_rows_per_second": [(labels, 120.5)],
        "spark_stream_batch_seconds": [(labels, 1.5)],
        "spark_stream_state_rows": [(labels, 7)],
    }


def test_without_drivers_there_are_no_queries(program: ModuleType) -> None:
    status, text = asked(program, settings(), "/spark_streams")
    assert status == 200
    assert "# TYPE spark_stream_batch_seconds gauge\n" in text
