#!/usr/bin/python
"""Ansible module: apply the dynamic keys of its server.properties to a running broker."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.properties import parse_properties
from ..module_utils.host import dynamic_record, operation_file, restart
from ..module_utils.host.retry import retried
from ..module_utils.kafka import configs, features
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.kafka.configs import Setting
from ..module_utils.operations import dynamic_config, options
from ..module_utils.operations.dynamic_config import Plan

DOCUMENTATION = r"""
module: kafka_dynamic_config
short_description: Apply the dynamic keys of its server.properties to a running broker
description:
  - Compares the file with what the broker has, and sets each key that differs for this broker
    (KIP-226). An entry that equals the file with which the broker started is deleted.
  - A key that left the file since the broker started is set to Kafka's default.
  - Keys that are not in the file are left as an operator set them. The entry of a key that was set
    from the file, but is no longer one of the cluster's dynamic keys, is deleted.
  - Thread pools, which Kafka lets at most double or halve, are resized in steps.
  - A key that Kafka refuses needs a restart, and the node is marked for one. Its dynamic entry is
    deleted, since it would override the file even after the restart.
options:
  running:
    description: Whether the broker ran before its file was written; one that did not is not asked.
    type: bool
    default: true
  cluster_wide:
    description:
      - Whether this broker's file sets C(min.insync.replicas) for the whole cluster where Kafka
        takes it in no other way, which is with eligible leader replicas (KIP-966). For one broker
        of a run, whichever it is.
    type: bool
    default: false
  wait:
    description: Seconds to wait for the broker to answer.
    type: float
    default: 30
  events:
    description: File on the control node that gets the change with its times, for the ledger.
    type: str
attributes:
  check_mode:
    description: Lets Kafka validate the same changes and makes none.
    support: full
  diff_mode:
    description: Shows each key before and after.
    support: full
