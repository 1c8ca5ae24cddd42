"""A Prometheus with drawn series, on the loopback address."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.unit.host.served import served

Drawn = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]
"""Text that a query contains -> the labels and the value of each series that it finds."""
NOW = time.time()
CLUSTER: Drawn = {
    'up{job="node"}': [({"host": "k1"}, 1), ({"host": "k2"}, 0)],
    'up{job="connect"}': [({"host": "k1"}, 1), ({"host": "k2"}, 0)],
    'up{job="spark_master"}': [({"host": "k1"}, 1), ({"host": "k2"}, 1), ({"host": "k3"}, 0)],
    'up{job="spark_worker"}': [({"host": "k1"}, 1)],
    'up{job="zookeeper"}': [({"host": "k1"}, 1), ({"host": "k2"}, 0)],
    "zookeeper_state": [({"host": "k1", "state": "leading"}, 1)],
    "restart_pending": [({"host": "k1", "unit": "kafka"}, 1)],
    "kafka_connect_(connector": [
        ({"host": "k1", "connector": "orders", "state": "running"}, 1),
        ({"host": "k1", "connector": "orders", "task": "0", "state": "failed"}, 1),
    ],
    "aliveWorkers": [({"host": "k1"}, 0), ({"host": "k2"}, 1)],
    "metrics_worker_": [
        ({"host": "k1", "__name__": "metrics_worker_coresUsed_Value"}, 1),
        ({"host": "k1", "__name__": "metrics_worker_coresFree_Value"}, 3),
    ],
    "metrics_application_": [
        ({"__name__": "metrics_application_flights_1795748979970_cores_Value"}, 2)
    ],
    "spark_stream_input": [
        (
            {
                "__name__": "spark_stream_input_rows_per_second",
                "application": "flights",
                "query": "planes",
            },
            12.5,
        )
    ],
    "spark_stream_late_after": [({"job_name": "late"}, 60), ({"job_name": "good"}, 60)],
    "spark_stream_last_batch": [({"job_name": "late"}, 61), ({"job_name": "good"}, 5)],
    "millrace_operation_record": [
        (
            {
                "id": "1",
                "playbook": "rolling_restart",
                "host": host,
                "who": "anna on c",
                "started": "2026-11-27T01:00:00Z",
                "plan": "k1 k2",
                "done": done,
                "left": remaining,
                "state": state,
                "verdict": verdict,
            },
            written,
        )
        for host, written, state, done, remaining, verdict in (
            ("k2", NOW - 5, "finished", "k1 k2", "", "PASS"),
            ("k1", NOW - 9, "running", "k1", "k2", ""),
        )
    ],
    "certificate_expiry": [
        ({"host": "k1", "name": "k1/kafka"}, 86400 * 3),
        ({"host": "k2", "name": "k2/kafka"}, -1),
    ],
}


@contextmanager
def prometheus(
    drawn: Drawn = CLUSTER, status: int = 200, queries: list[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the settings of a server; it answers with `status`, and adds each query to `queries`."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps({"data": answer(url.path, parameters)}).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    def answer(path: str, parameters: Mapping[str, str]) -> Any:
        if path.endswith("/alerts"):
            labels = {"alertname": "DiskFull", "host": "k1", "severity": "critical"}
            fires = {"state": "firing", "activeAt": "2026-11-27T01:00:00Z"}
            return {"alerts": [{"labels": labels, "annotations": {"summary": "full"}, **fires}]}
        query = parameters["query"]
        if queries is not None:
            queries.append(query)
        series = next((samples for text, samples in drawn.items() if text in query), [])
        if "and on (" in query:
            series = [
                (of, at) for of, at in series if all(f'"{value}"' in query for value in of.values())
            ]
        if query.startswith("count(("):
            series = [({}, len(series))] if series else []
        if query.startswith("topk("):
            most = int(query[len("topk(") :].partition(",")[0])
            series = sorted(series, key=lambda sample: sample[1], reverse=True)[:most]
        if path.endswith("/query"):
            return {"result": [{"metric": of, "value": [NOW, str(at)]} for of, at in series]}
        start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
        times = [start + step * number for number in range(int((end - start) / step) + 1)]
        return {
            "result": [
                {"metric": of, "values": [[at, str(value)] for at in times]} for of, value in series
            ]
        }

    with served(Answers) as address:
        yield {"address": address}
