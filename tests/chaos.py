"""`./lab chaos`: random faults of the catalogue on the running lab, under a ledger.

The seed decides which faults come in which order; how many there are, the minutes.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.faults.catalogue import FAULTS
from tests.support.faults.ledger_run import checked, ledger, ledger_running
from tests.support.faults.target import Fault, Target
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology, describe, over_ssh

PAGE = ROOT / "build/chaos.html"


def order(seed: int, topology: Topology) -> Iterator[Fault]:
    """Yield faults without end, for one seed and one topology always the same."""
    fitting = [
        fault for fault in FAULTS if not fault.unsupported_reason(topology) and not fault.long
    ]
    chosen = random.Random(seed)
    while True:
        yield chosen.choice(fitting)


def main() -> int:
    """Do it and return 0 for PASS."""
    parser = argparse.ArgumentParser(prog="./lab chaos", description=__doc__)
    parser.add_argument("--inventory", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    arguments = parser.parse_args()
    state = Path(tempfile.mkdtemp(prefix="chaos-", dir=arguments.inventory.parent))
    topology = describe(arguments.inventory.resolve())
    sys.stdout.write(f"seed {arguments.seed}, {arguments.minutes:g} minutes, records in {state}\n")
    plays, folder = Plays(topology, state), state / "faults"
    with ledger_running(topology, over_ssh(topology), plays, folder, Target) as target:
        broken = not all(_runs(target, arguments.seed, time.monotonic() + 60 * arguments.minutes))
        report, text = checked(target)
        target.save("chaos")
    ledger("page", target.folder, "--out", str(PAGE))
    sys.stdout.write(f"{text}timeline: {PAGE}\n")
    return 1 if broken or report["verdict"] != "PASS" else 0


def _runs(target: Target, seed: int, deadline: float) -> Iterator[bool]:
    for fault in order(seed, target.topology):
        if time.monotonic() > deadline:
            return
        with suppress(Exception, pytest.fail.Exception):  # its record has it
            target.run(fault)
        record = target.records[-1]
        recovered = f", {record.recovery_seconds} s" if record.recovery_seconds else ""
        sys.stdout.write(
            f"{record.start - target.records[0].start:6.0f} s  {record.node:12} "
            f"{fault.number:2} {fault.name}: {record.verdict}{recovered} {record.detail}\n"
        )
        sys.stdout.flush()
        yield record.verdict == "passed"
        if record.verdict != "passed":
            return


if __name__ == "__main__":
    sys.exit(main())
