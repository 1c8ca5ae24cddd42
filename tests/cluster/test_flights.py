"""The flights stream from outside: its result equals the batch aggregation, row by row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from testinfra.host import Host

from flights.batch import expected_windows
from flights.differences import compare, report_on
from flights.kafka_log import create_topics
from flights.schemas import RESULTS, PipelineTopics
from flights.verify import report, verify, verify_pipeline
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.services.cluster import SparkProbe
from tests.support.services.idle import application_of
from tests.support.wait import wait_for


@dataclass(frozen=True)
class Published:
    """What was published, by the command line."""

    topic: str
    corrupt: int
    limit: int | None


@pytest.fixture(scope="module")
def published(request: pytest.FixtureRequest, admin: Any, master: str) -> Published:
    """The stream runs where Spark is (else `master` skips) and once flights were published."""
    option = request.config.getoption
    if option("--flights-topic") not in admin.list_topics():
        pytest.skip(f"{master}: no flights here; playbooks/flights.yml publishes them")
    return Published(
        option("--flights-topic"), option("--flights-corrupt"), option("--flights-limit")
    )


def test_stream_equals_batch_row_by_row(
    topology: Topology, published: Published, facts: dict[str, Any]
) -> None:
    verdict = verify(
        topology.connection,
        published.topic,
        limit=published.limit,
        corrupt=published.corrupt,
        timeout=240,
    )
    facts["flights"] = verdict.facts()
    assert verdict.verdict == "equal", report(verdict)
    assert verdict.rejected == published.corrupt


def test_no_row_was_dropped_by_the_watermark(
    topology: Topology,
    hosts: dict[str, Host],
    master: str,
    published: Published,
    facts: dict[str, Any],
) -> None:
    """Every batch's own count; the batches together have read every record, so none is missing."""
    shared = topology.cluster.spark[master].shared_dir
    total = facts["flights"]["published"]

    def batches() -> dict[int, dict[str, Any]] | None:
        lines = hosts[master].check_output(
            "cat %s", f"{shared}/{published.topic}/progress/windows.jsonl"
        )
        progress = {line["batchId"]: line for line in map(json.loads, lines.splitlines())}
        # A driver that is killed may lose the line of its last batch; the verdict above has proved
        # every record in the result, so such a gap is no dropped row.
        gap = bool(progress) and set(progress) != set(range(max(progress) + 1))
        return (
            progress if gap or sum(b["numInputRows"] for b in progress.values()) >= total else None
        )

    progress = wait_for(batches, seconds=60, what=f"the progress of all {total} records")
    dropped = sum(batch["numRowsDroppedByWatermark"] for batch in progress.values())
    busy = sum(batch["durationMs"] for batch in progress.values() if batch["numInputRows"]) / 1000
    facts["stream"] = {
        "batches": len(progress),
        "dropped_by_watermark": dropped,
        "rows_per_second": round(total / busy),
    }
    assert dropped == 0


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_the_stream_costs_little_without_records(
    topology: Topology, hosts: dict[str, Host], published: Published, facts: dict[str, Any]
) -> None:
    """Everything is in the result by now."""
    topic = published.topic
    application = application_of(topology, hosts, f"spark-job-{topic}", f"flights-{topic}")
    facts.setdefault("idle", {})[topic] = application.wait_until_cheap()


@pytest.mark.job
def test_files_equal_batch_row_by_row(published: Published, spark_probe: SparkProbe) -> None:
    actual = {f"{row['origin']}|{row['hour']}": row for row in spark_probe.rows}
    assert actual, "the Delta table is empty"
    differences = compare(expected_windows(published.limit, published.corrupt), actual)
    assert not differences, differences[:5]


@pytest.mark.job
@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
def test_pipelines_equal_batch_row_by_row(
    topology: Topology, hosts: dict[str, Host], master: str, published: Published
) -> None:
    """All of them in one driver, as a backfill, with the package and the user of the stream."""
    topic = published.topic
    for name in RESULTS:
        create_topics(topology.connection, PipelineTopics(topic, name))
    shared = f"{topology.cluster.spark[master].shared_dir}/{topic}"
    here = f"{shared}/pipelines"
    hosts[master].check_output("rm -rf %s", here)
    words = [
        *RESULTS,
        f"--client-config=/etc/spark/job-{topic}-kafka.properties",
        f"--topic={topic}",
        f"--weather={shared}/weather.csv",
        f"--checkpoint={here}/checkpoint",
        f"--progress={here}/progress",
        "--max-per-trigger=60000",
        "--available-now",
    ]
    ran = hosts[master].run(
        "set -a; . %s; set +a; timeout 1200 runuser -u spark -- python3 -m flights.pipelines "
        + " ".join(words),
        f"/etc/spark/job-{topic}",
    )
    assert ran.rc == 0, ran.stderr[-5000:]
    for name in RESULTS:
        differences = verify_pipeline(
            topology.connection,
            name,
            topic,
            limit=published.limit,
            corrupt=published.corrupt,
            timeout=240,
        )
        assert not differences, report_on(name, differences)
