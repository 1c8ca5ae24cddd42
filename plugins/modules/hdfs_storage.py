#!/usr/bin/python
"""Ansible module: format the directories of a new NameNode once, or refuse."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import paths
from ..module_utils.host.as_user import as_user, last_output

DOCUMENTATION = r"""
module: hdfs_storage
short_description: Format the directories of a new NameNode once, or refuse
description:
  - Formats them with the NameNode's own command, as the service user, if all are empty. Where one
    of them is formatted, nothing is done; the NameNode itself fills one that is empty beside it.
  - Refuses a directory that holds anything else. The rule C(hdfs-namenode-empty) has refused a
    NameNode without data to which DataNodes with data belong.
attributes:
  check_mode:
    description: Reports which directories would be formatted.
    support: full
"""

NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"


def is_formatted(path: str) -> bool:
    """Return whether a NameNode has its data in a directory."""
    return paths.is_file(f"{path}/current/VERSION")


def foreign(path: str) -> list[str]:
    """Return what is in a directory that is not formatted."""
    names = {*paths.names(path)} if paths.is_directory(path) else set()
    return sorted(names - {"lost+found"})


def main() -> None:
    """Run the module."""
    text = {"type": "str", "required": True}
    module = AnsibleModule(
        argument_spec={
            "name_dirs": {"type": "list", "elements": "path", "required": True},
            **dict.fromkeys(("java", "class_path", "user"), text),
        },
        supports_check_mode=True,
    )
    params = module.params
    name_dirs = params["name_dirs"]
    if any(map(is_formatted, name_dirs)):
        module.exit_json(changed=False, formatted=[])
    held = {path: names for path in name_dirs if (names := foreign(path))}
    if held:
        wrong = "\n- ".join(f"{path} holds {', '.join(names[:5])}" for path, names in held.items())
        module.fail_json(
            msg=f"no NameNode has its data here, and nothing was formatted:\n- {wrong}\nRestore "
            "current/VERSION and what belongs to it from a backup, or move the files away"
        )
    command = [params["java"], "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command += ["-cp", params["class_path"], NAMENODE, "-format", "-nonInteractive"]
    if not module.check_mode:
        user_command = as_user(params["user"], params["user"], command)
        code, out, err = module.run_command(user_command, cwd="/")
        if code or not all(map(is_formatted, name_dirs)):
            message = last_output(out, err)
            module.fail_json(msg=f"formatting failed with exit code {code}: {message}")
    module.exit_json(changed=True, formatted=name_dirs, command=command)


if __name__ == "__main__":
    main()
