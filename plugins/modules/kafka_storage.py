#!/usr/bin/python
"""Ansible module: format the storage of a KRaft node once, or refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.properties import parse_or_empty
from ..module_utils.host import paths, storage
from ..module_utils.host.as_user import as_user, last_output
from ..module_utils.host.storage import LogDir, Node
from ..module_utils.kafka import library
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.kafka.connection import ConnectionDescriptionError
from ..module_utils.kafka.snapshot import Quorum
from ..module_utils.operations import gate, options

DOCUMENTATION = r"""
module: kafka_storage
short_description: Format the storage of a KRaft node once, or refuse
description:
  - Formats the log directories of a node with Kafka's storage tool, as the service user.
  - Refuses, with every problem in one message, where a directory belongs to another cluster or
    node, or holds partitions without C(meta.properties). Then nothing is changed.
  - Where some directories are formatted and others are not, a disk was replaced, and only the
    others are formatted.
  - A controller without metadata may not vote while another node has some. Into a dynamic quorum it
    is formatted as an observer, with a new directory id. In a static quorum it is formatted only
    while a majority of the other voters is up and caught up, so that none needs its vote.
attributes:
  check_mode:
    description: Reports which directories would be formatted.
    support: full
"""


def read(path: str) -> LogDir:
    """Read one log directory."""
    if not paths.is_directory(path):
        return LogDir(path, exists=False)
    meta = Path(path, storage.META)
    return LogDir(
        path,
        exists=True,
        meta=paths.read_text(meta, errors="replace") if paths.is_file(meta) else None,
        children=tuple(paths.directories(path)),
    )


def live_quorum(module: AnsibleModule) -> Quorum | str:
    """Return the quorum as the brokers see it, or why it cannot be known."""
    cluster = None
    try:
        cluster = Cluster(options.connection_of(module.params))
        return cluster.read().quorum or "the brokers do not know a quorum"
    except (library.NoLibraryError, ConnectionDescriptionError) as error:
        return str(error)
    except UnavailableError as error:
        return f"no broker answers ({error})"
    finally:
        if cluster:
            cluster.close()


def refuse_needed_vote(module: AnsibleModule, node: Node) -> None:
    """Fail unless the static quorum has a caught-up majority without the node."""
    quorum = live_quorum(module)
    reason = quorum if isinstance(quorum, str) else gate.lacks_majority(quorum, node.node_id)
    if reason:
        text = (
            f"node {node.node_id}: the storage is refused, nothing was changed: other nodes have "
            f"metadata, this one has none, and the quorum may need its vote: {reason}. With it a "
            "leader could be elected that lacks committed records. Start all other controllers and "
            "their brokers first (site.yml with --limit to them), then run this again. If they are "
            "no majority by themselves, restore the disk of this node from a backup"
        )
        module.fail_json(msg=text)


def run(module: AnsibleModule, node: Node, log_dirs: list[str], command: list[str]) -> None:
    """Format, and check that every directory is now as it should be."""
    # The tool looks for a log4j2 configuration in its working directory and may not read root's.
    user_command = as_user(module.params["user"], module.params["group"], command)
    code, out, err = module.run_command(user_command, cwd="/")
    if code:
        module.fail_json(
            msg=f"formatting failed with exit code {code}: {last_output(out, err)}",
            command=command,
        )
    after = [read(path) for path in log_dirs]
    wrong = [f"{path} was not formatted" for path in storage.missing(after)]
    wrong += storage.problems(node, after)
    if wrong:
        module.fail_json(
            msg="the storage tool ended without error, but:\n- " + "\n- ".join(wrong),
            command=command,
        )


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **options.CLIENT,
            **options.TOOL,
            "cluster_id": {"type": "str", "required": True},
            "log_dirs": {"type": "list", "elements": "path", "required": True},
            "controller": {"type": "bool", "default": False},
            "initial_controllers": {"type": "str", "default": ""},
            "may_vote": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    node = Node.of(module.params)
    log_dirs = list(dict.fromkeys(module.params["log_dirs"]))
    dirs = [read(path) for path in log_dirs]
    problems = storage.problems(node, dirs, planned=module.check_mode)
    state = storage.state(dirs)
    config = Path(node.config).read_text() if Path(node.config).is_file() else ""
    if state != "formatted" and not module.check_mode:
        absent = [f"{node.config} does not exist: write the configuration first"]
        problems += storage.config_problems(node, dirs, config) if config else absent
    if problems:
        module.fail_json(
            msg=f"node {node.node_id}: the storage is refused, nothing was changed:\n- "
            + "\n- ".join(problems)
        )
    if state == "formatted":
        observer = storage.is_observer(node, dirs, config)
        module.exit_json(changed=False, formatted=[], state=state, observer=observer)
    missing = storage.missing(dirs)
    configured = node
    if node.controller and not module.params["may_vote"] and storage.lacks_metadata(dirs, config):
        # An empty log that votes could elect a node that lacks committed records (KIP-853).
        if storage.has_static_quorum(parse_or_empty(config)):
            if not module.check_mode:
                refuse_needed_vote(module, node)
        else:
            node = replace(node, initial_controllers="")
    command = storage.format_command(node, config, partly=state == "replaced disk")
    if not module.check_mode:
        run(module, node, log_dirs, command)
    module.exit_json(
        changed=True,
        formatted=missing,
        state=state,
        observer=storage.is_observer(configured, [read(path) for path in log_dirs], config),
        command=command,
        msg=f"{'would format' if module.check_mode else 'formatted'} {', '.join(missing)}",
    )


if __name__ == "__main__":
    main()
