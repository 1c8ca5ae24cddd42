"""Somebody who follows a page for operators: on the control node, and as root on hosts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.lab.topology import ROOT, Topology
from tests.support.refusal import ANSIBLE
from tests.support.wait import scaled

# Commands of the control node begin with one of these; all others are typed on a host.
LOCAL = re.compile(r"\.venv/|ansible-|python|tar |\(umask|ssh |export |curl ")
INVENTORY = "inventories/<yours>"


@dataclass
class Operator:
    """Runs commands as a page has them, with what is here in place of what it names."""

    topology: Topology
    hosts: Mapping[str, Host]
    folder: Path
    """In place of the home directory, and of the working directory where it is named."""
    names: dict[str, str] = field(default_factory=dict)
    """Text of a page -> what takes its place."""

    def put(self, command: str) -> str:
        """Put what is here in place of what the page names."""
        for text, name in self.names.items():
            command = command.replace(text, name)
        command = re.sub(r"(?<!\S)ansible-playbook(?!\S)", ANSIBLE, command)
        command = command.replace(INVENTORY, str(self.topology.inventory))
        return command.replace("$PWD", str(self.folder)).replace("~/", f"{self.folder}/")

    def run(self, command: str, host: str = "", folder: Path = ROOT) -> str:
        """Run a command, which has to succeed, and return what it prints.

        Without a host it is one of the control node.
        """
        code, output = self.attempt(command, host, folder)
        assert code == 0, f"{command}\n{output[-6000:]}"
        return output

    def attempt(self, command: str, host: str = "", folder: Path = ROOT) -> tuple[int, str]:
        """Run a command; exit code and output."""
        text = self.put(command)
        if host:
            done = self.hosts[host].run("bash -lc %s", text)
            return done.rc, f"{done.stdout}{done.stderr}"
        local = subprocess.run(
            ["/bin/bash", "-c", text],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=scaled(600),
            check=False,
        )
        return local.returncode, local.stdout

    def follow(self, title: str, page: Path, host: str) -> list[str]:
        """Run all commands of a section, those that are not the control node's on a host.

        Returns what each prints.
        """
        return [
            self.run(command, "" if LOCAL.match(command) else host)
            for command in guide.commands(title, page)
        ]


def login(topology: Topology, host: str) -> str:
    """Return what takes the place of `ssh HOST` on a host of the lab."""
    key = topology.inventory.parent / "id_ed25519"
    options = ["BatchMode=yes", "ConnectTimeout=10", "StrictHostKeyChecking=no"]
    options += ["UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
    words = " ".join(f"-o {option}" for option in options)
    return f"ssh -i {key} {words} lab@{topology.addresses[host]}"


def host_of(cluster: Cluster, command: str) -> str:
    """Return a host on which a command is typed: with the unit that it names, else a broker.

    Raises KeyError for a unit that no host has.
    """
    units = {
        job.unit: name for name, host in cluster.spark.items() for job in host.drivers.jobs_here
    }
    for name in cluster.hosts:
        for part in cluster.deployed(name).values():
            units |= {unit: name for unit in part.units if unit not in units}
    named = re.search(r"(?:-u|status) (\S+)", command)
    return units[named[1]] if named else cluster.brokers[0].name
