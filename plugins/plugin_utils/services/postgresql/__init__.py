"""The PostgreSQL server of the lab."""

from __future__ import annotations

from ...cluster.entry import Group, HealthCheck, ServiceEntry

PRODUCT = GROUP = "postgresql"

ENTRY = ServiceEntry(
    PRODUCT,
    groups=(Group(GROUP, "database", "databases", partner="kafka_connect"),),
    health=(HealthCheck(PRODUCT, "postgresql_checks", (GROUP,), "problems", may_fail=False),),
)
