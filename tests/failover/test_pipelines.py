"""The pipelines of the flights through faults: each result equals its batch answer row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from testinfra.host import Host

from flights.differences import report_on
from flights.schemas import RESULTS
from flights.verify import verify_pipeline
from tests.support.faults.catalogue.pipelines import FAULTS
from tests.support.faults.pipelines_target import CORRUPT, Pipelines, pipelines
from tests.support.faults.target import Fault, skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology


@pytest.fixture(scope="module")
def target(
    request: pytest.FixtureRequest,
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    admin: Any,
) -> Iterator[Pipelines]:
    """On clusters with the flights stream, whose package and user the pipelines have."""
    if not topology.group("spark_masters"):
        pytest.skip("no Spark here")
    job = request.config.getoption("--flights-topic")
    if job not in admin.list_topics():
        pytest.skip("no flights here; playbooks/flights.yml publishes them")
    skip_unless_full()
    # The first slice is read before the first fault.
    with pipelines(topology, hosts, plays, job, slices=len(FAULTS) + 1) as target:
        yield target


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault(target: Pipelines, fault: Fault) -> None:
    target.run(fault)


@pytest.mark.parametrize("name", RESULTS)
def test_a_pipeline_equals_batch_row_by_row(target: Pipelines, name: str) -> None:
    """After all faults; a fault that failed leaves a shorter stream, and with it differences."""
    assert target.fed == len(target.events)
    target.drained()
    differences = verify_pipeline(
        target.topology.connection,
        name,
        target.topic,
        limit=len(target.events),
        corrupt=CORRUPT,
        timeout=60,
    )
    assert not differences, report_on(name, differences)
