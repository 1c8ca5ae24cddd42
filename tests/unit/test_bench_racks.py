"""The simulation of rolls rack by rack."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.bench.racks import BROKERS, RACKS, cluster, planned, simulated


def test_a_rack_is_a_step_and_controllers_go_alone() -> None:
    plan = planned(cluster(spread=True), "rack", 3)
    assert [len(step) for step in plan] == [1, 1, 1, *([BROKERS // RACKS] * RACKS)]
    assert [len(step) for step in planned(cluster(spread=True), "2", 0)] == [2] * (BROKERS // 2)
    assert all(len({int(name) % RACKS for name in step}) == 1 for step in plan[3:])


@pytest.mark.parametrize("parallel", ["1", "2", "rack"])
@pytest.mark.parametrize("spread", [True, False])
def test_each_broker_is_restarted_once(parallel: str, spread: bool) -> None:
    plan = planned(cluster(spread=spread), parallel, 0)
    assert sorted(chain(*plan)) == sorted(map(str, range(BROKERS)))


def test_rack_by_rack_is_at_least_two_and_a_half_times_faster() -> None:
    assert simulated("1")["seconds"] >= 2.5 * simulated("rack")["seconds"]
