#!/usr/bin/python
"""Ansible module: whether HDFS is healthy."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ..module_utils.host import rest
from ..module_utils.host.network import listens
from ..module_utils.operations import hdfs_health, health_check, leaving
from ..module_utils.operations.hdfs_health import INFO, SYSTEM, State

DOCUMENTATION = r"""
module: hdfs_health
short_description: Whether HDFS is healthy
extends_documentation_fragment:
  [millrace.streaming.health, millrace.streaming.leaving, millrace.streaming.check_mode]
description:
  - Queries the NameNode on its own host and reports every problem. It must be out of safe mode, every
    DataNode of the inventory and no other must be registered, and every block must have all its
    copies. Directories must not have failed, capacity must be left, and the last checkpoint must
    not be old.
"""

RETURN = r"""
exclude:
  description: The DataNode of the host of the task, as the list of those to be decommissioned has it.
  returned: with C(leaving)
  type: str
"""

REQUEST_SECONDS = 5
POLL_SECONDS = 2
"""While a DataNode gives away its blocks."""


def ask(namenode: str) -> State | str:
    """Return the state that the NameNode at `host:port` reports, or why there is none."""
    opener = rest.opener()
    beans = {}
    try:
        for name in (SYSTEM, INFO):
            url = f"http://{namenode}/jmx?qry={urllib.parse.quote(name)}"
            with opener.open(url, timeout=REQUEST_SECONDS) as response:
                (beans[name],) = json.load(response)["beans"]
        return hdfs_health.state(beans, time.time())
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        return getattr(reason, "strerror", None) or str(reason)
    except (ValueError, LookupError, TypeError):
        return "it has not started yet, or this is no NameNode"


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            "namenode": {"type": "str", "required": True},
            "datanodes": {"type": "list", "elements": "str", "default": []},
            "checkpoint_seconds": {"type": "float", "required": True},
            "replication": {"type": "int", "default": 1},
            "exclude_file": {"type": "path", "default": ""},
            **leaving.OPTIONS,
        }
    )
    datanodes, member = module.params["datanodes"], module.params["own"]
    copies, phase = module.params["replication"], module.params["leaving"]

    def check() -> tuple[dict[str, Any], list[str]]:
        state = ask(module.params["namenode"])
        if isinstance(state, str):
            where = f"the NameNode at {module.params['namenode']} of its host does not answer"
            return {}, [f"{where}: {state}; see journalctl -u hdfs-namenode"]
        if phase:
            facts = {"exclude": member.rpartition(":")[0].strip("[]")}
            if phase == leaving.BEFORE:
                problems = hdfs_health.leave_problems(state, datanodes, member, copies)
                if not Path(module.params["exclude_file"]).is_file():
                    problems.append(
                        "the NameNode has no list of DataNodes that leave: run site.yml"
                    )
                return facts, problems
            return facts, hdfs_health.not_left(state, member)
        listening = [name for name in datanodes if listens(name)]
        longest = module.params["checkpoint_seconds"]
        facts = {
            "cluster_id": state.cluster_id,
            "datanodes": sorted(state.datanodes),
            "free_percent": round(state.free_percent),
            "checkpoint_age": round(state.age),
        }
        return facts, hdfs_health.problems(state, datanodes, listening, longest)

    if phase:
        health_check.run(module, "DataNode cannot leave", check, POLL_SECONDS)
    health_check.run(module, "file system is not healthy", check)


if __name__ == "__main__":
    main()
