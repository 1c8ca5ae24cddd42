"""Faults of what watches the cluster: exporters, the lag exporter, Prometheus and Alertmanager."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from ansible_collections.millrace.streaming.plugins.plugin_utils.services.metrics import java_agent
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.metrics.model import (
    NODE_UNIT,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    CONFIG,
    SETTINGS,
    UNITS,
)

from tests.support.faults.alerting.watched import (
    AlertingFault,
    Labels,
    Watched,
    stopped,
    unit_stopped,
)
from tests.support.faults.target import STOP_DROPPING

CUT_OFF = "ip rule add pref 10 ipproto 6 dport %s blackhole"
"""A host does not reach a port of any other."""
RULES = f"{CONFIG}/alerts/fault.yml"
MATCHES_SEVERAL = """
groups:
  - name: fault
    rules:
      - record: fault
        expr: up * on (job) up
"""


@contextlib.contextmanager
def replaced(on: Watched, where: str, path: str, command: str, *words: str) -> Iterator[None]:
    """A file that a command changes during the block; without it the command makes it."""
    on.sh(where, f"test ! -e {path} || cp --preserve {path} {path}.kept")
    try:
        on.sh(where, command, *words)
        yield
    finally:
        on.sh(
            where,
            f"if test -e {path}.kept; then mv {path}.kept {path}; touch {path}; else rm {path}; fi",
        )


@contextlib.contextmanager
def prometheus_has(on: Watched, path: str, command: str, *words: str) -> Iterator[None]:
    """Prometheus is asked to read a changed file; and again once it is as before."""
    where, reload = on.member("monitoring"), f"systemctl reload {UNITS['prometheus']}"
    try:
        with replaced(on, where, path, command, *words):
            on.sh(where, reload)
            yield
    finally:
        on.sh(where, reload)


@contextlib.contextmanager
def config_rejected(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The configuration of Prometheus is not what it can read."""
    path = f"{CONFIG}/{SETTINGS['prometheus']}"
    with prometheus_has(on, path, f"echo 'no key' >> {path}"):
        yield {"MonitoringConfigRejected": {"job": "prometheus"}}


@contextlib.contextmanager
def rule_fails(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A rule of Prometheus whose two sides match several series."""
    with prometheus_has(on, RULES, f"printf %s > {RULES}", MATCHES_SEVERAL):
        yield {"RulesFailing": {"host": on.member("monitoring")}}


@contextlib.contextmanager
def lag_unknown(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The lag exporter does not reach the brokers."""
    where = on.member("monitoring")
    port = on.topology.cluster.brokers[0].listeners.brokers[0].port
    on.sh(where, CUT_OFF, str(port))
    try:
        yield {"LagUnknown": {"host": where}}
    finally:
        on.hosts[where].run(STOP_DROPPING)  # what heals another fault may have done it


@contextlib.contextmanager
def exporter_fails(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A wrong rule in the configuration of the JMX exporter, which reads it again by itself."""
    where, path = on.member("kafka_connect"), java_agent.rules("connect")
    wrong = r"sed -i 's/^rules:/&\n  - pattern: .+\n    name: fault\n    labels: {a: $9}/' %s"
    with replaced(on, where, path, wrong, path):
        yield {"ExporterFailing": {"host": where, "job": "connect"}}


@contextlib.contextmanager
def receiver_refuses(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The receiver refuses the alert about an exporter that is stopped."""
    where = on.member("monitoring")
    with on.notifications.refused("TargetDown"), stopped(on.hosts[where], NODE_UNIT):
        yield {"AlertsNotDelivered": {"integration": "webhook"}}


EXPORTER_STOPPED = AlertingFault(
    "an exporter is stopped",
    unit_stopped("monitoring", NODE_UNIT, "TargetDown", job="node"),
    ("TargetDown",),
)
CONFIG_REJECTED = AlertingFault(
    "a configuration of Prometheus that it cannot read",
    config_rejected,
    ("MonitoringConfigRejected",),
)
RULE_FAILS = AlertingFault(
    "a rule whose two sides match several series", rule_fails, ("RulesFailing",), clears=420
)
LAG_UNKNOWN = AlertingFault(
    "the lag exporter does not reach the brokers",
    lag_unknown,
    ("LagUnknown",),
    needs=("kafka_brokers",),
)
EXPORTER_FAILS = AlertingFault(
    "a wrong rule in the configuration of the JMX exporter",
    exporter_fails,
    ("ExporterFailing",),
    needs=("kafka_connect",),
)
RECEIVER_REFUSES = AlertingFault(
    "a receiver refuses a notification", receiver_refuses, ("AlertsNotDelivered",), clears=210
)
