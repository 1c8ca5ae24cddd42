"""What Prometheus has of the cluster: for this the console needs no login to hosts or services."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .prometheus import Prometheus, Series

Found = dict[str, Any]
OPERATIONS_DAYS = 7
MOST_OPERATIONS = 20
_APPLICATION = re.compile(r"metrics_application_(.+)_(\d+)_cores_Value")
_STREAMS = {
    "spark_stream_input_rows_per_second": "input",
    "spark_stream_processed_rows_per_second": "processed",
    "spark_stream_batch_seconds": "batch",
    "spark_stream_state_rows": "state",
}
_WORKERS = {
    "metrics_worker_coresUsed_Value": "used",
    "metrics_worker_coresFree_Value": "free",
    "metrics_worker_memUsed_MB_Value": "memory_used",
    "metrics_worker_memFree_MB_Value": "memory_free",
}


class Observed:
    """What is read of a Prometheus; each method is the part of the snapshot that has its name.

    All raise RestError if Prometheus does not answer.
    """

    def __init__(self, server: Prometheus) -> None:
        """Keep what is asked."""
        self._server = server

    def alerts(self) -> Found:
        """Return the alerts that fire or are about to."""
        return {
            "alerts": [
                {
                    "name": str(alert["labels"].get("alertname", "")),
                    "severity": str(alert["labels"].get("severity", "")),
                    "state": str(alert["state"]),
                    "since": str(alert["activeAt"]),
                    "summary": str(alert["annotations"].get("summary", "")),
                    "where": str(
                        alert["labels"].get("host") or alert["labels"].get("instance") or ""
                    ),
                }
                for alert in self._server.data("alerts")["alerts"]
            ]
        }

    def hosts(self) -> Mapping[str, Found]:
        """Return what is known of hosts, by their names."""
        silent = "its node exporter does not answer Prometheus"
        hosts: dict[str, Found] = {
            name: {"answers": up, "error": "" if up else silent}
            for name, up in self._up("node").items()
        }
        for sample in self._server.now("millrace_restart_pending == 1"):
            host = hosts.setdefault(sample.labels["host"], {})
            host.setdefault("pending", []).append(sample.labels["unit"])
        return hosts

    def connect(self) -> Found:
        """Return the workers, and the states of connectors and tasks."""
        workers = self._up("connect")
        states: dict[str, Found] = defaultdict(lambda: {"connector": "UNKNOWN", "tasks": {}})
        problems = [
            f"the worker on {name} does not answer" for name, up in workers.items() if not up
        ]
        query = '{__name__=~"kafka_connect_(connector|task)_state"} == 1'
        for sample in self._server.now(query):
            state, task = sample.labels["state"].upper(), sample.labels.get("task")
            connector = states[sample.labels["connector"]]
            if task is None:
                connector["connector"] = state
            else:
                connector["tasks"][task] = state
            if state == "FAILED":
                subject = "connector" if task is None else f"task {task} of connector"
                problems.append(
                    f"{subject} {sample.labels['connector']} has failed on {sample.labels['host']}"
                )
        ready = [name for name, up in workers.items() if up]
        return {"workers": ready, "states": dict(sorted(states.items())), "problems": problems}

    def spark(self) -> Found:
        """Return the masters, workers, applications and streaming queries."""
        masters, workers = self._up("spark_master"), self._up("spark_worker")
        alive = {
            sample.labels["host"]: sample.value
            for sample in self._server.now("metrics_master_aliveWorkers_Value")
        }
        # A master that stands by has no worker.
        active = max((name for name in alive if alive[name]), key=alive.__getitem__, default="")
        return {
            "active": active,
            "standby": [name for name, up in masters.items() if up and name != active],
            "workers": [name for name, up in workers.items() if up],
            "nodes": self._spark_workers(workers),
            "applications": self._applications(),
            "streams": self._streams(),
            "problems": [
                *([] if active else ["no master has a worker"]),
                *(
                    f"the {role} on {name} does not answer"
                    for role, hosts in (("master", masters), ("worker", workers))
                    for name, up in hosts.items()
                    if not up
                ),
            ],
        }

    def _spark_workers(self, workers: Mapping[str, bool]) -> list[Found]:
        usage: dict[str, dict[str, float]] = defaultdict(dict)
        for sample in self._server.now(_any_of(_WORKERS)):
            usage[sample.labels["host"]][_WORKERS[sample.labels["__name__"]]] = sample.value
        return [
            {
                "host": name,
                "state": "ALIVE" if up else "no answer",
                "cores": of.get("used", 0) + of.get("free", 0),
                "cores_used": of.get("used", 0),
                "memory": of.get("memory_used", 0) + of.get("memory_free", 0),
                "memory_used": of.get("memory_used", 0),
            }
            for name, up in workers.items()
            for of in (usage[name],)
        ]

    def _applications(self) -> list[Found]:
        applications = []
        for sample in self._server.now('{__name__=~"metrics_application_.+_cores_Value"}'):
            # Spark names the source of an application by its name and its start.
            match = _APPLICATION.fullmatch(sample.labels["__name__"])
            if match:
                application = {"id": match[0], "name": match[1], "started": int(match[2])}
                applications.append({**application, "state": "RUNNING", "cores": sample.value})
        return applications

    def _streams(self) -> list[Found]:
        streams: dict[tuple[str, str], Found] = defaultdict(dict)
        for sample in self._server.now(_any_of(_STREAMS)):
            place = (sample.labels["application"], sample.labels["query"])
            streams[place][_STREAMS[sample.labels["__name__"]]] = sample.value
        return [
            {"application": place[0], "query": place[1], **values}
            for place, values in sorted(streams.items())
        ]

    def jobs(self) -> Found:
        """Return when jobs on Spark last committed a micro-batch, and which are late."""
        late = {
            sample.labels["job_name"]: sample.value
            for sample in self._server.now("max by (job_name) (spark_stream_late_after_seconds)")
        }
        jobs = {}
        query = "time() - max by (job_name) (spark_stream_last_batch_timestamp_seconds)"
        for sample in self._server.now(query):
            name, age = sample.labels["job_name"], sample.value
            jobs[name] = {"checkpoint_age": age, "late": age > late.get(name, float("inf"))}
        problems = [f"job {name} is late" for name, job in jobs.items() if job["late"]]
        return {"jobs": jobs, "problems": problems}

    def operations(self) -> list[Found]:
        """Return the last operations, the newest first, each as its record was written last."""
        records: dict[str, Found] = {}
        # Each step of an operation is a series of its own; the last one of a host says it all.
        query = "topk by (id, host) (1, "
        query += f"last_over_time(millrace_operation_record[{OPERATIONS_DAYS}d]))"
        # The value is when the record was written.
        for sample in sorted(self._server.now(query), key=lambda sample: sample.value):
            of = sample.labels
            record = records.setdefault(of["id"], {"hosts": set()})
            record["hosts"].add(of["host"])
            record |= {
                **{key: of.get(key, "") for key in ("id", "state", "who", "started", "reason")},
                **{key: of.get(key, "").split() for key in ("plan", "done", "left")},
                "what": of["playbook"],
                "verdict": of.get("verdict", ""),
                "age": max(0.0, time.time() - sample.value),
            }
        newest = sorted(records.values(), key=lambda record: str(record["started"]), reverse=True)
        return [{**record, "hosts": sorted(record["hosts"])} for record in newest[:MOST_OPERATIONS]]

    def certificates(self) -> list[Found]:
        """Return until when certificates of hosts are valid."""
        query = "millrace_certificate_expiry_timestamp_seconds - time()"
        return [
            {
                "host": sample.labels["host"],
                "place": sample.labels["name"],
                "days": sample.value / 86400,
                "wrong": "has ended" if sample.value < 0 else "",
            }
            for sample in self._server.now(query)
        ]

    def zookeeper(self) -> Found:
        """Return the members of the ensemble and what each is."""
        states = self._server.now("zookeeper_state")
        members = self._up("zookeeper")
        modes = {**dict.fromkeys(members, "no answer"), **_by_host(states, "state")}
        problems = [f"the member {name} does not answer" for name, up in members.items() if not up]
        if len(members) > 1 and "leading" not in modes.values():
            problems.append("no member leads: the ensemble has no quorum")
        return {"modes": modes, "problems": problems}

    def _up(self, job: str) -> dict[str, bool]:
        """Return host -> whether the job's exporter answers."""
        samples = self._server.now(f'up{{job="{job}"}}')
        return {sample.labels["host"]: sample.value == 1 for sample in samples}


def _by_host(series: Iterable[Series], label: str) -> dict[str, str]:
    return {sample.labels["host"]: sample.labels[label] for sample in series}


def _any_of(names: Mapping[str, str]) -> str:
    return f'{{__name__=~"{"|".join(names)}"}}'
