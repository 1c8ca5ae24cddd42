"""Changes of a running cluster: playbooks as an operator runs them, and which brokers were down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens
from testinfra.host import Host

from tests.support.lab.topology import ROOT, Topology
from tests.support.refusal import ANSIBLE
from tests.support.repeat import repeated
from tests.support.wait import scaled, wait_for

POLL_SECONDS = 0.05
ROLL = "Kafka, one node after the other"
"""The play of playbooks/roll.yml."""
PROVE = ("-e", "prove=true")
TASKS = 8
"""Remote tasks that a roll may cost a node."""


@dataclass(frozen=True)
class Plays:
    """The playbooks on one inventory."""

    topology: Topology
    state: Path
    gaps: list[float] = field(default_factory=list)
    """Seconds without an acknowledgement at each proven restart, of all proofs so far."""

    def command(self, name: str, *arguments: str) -> list[str]:
        return [ANSIBLE, "-i", str(self.topology.inventory), f"playbooks/{name}.yml", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "MILLRACE_STATE": str(self.state),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests/support/lab/callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "remote_tasks",
            "REMOTE_TASKS_FILE": str(self._counts),
        }

    @property
    def _counts(self) -> Path:
        return self.state / "counts"

    def remote_tasks(self) -> dict[str, int]:
        """Host -> the tasks that the roll of the last playbook sent to it, its plan included."""
        counts: dict[str, dict[str, int]] = json.loads(self._counts.read_text().splitlines()[-1])[
            "plays"
        ]
        return counts[ROLL]

    def run(self, name: str, *arguments: str, seconds: float = 600) -> tuple[int, str]:
        """Exit code and output of a playbook."""
        done = subprocess.run(
            self.command(name, *arguments),
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=scaled(seconds),
            check=False,
        )
        return done.returncode, done.stdout

    def succeed(self, name: str, *arguments: str, seconds: float = 600) -> str:
        code, output = self.run(name, *arguments, seconds=seconds)
        assert code == 0, f"{name} {' '.join(arguments)}:\n{output[-6000:]}"
        return output

    def refuse(self, name: str, *arguments: str, seconds: float = 600) -> str:
        """The output of a playbook that must fail, with whitespace collapsed."""
        code, output = self.run(name, *arguments, seconds=seconds)
        assert code != 0, f"{name} {' '.join(arguments)} was not refused:\n{output[-6000:]}"
        return " ".join(output.split())

    def kill_at(self, words: str, name: str, *arguments: str, seconds: float = 180) -> None:
        """Kill a playbook as soon as it prints `words`; its workers have to notice by themselves.

        Raises:
            AssertionError: it ended before that.

        """
        log = self.state / "killed.log"
        with log.open("w") as stream:
            process = subprocess.Popen(
                self.command(name, *arguments),
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                wait_for(
                    lambda: words in log.read_text() or process.poll() is not None,
                    seconds=seconds,
                    what=f"{name} prints {words!r}",
                )
            finally:
                process.kill()
                process.wait()
        output = log.read_text()
        assert process.returncode == -signal.SIGKILL, f"it ended first:\n{output[-6000:]}"

    def proof(self) -> dict[str, Any]:
        """The report of the last -e prove=true."""
        report: dict[str, Any] = json.loads((self.state / "prove/report.json").read_text())
        self.gaps.extend(
            change["gap"] for change in report["changes"] if change["phase"] == "restart"
        )
        return report


@dataclass
class Watcher:
    """Which brokers did not accept a connection, seen about twenty times a second."""

    addresses: dict[int, str]
    down: list[tuple[float, frozenset[int]]] = field(default_factory=list)
    checks: int = 0

    def check(self) -> None:
        closed = frozenset(node for node, at in self.addresses.items() if not listens(at))
        self.checks += 1
        if not self.down or self.down[-1][1] != closed:
            self.down.append((time.monotonic(), closed))

    @property
    def most(self) -> int:
        """The most brokers that were down at the same time."""
        return max(len(closed) for _, closed in self.down)

    @property
    def seen_down(self) -> set[int]:
        return {node for _, closed in self.down for node in closed}


@contextmanager
def watching(topology: Topology) -> Iterator[Watcher]:
    """Watch the brokers' listeners while the block runs."""
    watcher = Watcher(topology.brokers)
    with repeated(watcher.check, POLL_SECONDS):
        yield watcher
    assert watcher.checks > 0, "no listener was checked"


def starts(hosts: dict[str, Host], topology: Topology) -> dict[str, int]:
    """How often systemd has started Kafka on each host since it was created."""
    count = "journalctl --unit kafka --output=cat | grep -c '^Started kafka.service'"
    return {
        name: int(hosts[name].run(count).stdout or 0)
        for name in sorted({*topology.group("kafka_brokers"), *topology.group("kafka_controllers")})
    }


def kept_all(report: dict[str, Any]) -> None:
    """No acknowledged record was lost, reordered or duplicated, and no client had an error."""
    assert report["verdict"] == "PASS", report
    counts = report["counts"]
    wrong = {name: counts[name] for name in ("lost", "reordered", "duplicated", "producer_errors")}
    assert not any(wrong.values()), wrong
    assert counts["acked"] > 200
