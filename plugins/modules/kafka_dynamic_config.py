#!/usr/bin/python
"""Ansible module: tell a running broker the dynamic keys of its server.properties."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.millrace.streaming.plugins.module_utils import change_classes, file_apply
from ansible_collections.millrace.streaming.plugins.module_utils.change_classes import (
    ELR_FEATURE,
    Plan,
    Setting,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import (
    ARGUMENTS,
    Cluster,
    NoClientError,
    NotYetError,
    cluster_of,
)
from ansible_collections.millrace.streaming.plugins.module_utils.properties import parse_properties

DOCUMENTATION = r"""
module: kafka_dynamic_config
short_description: Tell a running broker the dynamic keys of its server.properties
version_added: 0.2.0
description:
  - Compares the file with what the broker has, and sets each key that differs for this broker
    (KIP-226). An entry that says no more than the file with which the broker started is deleted.
  - A key that left the file since the broker started is set to Kafka's default.
  - Keys that are not in the file are left as an operator set them.
  - Pools of threads, which Kafka lets at most double or halve, change by degrees.
  - What Kafka refuses needs a restart, and is written to O(restart_mark). Its dynamic entry is
    deleted, which would rule after the restart too.
options:
  node_id:
    description: Node id of the broker.
    type: int
    required: true
  keys:
    description: Keys to look after; others are never touched.
    type: list
    elements: str
    required: true
  path:
    description: The broker's server.properties, which the restart mark names.
    type: path
    required: true
  content:
    description: Text of O(path), for check mode, where it may not be written yet; never shown.
    type: str
  cluster_wide:
    description:
      - Whether this broker's file sets C(min.insync.replicas) for the whole cluster where Kafka
        takes it in no other way, which is with eligible leader replicas (KIP-966). For one broker.
    type: bool
    default: false
  restart_mark:
    description: As of M(millrace.streaming.files). It gets O(path) and the keys that Kafka refused.
    type: list
    elements: path
    default: []
  record:
    description:
      - File to remember the keys in that were set from O(path), so that the entry of a key that
        left it before a restart is deleted. Without it such an entry counts as the operator's.
    type: path
  wait:
    description: Seconds to wait for the broker to answer.
    type: float
    default: 30
extends_documentation_fragment: [millrace.streaming.kafka_client]
attributes:
  check_mode:
    description: Lets Kafka judge the same changes and makes none.
    support: full
  diff_mode:
    description: Shows each key before and after.
    support: full
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Tell the broker what it takes while it runs
  millrace.streaming.kafka_dynamic_config:
    bootstrap: [kafka1:9092]
    library: /opt/millrace/kafka/python
    node_id: 1
    keys: [log.cleaner.threads, num.io.threads]
    path: /etc/kafka/server.properties
    restart_mark: /run/kafka/restart-pending
    record: /var/lib/millrace/kafka/dynamic.json
"""

RETURN = r"""
set:
  description: Key to its values before and after, of the keys that were set, or would be.
  returned: success
  type: dict
deleted:
  description: Keys whose dynamic entry was deleted, or would be.
  returned: success
  type: list
  elements: str
refused:
  description: Key to the reason why only a restart brings its value.
  returned: success
  type: dict
