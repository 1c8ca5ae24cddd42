#!/usr/bin/python
"""Ansible module: a service's distribution, files and units on a host, in one task."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import (
    distribution,
    files,
    network,
    operation_file,
    removal,
    replaced_java,
    restart,
    start,
    unit,
)
from ..module_utils.host.files import Change, Entry
from ..module_utils.host.start import Watched
from ..module_utils.host.unit import Unit

DOCUMENTATION = r"""
module: service
short_description: A service's distribution, files and units, compared and made so in one task
description:
  - Unpacks a distribution once, writes files, directories and links, and runs systemd units.
  - Everything is checked before anything is changed; all problems are reported at once.
  - Each file is replaced atomically, with its final owner and mode from the first moment. What lies
    in C(/etc/sysusers.d) is written first, and its accounts are made.
  - With O(product), O(job), O(former_jobs) or O(former_monitoring) the options come from the model
    of the cluster; those of the task take precedence.
options:
  product:
    description: Service whose options come from the model.
    type: str
  parts:
    description: Which of its options; all without it. Some have no other option beside them.
      V(logins) is for the files by which jobs on Spark log in to Kafka, V(packages) for the Python
      packages of a O(job). V(former_plugins) is for the removal of plugins that the inventory no
      longer has. V(masks) is for what keeps packages of the system from starting
      services. V(authorities) is for the CA of the schema registry that jobs on Spark read, and
      V(secrets) for the generation of the secrets that the host has. With O(state=absent)
      V(former_masks) is for what masked packages of which the site has the units now, and
      V(former_units) for the units in their place.
    type: list
    elements: str
    choices:
      - distribution
      - files
      - units
      - logins
      - packages
      - former_plugins
      - masks
      - authorities
      - secrets
      - former_masks
      - former_units
  job:
    description: Job on Spark whose options come from the model, with C(name), C(module),
      C(source), C(arguments), C(data) and C(user). With C(name) alone it is that of C(spark_jobs).
    type: dict
  former_jobs:
    description: For O(state=absent) the files of all units of jobs that are on the host, by their
      names. Also the paths of all files of their programs and of the directories of Python
      packages. What the inventory does not have there is removed.
    type: list
    elements: str
  former_monitoring:
    description: For O(state=absent) the paths of the files in C(/etc/sysusers.d) of exporters, of
      servers and of what else watches the cluster, that are on the host. What the inventory does
      not have there is removed, its file there last.
    type: list
    elements: str
  distribution:
    description: Mapping with C(home), the directory to make, C(tarball), its path on the
      controller, and C(sha256). It is transferred only where it is not unpacked, and checked there
      and here. With C(kept) older homes of the product are removed once a new one is unpacked, but
      for that many and those that processes run from.
    type: dict
  plugins:
    description: Mappings like O(distribution), each with C(home), C(tarball) and C(sha256), of
      plugins that are unpacked beside it.
    type: list
    elements: dict
    default: []
  plugin_directory:
    description: Directory with the homes of O(plugins). RV(former_plugins) are the others in it.
    type: path
  remove_plugins:
    description: Whether these others are removed. As long as a mark of O(restart_marks) exists,
      they stay, and so does each that a unit or the command line of a process names.
    type: bool
    default: false
  files:
    description:
      - Mapping of absolute path to what should be there. Its keys are C(state) (V(file),
        V(directory), V(link) or V(absent); default V(file)), C(content), C(mode) (four octal
        digits), C(owner), C(group) and C(target) (of a link).
      - C(format) is V(text) or V(properties), by default by the suffix C(.properties). With
        C(restart) a change of content needs a restart. C(dynamic) has keys of a properties file
        that its process takes while it runs. A change of nothing else needs no restart; a value
        with C(${...}) always needs one. With C(secret) the content is never shown.
      - The parent directory of each path must exist or be an entry itself; in check mode it may be
        missing. V(absent) removes files, links and directories that are empty or become so.
    type: dict
    default: {}
  units:
    description: The service's systemd units, without C(.service). For O(state=absent) patterns of
      their names, which stand for services and timers.
    type: list
    elements: str
    default: []
  state:
    description: With V(absent) those of O(units) that Millrace has written are killed and removed,
      and then the paths of O(removed).
    type: str
    choices: [present, absent]
    default: present
  removed:
    description: Paths to remove with all that is in them. One that ends with C(/) is removed only
      if nothing is left in it.
    type: list
    elements: str
    default: []
  masks:
    description: For O(state=absent) files of units of packages that are removed where they mask
      the unit, together with the link that would start it at boot.
    type: list
    elements: str
    default: []
  started:
    description: Whether the units are enabled and started.
    type: bool
    default: false
  ready:
    description: Mapping of a unit to a file that it makes once it works, in the order of
      O(restart_marks).
    type: dict
    default: {}
  wait:
    description: With O(started), whether marked units in O(ready) are restarted, and the task ends
      when all of them work. One that ends before that gets the files of O(previous) back and starts
      with them, and the task fails with the end of its journal. With V(false) a second task can do
      that; RV(waiting) are the units for which it has something to do.
    type: bool
    default: true
  starts_after:
    description: Mapping of a unit to addresses (C(host:port)). The unit is started once one of them
      accepts connections, or after 30 seconds.
    type: dict
    default: {}
  mark_replaced:
    description: Whether units whose JVM runs on a Java that an update has replaced are marked, too.
    type: bool
    default: false
  restart_marks:
    description: Files to write before the content of an entry with C(restart) changes, one for each
      unit, with the changed paths and keys of all runs since they were removed. A mark lies in the
      unit's runtime directory, so that a start of the unit clears it, and is written only where
      that directory exists.
    type: list
    elements: path
    default: []
  previous:
    description: File in which to keep the previous state of every entry with C(restart) and of
      every link, as long as none of O(restart_marks) exists. It can be restored for a service that
      does not start with the new state. Only root can read it.
    type: path
