#!/usr/bin/python
"""Ansible module: write a host's whole tree of small files in one task."""

from __future__ import annotations

import contextlib
import dataclasses
import grp
import os
import pwd
import stat
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.millrace.streaming.plugins.module_utils import file_tree
from ansible_collections.millrace.streaming.plugins.module_utils.file_tree import (
    Change,
    Entry,
    Found,
)

DOCUMENTATION = r"""
module: files
short_description: Write a host's whole tree of small files in one task
version_added: 0.1.0
description:
  - Writes files, directories and links and removes what should be absent, all in one task.
  - Everything is checked before anything is written; all problems are reported at once.
  - Each file is replaced atomically, with its final owner and mode from the first moment.
options:
  entries:
    description:
      - Mapping of absolute path to what should be there. Each value is a mapping with the keys
        C(state) (V(file), V(directory), V(link) or V(absent); default V(file)),
        C(content) (the file's text), C(mode) (four octal digits in quotes; default V('0644') for
        files, V('0755') for directories), C(owner), C(group), C(target) (of a link),
        C(format) (V(text) or V(properties); default by the suffix C(.properties)),
        C(restart) (a change of content needs a restart; default V(false)) and
        C(secret) (the content is never shown; default V(false)).
      - The parent directory of each path must exist or be an entry itself.
      - V(absent) removes files, links and directories that are empty or become so.
    type: dict
    required: true
  owner:
    description: Owner of each entry that names none.
    type: str
    default: root
  group:
    description: Group of each entry that names none.
    type: str
    default: root
  restart_mark:
    description:
      - File to write when the content of an entry with C(restart) changes, or several, one for each
        service that reads the entries. It names the changed paths and keys of all runs since it was
        last removed.
      - It is written only where its parent directory exists. Put it into the service's systemd
        runtime directory, which exists only while the process runs, so that a service that was not
        yet started is not marked and a restart clears the mark.
      - It is written before the files are replaced, so an abort in between errs on the safe side.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    description: Reports the same change and diff as the real run and writes nothing.
    support: full
  diff_mode:
    description: Shows content, owner, group and mode; never the content of a secret entry.
    support: full
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Write Kafka's files
  millrace.streaming.files:
    group: kafka
    restart_mark: /run/kafka/restart-pending
    entries:
      /etc/kafka:
        state: directory
        mode: "0750"
      /etc/kafka/server.properties:
        content: "{{ lookup('ansible.builtin.template', 'server.properties.j2') }}"
        mode: "0640"
        restart: true
      /etc/kafka/secrets.properties:
        content: "{{ kafka_secrets_text }}"
        mode: "0640"
        restart: true
        secret: true
      /opt/millrace/kafka/current:
        state: link
        target: /opt/millrace/kafka/4.3.1-1a2b3c4d
      /etc/kafka/old.properties:
        state: absent
"""

RETURN = r"""
changed_paths:
  description: Paths that were changed, or would be, in the order of the changes.
  returned: success
  type: list
  elements: str
changed_keys:
  description: For each changed properties file the sorted keys added, removed or changed.
  returned: success
  type: dict
restart_needed:
  description:
    - With O(restart_mark), whether any mark stands after this task, from this run or an earlier
      one.
    - Without it, whether the content of an entry with C(restart) changed.
  returned: success
  type: bool
"""


class Host:
    """The files of this host."""

    def __init__(self, entries: list[Entry]) -> None:
        """Look once at each path that an entry names."""
        self._listed = {entry.path for entry in entries if entry.state == "absent"}
        self._found: dict[str, Found] = {}

    def look(self, path: str) -> Found:
        """Return what lies at a path."""
        if path not in self._found:
            self._found[path] = self._look(Path(path))
        return self._found[path]

    def _look(self, path: Path) -> Found:
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return Found()
        target, leads_to_directory = "", False
        if kind_of(status) == "link":
            target = str(path.readlink())
            leads_to_directory = path.is_dir()
            if leads_to_directory:
                status = path.stat()
        children: tuple[str, ...] = ()
        if str(path) in self._listed and kind_of(status) == "directory" and not target:
            children = tuple(child.name for child in path.iterdir())
        return Found(
            kind="link" if target else kind_of(status),
            content=path.read_bytes() if kind_of(status) == "file" else b"",
            mode=stat.S_IMODE(status.st_mode),
            owner=user_name(status.st_uid),
            group=group_name(status.st_gid),
            target=target,
            leads_to_directory=leads_to_directory,
            children=children,
        )


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a file status in the words of `Found`."""
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(status.st_mode), "other")


def user_name(uid: int) -> str:
    """Return the name of a user, or the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return the name of a group, or the number where it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def user_id(name: str) -> int:
    """Return the number of a user given by name or number; KeyError if there is none."""
    return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid


def group_id(name: str) -> int:
    """Return the number of a group given by name or number; KeyError if there is none."""
    return int(name) if name.isdecimal() else grp.getgrnam(name).gr_gid


