"""The lab as a newcomer meets it: one cluster for all of these, in this order.

It takes the steps of the scenario kraft_combined too, so that a complete run needs no second one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA

from flights.source import events
from tests.support.clients import guide
from tests.support.faults.target import FULL, skip_unless_full
from tests.support.lab import site_units
from tests.support.lab.lab import (
    CHAOS_SEED,
    NAME,
    lab,
    leftovers,
    on_host,
    podman,
    readable,
    succeed,
)
from tests.support.lab.topology import ROOT
from tests.support.recap import recaps
from tests.support.refusal import seconds_to_refuse
from tests.support.services.departures import carrier_counts, hourly_counts, is_long
from tests.support.services.spark import page
from tests.support.wait import wait_for

pytestmark = pytest.mark.usefixtures("fetched_ahead")
STATE = ROOT / ".lab" / NAME
LOG = ROOT / f".lab/log/{NAME}-up.log"
DAMAGED = (
    "-e",
    json.dumps(
        {"flights_topic": "flights-damaged", "flights_limit": 50_000, "flights_corrupt": 500}
    ),
)


@pytest.fixture(scope="module", autouse=True)
def a_lab_that_goes() -> Iterator[None]:
    succeed("down", seconds=120)
    yield
    succeed("down", seconds=120)


def test_wrong_inventory_is_refused_before_anything_starts() -> None:
    limit = seconds_to_refuse()
    started = time.monotonic()
    done = lab("run", "validate", "-e", "kafka_version=9.9.9", "-e", "kafka_heap=lots", seconds=60)
    assert done.returncode != 0
    assert "9.9.9" in done.stdout
    assert "lots" in done.stdout
    assert time.monotonic() - started < limit
    assert not leftovers(NAME)


def test_wrong_checksum_stops_before_a_host_is_touched(tmp_path: Path) -> None:
    checksum = (ROOT / f"artifacts/kafka/{KAFKA.default}/SHA256").read_text()
    artifact = tmp_path / f"artifacts/kafka-{KAFKA.default}-{checksum[:12]}.tar"
    artifact.parent.mkdir()
    artifact.write_text("not what was reviewed")
    done = lab("run", "site", seconds=60, env={"MILLRACE_CACHE": str(tmp_path)})
    assert done.returncode != 0
    assert checksum.strip() in done.stdout
    assert "PLAY [Hosts]" not in done.stdout


def test_check_mode_passes_on_fresh_hosts() -> None:
    succeed("run", "../molecule/shared/create", seconds=600)
    output = succeed("run", "site", "--check", "--diff", seconds=300)
    assert "+log.dirs=/var/lib/kafka/data" in output
    fresh = "test ! -e /etc/kafka && test ! -e /opt/millrace && ! id kafka"
    succeed("ssh", "k1", fresh, seconds=30)


def test_interrupted_up_leaves_a_lab_that_up_completes() -> None:
    """Interrupted as by Ctrl-C while the platform is being installed, then run again to the end."""
    LOG.unlink(missing_ok=True)
    first = subprocess.Popen(
        ["./lab", "up"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LAB_NAME": NAME},
        start_new_session=True,
    )
    wait_for(
        lambda: LOG.exists() and "Enable and start the service" in LOG.read_text(),
        seconds=420,
        what="the start of Kafka",
    )
    os.killpg(first.pid, signal.SIGINT)
    assert first.wait(timeout=60) != 0
    assert leftovers(NAME), "nothing was there to go on with"
    succeed("up", seconds=900)


def test_report_has_the_facts() -> None:
    report: dict[str, Any] = json.loads((STATE / "report.json").read_text())
    assert report["flights"]["published"] == 336_776
    assert report["flights"]["verdict"] == "equal"
    assert report["flights"]["rejected"] == 0
    assert report["stream"]["dropped_by_watermark"] == 0
    assert set(report["hosts"]) == {"k1", "k2", "k3"}
    assert {"validate", "hosts", "artifacts", "platform", "flights", "smoke"} <= set(
        report["seconds"]
    )


def test_people_work_with_spark_and_kafka() -> None:
    """As the pages for them show, beside the stream."""
    names = ["sessions", "jobs", *(["programs", "delta", "images"] if FULL else [])]
    pages = [f"tests/guide/test_{name}.py" for name in names]
    words = json.dumps({"smoke_tests": pages})
    succeed("run", "smoke", "-e", words, seconds=900 if not FULL else 3600)


def test_the_secrets_of_spark_are_nowhere() -> None:
    """Not on the pages of the driver, in an event log, a journal or the arguments of a process."""
    secrets = STATE / "inventory/.secrets"
    files = [secrets / "passwords/flights-stream", *secrets.glob("spark_*")]
    passwords = [path.read_text().strip() for path in files]
    texts, token = "\n".join(passwords), (secrets / "spark_ui_token").read_text().strip()
    report: dict[str, Any] = json.loads((STATE / "report.json").read_text())
    for name in ("environment", "SQL", "jobs", "StreamingQuery"):
        shown = page(f"http://{report['hosts']['k1']['address']}:4040/{name}/", token)
        assert "flights" in shown
        assert not [text for text in passwords if text in shown]
    for host in ("k1", "k2", "k3"):
        lines = on_host(host, readable(texts)).splitlines()
        # A worker gives executors the secret by their environment, which their account alone reads.
        assert not [line for line in lines if not line.startswith("_SPARK_AUTH_SECRET=")]
    assert on_host("k1", "ls /srv/shared/spark/events") != ""
    assert on_host("k1", f"grep -rlF '{texts}' /srv/shared/spark/events || true") == ""


def test_programs_elsewhere_use_connect(tmp_path: Path) -> None:
    """By the commands of the page: from this machine, with a package of PySpark alone."""
    skip_unless_full()
    group = {"spark": {"children": {"spark_connect": {"hosts": {"k1": None}}}}}
    (STATE / "inventory/connect.yml").write_text(yaml.safe_dump(group))
    succeed("run", "site", seconds=300)
    wait_for(
        lambda: on_host("k1", "ss -ltnH 'sport = :15002'"), seconds=90, what="the Connect server"
    )
    install, tunnel, variable, program = guide.commands("From another machine", guide.SPARK)
    (tmp_path / "words.py").write_text(guide.blocks("Commands", "python", guide.SPARK)[0])
    script = f"""set -eu
