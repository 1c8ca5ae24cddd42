#!/usr/bin/python
"""Ansible module: the connectors of Kafka Connect are those of the inventory."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.key_table import nearest
from ..module_utils.host.connect_rest import STARTING, Rest
from ..module_utils.host.rest import RestError
from ..module_utils.host.retry import retried
from ..module_utils.operations import connect_health, connectors
from ..module_utils.operations.connectors import Found, Step, Wanted

DOCUMENTATION = r"""
module: connect_connectors
short_description: Makes the connectors of Kafka Connect those of the inventory
description:
  - Compares C(connect_connectors) with what runs in the group. What differs is validated by the
    plugins first, all of it, and nothing is changed if one refuses. Then connectors are created,
    changed, paused, stopped, resumed and, with the state absent, removed. Those that the
    inventory does not have are left alone.
  - It waits until all tasks of what it has changed have the state that is wanted.
options:
  only:
    description: Name of one connector; all by default.
    type: str
    default: ''
  new_secrets:
    description: Whether in check mode files of secrets differ, so that a configuration that refers
      to them cannot be validated yet.
    type: bool
    default: false
  restart:
    description: Whether connectors and tasks that failed are restarted, or all.
    type: str
    choices: [none, failed, all]
    default: none
  offsets:
    description: Whether the offsets of the connectors are shown, or those of C(only) reset.
    type: str
    choices: [none, show, reset]
    default: none
  wait:
    description: Seconds to wait until what was changed runs.
    type: float
    default: 120
attributes:
  check_mode:
    description: Validates, and says what would be done.
    support: full
"""

RETURN = r"""
actions:
  description: What was done, or would be, a line for each request.
  returned: always
  type: list
  elements: str
others:
  description: Connectors of the group that the inventory does not have.
  returned: always
  type: list
  elements: str
left:
  description: What connectors that are removed leave in their databases, with the statement that
    removes it.
  returned: always
  type: list
  elements: str
offsets:
  description: Connector to its offsets, if they were asked for.
  returned: always
  type: dict
former_users:
  description: Users of connectors that are removed, as the module kafka_users takes them.
  returned: always
  type: list
  elements: dict
kept_files:
  description: Files of secrets that are in the inventory, or to which a connector of the group
    refers.
  returned: always
  type: list
  elements: str
not_validated:
  description: In check mode, what could not be validated yet.
  returned: always
  type: list
  elements: str