attributes:
  check_mode:
    description: Reports the same change and diff as the real run and changes nothing.
    support: full
  diff_mode:
    description: Shows content, owner, group and mode; never the content of a secret entry.
    support: full
"""

RETURN = r"""
former_plugins:
  description: Directories in O(plugin_directory) that are not the home of one of O(plugins).
  returned: with O(plugin_directory)
  type: list
  elements: str
waiting:
  description: Units of O(ready) that do not work yet, or not with their current files.
  returned: unless it removes something
  type: list
  elements: str
"""

EXAMPLES = r"""
- name: Configure and run a service of one's own
  millrace.streaming.service:
    files:
      /etc/sysusers.d/collector.conf:
        content: "u collector - 'Collector' /nonexistent /usr/sbin/nologin\n"
      /etc/systemd/system/collector.service:
        content: "{{ lookup('ansible.builtin.file', 'collector.service') }}"
        restart: true
    units: [collector]
    started: true
    restart_marks: /run/collector/restart-pending
"""

START_AFTER_SECONDS = 30.0


def hide_secrets(entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries as they may be shown in the result's invocation."""
    return {
        path: {**entry, "content": "(secret)"}
        if isinstance(entry, dict) and entry.get("secret")
        else entry
        for path, entry in entries.items()
    }


class Unpacking(NamedTuple):
    """A distribution or a plugin that is to be unpacked."""

    home: Path
    settings: dict[str, Any]


