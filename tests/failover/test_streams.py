"""A stream from Kafka into Delta through faults of Spark, of Kafka and of its own files."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from testinfra.host import Host

from apps.ledger.sink import violations
from tests.support.faults.catalogue.streams import FAULTS
from tests.support.faults.ledger_run import PAGE, report
from tests.support.faults.stream_driver import BATCH
from tests.support.faults.stream_target import Streams, streaming
from tests.support.faults.target import Fault, Record, skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology


@pytest.fixture(scope="module")
def target(topology: Topology, hosts: dict[str, Host], plays: Plays) -> Iterator[Streams]:
    if not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    if not topology.brokers:
        pytest.skip("no Kafka here")
    skip_unless_full()
    with streaming(topology, hosts, plays) as target:
        yield target


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.number}, {fault.name}")
def test_fault(target: Streams, fault: Fault) -> None:
    target.run(fault)


def test_each_record_is_in_the_sink_once(target: Streams) -> None:
    """Over all of it (I11): of those that expired, and of those after them, none."""
    begun = time.time()
    rows = target.rows()
    processed = target.stream.processed()
    source = [place for place in target.fed if place.offset < processed[place.partition]]
    assert len({row.batch for row in rows}) > len(FAULTS)
    assert len(source) > BATCH * len(FAULTS)
    assert min(row.batch for row in rows) == 0
    problems = violations(source, rows)
    target.records.append(
        Record(
            48,
            "each record is in the sink once, after all of them (I11)",
            "the sink",
            begun,
            time.time(),
            time.time(),
            proof=f"{len(source)} records of the topic, {len(rows)} rows",
            verdict="failed" if problems else "passed",
            detail="; ".join(map(str, problems[:10])),
        )
    )
    target.save("failover")
    output = report()
    assert PAGE.is_file(), output
    assert not problems, problems[:10]
