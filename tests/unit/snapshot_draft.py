"""Snapshots of clusters as the page gets them, with everything that it shows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import LogDir
from ansible_collections.millrace.streaming.plugins.module_utils.operations import hot_spots

RACKS = {1: "a", 2: "b", 3: "c"}


def cluster(topics: int = 6, partitions: int = 8, *, lost: int | None = None) -> dict[str, Any]:
    """Return a snapshot; broker `lost` is down: its replicas are missing."""
    ids = [*RACKS]

    def partition(index: int) -> list[Any]:
        ring = [ids[(index + step) % 3] for step in range(3)]
        isr = [broker for broker in ring if broker != lost]
        return [isr[0], ring, isr]

    hosts: list[dict[str, Any]] = [
        {
            "name": f"k{number}",
            "address": f"10.0.0.{number}",
            "rack": rack,
            "groups": ["kafka_controllers", "kafka_brokers"],
            "products": [{"title": "Apache Kafka", "version": "4.3.1"}],
            "units": [{"name": "kafka", "active": "active"}],
            "disks": [{"path": "/var/lib/kafka/data", "total": 10**11, "free": 4 * 10**10}],
            "pending": [],
            "error": "",
        }
        for number, rack in RACKS.items()
    ]
    if lost:
        hosts[lost - 1] |= {"error": "no route to host", "units": [], "disks": []}
    kafka: dict[str, Any] = {
        "cluster_id": "cXvO0ScRTz6XwZrbyFXLuA",
        "controller": 2,
        "expected": ids,
        "brokers": [
            {
                "id": broker,
                "host": f"k{broker}",
                "port": 9092,
                "rack": RACKS[broker],
                "fenced": broker == lost,
            }
            for broker in ids
        ],
        "topics": [
            [f"topic-{number:04}", [partition(number + offset) for offset in range(partitions)], 2]
            for number in range(topics)
        ],
        "quorum": {
            "leader": 2,
            "epoch": 7,
            "voters": [
                {"id": broker, "lag": 0 if broker != lost else 912, "behind_ms": 12 * broker}
                for broker in ids
            ],
            "observers": [],
        },
        "quorum_error": "",
        "features": {"metadata.version": 29, "kraft.version": 1},
        "groups": [
            {
                "id": "dashboards",
                "type": "share",
                "state": "Stable",
                "members": 2,
                "lags": {"topic-0001": [3, 0]},
            },
            {
                "id": "archive",
                "type": "classic",
                "state": "Empty",
                "members": 0,
                "lags": {"topic-0002": [0, None]},
            },
        ],
        "groups_errors": [],
        "problems": [f"broker {lost} is fenced"] if lost else [],
    }
    return {
        "version": 1,
        "name": "production",
        "made": time.time(),
        "hosts": hosts,
        "kafka": kafka,
        "connect": {
            "workers": ["k1:8083"],
            "states": {
                "orders": {"connector": "RUNNING", "tasks": {"0": "RUNNING"}},
                "stock": {"connector": "RUNNING", "tasks": {"0": "FAILED"}},
            },
            "problems": ["task 0 of connector stock has failed at k1:8083: no such table"],
        },
        "sizes": sizes(kafka["topics"], [broker for broker in ids if broker != lost]),
        "registry": {"instances": ["k1:8081"], "subjects": ["flights-value"], "problems": []},
        "spark": {
            "active": "k1:8080",
            "standby": [],
            "workers": ["k2"],
            "nodes": [
                {"host": "k2", "state": "ALIVE", "cores": 4, "cores_used": 2}
                | {"memory": 4096, "memory_used": 1024}
            ],
            "applications": [
                {"id": "app-1", "name": "flights", "state": "RUNNING", "cores": 2}
                | {"started": 1764200000000}
            ],
            "problems": [],
        },
        "jobs": {
            "jobs": {
                "flights": {"state": "active", "restarts": 0, "late": False, "checkpoint_age": 4},
                "report": {"state": "failed", "restarts": 2, "late": False, "checkpoint_age": None},
            },
            "problems": ["the last run of job report failed (exit-code)"],
        },
        "hdfs": {"error": "the NameNode does not answer"},
        "operations": [
            {
                "id": "1",
                "state": "stopped",
                "what": "restart",
                "who": "anna on control",
                "started": "2026-11-27T01:00:00Z",
                "command": "ansible-playbook roll.yml",
                "plan": ["k1", "k2", "k3"],
                "done": ["k1"],
                "left": ["k2", "k3"],
                "age": 300,
                "reason": "k2 was not ready in time",
                "hosts": ["k1", "k2", "k3"],
            }
        ],
        "certificates": [
            {"host": "k1", "place": "/etc/kafka/node.pem", "days": 300.5, "wrong": ""},
            {"host": "k2", "place": "/etc/kafka/node.pem", "days": 12.0, "wrong": ""},
        ],
    }


def sizes(topics: Sequence[Any], brokers: Sequence[int]) -> dict[str, Any]:
    """Return where the bytes of topics are; partition 0 of each is written to, and grows."""

    def sample(at: float) -> hot_spots.Sample:
        return hot_spots.Sample(
            at,
            {
                broker: [
                    LogDir(
                        "/var/lib/kafka/data",
                        total=10**11,
                        usable=10**10 * broker,
                        sizes={
                            (name, index): 10**8 * (index + 1) + int(at) * 10**6 * (index == 0)
                            for name, partitions, _ in topics
                            for index, (_, replicas, _) in enumerate(partitions)
                            if broker in replicas
                        },
                    )
                ]
                for broker in brokers
            },
            [f"broker {broker} does not show its disks" for broker in RACKS.keys() - {*brokers}],
        )

    return hot_spots.summary(sample(5.0), sample(0.0))