"""

POLL_SECONDS = 0.1
SHOWN_SECONDS = 10
BROKER = 4  # resource type
SET = 0
DELETE = 1
WRAPPING = re.compile(r"^Invalid value \S+: | for configuration Invalid dynamic configuration$")
REFUSALS = (40, 42, 44)  # INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION

T = TypeVar("T")
Found = Mapping[str, Setting]


class Broker:
    """A running broker, asked for at most so many seconds each time."""

    def __init__(self, cluster: Cluster, node_id: int, wait: float) -> None:
        """Remember whom to ask."""
        self._cluster, self._node_id, self._wait = cluster, node_id, wait

    def look(self, keys: list[str]) -> tuple[Found, bool]:
        """Return the keys as the broker has them, and whether eligible leader replicas are on."""
        return self._ask(functools.partial(look, node_id=self._node_id, keys=keys))

    def alter(self, changes: Mapping[str, str | None], *, name: str, validate_only: bool) -> str:
        """Alter keys of the broker or, with an empty name, of all; return why Kafka refuses."""
        entries = [(key, DELETE if value is None else SET, value) for key, value in changes.items()]
        return self._ask(
            functools.partial(
                alter,
                node_id=self._node_id,
                resource=(BROKER, name, entries),
                validate_only=validate_only,
            )
        )

    def _ask(self, question: Callable[[Any], T]) -> T:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return self._cluster.ask(question)
            except NotYetError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_SECONDS)


def look(admin: Any, node_id: int, keys: list[str]) -> tuple[Found, bool]:  # noqa: ANN401  no types
    """Read the keys of a broker, and whether eligible leader replicas are finalized."""
    from kafka.admin import ConfigResource, ConfigResourceType  # type: ignore[import-untyped]  # no types

    broker = ConfigResource(ConfigResourceType.BROKER, str(node_id), dict.fromkeys(keys))
    answer = admin.describe_configs([broker], include_synonyms=True, config_filter="all")
    finalized = admin.describe_features().get(ELR_FEATURE, {}).get("finalized", (0, 0))
    return change_classes.settings(answer["broker"][str(node_id)]), finalized[1] > 0


def alter(
    admin: Any,  # noqa: ANN401  no types
    node_id: int,
    resource: tuple[int, str, list[tuple[str, int, str | None]]],
    *,
    validate_only: bool,
) -> str:
    """Alter one resource through its broker, which validates it; return why Kafka refuses it.

    The admin client's own method knows no resource of all brokers, and gives no error codes.
    """
    from kafka import errors  # type: ignore[import-untyped]  # no types
    from kafka.protocol.admin import (  # type: ignore[import-untyped]  # no types
        IncrementalAlterConfigsRequest,
    )

    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)

    async def send() -> Any:  # noqa: ANN401  no types
        return await admin._manager.send(request, node_id=node_id)

    (answer,) = admin._manager.run(send).responses
    if answer.error_code in REFUSALS:
        reason = answer.error_message or errors.for_code(answer.error_code).description
        return WRAPPING.sub("", str(reason))
    if answer.error_code:
        raise errors.for_code(answer.error_code)(answer.error_message)
    return ""


def read_record(path: str | None) -> frozenset[str]:
    """Return the keys that were once set from the file, none where that is not known."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        return frozenset(map(str, json.loads(Path(path or "").read_text())["keys"]))
    return frozenset()


def desired(module: AnsibleModule) -> dict[str, str]:
    """Return key -> value of server.properties; its text is hidden from the result."""
    text, path = module.params["content"], module.params["path"]
    if text is not None:
        module.params["content"] = "(hidden)"
    try:
        return parse_properties(Path(path).read_text(encoding="utf-8") if text is None else text)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{path} cannot be read: {error}")


