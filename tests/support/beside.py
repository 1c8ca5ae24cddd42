"""The ledger beside the faults: begun, told of them, ended, and judged with the brokers' disks."""

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

from kafka import KafkaAdminClient  # type: ignore[import-untyped] # no types
from testinfra.host import Host

from tests.support.change import Plays
from tests.support.faults import REQUEST_MS, SIDE, Site, answered
from tests.support.topology import ROOT, Topology
from tests.support.wait import scaled, wait_for

S = TypeVar("S", bound=Site)
RUNS, PAGE = ROOT / "build/failover", ROOT / "build/failover.html"


@contextmanager
def suite(
    topology: Topology, hosts: dict[str, Host], plays: Plays, kind: type[S], **ledger: Any
) -> Iterator[S]:
    """The ledger of a topology's whole suite, whose folder the page is made of."""
    folder = RUNS / topology.name
    shutil.rmtree(folder, ignore_errors=True)
    with under_a_ledger(topology, hosts, plays, folder, kind, **ledger) as found:
        yield found


@contextmanager
def under_a_ledger(
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    folder: Path,
    kind: type[S],
    *,
    transactions: bool = False,
    rate: float = 200,
    topic: str = Site.topic,
) -> Iterator[S]:
    """A ledger beside the block, over at its end at the latest; see `judged`."""
    site = kind(topology, hosts, plays, folder, topic)
    # Of a machine without power nobody hears that it is gone: a client waits as long as this.
    settings = {"request_timeout_ms": int(min(scaled(REQUEST_MS), 3 * REQUEST_MS))}
    process = subprocess.Popen(  # noqa: S603 - our own program
        [
            *(sys.executable, "-m", "ledger", "run", "--keep-topic", "--topic", site.topic),
            *("--bootstrap", ",".join(topology.brokers.values()), "--dir", str(folder)),
            *("--partitions", str(len(topology.brokers)), "--watch-pid", str(os.getpid())),
            *("--client", json.dumps(settings), "--rate", str(rate)),
            *(["--transactions"] if transactions else []),
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    try:
        wait_for(
            lambda: (folder / "status.json").exists() and site.acked > 0,
            seconds=60,
            what="acknowledged records",
        )
        with KafkaAdminClient(bootstrap_servers=list(topology.brokers.values())) as admin:
            admin.create_topics({site.side_topic: SIDE}, raise_errors=False)
        yield site
    finally:
        told("stop", folder)
        process.wait(timeout=scaled(300))
        answered(lambda: remove_topics(site))


def remove_topics(site: Site) -> None:
    """Remove every topic of the faults, whoever created it.

    One that was refused may have been written down, and come when there was a majority again.
    """
    with KafkaAdminClient(bootstrap_servers=list(site.topology.brokers.values())) as admin:
        admin.delete_topics([one for one in admin.list_topics() if one.startswith(site.topic)])


def report() -> str:
    """Write the page of all topologies that were put to faults; returns what was said of it."""
    runs = sorted(found.parent for found in RUNS.glob("*/faults.json"))
    PAGE.unlink(missing_ok=True)
    return told("page", *runs, "--out", PAGE)


def told(command: str, *words: str | Path) -> str:
    """What the ledger says about a run that has begun."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "ledger", command, *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def judged(site: Site) -> tuple[dict[str, Any], str]:
    """End the ledger and judge it, with what each broker holds on its disks; report and text."""
    told("stop", site.folder, "--seconds", str(scaled(300)))
    for where in site.topology.group("kafka_brokers"):
        fetch(site, where, site.folder / "replicas" / where)
    text = told("check", site.folder)
    return json.loads((site.folder / "report.json").read_text()), text


def nothing_was_lost(site: Site, limited: Collection[int]) -> None:
    """The verdict over the suite, with what each replica holds on its disk, and the page of it.

    During the faults with these numbers, the time without acknowledgements is limited too.
    """
    verdict, text = judged(site)
    site.save("failover")
    said = report()
    assert PAGE.is_file(), said
    assert verdict["verdict"] == "PASS", text
    assert verdict["counts"]["replicas"] == len(site.topology.brokers), text
    gaps = {change["phase"]: change["gap"] for change in verdict["changes"]}
    limits = {one.name: one.limit_seconds for one in site.records if one.number in limited}
    assert len(limits) == len(limited)
    late = {
        name: (gaps[name], limit)
        for name, limit in limits.items()
        if limit is None or gaps[name] > limit
    }
    assert not late, "seconds without acknowledgements"


def fetch(site: Site, where: str, target: Path) -> None:
    """Bring the segments of the ledger's topic from a broker's disks."""
    target.mkdir(parents=True, exist_ok=True)
    for path in site.topology.kafka(where)["data_dirs"]:
        packed = site.sh(
            where, f"cd {path} && tar -c {site.topic}-[0-9]*/*.log 2> /dev/null | base64 -w0"
        )
        subprocess.run(["tar", "-xo"], input=base64.b64decode(packed), cwd=target, check=True)  # noqa: S607 - the system's