"""

POLL_SECONDS = 0.5
_REBALANCE_SECONDS = 90
"""How long a request that is refused while the group is rebalancing is repeated."""
_LATER = (409, STARTING)
_STATUS_SECONDS = 30
"""How long a connector that was created just now may have no status."""
_GOOD_SAMPLES = 5  # one each second
"""Tasks still show their former state for a moment after a change."""
_IDLE_SAMPLES = 15
"""One without tasks may be about to get some, or may have nothing to do."""


class Group:
    """The group of workers, as the module uses it."""

    def __init__(self, rest: Rest) -> None:
        """Take the interface."""
        self.rest = rest
        self._failed: set[str] = set()

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request, again while the group is rebalancing.

        Raises:
            RestError: it is refused, or no worker answers.

        """
        return retried(
            lambda: self.rest.call(method, path, body),
            RestError,
            _REBALANCE_SECONDS,
            POLL_SECONDS,
            lambda error: error.status in _LATER and "already exists" not in str(error),
        )

    def found(self) -> dict[str, Found]:
        """Return the connectors of the group, also those without a status."""
        deadline = time.monotonic() + _STATUS_SECONDS
        while True:
            response = self.call("GET", "/connectors?expand=info&expand=status")
            without_status = sorted({*self.call("GET", "/connectors")} - {*response})
            if not without_status or time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        states = connect_health.connectors(response).items()
        self._failed = {
            text for name, connector in states for text in connect_health.failures(name, connector)
        }
        return connectors.read(response) | {
            name: connectors.without_status(self.call("GET", connectors.path(name)))
            for name in without_status
        }

    def offsets(self, name: str) -> Any:
        """Return the offsets of a connector (KIP-875)."""
        return self.call("GET", connectors.path(name, "/offsets"))["offsets"]

    def refusals(self, desired: Sequence[Wanted]) -> tuple[list[str], list[str]]:
        """Return what the plugins refuse, and what they could not judge."""
        plugins = [plugin["class"] for plugin in self.call("GET", "/connector-plugins")]
        refused, unknown = [], []
        for connector in desired:
            class_name = connector.config.get("connector.class", "")
            if connectors.unknown_class(connector, plugins):
                near = nearest(class_name, plugins)
                hint = f"did you mean {near}?" if near else f"there are {', '.join(plugins)}"
                refused.append(f"{connector.name}: no worker has the class {class_name!r}; {hint}")
                continue
            plugin = urllib.parse.quote(class_name, safe="")
            try:
                response = self.call(
                    "PUT", f"/connector-plugins/{plugin}/config/validate", dict(connector.config)
                )
            except RestError as error:
                if error.status in (0, STARTING):
                    raise
                unknown.append(f"{connector.name}: {error}")
                continue
            refused += [f"{connector.name}: {text}" for text in connectors.errors(response)]
        return refused, unknown

    def wait(self, names: Sequence[str], states: Mapping[str, str], seconds: float) -> list[str]:
        """Wait until connectors and all their tasks have their states; return what is wrong."""
        deadline, good, failed = time.monotonic() + seconds, 0, 0
        while True:
            response = self.call("GET", "/connectors?expand=status")
            current = connect_health.connectors(response)
            present = {name: current[name] for name in names if name in current}
            wrong = [connect_health.no_status(name) for name in names if name not in present]
            for name, connector in present.items():
                wrong += connect_health.differences(name, connector, states[name].upper())
            good = 0 if wrong else good + 1
            enough = _IDLE_SAMPLES if connect_health.without_tasks(present) else _GOOD_SAMPLES
            if good >= enough or time.monotonic() > deadline:
                return wrong
            failed = failed + 1 if self._new_failures(present) else 0
            if failed == _GOOD_SAMPLES:
                return wrong
            time.sleep(1)

    def _new_failures(self, present: Mapping[str, connect_health.Connector]) -> set[str]:
        """Return what has failed since the change: it stays so until somebody restarts it.

        What had failed before shows that for a moment after the change, too.
        """
        now = {
            text
            for name, connector in present.items()
            for text in connect_health.failures(name, connector)
        }
        self._failed &= now
        return now - self._failed

    def send(self, step: Step, seconds: float) -> None:
        """Send what a step says; offsets are reset only once all tasks have ended.

        Raises:
            RestError: it is refused, or no worker answers.

        """
        retried(
            lambda: self.call(step.method, step.path, step.body),
            RestError,
            seconds,
            POLL_SECONDS,
            lambda error: step.is_early(error.status, str(error)),
        )


