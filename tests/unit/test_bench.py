"""What the benchmarks compute: spreads, latencies, the search for a rate, processor seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.bench import cpu
from tests.bench.comparison import in_turn, ratios, spread
from tests.bench.pace import Trial, highest, pace, percentile, settled

STATS = (
    "1 (systemd) S 0 1 1 0 -1 0 0 0 0 0 100 100 7 7 20 0",
    "10 (run (a) job) S 1 10 10 0 -1 0 0 0 0 0 3 2 1 0 20 0",
    "11 (java) S 10 10 10 0 -1 0 0 0 0 0 30 20 0 0 20 0",
    "12 (python3) R 11 10 10 0 -1 0 0 0 0 0 500 0 0 0 20 0",
    "20 (java) S 1 20 20 0 -1 0 0 0 0 0 9000 0 0 0 20 0",
)


def trial(samples: list[tuple[int, int]], rate: float = 1000, sent: float = 1000) -> Trial:
    return Trial(rate, sent, samples, cores=0.5)


def test_ticks_are_those_of_the_process_and_all_below_it() -> None:
    assert cpu.ticks(STATS, 10) == 6 + 50 + 500
    assert cpu.ticks(STATS, 12) == 500


def test_a_process_that_has_ended_used_no_unknown_time() -> None:
    with pytest.raises(ProcessLookupError, match="13"):
        cpu.ticks(STATS, 13)


def test_seconds_grow_with_the_work_of_a_child() -> None:
    before = cpu.seconds(os.getpid())
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert cpu.seconds(os.getpid()) - before >= 0.2  # in whole ticks


def test_kinds_are_measured_in_turn() -> None:
    order = []

    def measure(name: str) -> dict[str, float]:
        order.append(name)
        return {"figure": float(len(order))}

    rounds = in_turn("x", {"a": lambda: measure("a"), "b": lambda: measure("b")}, 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert ratios(rounds, "a", "b", "figure") == [1 / 2, 4 / 3, 5 / 6]
    assert spread([1 / 2, 4 / 3, 5 / 6]) == {"median": 5 / 6, "least": 1 / 2, "most": 4 / 3}


@pytest.mark.parametrize(("percent", "figure"), [(50, 50), (99, 99), (100, 100), (0, 1)])
def test_a_percentile_is_one_of_the_figures(percent: float, figure: float) -> None:
    assert percentile(list(range(100, 0, -1)), percent) == figure
    assert percentile([7], percent) == 7


def test_samples_of_the_first_seconds_are_left_out() -> None:
    assert settled([(5_999, 3), (1_000, 9), (6_000, 4), (2_000, 8)], 5) == [(6_000, 4)]


def test_a_rate_holds_while_latencies_stay() -> None:
    # With an interval each record waits for the next micro-batch, however slow the stream is.
    assert trial([(at, 300 + 1000 - at % 1000) for at in range(0, 12_000, 10)]).holds
    assert not trial([(at, 300 + at // 5) for at in range(0, 12_000, 10)]).holds


def test_a_rate_that_the_producer_does_not_reach_does_not_hold() -> None:
    assert not trial([(at, 300) for at in range(0, 12_000, 10)], rate=2000).holds


def test_results_that_come_too_late_do_not_hold() -> None:
    late = Trial(1000, 1000, [(at, 300) for at in range(0, 12_000, 10)], 0.5, caught_up=False)
    assert not late.holds


@pytest.mark.parametrize("limit", [1_000, 1_500, 7_000, 19_000, 20_000])
def test_the_search_ends_just_below_the_highest_rate(limit: float) -> None:
    tried = []

    def holds(rate: float) -> bool:
        tried.append(rate)
        return rate <= limit

    best_rate = highest(1_000, 20_000, 4, holds)
    assert best_rate <= limit <= best_rate * 1.21
    assert best_rate in {1_000, *tried}
    assert len(tried) == 4


class Writer:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def produce(self, topic: str, value: bytes, key: bytes, on_delivery: object) -> None:
        assert topic == "flights"
        assert on_delivery
        self.sent.append(key + value)

    def poll(self, seconds: float) -> None:
        pass


def test_records_come_at_the_rate_and_begin_again() -> None:
    class Event:
        def __init__(self, number: int) -> None:
            self.key, self.value = b"k", str(number).encode()

    writer, begun = Writer(), time.monotonic()
    number = pace(writer, "flights", [Event(0), Event(1), Event(2)], 100, 0.5)
    assert time.monotonic() - begun >= 0.5
    assert number == len(writer.sent)
    assert 4 <= number <= 51
    assert writer.sent[:4] == [b"k0", b"k1", b"k2", b"k0"]