python3 -m venv {tmp_path}/venv; PATH={tmp_path}/venv/bin:$PATH
{install}
{variable.replace("inventories/<yours>", str(STATE / "inventory"))}
{program.replace("~", str(tmp_path))}
SPARK_REMOTE=${{SPARK_REMOTE%token=*}}token=wrong
! {program.replace("~", str(tmp_path))}
"""
    *options, host = tunnel.replace(" -f", "").split()[1:]
    with subprocess.Popen(
        ["./lab", "ssh", host, *options], cwd=ROOT, env={**os.environ, "LAB_NAME": NAME}
    ) as forwarding:
        done = subprocess.run(
            ["/bin/bash", "-c", script], capture_output=True, text=True, check=False, timeout=600
        )
        forwarding.terminate()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "to|    2|" in done.stdout
    assert "UNAUTHENTICATED" in done.stderr


def test_a_pipeline_in_sql_equals_batch(tmp_path: Path) -> None:
    """The job of the page, over all flights: updated twice, against plain Python."""
    skip_unless_full()
    package = tmp_path / ".jobs/departures"
    shutil.copytree(ROOT / "spark/departures", package)
    project = package / "spark-pipeline.yml"
    project.write_text(project.read_text().replace("/srv/spark", "/srv/shared/spark"))
    [text] = guide.blocks("A pipeline", "yaml", guide.STREAMING_SQL)
    text = text.replace('"*:0/10"', "once").replace("{{ inventory_dir }}", str(tmp_path))
    jobs = yaml.safe_load(text)
    added = STATE / "inventory/pipeline.yml"
    added.write_text(yaml.safe_dump({"all": {"vars": jobs}}))
    try:
        for _ in range(2):
            succeed("job", "departures", seconds=900)
        [picture] = guide.blocks("The graph", "mermaid", guide.STREAMING_SQL)
        [dry_run] = guide.blocks("The graph", "", guide.STREAMING_SQL)
        assert picture in on_host("k1", dry_run)
        flights = list(events())
        counts = selected("SELECT carrier, departures, delayed FROM carrier_counts")
        assert {carrier: (int(n), int(late)) for carrier, n, late in counts} == carrier_counts(
            flights
        )
        windows = selected("SELECT unix_seconds(hour), origin, departures FROM hourly_counts")
        hours = hourly_counts(flights, timedelta(days=30))
        assert {(int(at), origin): int(n) for at, origin, n in windows} == hours
        assert len(windows) == len(hours)
        late = sum(map(is_long, flights))
        named = selected("SELECT count(*), count(name) FROM named_delays")
        assert named == [[str(late), str(late)]]
        assert selected("SELECT count(*) FROM rejected") == [["0"]]
        [pull] = guide.commands("ksqlDB's examples", guide.STREAMING_SQL)
        assert str(carrier_counts(flights)["UA"][0]) in on_host("k1", f"runuser -u spark -- {pull}")
    finally:
        jobs["spark_jobs"][0]["state"] = "absent"
        added.write_text(yaml.safe_dump({"all": {"vars": jobs}}))
        succeed("run", "jobs", seconds=300)
        added.unlink()


def selected(query: str) -> list[list[str]]:
    """The rows of a query, in a session of its own on a host."""
    marked = query.replace("SELECT", "SELECT 'row',", 1)
    output = on_host("k1", f'runuser -u spark -- spark-sql -e "{marked}"')
    return [line.split("\t")[1:] for line in output.splitlines() if line.startswith("row\t")]


def test_second_up_changes_and_restarts_nothing() -> None:
    before = started_at()
    succeed("up", seconds=600)
    counters = recaps(LOG.read_text())
    assert len(counters) >= 10
    assert sum(counter["changed"] for counter in counters) == 0
    assert started_at() == before


def started_at() -> dict[str, str]:
    """When each unit of each host was last started."""
    units = "kafka spark-master spark-worker spark-history spark-job-flights"
    return {
        host: succeed(
            "ssh", host, f"systemctl show -p Id,ActiveEnterTimestampMonotonic {units}", seconds=30
        )
        for host in ("k1", "k2", "k3")
    }


def test_blocks_of_killed_processes_are_removed() -> None:
    """Of a killed driver and a killed executor of a stream; those that run keep theirs."""
    skip_unless_full()
    of_driver = f"{LOCAL}/spark-job-flights/*"
    former = entries("k1", of_driver)
    assert former
    on_host("k1", "systemctl kill --signal=KILL spark-job-flights")
    wait_for(
        lambda: entries("k1", of_driver) - former and on_host("k1", "ls /run/spark-job-flights"),
        seconds=120,
        what="the next driver",
    )
    of_executors = f"{LOCAL}/spark/spark-*/executor-*/blockmgr-*"
    workers = ("k2", "k3")
    where, replaced = wait_for(
        lambda: next(
            ((worker, blocks) for worker in workers if (blocks := entries(worker, of_executors))),
            None,
        ),
        seconds=120,
        what="an executor of the next driver",
    )
    on_host(where, "pkill --signal KILL --full [C]oarseGrainedExecutorBackend")
    wait_for(
        lambda: any(entries(worker, of_executors) - replaced for worker in workers),
        seconds=120,
        what="the next executor",
    )
    for host, blocks in (("k1", former), (where, replaced)):
        pattern = of_driver if host == "k1" else of_executors
        if remaining := entries(host, pattern) & blocks:
            on_host(host, f"touch --no-create --date='2 hours ago' {' '.join(sorted(remaining))}")
        before = entries(host, pattern)
        on_host(host, "systemctl start spark-clean")
        assert entries(host, pattern) == before - blocks
        assert on_host(host, "systemctl is-active spark-clean.timer").strip() == "active"


LOCAL = "/var/lib/spark/local"


def entries(host: str, pattern: str) -> set[str]:
    """The paths of a host that match."""
    return {*on_host(host, f"ls -d {pattern} 2>/dev/null || true").split()}


def test_stopped_host_comes_back_with_its_data() -> None:
    """As after a reboot of the machine: its records are there, nothing is made anew."""
    words = "--bootstrap-server $KAFKA_BOOTSTRAP --command-config $KAFKA_CLIENT_CONFIG"
    ends = f"sudo bash -lc 'kafka-get-offsets.sh {words} --topic flights'"
    before = succeed("ssh", "k2", ends, seconds=60)
    assert sum(int(line.rsplit(":", 1)[1]) for line in before.split()) == 336_776
    host = f"millrace-{NAME}-k2"
    born = podman("inspect", "--format", "{{.Created}}", host)
    podman("stop", "--time", "30", host)
    succeed("run", "../molecule/shared/create", seconds=120)
    succeed("run", "site", seconds=300)
    assert podman("inspect", "--format", "{{.Created}}", host) == born
    assert succeed("ssh", "k2", ends, seconds=60) == before


def test_another_cluster_id_is_refused() -> None:
    """The storage of a cluster is never formatted or taken over by another one."""
    read = ("ssh", "k1", "sudo cat /etc/kafka/server.properties")
    before = started_at(), succeed(*read, seconds=30)
    foreign_id = "MkU3OEVBNTcwNTJENDM2Qg"
    # A property changes too: it must not reach a host whose storage is refused.
    extra = {"kafka_cluster_id": foreign_id, "kafka_host_config": {"log.cleaner.backoff.ms": 17000}}
    done = lab("run", "site", "-e", json.dumps(extra), seconds=120)
    assert done.returncode != 0
    assert foreign_id in done.stdout
    assert (started_at(), succeed(*read, seconds=30)) == before
    succeed("status", seconds=60)


def test_damaged_records_are_refused_with_their_reason() -> None:
    """500 records damaged: each refused with its reason, and the rest still equal."""
    skip_unless_full()
    succeed("run", "flights", *DAMAGED, seconds=600)
    only = '{"smoke_tests": ["tests/cluster/test_flights.py"]}'
    output = succeed("run", "smoke", *DAMAGED, "-e", only, seconds=600)
    facts = json.loads((STATE / "smoke.json").read_text())
    assert facts["flights"]["rejected"] == 500, output[-2000:]
    assert facts["flights"]["parsed"] == 49_500
    assert facts["flights"]["verdict"] == "equal"


def test_status_checks_the_cluster() -> None:
    output = succeed("status", seconds=60)
    assert all(host in output for host in ("k1", "k2", "k3"))


def test_chaos_loses_nothing() -> None:
    """One fault, the first one of this seed."""
    output = succeed("chaos", "--minutes", "0.1", "--seed", str(CHAOS_SEED), seconds=240)
    assert "1 kill -9 of a partition's leader: passed" in output
    assert "PASS" in output
    assert (ROOT / "build/chaos.html").is_file()


def test_health_says_what_is_wrong(tmp_path: Path) -> None:
    """A broker is stopped for real; the verdict names it and the exit code is not 0."""
    written = tmp_path / "health.json"
    succeed("ssh", "k3", "sudo systemctl kill -s KILL kafka; sudo systemctl stop kafka", seconds=60)

    def named() -> bool:
        health = lab("run", "health", "-e", f"health_json={written}", seconds=60)
        verdict = re.search(r"(?i)(broker|controller).*\b3\b", health.stdout)
        blockers = written.exists() and json.loads(written.read_text())["blockers"]
        return bool(health.returncode and verdict and blockers)

    # While its session lasts, the other brokers still direct clients to it.
    wait_for(named, seconds=30, what="a verdict that names the broker which is missing")
    succeed("ssh", "k3", "sudo systemctl start kafka", seconds=60)
    wait_for(
        lambda: lab("run", "health", seconds=60).returncode == 0,
        seconds=120,
        what="a healthy cluster",
    )


def test_a_majority_without_data_never_elects_itself() -> None:
    """Two of three lose their disks: they would choose a leader without the cluster's records."""
    data, away = "/var/lib/kafka/data", "/var/lib/kafka/away"
    for host in ("k2", "k3"):
        lose = f"systemctl kill -s KILL kafka; systemctl stop kafka; mv {data} {away}"
        succeed("ssh", host, f"sudo sh -c '{lose}'", seconds=60)
    done = lab("run", "site", seconds=120)
    assert done.returncode != 0
    assert "majority-without-data" in done.stdout
    for host in ("k2", "k3"):
        back = f"test ! -e {data} && mv {away} {data} && systemctl start kafka"
        succeed("ssh", host, f"sudo sh -c '{back}'", seconds=60)
    wait_for(
        lambda: lab("run", "health", seconds=60).returncode == 0,
        seconds=120,
        what="a healthy cluster",
    )