class Service:
    """What the options want, and how the host differs from it."""

    def __init__(self, module: AnsibleModule) -> None:
        """Compare; fail with every problem."""
        self._module, self._params = module, module.params
        desired = self._params["files"]
        self._params["files"] = hide_secrets(desired)
        self._refuse(files.written_problems(desired))
        self.entries = files.entries_of(desired)
        self._host = files.Host(self.entries)
        self.marks = [Path(mark) for mark in self._params["restart_marks"]]
        self.units = [Unit(name) for name in self._params["units"]]
        self.unpackings = self._unpackings()
        self._refuse(files.problems(self.entries, self._host.read, planned=module.check_mode))
        self.changes = files.plan(self.entries, self._host.read)

    def _refuse(self, problems: Sequence[str]) -> None:
        if problems:
            count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
            lines = "\n- ".join(problems)
            text = f"{count} with the files, nothing was changed:\n- {lines}"
            self._module.fail_json(msg=text)

    def _unpackings(self) -> list[Unpacking]:
        """Return what is not unpacked yet: the distribution, and plugins."""
        desired = [self._params["distribution"], *self._params["plugins"]]
        missing = [
            Unpacking(Path(settings["home"]), settings)
            for settings in desired
            if settings and not distribution.is_unpacked(Path(settings["home"]), settings["sha256"])
        ]
        for unpacking in missing:
            if "size" in unpacking.settings:
                distribution.check_space(unpacking.home, unpacking.settings["size"])
        return missing

    @property
    def needed_archives(self) -> list[str]:
        """The homes of what is not unpacked and was not transferred."""
        return [
            str(unpacking.home)
            for unpacking in self.unpackings
            if "archive" not in unpacking.settings
        ]

    @property
    def former_plugins(self) -> list[Path]:
        """The homes of plugins that are on the host and not wanted."""
        directory = self._params["plugin_directory"]
        homes = [Path(settings["home"]) for settings in self._params["plugins"]]
        return distribution.other_homes(Path(directory), homes) if directory else []

    def remove_plugins(self) -> list[Path]:
        """Remove former plugins that nothing uses; return those, or what they would be."""
        if not self._params["remove_plugins"] or any(mark.exists() for mark in self.marks):
            return []
        unused = distribution.unused(self.former_plugins)
        if not self._module.check_mode:
            distribution.remove(unused)
        return unused

    def make(self) -> None:
        """Bring accounts, distribution and files to what is wanted."""
        accounts = [
            change for change in self.changes if change.entry.path.startswith(files.SYSUSERS)
        ]
        make_accounts(self._module, self.entries, accounts)
        for home, settings in self.unpackings:
            distribution.unpack(Path(settings["archive"]), home, settings["sha256"])
            if "kept" in settings:
                distribution.remove_former(home, settings["kept"])
        former = restart.current_state(self.entries, self._host.read)
        remaining = [change for change in self.changes if change not in accounts]
        restart.make(remaining, self.marks, self._previous, former)
        if any(change.entry.path.startswith("/etc/systemd/") for change in self.changes):
            unit.reload()

    def start(self) -> list[str]:
        """Enable and start the units that are not; return the names of those."""
        changed = []
        for service_unit in self.units:
            state = service_unit.state()
            if state.needs_reload and not self._module.check_mode:
                unit.reload()
            if state.file_state == "enabled" and state.running:
                continue
            changed.append(service_unit.name)
            if not self._module.check_mode:
                service_unit.enable()
                if not state.running:
                    if after := self._params["starts_after"].get(service_unit.name):
                        network.wait_for_any(after, START_AFTER_SECONDS)
                    service_unit.start()
        return changed

    def waiting(self) -> list[Watched]:
        """Return the units that do not work yet, or not with their current files."""
        ready = self._params["ready"]
        watched = [
            Watched(Unit(name), mark, Path(path))
            for (name, path), mark in zip(ready.items(), self.marks)
        ]
        return [
            entry for entry in watched if self._is_marked(entry.mark) or not entry.ready.exists()
        ]

    def bring_up(self) -> list[str]:
        """Restart what is marked, wait until all units work; return those that were restarted."""
        if not (self._params["started"] and self._params["wait"]) or self._module.check_mode:
            return []
        return start.bring_up(self.waiting(), self._previous)

    @property
    def _previous(self) -> Path | None:
        return Path(self._params["previous"]) if self._params["previous"] else None

    def _is_marked(self, mark: Path) -> bool:
        """Return whether a mark exists, or would."""
        needed = any(change.needs_restart for change in self.changes)
        return mark.exists() or (mark.parent.is_dir() and needed)

    def _replaced(self) -> set[str]:
        """Return the units to restart because of their Java."""
        return {*replaced_java.replaced()} if self._params["mark_replaced"] else set()

    def result(self) -> dict[str, Any]:
        """Return what differs, or differed."""
        changes, replaced = self.changes, self._replaced()
        result: dict[str, Any] = {
            "changed": bool(changes or self.unpackings),
            "changed_paths": [change.entry.path for change in changes],
            "changed_keys": {
                change.entry.path: list(change.keys) for change in changes if change.keys
            },
            "restart_needed": any(map(self._is_marked, self.marks)),
            "marked_units": [
                unit.name
                for unit, mark in zip(self.units, self.marks)
                if self._is_marked(mark) or unit.name in replaced
            ],
        }
        if self._module._diff:
            result["diff"] = [
                *({"before": "", "after": f"unpacked {home}\n"} for home, _ in self.unpackings),
                *(difference for change in changes for difference in files.diff(change)),
            ]
        return result


