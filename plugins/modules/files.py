#!/usr/bin/python
"""Ansible module: write a host's whole tree of small files in one task."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.millrace.streaming.plugins.module_utils import file_apply, file_tree
from ansible_collections.millrace.streaming.plugins.module_utils.file_tree import Change

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
        C(restart) (a change of content needs a restart; default V(false)),
        C(dynamic) (keys of a properties file that its process takes while it runs, so that a change
        of nothing else needs no restart; a value with C(${...}) always needs one; default none)
        and C(secret) (the content is never shown; default V(false)).
      - The parent directory of each path must exist or be an entry itself. In check mode it may be
        missing, since an earlier task, such as a mount, may be what makes it.
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
  previous:
    description:
      - File to keep the former state in of every entry with C(restart) and of every link, so that a
        service that does not start with what is new can be put back.
      - It is written before a change that needs a restart, as long as no O(restart_mark) stands, so
        that it holds what the running service was started with, and where it is missing.
      - Only its owner can read it, and its directory if that is made here; secrets are in it.
    type: path
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
    previous: /var/lib/millrace/kafka/previous.json
    entries:
      /etc/kafka:
        state: directory
        mode: "0750"
      /etc/kafka/server.properties:
        content: "{{ lookup('ansible.builtin.template', 'server.properties.j2') }}"
        mode: "0640"
        restart: true
        dynamic: [log.cleaner.threads, num.io.threads]
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


def hide_secrets(raw: dict[str, object]) -> dict[str, object]:
    """Return the entries as they may be shown in the result's invocation."""
    return {
        path: {**wish, "content": "(secret)"}
        if isinstance(wish, dict) and wish.get("secret") is not False and "secret" in wish
        else wish
        for path, wish in raw.items()
    }


def apply_all(
    module: AnsibleModule, changes: list[Change], marks: list[Path], former: dict[str, object]
) -> None:
    """Make all changes, the former state and the restart marks first."""
    previous = Path(module.params["previous"]) if module.params["previous"] else None
    try:
        file_apply.make(changes, marks, previous, former)
    except file_apply.ApplyError as error:
        module.fail_json(msg=str(error), changed=bool(error.done), changed_paths=error.done)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "entries": {"type": "dict", "required": True},
            "owner": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
            "restart_mark": {"type": "list", "elements": "path", "default": []},
            "previous": {"type": "path"},
        },
        supports_check_mode=True,
        # The host's journal would otherwise hold every file's content.
        no_log=True,
    )
    raw = module.params["entries"]
    module.params["entries"] = hide_secrets(raw)
    entries, problems = file_tree.parse_entries(raw, module.params["owner"], module.params["group"])
    entries = [file_apply.with_names(entry) for entry in entries]
    host = file_apply.Host(entries)
    problems += file_tree.tree_problems(entries, host.look, planned=module.check_mode)
    if not module.check_mode:
        problems += file_apply.unknown_accounts(entries)
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
        apply_all(module, changes, marks, file_apply.former_state(entries, host.look))
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