def main() -> None:
    """Run the module."""
    connector = {
        "name": {"type": "str", "required": True},
        "config": {"type": "dict", "default": {}},
        "state": {"type": "str", "default": "running"},
        "former_user": {"type": "str", "default": ""},
    }
    choices = {"type": "str", "default": "none"}
    module = AnsibleModule(
        argument_spec={
            "workers": {"type": "list", "elements": "str", "required": True},
            "certificate": {"type": "path", "default": ""},
            "authority": {"type": "path", "default": ""},
            "connectors": {"type": "list", "elements": "dict", "options": connector, "default": []},
            "secret_files": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "only": {"type": "str", "default": ""},
            "new_secrets": {"type": "bool", "default": False, "no_log": False},
            "restart": {**choices, "choices": ["none", "failed", "all"]},
            "offsets": {**choices, "choices": ["none", "show", "reset"]},
            "wait": {"type": "float", "default": 120},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        rest = Rest(params["workers"], params["certificate"], params["authority"])
        module.exit_json(**run(module, Group(rest)))
    except OSError as error:
        module.fail_json(msg=f"the certificate of this worker cannot be used: {error}")
    except RestError as error:
        module.fail_json(msg=f"Kafka Connect refuses a request: {error}")
    except (LookupError, TypeError, AttributeError) as error:
        module.fail_json(msg=f"what answers is no worker of Kafka Connect: {error!r}")


def run(module: AnsibleModule, group: Group) -> dict[str, Any]:
    """Validate, compare, act and wait; return the module's result."""
    params, check = module.params, module.check_mode
    declared = [
        Wanted(
            entry["name"],
            {key: str(value) for key, value in entry["config"].items()},
            entry["state"],
        )
        for entry in params["connectors"]
    ]
    names = [connector.name for connector in declared]
    only = params["only"]
    desired = [connector for connector in declared if only in ("", connector.name)]
    current = group.found()
    refused, unknown = group.refusals(connectors.to_validate(desired, current))
    if unknown and not (check and params["new_secrets"]):
        # In check mode the secrets to which a configuration refers may not be there yet.
        refused += unknown
    if refused:
        lines = "\n- ".join(refused)
        module.fail_json(msg=f"no connector was changed; these are refused:\n- {lines}")
    resets = params["offsets"] == "reset"
    if resets and only not in current:
        module.fail_json(
            msg=f"the group has no connector {only}: there is nothing to reset. No connector was "
            "changed."
        )
    first, after = connectors.reset(only, current) if resets else ([], current)
    steps = [*first, *connectors.steps(desired, after, params["restart"])]
    result: dict[str, Any] = {
        "changed": bool(steps),
        "actions": [step.what for step in steps],
        "others": sorted({*current} - {*names}),
        "not_validated": unknown,
        "left": connectors.left_behind(desired, current),
        "offsets": {},
        "former_users": [
            {"name": entry["former_user"], "state": "absent"}
            for entry in params["connectors"]
            if entry["former_user"] and only in ("", entry["name"])
        ],
        "kept_files": sorted({*params["secret_files"], *connectors.files_used(desired, current)}),
    }
    if module._diff:
        result["diff"] = connectors.diff(desired, current)
    present = {
        connector.name: connector.state for connector in desired if connector.state != "absent"
    }
    if params["offsets"] != "none":
        existing = [name for name in present if name in current]
        result["offsets"] = {name: group.offsets(name) for name in existing}
    if check:
        return result
    sent = {step.name for step in steps}
    # One without a worker may have been created by a run that was interrupted.
    pending = {
        name for name, connector in current.items() if connector.state == connect_health.UNASSIGNED
    }
    touched = [name for name in present if name in sent | pending]
    _act(module, group, steps, result)
    try:
        wrong = group.wait(touched, present, params["wait"]) if touched else []
    except RestError as error:
        wrong = [str(error)]
    if wrong:
        lines = "\n- ".join(wrong)
        done = ", ".join(result["actions"]) or "nothing was changed"
        module.fail_json(msg=f"connectors are not as wanted ({done}):\n- {lines}", **result)
    return result


def _act(
    module: AnsibleModule, group: Group, steps: Sequence[Step], result: Mapping[str, Any]
) -> None:
    """Send all steps; one that is refused fails the module, with what was done before it."""
    done: list[str] = []
    for step in steps:
        try:
            group.send(step, module.params["wait"])
        except RestError as error:
            before = f"Done before that: {', '.join(done)}. " if done else ""
            stopped = (
                f", and until then {step.name} is stopped" if f"stop {step.name}" in done else ""
            )
            module.fail_json(
                msg=f"{step.what}: {error}. {before}Once the cause is fixed, run connectors.yml "
                f"again: it does the rest{stopped}.",
                **{**result, "changed": bool(done), "actions": done},
            )
        done.append(step.what)


if __name__ == "__main__":
    main()
