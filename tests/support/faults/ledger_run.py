"""The ledger that runs during faults: started, stopped, checked against the brokers' disks."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from testinfra.host import Host

from tests.support.faults.target import FULL, REQUEST_MS, SIDE, Target, answered
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology, environment, write_client_config
from tests.support.wait import scaled, wait_for

D = TypeVar("D", bound=Target)
RUNS, PAGE = ROOT / "build/failover", ROOT / "build/failover.html"


@contextmanager
def suite(
    topology: Topology, hosts: dict[str, Host], plays: Plays, kind: type[D], **ledger: Any
) -> Iterator[D]:
    """The ledger of all of a topology's faults, whose folder the page is made of."""
    folder = RUNS / topology.name
    shutil.rmtree(folder, ignore_errors=True)
    with ledger_running(topology, hosts, plays, folder, kind, **ledger) as target:
        yield target


@contextmanager
def ledger_running(
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    folder: Path,
    kind: type[D],
    *,
    transactions: bool = False,
    rate: float = 200,
    topic: str = Target.topic,
) -> Iterator[D]:
    """A ledger that runs during the block, and has ended at its end; see `checked`."""
    target = kind(topology, hosts, plays, folder, topic)
    folder.mkdir(parents=True, exist_ok=True)
    # A machine without power closes no connection: a client waits for its answer as long as this.
    request_timeout_ms = int(min(scaled(REQUEST_MS), 3 * REQUEST_MS))
    config = write_client_config(
        topology.connection, folder / "client.properties", request_timeout_ms=request_timeout_ms
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "apps.ledger",
            "run",
            "--keep-topic",
            "--topic",
            topic,
            "--client-config",
            str(config),
            "--dir",
            str(folder),
            "--rate",
            str(rate),
            "--partitions",
            str(len(topology.brokers)),
            "--watch-pid",
            str(os.getpid()),
            *(["--transactions"] if transactions else []),
        ],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )
    try:
        wait_for(
            lambda: (folder / "status.json").exists() and target.acked > 0,
            seconds=60,
            what="acknowledged records",
        )
        with clients.admin(topology.connection) as admin:
            admin.create_topics({target.side_topic: SIDE}, raise_errors=False)
        yield target
    finally:
        ledger("stop", folder)
        process.wait(timeout=scaled(300))
        config.unlink(missing_ok=True)
        answered(lambda: remove_topics(target))


def remove_topics(target: Target) -> None:
    """Remove every topic of the faults, whoever created it.

    One whose creation was refused may have been recorded, and created once there was a majority.
    """
    with clients.admin(target.topology.connection) as admin:
        topics = [topic for topic in admin.list_topics() if topic.startswith(target.topic)]
        admin.delete_topics(topics)


def report() -> str:
    """Write the page of all topologies that had faults; returns the output."""
    runs = sorted(path.parent for path in RUNS.glob("*/faults.json"))
    PAGE.unlink(missing_ok=True)
    return ledger("page", *runs, "--out", PAGE)


def ledger(command: str, *arguments: str | Path) -> str:
    """The output of a command of the ledger on a run that has begun."""
    done = subprocess.run(
        [sys.executable, "-m", "apps.ledger", command, *arguments],
        cwd=ROOT,
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def checked(target: Target) -> tuple[dict[str, Any], str]:
    """End the ledger and check it, with what each broker holds on its disks; report and text."""
    ledger("stop", target.folder, "--seconds", str(scaled(300)))
    for where in target.topology.group("kafka_brokers"):
        fetch(target, where, target.folder / "replicas" / where)
    text = ledger("check", target.folder)
    return json.loads((target.folder / "report.json").read_text()), text


def assert_nothing_lost(target: Target, limited: Collection[str]) -> None:
    """The verdict over all faults, with what each replica holds on its disk, and the page of it.

    With --full the time without acknowledgements is limited during the faults with these names;
    without it one slow moment is no verdict.
    """
    verdict, text = checked(target)
    target.save("failover")
    output = report()
    assert PAGE.is_file(), output
    assert verdict["verdict"] == "PASS", text
    assert verdict["counts"]["replicas"] == len(target.topology.brokers), text
    gaps = {change["phase"]: change["gap"] for change in verdict["changes"]}
    limits = {
        record.name: record.limit_seconds for record in target.records if record.name in limited
    }
    assert len(limits) == len(limited)
    late = {
        name: (gaps[name], limit)
        for name, limit in limits.items()
        if limit is None or gaps[name] > limit
    }
    assert not late or not FULL, f"seconds without acknowledgements, and their limits: {late}"


def fetch(target: Target, where: str, folder: Path) -> None:
    """Bring the segments of the ledger's topic from a broker's disks."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in target.topology.cluster.kafka[where].data_dirs:
        command = f"cd {path} && tar -c {target.topic}-[0-9]*/*.log 2> /dev/null | base64 -w0"
        packed = target.sh(where, command)
        subprocess.run(["tar", "-xo"], input=base64.b64decode(packed), cwd=folder, check=True)
