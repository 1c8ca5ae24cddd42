"""A Spark cluster as its masters report it, and jobs that the tests submit to it."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from testinfra.host import Host

from tests.support.lab.topology import ROOT, Topology
from tests.support.wait import wait_for

# How a driver is started on a Spark host, before `python3 -c`.
DRIVER = (
    "set -a; . /etc/spark/environment; cd /;"
    " export PYTHONPATH=$SPARK_HOME/python/lib/pyspark.zip:$SPARK_HOME/python/lib/py4j.zip;"
)


def get(url: str, token: str) -> Any:
    """What a web interface answers as JSON to who has its token, empty where it is open."""
    return json.loads(page(url, token))


def page(url: str, token: str) -> str:
    """What a web interface shows to who has its token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own hosts
    with urllib.request.urlopen(request, timeout=5) as response:  # noqa: S310 - as above
        text: bytes = response.read()
    return text.decode()


def master_state(topology: Topology, host: str) -> dict[str, Any]:
    """A master's own account of the cluster, with the status DOWN if it gives none."""
    port = topology.cluster.spark[host].ports["spark_master_ui_port"]
    try:
        state: dict[str, Any] = get(
            f"http://{topology.addresses[host]}:{port}/json/", topology.spark_token
        )
    except (OSError, HTTPException, ValueError):  # while it starts, the answer may be empty
        return {"status": "DOWN"}
    return state


def statuses(topology: Topology) -> dict[str, str]:
    """Each master's host to its status: ALIVE, STANDBY, RECOVERING or DOWN."""
    return {
        host: master_state(topology, host)["status"] for host in topology.group("spark_masters")
    }


def application(state: dict[str, Any], app: str) -> str | None:
    """The state of an application by a master's report."""
    apps = state.get("activeapps", []) + state.get("completedapps", [])
    return next((entry["state"] for entry in apps if entry["id"] == app), None)


def active_master(topology: Topology) -> str:
    """The host of the one master that leads; waits while another one takes over."""

    def alive() -> str | None:
        masters = [host for host, status in statuses(topology).items() if status == "ALIVE"]
        return masters[0] if len(masters) == 1 else None

    return wait_for(alive, seconds=30, what="one ALIVE master")


@dataclass(frozen=True)
class Load:
    """A running job of tests/support/services/jobs/load.py and the directory that it reports to."""

    host: Host
    folder: str = "/var/lib/spark/failover"

    def start(self) -> None:
        """Submit it in the background; it gives up by itself after three minutes."""
        self.host.check_output(
            "rm -rf %s && install --directory --owner spark %s",
            self.folder,
            self.folder,
        )
        self.host.check_output(
            DRIVER + " nohup timeout 200 runuser -u spark -- python3 -c %s %s 180"
            " > %s/rounds 2> %s/errors < /dev/null &",
            (ROOT / "tests/support/services/jobs/load.py").read_text(),
            self.folder,
            self.folder,
            self.folder,
        )

    def rounds(self) -> list[dict[str, Any]]:
        """What each finished round reported, the oldest first."""
        lines = self.host.run("cat %s/rounds", self.folder).stdout.splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def wait_for_rounds(self, count: int, *, seconds: float) -> list[dict[str, Any]]:
        """Wait until `count` more rounds are finished than now, and return all."""
        goal = len(self.rounds()) + count

        def enough() -> list[dict[str, Any]] | None:
            rounds = self.rounds()
            return rounds if len(rounds) >= goal else None

        return wait_for(enough, seconds=seconds, what=f"{count} more rounds: {self.errors()}")

    def finish(self) -> dict[str, Any]:
        """Let the job end, and return its last report."""
        self.host.check_output("touch %s/enough", self.folder)

        def ended() -> dict[str, Any] | None:
            rounds = self.rounds()
            return rounds[-1] if rounds and rounds[-1].get("finished") else None

        return wait_for(ended, seconds=60, what="the end of the job")

    def errors(self) -> str:
        """The last lines of the driver's errors."""
        return self.host.run("tail -n 5 %s/errors", self.folder).stdout

    def remove(self) -> None:
        """End the job if it still runs, and forget it."""
        self.host.run("touch %s/enough; pkill -u spark -f %s", self.folder, f"[-]c .*{self.folder}")
        self.host.run("rm -rf %s", self.folder)
