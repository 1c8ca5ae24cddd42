"""The command line of the ledger: run, check, stop and page.

Exit codes: 0 PASS, 1 FAIL, 2 UNKNOWN or no verdict at all; of page, 0 once it is written.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)

from apps.ledger import page, recorded_runs, run, status
from apps.ledger.clients import SetupError
from apps.ledger.journal import JournalError
from apps.ledger.verdict import EXIT_CODES, as_text


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(prog="ledger", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    judged = argparse.ArgumentParser(add_help=False)
    judged.add_argument(
        "--expect-changes",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="without a change in events.jsonl nothing is proven",
    )
    judged.add_argument(
        "--least-acks",
        type=int,
        metavar="N",
        help="acknowledgements that a change needs which names no number of its own; "
        "default: half of what the rate gives",
    )
    going = commands.add_parser("run", parents=[judged], help="keep a load on a cluster")
    going.add_argument(
        "--client-config",
        type=Path,
        required=True,
        metavar="FILE.properties",
        help="Kafka client properties: bootstrap.servers, security, request.timeout.ms and "
        "delivery.timeout.ms",
    )
    going.add_argument("--dir", type=Path, required=True, help="a new one for each run")
    going.add_argument("--rate", type=_positive, default=200.0, help="records a second in all")
    going.add_argument("--partitions", type=int, help="default: one for each broker")
    going.add_argument("--replication", type=int, default=3)
    going.add_argument("--min-isr", type=int, default=2)
    going.add_argument("--topic", help="must not exist; default: a new name")
    going.add_argument("--keep-topic", action="store_true", help="do not delete it at the end")
    going.add_argument(
        "--transactions",
        action="store_true",
        help="also make records of another topic from those of this one, exactly once",
    )
    going.add_argument("--watch-pid", type=int, metavar="PID", help="end when this process is gone")
    going.add_argument("--max-seconds", type=_positive, default=7200.0)
    checked = commands.add_parser("check", parents=[judged], help="judge a directory again")
    checked.add_argument("dir", type=Path)
    ended = commands.add_parser("stop", help="end a run, show its report")
    ended.add_argument("dir", type=Path)
    ended.add_argument(
        "--seconds", type=_positive, default=run.STOP_SECONDS, help="wait at most this long"
    )
    report = commands.add_parser("page", parents=[judged], help="the report of a suite of faults")
    report.add_argument(
        "dirs", type=Path, nargs="+", metavar="dir", help="a ledger's, with the suite's faults.json"
    )
    report.add_argument("--out", type=Path, required=True, metavar="FILE.html")
    report.add_argument("--summary", type=Path, metavar="FILE.json", help="refresh this too")
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    arguments = parser().parse_args(words)
    try:
        return COMMANDS[arguments.command](arguments)
    except (ConnectionDescriptionError, JournalError, SetupError, TimeoutError) as error:
        sys.stderr.write(f"UNKNOWN: {error}\n")
        return EXIT_CODES["UNKNOWN"]


def _run(arguments: argparse.Namespace) -> int:
    options = run.Options(
        connection=Connection.read(arguments.client_config),
        folder=arguments.dir,
        rate=arguments.rate,
        partitions=arguments.partitions,
        replication=arguments.replication,
        min_isr=arguments.min_isr,
        topic=arguments.topic,
        keep_topic=arguments.keep_topic,
        watch_pid=arguments.watch_pid,
        max_seconds=arguments.max_seconds,
        expect_changes=arguments.expect_changes,
        least_acks=arguments.least_acks,
        transactions=arguments.transactions,
    )
    ledger = run.Ledger(options)
    run.log_to(arguments.dir)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ledger.end())
    return ledger.run()


def _check(arguments: argparse.Namespace) -> int:
    report = run.check(
        arguments.dir, expect_changes=arguments.expect_changes, least_acks=arguments.least_acks
    )
    sys.stdout.write(as_text(report))
    return EXIT_CODES[report.state]


def _stop(arguments: argparse.Namespace) -> int:
    last = run.stop(arguments.dir, arguments.seconds)
    if last["state"] == "failed":
        raise TimeoutError(last["reason"])
    sys.stdout.write((arguments.dir / status.REPORT_TEXT).read_text(encoding="utf-8"))
    return EXIT_CODES[last["verdict"]]


def _page(arguments: argparse.Namespace) -> int:
    expectations = {"expect_changes": arguments.expect_changes, "least_acks": arguments.least_acks}
    runs = [page.read(folder, **expectations) for folder in arguments.dirs]
    page.write(runs, arguments.out)
    for suite in runs:
        if arguments.summary:
            recorded_runs.refresh(arguments.summary, suite)
        sys.stdout.write("".join(f"{line}\n" for line in (suite.state, *suite.reasons)))
    return 0


COMMANDS = {"run": _run, "check": _check, "stop": _stop, "page": _page}


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        message = "must be above 0"
        raise argparse.ArgumentTypeError(message)
    return number


if __name__ == "__main__":
    sys.exit(main())
