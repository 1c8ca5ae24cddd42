#!/usr/bin/python
"""Ansible module: the connectors of Kafka Connect are those of the inventory."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.connect_rest import Rest, RestError
from ..module_utils.model.key_table import nearest
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
  - It waits until all tasks of what it has changed run.
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
    description: Whether the offsets of the connectors are shown, or those of C(only) forgotten.
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
"""How long what a worker refuses while the group is rebalancing is asked again."""
_LATER = (409, 503)
_GOOD_SAMPLES = 5  # one each second
"""Tasks still show their former state for a moment after a change."""


class Group:
    """The group of workers, as the module uses it."""

    def __init__(self, rest: Rest) -> None:
        """Take the interface."""
        self.rest = rest

    def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request, again while the group is rebalancing.

        Raises:
            RestError: it is refused, or no worker answers.

        """
        deadline = time.monotonic() + _REBALANCE_SECONDS
        while True:
            try:
                return self.rest.call(method, path, body)
            except RestError as error:
                late = time.monotonic() > deadline
                if error.status not in _LATER or "already exists" in str(error) or late:
                    raise
            time.sleep(POLL_SECONDS)

    def found(self) -> dict[str, Found]:
        """Return the connectors of the group."""
        return connectors.read(self.call("GET", "/connectors?expand=info&expand=status"))

    def offsets(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """Return the offsets of a connector (KIP-875)."""
        return self.call("GET", connectors.path(name, "/offsets"))["offsets"]

    def refusals(self, wanted: Sequence[Wanted]) -> tuple[list[str], list[str]]:
        """Return what the plugins refuse, and what they could not judge."""
        plugins = [one["class"] for one in self.call("GET", "/connector-plugins")]
        refused, unknown = [], []
        for one in wanted:
            given = one.config.get("connector.class", "")
            if connectors.unknown_class(one, plugins):
                near = nearest(given, plugins)
                hint = f"did you mean {near}?" if near else f"there are {', '.join(plugins)}"
                refused.append(f"{one.name}: no worker has the class {given!r}; {hint}")
                continue
            plugin = urllib.parse.quote(given, safe="")
            try:
                answer = self.call(
                    "PUT", f"/connector-plugins/{plugin}/config/validate", dict(one.config)
                )
            except RestError as error:
                if not error.status:
                    raise
                unknown.append(f"{one.name}: {error}")
                continue
            refused += [f"{one.name}: {text}" for text in connectors.errors(answer)]
        return refused, unknown

    def wait(self, names: Sequence[str], states: Mapping[str, str], seconds: float) -> list[str]:
        """Wait until connectors have their states and all their tasks run; return what is wrong."""
        deadline, good, failed = time.monotonic() + seconds, 0, 0
        while True:
            answer = self.call("GET", "/connectors?expand=status")
            found = connect_health.connectors(answer)
            wrong = []
            for name in names:
                if name not in found:
                    wrong.append(f"connector {name} is not there yet")
                    continue
                wrong += connect_health.problems_of(name, found[name])
                if found[name].own.state != states[name].upper():
                    wrong.append(f"connector {name} is {found[name].own.state.lower()}")
            good = 0 if wrong else good + 1
            if good == _GOOD_SAMPLES or time.monotonic() > deadline:
                return wrong
            # What has failed stays so until somebody restarts it.
            failed = failed + 1 if any("has failed" in text for text in wrong) else 0
            if failed == _GOOD_SAMPLES:
                return wrong
            time.sleep(1)

    def reset(self, name: str, seconds: float) -> None:
        """Stop a connector and forget its offsets."""
        self.call("PUT", connectors.path(name, "/stop"))
        deadline = time.monotonic() + seconds
        while True:
            try:
                # Refused until all of its tasks have ended.
                self.call("DELETE", connectors.path(name, "/offsets"))
            except RestError as error:
                if error.status != 400 or time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)
            else:
                return


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
    given = module.params
    try:
        rest = Rest(given["workers"], given["certificate"], given["authority"])
        module.exit_json(**run(module, Group(rest)))
    except OSError as error:
        module.fail_json(msg=f"the certificate of this worker cannot be used: {error}")
    except RestError as error:
        module.fail_json(msg=f"Kafka Connect refuses a request: {error}")
    except (LookupError, TypeError, AttributeError) as error:
        module.fail_json(msg=f"what answers is no worker of Kafka Connect: {error!r}")


def run(module: AnsibleModule, group: Group) -> dict[str, Any]:
    """Validate, compare, act and wait; return the module's result."""
    given, check = module.params, module.check_mode
    every = [
        Wanted(one["name"], {k: str(x) for k, x in one["config"].items()}, one["state"])
        for one in given["connectors"]
    ]
    names = [one.name for one in every]
    only = given["only"]
    if only and only not in names:
        module.fail_json(
            msg=f"connect_connectors has no connector {only}; there are: "
            f"{', '.join(names) or 'none'}. Nothing was changed."
        )
    if given["offsets"] == "reset" and not only:
        module.fail_json(msg="offsets are reset of one connector: name it. Nothing was changed.")
    wanted = [one for one in every if only in ("", one.name)]
    found = group.found()
    refused, unknown = group.refusals(connectors.to_validate(wanted, found))
    if unknown and not (check and given["new_secrets"]):
        # In check mode the secrets to which a configuration refers may not be there yet.
        refused += unknown
    if refused:
        lines = "\n- ".join(refused)
        module.fail_json(msg=f"nothing was changed; these are refused:\n- {lines}")
    steps = connectors.steps(wanted, found, given["restart"])
    result: dict[str, Any] = {
        "changed": bool(steps),
        "actions": [one.what for one in steps],
        "others": sorted({*found} - {*names}),
        "not_validated": unknown,
        "offsets": {},
        "former_users": [
            {"name": one["former_user"], "state": "absent"}
            for one in given["connectors"]
            if one["former_user"] and only in ("", one["name"])
        ],
        "kept_files": sorted({*given["secret_files"], *connectors.files_used(wanted, found)}),
    }
    if module._diff:
        result["diff"] = connectors.diff(wanted, found)
    present = {one.name: one.state for one in wanted if one.state != "absent"}
    if given["offsets"] == "show":
        there = [name for name in present if name in found]
        result["offsets"] = {name: group.offsets(name) for name in there}
    resets = given["offsets"] == "reset" and only in present and only in found
    if resets:
        result["changed"] = True
        result["offsets"] = {only: group.offsets(only)}
        result["actions"] = [f"stop {only}", "forget its offsets", *result["actions"]]
    if check:
        return result
    if resets:
        group.reset(only, given["wait"])
        found = group.found()
        steps = connectors.steps(wanted, found)
        result["actions"] += [one.what for one in steps if one.what not in result["actions"]]
    _act(group, steps)
    touched = [name for name in present if resets or name in {one.name for one in steps}]
    if wrong := group.wait(touched, present, given["wait"]) if touched else []:
        lines = "\n- ".join(wrong)
        done = ", ".join(result["actions"])
        module.fail_json(
            msg=f"what was changed does not run ({done}):\n- {lines}",
            **result,
        )
    return result


def _act(group: Group, steps: Sequence[Step]) -> None:
    call: Callable[..., Any] = group.call
    for one in steps:
        call(one.method, one.path, one.body)


if __name__ == "__main__":
    main()
