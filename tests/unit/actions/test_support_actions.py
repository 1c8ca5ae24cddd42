"""A support bundle from what hosts say, in which none of the secrets that they say is found."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible_collections.millrace.streaming.plugins.module_utils.host.collect import Piece
from ansible_collections.millrace.streaming.plugins.modules import support_host
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import support

from tests.support.lab.topology import ROOT
from tests.unit.in_process import AnsibleRun, call_module
from tests.unit.module_runner import OWN

pytestmark = pytest.mark.usefixtures("local_tmp")
KEY_LINES = ("MIICANARYofTheAuthorityQ8x", "MIICANARYofTheNodesKeyW7y")
KEY = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"
STORE = {
    "ca.pem": "-----BEGIN CERTIFICATE-----\nMIIpublic\n-----END CERTIFICATE-----\n",
    "ca.key": KEY.format(KEY_LINES[0]),
    "certificates/k1/node.pem": KEY.format(KEY_LINES[1]),
    "passwords/alice": "canaryPasswordOfAlice",
    "metrics_token": "canaryTokenOfExporters",
    "spark_secret": "canary secret, of 'Spark'",
}
INVENTORY: dict[str, Any] = {
    "all": {
        "vars": {
            "kafka_version": "4.3.1",
            "kafka_users": [{"name": "alice"}, {"name": "bob", "password": "canaryOfBob;x"}],
            "connect_config": {"ssl.key.password": "canaryOfConnect"},
            "site_api_token": "canaryOfTheSite",
            "ansible_become_password": "canaryToBecomeRoot",
        }
    },
    "kafka_controllers": {"hosts": {"k1": {"kafka_node_id": 1}}},
    "kafka_brokers": {"hosts": {"k1": None}},
    "kafka_connect": {"hosts": {"k1": None, "c1": None}},
}
CANARIES = [
    *KEY_LINES,
    *(text for name, text in STORE.items() if not name.endswith((".pem", ".key"))),
    "canaryOfBob;x",
    "canaryOfConnect",
    "canaryOfTheSite",
    "canaryToBecomeRoot",
]
REPORT = {"units": [{"name": "kafka", "active": "active"}], "operation": {}}
UNKNOWN = "canaryThatNobodyKnows"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    inventory = tmp_path / "prod"
    for name, text in STORE.items():
        path = inventory / ".secrets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (inventory / ".secrets").chmod(0o700)
    (inventory / "hosts.yml").write_text(yaml.safe_dump(INVENTORY))
    (tmp_path / "logs").mkdir()
    return tmp_path


def canary_lines() -> Iterator[str]:
    """Yield lines as services write secrets."""
    for secret in CANARIES:
        yield f"2026-11-29T01:00:00+00:00 kafka[1]: refused with {secret} from /10.0.0.1"
        yield json.dumps({"nested": json.dumps({"x": secret})})
        yield "GET /x?a=" + urllib.parse.quote(secret, safe="")
        yield "header " + base64.b64encode(f"user:{secret}".encode()).decode()
    yield f"some.password={UNKNOWN}"


@pytest.fixture
def command_line() -> Iterator[None]:
    """A process that has a secret among its arguments."""
    program = "import sys; print(flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, f"--token={UNKNOWN}", CANARIES[2]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout
        process.stdout.readline()
        yield


def read_host(place: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return what the module reads of this machine, on which all secrets were written."""
    text = "\n".join(canary_lines()) + "\n"
    (place / "logs/authorizer.log").write_text(text)
    (place / "environment").write_text(f'KAFKA_OPTS="-Dx={CANARIES[2]}"\nPASSWORD={UNKNOWN}\n')
    (place / "events").mkdir(exist_ok=True)
    (place / "events/app-1").write_text(text)
    (place / "crash/kafka").mkdir(parents=True, exist_ok=True)
    (place / "crash/kafka/hs_err_pid1.log").write_text(text)
    result = call_module(
        "support_host",
        {
            **options,
            "accounts": [OWN["owner"]],
            "logs": [str(place / "logs/authorizer.log")],
            "files": [str(place / "environment")],
            "crashes": str(place / "crash"),
            "event_logs": str(place / "events"),
            "spark_user": OWN["owner"],
            "spark_group": OWN["group"],
        },
    )
    pieces = [Piece(*piece) for piece in support.unpacked(result)]
    assert {"logs/authorizer.log.txt", "processes.txt", "spark-events/events-app-1.txt"} <= {
        piece.name for piece in pieces
    }
    journal = Piece("journal/kafka.txt", text)
    named = Piece(f"journal/{CANARIES[2]}.txt", "x", f"not read: {CANARIES[2]}")
    return {**result, "pieces": support_host.pack([*pieces, journal, named])}


def run(place: Path) -> AnsibleRun:
    def answer(name: str, args: dict[str, Any]) -> dict[str, Any]:
        if name.endswith("report_host"):
            return {**REPORT, "operation": {"id": "a", "what": CANARIES[3]}}
        if name.endswith("support_host"):
            return read_host(place, args)
        if name.endswith("kafka_contents"):
            return {"error": "", "topics": [[CANARIES[2], [[1, [1], [1]]], 1]], "groups": []}
        return {"failed": True, "msg": f"it does not answer: {CANARIES[4]}"}

    return AnsibleRun(place / "prod", answer)


