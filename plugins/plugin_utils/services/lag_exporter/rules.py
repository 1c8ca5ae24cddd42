"""The rules about the exporter of consumer lag."""

from __future__ import annotations

import re

from ...cluster.cluster import Cluster
from ...rules.engine import Finding, Findings, rule
from ...rules.shared import parts, taken_user
from ..monitoring import KAFKA_USER
from .model import EXCLUDED, INCLUDED, LagExporter


@rule("monitoring-name-taken", where="kafka_users")
def _monitoring_name_taken(cluster: Cluster) -> Findings:
    """Hosts of the group monitoring log in as this user, whose grants Millrace makes: an entry of
    the inventory would replace them.
    """
    if cluster.lag_exporters:
        yield from taken_user(cluster, KAFKA_USER, "the hosts of the group monitoring")


@rule("lag-exporter-pattern", each=parts("lag_exporter", INCLUDED, EXCLUDED))
def _lag_exporter_pattern(exporter: LagExporter) -> Findings:
    """The names of groups are compared with it, and the exporter would not start."""
    for variable in (INCLUDED, EXCLUDED):
        try:
            re.compile(exporter.settings[variable])
        except re.error as error:
            problem = f"{exporter.settings[variable]!r} is not a regular expression: {error}."
            yield Finding(problem, f"Correct {variable}, for example to 'orders-.*'.", variable)