def test_the_account_of_spark_gives_itself_nothing_of_root() -> None:
    """It owns the directory above its warehouse, and puts a link to root's own files there."""
    place, victim = "/srv/shared/spark", "/opt/victim"
    attributes = f"stat --format '%U:%G %a %n' {victim} {victim}/file"
    on_host("k1", f"set -e\nmkdir -m 0700 {victim}\ntouch {victim}/file")
    before = on_host("k1", attributes)
    attack = f"mv {place}/warehouse {place}/away && ln -s {victim} {place}/warehouse"
    on_host("k1", f'runuser -u spark -- sh -ec "{attack}"')
    done = lab("run", "site", seconds=120)
    assert done.returncode != 0
    assert f"{place}/warehouse" in done.stdout
    assert on_host("k1", attributes) == before
    on_host("k1", f"set -e\nrm {place}/warehouse\nmv {place}/away {place}/warehouse")
    succeed("run", "site", seconds=120)


def test_an_empty_controller_never_outvotes_the_records() -> None:
    """A topic is on a controller that is stopped, and was on one that has lost its disk."""
    skip_unless_full()
    kill = "systemctl kill -s KILL kafka; systemctl stop kafka"
    succeed("ssh", "k2", "sudo systemctl stop kafka", seconds=60)
    create = "kafka-topics.sh --create --topic committed --partitions 1 --replication-factor 2"
    succeed("ssh", "k1", create, seconds=60)
    succeed("ssh", "k3", f"sudo sh -c '{kill}'", seconds=60)
    lose = f"{kill}; find /var/lib/kafka/data -mindepth 1 -delete"
    succeed("ssh", "k1", f"sudo sh -c '{lose}'", seconds=60)
    # Where k2 and an empty k1 could vote, they would lead without the topic.
    alone = lab("run", "site", "--limit", "k1,k2", "-e", "kafka_start_timeout=15", seconds=240)
    assert alone.returncode != 0
    assert "controller 1" in alone.stdout
    succeed("ssh", "k3", "sudo systemctl start kafka", seconds=60)
    succeed("run", "site", "--limit", "k1,k2", seconds=300)
    for host in ("k1", "k2", "k3"):
        topics = succeed("ssh", host, "kafka-topics.sh --list", seconds=60)
        assert "committed" in topics.split()
    wait_for(
        lambda: lab("run", "health", seconds=60).returncode == 0,
        seconds=120,
        what="a healthy cluster",
    )
    succeed("ssh", "k1", "kafka-topics.sh --delete --topic committed", seconds=60)