def make_accounts(module: AnsibleModule, entries: list[Entry], changes: Sequence[Change]) -> None:
    """Write the accounts' files, and make the accounts that are missing."""
    files.make(changes)
    account_files = [entry.path for entry in entries if entry.path.startswith(f"{files.SYSUSERS}/")]
    if account_files and files.unknown_accounts(entries):
        done = subprocess.run(
            ["systemd-sysusers", *account_files],  # noqa: S607 - systemd's own place differs between systems
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            module.fail_json(msg=f"systemd-sysusers could not make the accounts: {done.stderr}")
    if missing := files.unknown_accounts(entries):
        lines = "\n- ".join(missing)
        module.fail_json(msg=f"accounts are missing, no other file was written:\n- {lines}")


def run(module: AnsibleModule) -> dict[str, Any]:
    """Compare, make it so, and return the module's result."""
    operation_file.refuse_begun_since(
        Path(module.params["operation_record"]), module.params["judged_operations"]
    )
    service = Service(module)
    result = service.result()
    if service.needed_archives and not module.check_mode:
        return {**result, "needs_archive": service.needed_archives}
    if not module.check_mode:
        service.make()
    removed = service.remove_plugins()
    if module.params["plugin_directory"]:
        result["former_plugins"] = [str(home) for home in service.former_plugins]
    started = service.start() if module.params["started"] else []
    waiting = service.waiting()
    restarted = service.bring_up()
    states = [service_unit.state() for service_unit in service.units]
    return {
        **result,
        "changed": result["changed"] or bool(started or restarted or removed),
        "started_units": started,
        "waiting": [watched.unit.name for watched in waiting],
        "running": all(state.running for state in states),
        "enabled": all(state.file_state == "enabled" for state in states),
    }


def remove(module: AnsibleModule) -> dict[str, Any]:
    """Remove the service from the host; return the module's result."""
    units = removal.units(module.params["units"])
    masks = removal.masks(module.params["masks"])
    paths = removal.existing([*masks, *module.params["removed"]])
    gone = [*map(str, units), *paths]
    if not module.check_mode:
        for unit_file in units:
            removal.remove_unit(unit_file)
        if units:
            unit.reload()
        gone = [*map(str, units), *filter(removal.remove, removal.existing(paths))]
    before = "".join(f"{path}\n" for path in gone)
    diff = {"diff": {"before": before, "after": ""}} if module._diff else {}
    return {"changed": bool(gone), "changed_paths": gone, **diff}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "distribution": {"type": "dict"},
            "plugins": {"type": "list", "elements": "dict", "default": []},
            "plugin_directory": {"type": "path"},
            "remove_plugins": {"type": "bool", "default": False},
            "files": {"type": "dict", "default": {}},
            "units": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "removed": {"type": "list", "elements": "str", "default": []},
            "masks": {"type": "list", "elements": "str", "default": []},
            "started": {"type": "bool", "default": False},
            "ready": {"type": "dict", "default": {}},
            "wait": {"type": "bool", "default": True},
            "starts_after": {"type": "dict", "default": {}},
            "mark_replaced": {"type": "bool", "default": False},
            "restart_marks": {"type": "list", "elements": "path", "default": []},
            "previous": {"type": "path"},
            "judged_operations": {"type": "list", "elements": "str"},
            "operation_record": {"type": "path", "default": operation_file.PATH},
        },
        supports_check_mode=True,
        # The host's journal would otherwise hold every file's content.
        no_log=True,
    )
    try:
        result = remove(module) if module.params["state"] == "absent" else run(module)
    except files.ApplyError as error:
        module.fail_json(msg=str(error), changed=bool(error.done), changed_paths=error.done)
    except start.NotStartedError as error:
        module.fail_json(msg=str(error), changed=True)
    except (
        distribution.DistributionError,
        operation_file.LockedError,
        OSError,
        ValueError,
    ) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
