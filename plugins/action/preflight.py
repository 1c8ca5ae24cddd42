"""The controller's half of the preflight: say what to look at, judge what was found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.millrace.streaming.plugins.module_utils import (
    preflight,
    preflight_judge,
    preflight_quorum,
    preflight_system,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules import mapping

MODULE = "millrace.streaming.preflight"
ROLES = ("kafka", "zookeeper", "spark", "host")
TEXTS = ("cluster_id", "kafka_user", "java_home", "java_package")
STORES = ("ssl.keystore.location", "ssl.truststore.location")


def clock_offset(before: float, told: float, after: float) -> float:
    """Return by how many seconds the host's clock must at least be off, 0 if it may be right."""
    return min(0.0, told - before) + max(0.0, told - after)


def shared(groups: Mapping[str, list[str]], name: str) -> tuple[str, ...]:
    """Return the roles that other hosts reach on this one; Kafka's clients may be anywhere."""
    users = {
        "kafka": ["all"],
        "zookeeper": ["zookeeper"],
        "spark": ["spark_masters", "spark_workers", "spark_history"],
    }
    return tuple(
        role
        for role, names in users.items()
        if {host for group in names for host in groups.get(group, [])} - {name}
    )


def pem_stores(config: dict[str, Any]) -> dict[str, bool]:
    """Return path -> whether it is a key store, of the PEM files that Kafka's configuration names.

    A listener's own store has its name as prefix (`listener.name.client.ssl...`).
    """
    return {
        str(value): "keystore" in key
        for key, value in config.items()
        if key.endswith(STORES)
        and str(config.get(f"{key.rpartition('.')[0]}.type", "")).upper() == "PEM"
    }


class ActionModule(ActionBase):
    """Ask the host once; fail with all that is wrong there."""

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Judge this host."""
        super().run(tmp, task_vars)
        _, args = ActionBase.validate_argument_spec(
            self,
            {
                **{role: {"type": "dict", "default": {}} for role in ROLES},
                **{name: {"type": "str", "default": ""} for name in TEXTS},
                "kafka_java_options": {"type": "list", "elements": "str", "default": []},
                "java_versions": {"type": "dict", "default": {}},
                "allow_version_change": {
                    "type": "str",
                    "choices": ["none", "up", "down", "any"],
                    "default": "none",
                },
            },
        )
        variables = task_vars or {}
        wish = preflight.Wish(
            **{role: args[role] for role in ROLES},
            cluster_id=args["cluster_id"],
            java_home=args["java_home"],
            java_package=args["java_package"],
            java_options=tuple(args["kafka_java_options"]),
            java_versions=args["java_versions"],
            shared=shared(variables.get("groups", {}), variables.get("inventory_hostname", "")),
            allow_version_change=args["allow_version_change"],
        )
        stores = pem_stores(dict(mapping(wish.kafka.get("config"))))
        before = time.time()
        answer: dict[str, Any] = self._execute_module(
            module_name=MODULE,
            module_args={
                "directories": [path for _, path in wish.data_dirs()],
                "homes": list(wish.homes().values()),
                "links": [f"/opt/millrace/{role}" for role in wish.roles],
                "mounts": [str(mount.get("path")) for mount in wish.mounts()],
                "sources": [str(mount["src"]) for mount in wish.mounts() if mount.get("src")],
                "stores": list(stores),
                "keystores": [path for path, is_keystore in stores.items() if is_keystore],
                "names": [name for _, name in wish.names().values()],
                "ports": list(wish.ports()),
                "java_home": wish.java_home,
                "java_versions": wish.java_versions,
                "kafka_user": args["kafka_user"] or "kafka",
            },
            task_vars=task_vars,
        )
        if answer.get("failed") or "found" not in answer:
            return answer
        offset = clock_offset(before, answer["time"], time.time())
        host = preflight.Host(wish, preflight.snapshot(answer["found"], offset))
        problems = preflight_judge.judge(host)
        result = {
            "changed": False,
            "problems": [problem.as_dict() for problem in problems],
            "java": preflight_system.java_major(host),
            "time_service": host.found.clock.service,
            "voted": preflight_quorum.has_voted(host),
        }
        if any(problem.severity == "error" for problem in problems):
            result |= {"failed": True, "msg": preflight_judge.report(problems)}
        return result