def with_names(entry: Entry) -> Entry:
    """Return the entry with the names of an owner and group that are given as numbers."""
    owner, group = entry.owner, entry.group
    return dataclasses.replace(
        entry,
        owner=user_name(int(owner)) if owner.isdecimal() else owner,
        group=group_name(int(group)) if group.isdecimal() else group,
    )


def unknown_accounts(entries: list[Entry]) -> list[str]:
    """Name each user and group that the host does not have, with the first path that wants it."""
    problems = []
    for what, lookup in (("owner", user_id), ("group", group_id)):
        seen: set[str] = set()
        for entry in entries:
            name = getattr(entry, what)
            if name in seen or entry.state in ("absent", "link"):
                continue
            seen.add(name)
            try:
                lookup(name)
            except KeyError:
                problems.append(
                    f"{entry.path}: {what} {name} does not exist on this host; create it first"
                )
    return problems


def write_file(path: Path, content: bytes, owner: str, group: str, mode: int) -> None:
    """Replace a file atomically; its content is never readable by more than owner and mode say."""
    temporary = path.with_name(f".{path.name}.millrace-new")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchown(stream.fileno(), user_id(owner), group_id(group))
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_link(path: Path, target: str) -> None:
    """Point a link elsewhere atomically."""
    temporary = path.with_name(f".{path.name}.millrace-new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(path)


def apply(change: Change) -> None:
    """Make one change."""
    entry, path = change.entry, Path(change.entry.path)
    if entry.state == "absent":
        if change.before.kind == "directory":
            path.rmdir()
        else:
            path.unlink()
    elif entry.state == "link":
        write_link(path, entry.target)
    elif entry.state == "file" and change.content:
        write_file(path, entry.content, entry.owner, entry.group, entry.mode)
    else:
        if change.content:
            # Hosts that share a file system may make the same directory at the same moment.
            path.mkdir(mode=0o700, exist_ok=True)
        os.chown(path, user_id(entry.owner), group_id(entry.group))
        path.chmod(entry.mode)


def write_mark(mark: Path, changes: list[Change]) -> None:
    """Write the restart mark; a service that stopped meanwhile has no directory and needs none."""
    with contextlib.suppress(FileNotFoundError):
        existing = mark.read_text(errors="replace") if mark.is_file() else ""
        content = file_tree.merge_mark(existing, changes).encode()
        write_file(mark, content, str(os.geteuid()), str(os.getegid()), 0o644)


def apply_all(module: AnsibleModule, changes: list[Change], marks: list[Path]) -> None:
    """Make all changes, the restart marks first; fail with what was done and what was not."""
    restarts = [change for change in changes if change.needs_restart]
    done: list[str] = []
    current = ", ".join(map(str, marks))
    try:
        for mark in marks if restarts else []:
            write_mark(mark, restarts)
        for change in changes:
            current = change.entry.path
            apply(change)
            done.append(current)
        # A process that started in between may have read an old file; its directory is new.
        for mark in marks if restarts else []:
            if not mark.exists():
                write_mark(mark, restarts)
    except OSError as error:
        module.fail_json(
            msg=f"{current} could not be written: {error.strerror}. "
            f"Changed before it: {', '.join(done) or 'nothing'}. "
            "Remove the cause and run again: what is done stays, the rest follows.",
            changed=bool(done),
            changed_paths=done,
        )


def hide_secrets(raw: dict[str, object]) -> dict[str, object]:
    """Return the entries as they may be shown in the result's invocation."""
    return {
        path: {**wish, "content": "(secret)"}
        if isinstance(wish, dict) and wish.get("secret") is not False and "secret" in wish
        else wish
        for path, wish in raw.items()
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "entries": {"type": "dict", "required": True},
            "owner": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
            "restart_mark": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
        # The host's journal would otherwise hold every file's content.
        no_log=True,
    )
    raw = module.params["entries"]
    module.params["entries"] = hide_secrets(raw)
    entries, problems = file_tree.parse_entries(raw, module.params["owner"], module.params["group"])
    entries = [with_names(entry) for entry in entries]
    host = Host(entries)
    problems += file_tree.tree_problems(entries, host.look)
    if not module.check_mode:
        problems += unknown_accounts(entries)
    if problems:
        count = len(problems)
        module.fail_json(
            msg=f"{count} problem{'s' * (count > 1)} with the entries, nothing was written:\n- "
            + "\n- ".join(problems)
        )

    changes = file_tree.plan(entries, host.look)
    marks = [Path(mark) for mark in module.params["restart_mark"]]
    restarts = any(change.needs_restart for change in changes)
    if not module.check_mode:
        apply_all(module, changes, marks)
    result: dict[str, object] = {
        "changed": bool(changes),
        "changed_paths": [change.entry.path for change in changes],
        "changed_keys": {change.entry.path: list(change.keys) for change in changes if change.keys},
        "restart_needed": any(
            mark.exists() or (restarts and mark.parent.is_dir()) for mark in marks
        )
        if marks
        else restarts,
    }
    if module._diff:
        result["diff"] = [part for change in changes for part in file_tree.diff(change)]
    module.exit_json(**result)


if __name__ == "__main__":
    main()