def write(ansible: AnsibleRun, path: Path, **options: Any) -> dict[str, Any]:
    return ansible.task(
        "support_bundle", "k1", path=str(path), hosts="hosts", parts="parts", **options
    )


def test_no_secret_is_in_a_bundle(place: Path, command_line: None) -> None:
    ansible = run(place)
    ansible.register("k1", "hosts", ansible.task("support_host", "k1"))
    ansible.register("c1", "hosts", {"unreachable": True, "msg": f"no route ({CANARIES[3]})"})
    play = {"ansible_play_hosts_all": ["k1", "c1"]}
    parts = ansible.task("report_parts", "k1", play=play, reached="hosts", seconds=20)
    ansible.register("k1", "parts", parts)
    begun = time.monotonic()
    result = write(ansible, place / "support.tar.gz")
    assert time.monotonic() - begun < 60
    path = Path(result["path"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert result["size"] == path.stat().st_size
    with tarfile.open(path) as archive:
        files = {
            member.name: content.read().decode()
            for member in archive
            if (content := archive.extractfile(member))
        }
    everything = "\n".join([*files, *files.values(), json.dumps(result)])
    for secret in (*CANARIES, UNKNOWN):
        assert secret not in everything
        assert json.dumps(secret)[1:-1] not in everything
        assert urllib.parse.quote(secret, safe="") not in everything
    # Nor is a part of one that could be half of a form that nobody thought of.
    assert "canary" not in everything.lower()
    assert base64.b64encode(b"canaryPassword").decode()[:15] not in everything

    names = {name.removeprefix("support/") for name in files}
    assert {
        "index.html",
        "cluster.html",
        "configuration/kafka.txt",
        "configuration/connect.txt",
        "configuration/problems.txt",
        "kafka/topics.txt",
        "hosts/k1/journal/kafka.txt",
        "hosts/k1/processes.txt",
        "hosts/k1/crashes/kafka/hs_err_pid1.log.txt",
    } <= names
    assert "refused with (secret) from /10.0.0.1" in files["support/hosts/k1/journal/kafka.txt"]
    index = files["support/index.html"]
    linked = set(re.findall(r'href="([^"]+)"', index))
    assert linked == names - {"index.html"}
    assert "c1: no route" in "\n".join(result["problems"])
    assert "c1" in index


def test_a_bundle_is_refused_where_no_host_answers(place: Path) -> None:
    ansible = run(place)
    for host in ("k1", "c1"):
        ansible.register(host, "hosts", {"unreachable": True, "msg": "no route"})
    with pytest.raises(AnsibleActionFail, match=r"no host answered \(c1: no route; k1: no"):
        write(ansible, place / "support.tar.gz")
    assert not (place / "support.tar.gz").exists()


def test_options_are_refused_before_a_host_is_asked(place: Path) -> None:
    ansible = run(place)
    (place / "folder").mkdir()
    for path, window, message in (
        (place / "none/support.tar.gz", "1h", "none is no directory: set support_path"),
        (place / "folder", "1h", "is a directory: set support_path"),
        (place / "support.tar.gz", "long", "support_window is 'long'"),
    ):
        with pytest.raises(AnsibleActionFail, match=message):
            ansible.task("support_bundle", "k1", path=str(path), window=window)
    assert ansible.task("support_bundle", "k1", path=str(place / "x.tar.gz")) == {"changed": False}
    with pytest.raises(AnsibleActionFail, match="support_window is 'x'"):
        ansible.task("support_host", "k1", window="x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_directory_that_cannot_be_written_is_refused(place: Path) -> None:
    (place / "closed").mkdir(mode=0o500)
    with pytest.raises(AnsibleActionFail, match="closed cannot be written"):
        run(place).task("support_bundle", "k1", path=str(place / "closed/x.tar.gz"))


def test_a_service_that_hangs_is_left_out(place: Path) -> None:
    def answer(name: str, args: dict[str, Any]) -> dict[str, Any]:
        if name.endswith("kafka_contents"):
            time.sleep(30)
        return {"states": {}, "workers": []}

    ansible = AnsibleRun(place / "prod", answer)
    ansible.register("k1", "hosts", {"report": REPORT})
    play = {"ansible_play_hosts_all": ["k1"]}
    parts = ansible.task("report_parts", "k1", play=play, reached="hosts", seconds=1)["parts"]
    assert parts["kafka"] == {"failed": True, "msg": "there was no answer within 0.6 s"}
    assert "workers" in parts["connect"]


def test_results_are_shown_nowhere_before_secrets_are_removed() -> None:
    plays = yaml.safe_load((ROOT / "playbooks/support_bundle.yml").read_text())
    reading = [task for task in plays[1]["tasks"] if "register" in task]
    assert len(reading) == 2
    assert all(task["no_log"] is True for task in reading)
