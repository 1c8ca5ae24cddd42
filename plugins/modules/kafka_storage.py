#!/usr/bin/python
"""Ansible module: format the storage of a KRaft node once, or refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import network, storage
from ..module_utils.host.as_user import as_user, last_output
from ..module_utils.host.storage import LogDir, Node
from ..module_utils.operations import options

DOCUMENTATION = r"""
module: kafka_storage
short_description: Format the storage of a KRaft node once, or refuse
description:
  - Formats the log directories of a node with Kafka's storage tool, as the service user.
  - Refuses, with every problem in one message, where a directory belongs to another cluster or
    node, or holds partitions without C(meta.properties). Then nothing is changed.
  - Where some directories are formatted and others are not, a disk was replaced, and only the
    others are formatted.
attributes:
  check_mode:
    description: Reports which directories would be formatted.
    support: full
"""

CONNECT_SECONDS = 1.0


def read(path: str) -> LogDir:
    """Read one log directory."""
    directory = Path(path)
    if not directory.is_dir():
        return LogDir(path, exists=False)
    meta = directory / storage.META
    return LogDir(
        path,
        exists=True,
        meta=meta.read_text(errors="replace") if meta.is_file() else None,
        children=tuple(child.name for child in directory.iterdir() if child.is_dir()),
    )


def quorum_alive(node: Node) -> bool:
    """Return whether another of the initial controllers answers already."""
    for voter in filter(None, node.initial_controllers.split(",")):
        number, address = voter.split("@", 1)
        endpoint = address.rpartition(":")[0]  # without the directory's id
        if int(number) != node.node_id and network.listens(endpoint, CONNECT_SECONDS):
            return True
    return False


def run(module: AnsibleModule, node: Node, log_dirs: list[str], command: list[str]) -> None:
    """Format, and check that every directory is now as it should be."""
    # The tool looks for a log4j2 configuration in its working directory and may not read root's.
    own = as_user(module.params["user"], module.params["group"], command)
    code, out, err = module.run_command(own, cwd="/")
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
            **options.TOOL,
            "cluster_id": {"type": "str", "required": True},
            "log_dirs": {"type": "list", "elements": "path", "required": True},
            "controller": {"type": "bool", "default": False},
            "initial_controllers": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    node = Node.of(module.params)
    log_dirs = list(dict.fromkeys(module.params["log_dirs"]))
    dirs = [read(path) for path in log_dirs]
    found = storage.problems(node, dirs, planned=module.check_mode)
    state = storage.state(dirs)
    config = Path(node.config).read_text() if Path(node.config).is_file() else None
    if state != "formatted" and not module.check_mode:
        absent = [f"{node.config} does not exist: write the configuration first"]
        found += absent if config is None else storage.config_problems(node, dirs, config)
    if found:
        module.fail_json(
            msg=f"node {node.node_id}: the storage is refused, nothing was changed:\n- "
            + "\n- ".join(found)
        )
    if state == "formatted":
        observer = storage.is_observer(node, dirs, config or "")
        module.exit_json(changed=False, formatted=[], state=state, observer=observer)
    missing = storage.missing(dirs)
    wanted = node
    if not module.check_mode and quorum_alive(node):
        # An empty log that votes could elect a node that lacks committed records (KIP-853):
        # into a quorum that is alive, a node comes as an observer.
        node = replace(node, initial_controllers="")
    command = storage.format_command(node, config or "", partly=state == "replaced disk")
    if not module.check_mode:
        run(module, node, log_dirs, command)
    module.exit_json(
        changed=True,
        formatted=missing,
        state=state,
        observer=storage.is_observer(wanted, [read(path) for path in log_dirs], config or ""),
        command=command,
        msg=f"{'would format' if module.check_mode else 'formatted'} {', '.join(missing)}",
    )


if __name__ == "__main__":
    main()
