#!/usr/bin/python
"""Ansible module: make a controller a voter of a dynamic quorum again."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.properties import parse_properties
from ..module_utils.host import paths, storage
from ..module_utils.host.as_user import as_user, last_output
from ..module_utils.kafka import snapshot
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.operations import options
from ..module_utils.operations import voter as quorum
from ..module_utils.operations.options import FailedError
from ..module_utils.operations.voter import Step

DOCUMENTATION = r"""
module: kafka_voter
short_description: Make a controller a voter of a dynamic quorum again
description:
  - A controller with a new disk has a new directory id and is an observer of its quorum (KIP-853).
    This waits until the node has all metadata, removes its former voter from the quorum, and adds
    the node with its new directory id.
  - Does nothing where it is a voter already, or where the quorum is static.
  - After an interruption the next run goes on with what is left to do.
attributes:
  check_mode:
    description: Reports what it would do.
    support: full
"""

POLL_SECONDS = 0.5
TRIES = 3
AGAIN = "Then run the same playbook again: it continues where this run ended"


class Voter:
    """A controller, seen by its quorum."""

    def __init__(self, module: AnsibleModule, cluster: Cluster, directory: str) -> None:
        """Keep the cluster and the voter to ask about."""
        self._module, self._cluster, self.directory = module, cluster, directory
        self._id: int = module.params["node_id"]
        self._deadline = time.monotonic() + module.params["timeout"]

    def step(self, *, wait: bool = True) -> Step:
        """Return what is to be done; waits for a broker that answers."""
        while True:
            try:
                log = self._cluster.ask(described)
            except UnavailableError as error:
                if not wait or self._late():
                    text = (
                        f"whether controller {self._id} is a voter is not known, since no broker "
                        f"answers ({error}): start a majority of the other controllers, and their "
                        f"brokers; see their journals. {AGAIN}"
                    )
                    raise FailedError(text) from error
                time.sleep(POLL_SECONDS)
            else:
                return quorum.step(log, self._id, self.directory) if log else Step()

    def caught_up(self) -> None:
        """Wait until the node has the metadata."""
        while reason := self._not_ready():
            if self._late():
                text = (
                    f"controller {self._id} cannot be added to the quorum: {reason}. A majority of "
                    f"the other controllers must be running; see this node's journal. {AGAIN}"
                )
                raise FailedError(text)
            time.sleep(POLL_SECONDS)

    def change(self, command: list[str], outcome: str, remaining: Step) -> None:
        """Run the tool until no more than `remaining` is to be done."""
        output = ""
        for attempt in range(TRIES):
            # A change before it may not be committed yet: the leader then refuses the next one.
            time.sleep(2 * POLL_SECONDS * attempt)
            code, out, err = self._module.run_command(command, cwd="/")
            output = last_output(out, err) or f"exit code {code}"
            # The state of the quorum decides: an answer may be lost and the change be made.
            if self.step() in (remaining, Step()):
                return
            if self._late():
                break
        text = (
            f"controller {self._id} could not be {outcome}: {output}. A majority of the other "
            f"controllers must be running; see their journals. {AGAIN}"
        )
        raise FailedError(text)

    def _not_ready(self) -> str:
        try:
            log = self._cluster.ask(described)
        except UnavailableError as error:
            return f"no broker answers ({error})"
        if log is None:
            return "the brokers do not know a quorum"
        return quorum.not_ready_reason(log, self._id, self.directory)

    def _late(self) -> bool:
        return bool(time.monotonic() > self._deadline)


def described(admin: Any) -> Mapping[str, Any] | None:
    """Return the quorum's metadata log, None with ZooKeeper."""
    response = snapshot.described_quorum(admin)
    return None if response is None else quorum.partition(response)


def directory_id(config: Path) -> str:
    """Return the id of the directory that holds the node's metadata log."""
    try:
        meta = Path(storage.metadata_dir(parse_properties(config.read_text())), storage.META)
        identifier = parse_properties(paths.read_text(meta)).get("directory.id", "")
    except (OSError, ValueError) as error:
        text = f"the node's directory id cannot be read: {error}. Configure and format it first"
        raise FailedError(text) from error
    if not identifier:
        text = f"{meta} has no directory.id: a Kafka before 3.7 wrote it; its service adds one"
        raise FailedError(text)
    return identifier


def perform(module: AnsibleModule, member: Voter, step: Step, folder: Path) -> None:
    """Remove the previous voter and add the node."""
    params = module.params
    config = folder / "tool.properties"
    server, client = (Path(params[key]) for key in ("config", "client_config"))
    try:
        text = quorum.tool_config(server.read_text(), client.read_text())
        with paths.naming(config):
            config.write_text(text)
    except (OSError, ValueError) as error:
        text = f"no configuration for Kafka's tool: {error}. Configure the node first"
        raise FailedError(text) from error
    if os.geteuid() == 0:
        for path in (folder, config):
            shutil.chown(path, params["user"], params["group"])
    tool = as_user(
        params["user"],
        params["group"],
        quorum.tool_command(params["java"], params["home"], params["bootstrap"], str(config)),
    )
    # With its former voter gone, the quorum has one fewer: that lasts only until it is added.
    member.caught_up()
    if step.remove:
        command = quorum.remove_command(tool, params["node_id"], step.remove)
        member.change(command, "removed with its former directory id", Step(add=True))
    member.caught_up()
    member.change([*tool, "add-controller"], "added to the quorum", Step())


def run(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Determine what is to be done, and do it; return the module's result."""
    member = Voter(module, cluster, directory_id(Path(module.params["config"])))
    step = member.step(wait=not module.check_mode)
    if step.add and not module.check_mode:
        # It may hold a client's password: mkdtemp's folder is its owner's alone.
        with tempfile.TemporaryDirectory(prefix="kafka-voter-") as folder:
            perform(module, member, step, Path(folder))
    return {
        "changed": step.add,
        "directory_id": member.directory,
        "removed": step.remove,
        "added": step.add,
        "msg": summary(module.params["node_id"], step, planned=module.check_mode),
    }


def summary(node_id: int, step: Step, *, planned: bool) -> str:
    """Return what was done, or would be, as a message."""
    if not step.add:
        return f"controller {node_id} needs no change of the quorum"
    would = "would be " if planned else ""
    former = f"{would}removed with its former directory id {step.remove} and "
    return f"controller {node_id}: {former if step.remove else ''}{would}added to the quorum"


def main() -> None:
    """Run the module."""
    spec = {
        **options.TOOL,
        "timeout": {"type": "float", "default": 120},
    }
    options.run(run, spec)


if __name__ == "__main__":
    main()