def test_teardown_needs_a_confirmation_and_then_removes() -> None:
    units = ("spark-site", "hdfs-site", "spark-job-site")
    on_host("k1", site_units.start(units))
    processes = on_host("k1", site_units.processes(units))
    assert processes.count("MainPID=") == len(units)
    refused = lab("run", "teardown", seconds=60)
    assert refused.returncode != 0
    assert "teardown_confirm=true" in refused.stdout
    succeed("run", "teardown", "-e", "teardown_confirm=true", seconds=120)
    listing = succeed(
        "ssh", "k1", "ls /etc/systemd/system /opt/millrace; sudo ls /var/lib/kafka", seconds=30
    )
    assert "kafka.service" not in listing
    assert "spark" not in re.sub("spark-(job-)?site", "", listing)
    assert on_host("k1", site_units.processes(units)) == processes
    assert "data" in listing, "the data must stay unless its removal is asked for"


def test_down_leaves_nothing() -> None:
    succeed("down", seconds=120)
    assert not leftovers(NAME)
    assert not STATE.exists()


def test_a_lab_of_another_checkout_is_refused_and_removed_by_its_name() -> None:
    name, image = "test-left", podman("images", "--quiet", "localhost/millrace-warm").split()[0]
    label = ("--label", f"millrace.lab={name}")
    podman("network", "create", *label, f"millrace-{name}")
    podman("create", *label, "--name", f"millrace-{name}-k1", image)
    refused = lab("up", seconds=60, env={"LAB_NAME": name})
    assert refused.returncode != 0
    assert f"LAB_NAME={name} ./lab down" in refused.stdout
    succeed("down", seconds=60, env={"LAB_NAME": name})
    assert not leftovers(name)
