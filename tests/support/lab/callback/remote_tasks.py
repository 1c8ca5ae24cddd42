"""Ansible callback: counts the tasks that went to each host, play by play, for the budget's test.

Appends one line of JSON per playbook run to the file that REMOTE_TASKS_FILE names:
`{"check": bool, "plays": {play: {host: tasks}}}`. An item of a loop counts as a task.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: remote_tasks
type: aggregate
short_description: Counts the tasks that went to each host
description: Counts the tasks that went to each host, play by play.
"""

# What runs on the control node, whatever the host.
LOCAL = {
    "artifacts",
    "client_config",
    "cluster",
    "debug",
    "fail",
    "host_needs",
    "include_role",
    "include_tasks",
    "roll_plan",
    "validate_argument_spec",
}


class CallbackModule(CallbackBase):
    """The counter."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "remote_tasks"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.play = ""
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self.play = play.get_name()

    def count(self, result: Any) -> None:
        task = result.task
        # With `complete` kafka_node only changes the record on the control node.
        local = task.action.split(".")[-1] in LOCAL or task.args.get("complete")
        if not local and not task.delegate_to:
            self.counts[self.play][result.host.get_name()] += 1

    def v2_runner_on_ok(self, result: Any) -> None:
        if not result.task.loop:
            self.count(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        self.count(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        line = {"check": bool(context.CLIARGS.get("check")), "plays": self.counts}
        with Path(os.environ["REMOTE_TASKS_FILE"]).open("a") as file:
            file.write(json.dumps(line) + "\n")
