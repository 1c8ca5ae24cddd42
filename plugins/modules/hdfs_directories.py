#!/usr/bin/python
"""Ansible module: directories in HDFS that other services need."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.properties import parse_or_empty
from ..module_utils.host import files, paths
from ..module_utils.host.as_user import as_user, last_output

DOCUMENTATION = r"""
module: hdfs_directories
short_description: Directories in HDFS that other services need
description:
  - Creates them with HDFS's own command, as its superuser. A file on the NameNode's host records
    which file system has them; with it nothing is done, so that later changes of their contents,
    owners and modes are kept.
attributes:
  check_mode:
    description: Reports which directories would be made.
    support: full
"""

SHELL = "org.apache.hadoop.fs.FsShell"


def cluster_id(name_dirs: list[str]) -> str:
    """Return the id of the file system, empty where it is not formatted."""
    files_there = [file for path in name_dirs if paths.is_file(file := f"{path}/current/VERSION")]
    ids = (parse_or_empty(paths.read_text(file)).get("clusterID") for file in files_there)
    return next(filter(None, ids), "")


def commands(directories: list[dict[str, str]]) -> list[list[str]]:
    """Return what HDFS's shell has to do: each takes seconds, so paths are taken together."""
    batches = [["-mkdir", "-p", *(directory["path"] for directory in directories)]]
    for key, command in (("owner", "-chown"), ("mode", "-chmod")):
        for value in sorted({directory[key] for directory in directories if key in directory}):
            batches.append(
                [
                    command,
                    value,
                    *(
                        directory["path"]
                        for directory in directories
                        if directory.get(key) == value
                    ),
                ]
            )
    return batches


def main() -> None:
    """Run the module."""
    text = {"type": "str", "required": True}
    module = AnsibleModule(
        argument_spec={
            "directories": {"type": "list", "elements": "dict", "required": True},
            "name_dirs": {"type": "list", "elements": "path", "required": True},
            "mark": {"type": "path", "required": True},
            **dict.fromkeys(("java", "class_path", "user"), text),
        },
        supports_check_mode=True,
    )
    params = module.params
    directories, mark = params["directories"], Path(params["mark"])
    made_paths = [directory["path"] for directory in directories]
    try:
        record = {"cluster_id": cluster_id(params["name_dirs"]), "directories": directories}
        made = json.dumps(record, sort_keys=True) + "\n"
        is_made = paths.is_file(mark) and paths.read_text(mark, "replace") == made
    except (OSError, UnicodeDecodeError) as error:
        module.fail_json(msg=f"a file cannot be read: {error}")
    if not directories or is_made:
        module.exit_json(changed=False, made=[])
    if not module.check_mode:
        start = [params["java"], "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        start += ["-cp", params["class_path"], SHELL]
        for words in commands(directories):
            command = as_user(params["user"], params["user"], [*start, *words])
            code, out, err = module.run_command(command, cwd="/")
            if code:
                message = last_output(out, err)
                module.fail_json(msg=f"{' '.join(words)} in HDFS failed: {message}")
        files.write(mark, made.encode(), 0o644)
    module.exit_json(changed=True, made=made_paths)


if __name__ == "__main__":
    main()