class Run:
    """One run of the module: bring a broker to its file."""

    def __init__(self, module: AnsibleModule, broker: Broker) -> None:
        """Read what the broker should have."""
        self._module, self._broker, self._params = module, broker, module.params
        self._validate_only = module.check_mode
        self._desired = desired(module)
        self._recorded = read_record(self._params["record"])

    def result(self) -> dict[str, Any]:
        """Change what differs, mark what is refused, and return the module's result."""
        plan, found = self._look()
        recorded = self._recorded
        self._record(recorded | set(plan.set))
        refused, stepped = self._bring(plan, found)
        made = plan.without(refused)
        stale = self._delete_stale([key for key in refused if key in plan.set], found)
        made = dataclasses.replace(made, deleted=(*made.deleted, *stale))
        refused = {**plan.refused, **refused}
        self._record((recorded | set(made.set)) - set(made.deleted))
        if refused and not self._validate_only:
            for mark in self._params["restart_mark"]:
                file_apply.write_mark(Path(mark), {self._params["path"]: refused})
        result: dict[str, Any] = {
            "changed": bool(made.keys) or stepped,
            "set": {key: list(one) for key, one in sorted({**made.set, **made.cluster}.items())},
            "deleted": sorted(made.deleted),
            "refused": refused,
        }
        if self._module._diff:
            result["diff"] = change_classes.diff(self._params["node_id"], made, found)
        return result

    def _look(self) -> tuple[Plan, Found]:
        keys = self._params["keys"]
        found, elr = self._broker.look(keys)
        plan = change_classes.plan(
            keys,
            self._desired,
            found,
            recorded=self._recorded,
            elr=elr,
            cluster_wide=self._params["cluster_wide"],
        )
        return plan, found

    def _bring(self, plan: Plan, found: Found) -> tuple[dict[str, str], bool]:
        """Make a plan, by degrees where Kafka wants it; return what it refuses, and if by degrees.

        In check mode the first degree stands for all.
        """
        refused: dict[str, str] = {}
        stepped = False
        while plan.keys:
            reasons = self._alter(plan)
            steps = change_classes.steps(plan, found, reasons)
            failed = self._alter(Plan({key: (None, value) for key, value in steps.items()}))
            taken = steps.keys() - failed.keys()
            refused |= {key: reason for key, reason in reasons.items() if key not in taken}
            if self._validate_only or not taken:
                break
            stepped = True
            plan, found = self._look()
            plan = plan.without(refused)
        return refused, stepped

    def _delete_stale(self, keys: list[str], found: Found) -> list[str]:
        """Delete the entries of refused keys, which would rule after the restart too."""
        if keys and not self._validate_only:
            _, found = self._look()
        stale = Plan(deleted=tuple(key for key in keys if found[key].entry is not None))
        refused = self._alter(stale)
        return [key for key in stale.deleted if key not in refused]

    def _alter(self, plan: Plan) -> dict[str, str]:
        """Alter what a plan says and wait until it rules; return what Kafka refuses of it."""
        refused: dict[str, str] = {}
        of_all = {key: new for key, (_, new) in plan.cluster.items()}
        for name, changes in ((str(self._params["node_id"]), plan.own), ("", of_all)):
            send = functools.partial(
                self._broker.alter, name=name, validate_only=self._validate_only
            )
            refused |= change_classes.alter(changes, send)
        taken = {key: new for key, new in (plan.own | of_all).items() if key not in refused}
        deadline = time.monotonic() + SHOWN_SECONDS
        while taken and not self._validate_only:
            if change_classes.shown(taken, self._look()[1]):
                break
            if time.monotonic() > deadline:
                self._module.fail_json(
                    msg=f"broker {self._params['node_id']} took {', '.join(sorted(taken))} and "
                    f"does not show all of them after {SHOWN_SECONDS} s: see its journal, and run "
                    "again",
                    changed=True,
                )
            time.sleep(POLL_SECONDS)
        return refused

    def _record(self, keys: frozenset[str]) -> None:
        """Remember the keys that were set from the file."""
        if self._params["record"] and not self._validate_only and keys != self._recorded:
            path = Path(self._params["record"])
            content = json.dumps({"keys": sorted(keys)}).encode() + b"\n"
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file_apply.write_file(path, content, str(os.geteuid()), str(os.getegid()), 0o600)
            self._recorded = keys


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "node_id": {"type": "int", "required": True},
            # What it names are Kafka's keys, no secrets.
            "keys": {"type": "list", "elements": "str", "required": True, "no_log": False},
            "path": {"type": "path", "required": True},
            "content": {"type": "str"},
            "cluster_wide": {"type": "bool", "default": False},
            "restart_mark": {"type": "list", "elements": "path", "default": []},
            "record": {"type": "path"},
            "wait": {"type": "float", "default": 30},
        },
        supports_check_mode=True,
        # The host's journal would otherwise hold the file's content.
        no_log=True,
    )
    try:
        cluster = cluster_of(module.params)
    except NoClientError as error:
        module.fail_json(msg=str(error))
    broker = Broker(cluster, module.params["node_id"], module.params["wait"])
    try:
        result = Run(module, broker).result()
    except NotYetError as error:
        module.fail_json(
            msg=f"broker {module.params['node_id']} does not answer after "
            f"{module.params['wait']:g} s ({error}): see its journal. Nothing more was changed; "
            "run again once it serves"
        )
    finally:
        cluster.close()
    module.exit_json(**result)


if __name__ == "__main__":
    main()
