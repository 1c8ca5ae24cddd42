"""`./lab bench NAME [PAIRS]`: one measurement beside its baseline, both in turn."""

from __future__ import annotations

import sys

from tests.bench import (
    agent,
    deploy,
    placement,
    racks,
    rerun,
    roll,
    security,
    session,
    stream,
    throughput,
    validate,
    versions,
)

BENCHMARKS = {
    "agent": agent,
    "deploy": deploy,
    "placement": placement,
    "racks": racks,
    "rerun": rerun,
    "roll": roll,
    "security": security,
    "session": session,
    "stream": stream,
    "throughput": throughput,
    "validate": validate,
    "versions": versions,
}
PAIRS = 4


def main() -> int:
    name, pairs = sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2:]
    if name not in BENCHMARKS or not all(count.isdigit() and int(count) for count in pairs):
        sys.stderr.write(f"./lab bench NAME [PAIRS], NAME being one of {', '.join(BENCHMARKS)}\n")
        return 2
    chosen = BENCHMARKS[name]
    chosen.main(int(pairs[0]) if pairs else getattr(chosen, "PAIRS", PAIRS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