"""

POLL_SECONDS = 0.1
SHOWN_SECONDS = 10

T = TypeVar("T")
Found = Mapping[str, Setting]


class Broker:
    """A running broker; each request to it takes at most `wait` seconds."""

    def __init__(self, cluster: Cluster, node_id: int, wait: float) -> None:
        """Keep the broker, and how long each question may take."""
        self._cluster, self._node_id, self._wait = cluster, node_id, wait

    def read(self, keys: list[str]) -> Found:
        """Return the keys as the broker has them."""
        return self._ask(lambda admin: configs.read(admin, self._node_id, keys))

    def has_elr(self) -> bool:
        """Return whether eligible leader replicas are finalized."""
        return bool(self._ask(features.finalized).get(features.ELR))

    def alter(
        self, changes: Mapping[str, str | None], *, cluster_wide: bool, validate_only: bool
    ) -> str:
        """Alter keys of the broker or of all; return why Kafka refuses."""
        how = {"cluster_wide": cluster_wide, "validate_only": validate_only}
        return self._ask(lambda admin: configs.alter(admin, self._node_id, changes, **how))

    def _ask(self, question: Callable[[Any], T]) -> T:
        work = functools.partial(self._cluster.ask, question)
        return retried(work, UnavailableError, self._wait, POLL_SECONDS)


def desired(module: AnsibleModule) -> dict[str, str]:
    """Return key -> value of server.properties, or of `content` where it is not written yet."""
    path = module.params["path"]
    try:
        text = module.params["content"] or Path(path).read_text(encoding="utf-8")
        return parse_properties(text)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{path} cannot be read: {error}")


class Run:
    """One run of the module: apply the file to its broker."""

    def __init__(self, module: AnsibleModule, broker: Broker) -> None:
        """Read what the broker should have."""
        self._module, self._broker, self._params = module, broker, module.params
        self._validate_only = module.check_mode
        self._desired = desired(module)
        self._recorded = dynamic_record.read(Path(self._params["record"]))
        self._keys = sorted({*self._params["keys"], *self._recorded})
        self._elr = broker.has_elr()

    def result(self) -> dict[str, Any]:
        """Change what differs, mark what is refused, and return the module's result."""
        plan, current = self._plan()
        recorded = self._recorded
        self._record(recorded | set(plan.set))
        refused, stepped = self._bring(plan, current)
        made = plan.without(refused)
        stale = self._stale([key for key in refused if key in plan.set], current)
        failed = self._alter(Plan(deleted=stale))
        made = dataclasses.replace(
            made, deleted=(*made.deleted, *(key for key in stale if key not in failed))
        )
        refused = {**plan.refused, **refused}
        self._record((recorded | set(made.set) | failed.keys()) - set(made.deleted))
        if refused and not self._validate_only:
            restart.add_to_mark(Path(self._params["restart_mark"]), {self._params["path"]: refused})
        if not self._validate_only:
            restart.forget_superseded(
                Path(self._params["previous"]), Path(self._params["restart_mark"])
            )
        result: dict[str, Any] = {
            "changed": bool(made.keys) or stepped,
            "set": {
                key: list(values) for key, values in sorted({**made.set, **made.cluster}.items())
            },
            "deleted": sorted(made.deleted),
            "refused": refused,
        }
        if self._module._diff:
            result["diff"] = dynamic_config.diff(self._params["node_id"], made, current)
        return result

    def _plan(self) -> tuple[Plan, Found]:
        current = self._broker.read(self._keys)
        plan = dynamic_config.plan(
            self._params["keys"],
            self._desired,
            current,
            recorded=self._recorded,
            elr=self._elr,
            cluster_wide=self._params["cluster_wide"],
        )
        return plan, current

    def _bring(self, plan: Plan, current: Found) -> tuple[dict[str, str], bool]:
        """Apply a plan; return what Kafka refuses, and whether it took several steps.

        In check mode only the first step is tried.
        """
        refused: dict[str, str] = {}
        stepped = False
        while plan.keys:
            reasons = self._alter(plan)
            steps = dynamic_config.steps(plan, current, reasons)
            failed = self._alter(Plan({key: (None, value) for key, value in steps.items()}))
            taken = steps.keys() - failed.keys()
            refused.update({key: why for key, why in reasons.items() if key not in taken})
            if self._validate_only or not taken:
                break
            stepped = True
            plan, current = self._plan()
            plan = plan.without(refused)
        return refused, stepped

    def _stale(self, keys: list[str], current: Found) -> tuple[str, ...]:
        """Return the refused keys with an entry: it would override the file after the restart."""
        if keys and not self._validate_only:  # a step towards the value may have made one
            _, current = self._plan()
        return tuple(key for key in keys if current[key].entry is not None)

    def _alter(self, plan: Plan) -> dict[str, str]:
        """Alter the keys of a plan and wait until they are in force; return what Kafka refuses."""
        refused: dict[str, str] = {}
        of_all: dict[str, str | None] = {key: new for key, (_, new) in plan.cluster.items()}
        for cluster_wide, changes in ((False, plan.own), (True, of_all)):
            send = functools.partial(
                self._broker.alter, cluster_wide=cluster_wide, validate_only=self._validate_only
            )
            refused.update(dynamic_config.alter(changes, send))
        taken = {key: new for key, new in {**plan.own, **of_all}.items() if key not in refused}
        deadline = time.monotonic() + SHOWN_SECONDS
        while taken and not self._validate_only:
            if dynamic_config.shown(taken, self._broker.read(self._keys)):
                break
            if time.monotonic() > deadline:
                self._module.fail_json(
                    msg=f"broker {self._params['node_id']} accepted {', '.join(sorted(taken))} "
                    f"but does not show all of them after {SHOWN_SECONDS} s: see its journal, and "
                    "run again",
                    changed=True,
                )
            time.sleep(POLL_SECONDS)
        return refused

    def _record(self, keys: frozenset[str]) -> None:
        """Remember the keys that were set from the file."""
        if not self._validate_only and keys != self._recorded:
            dynamic_record.write(Path(self._params["record"]), keys)
            self._recorded = keys


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Apply the file to the broker, and return the module's result."""
    node_id, wait = module.params["node_id"], module.params["wait"]
    try:
        operation_file.refuse_begun_since(
            Path(module.params["operation_record"]), module.params["judged_operations"]
        )
        return Run(module, Broker(cluster, node_id, wait)).result()
    except operation_file.LockedError as error:
        raise options.FailedError(str(error)) from error
    except UnavailableError as error:
        text = (
            f"broker {node_id} does not answer after {wait:g} s ({error}): see its journal. "
            "Nothing more was changed; run again once it serves"
        )
        raise options.FailedError(text) from error


def main() -> None:
    """Run the module."""
    spec = {
        "node_id": {"type": "int", "required": True},
        # What it names are Kafka's keys, no secrets.
        "keys": {"type": "list", "elements": "str", "required": True, "no_log": False},
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "cluster_wide": {"type": "bool", "default": False},
        "restart_mark": {"type": "path", "default": "/run/kafka/restart-pending"},
        "record": {"type": "path", "default": dynamic_record.PATH},
        "previous": options.NODE["previous"],
        "judged_operations": {"type": "list", "elements": "str"},
        "operation_record": options.NODE["record"],
        "wait": {"type": "float", "default": 30},
    }
    # The host's journal would otherwise hold the file's content.
    options.run(work, spec, no_log=True)


if __name__ == "__main__":
    main()
