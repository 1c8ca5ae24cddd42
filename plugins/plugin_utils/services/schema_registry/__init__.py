"""The schema registry: its instances."""

from __future__ import annotations

from ...cluster.entry import MIB, Group, HealthCheck, ServiceEntry

PRODUCT = GROUP = "schema_registry"
KAFKA_USER = "schema-registry"

ENTRY = ServiceEntry(
    PRODUCT,
    groups=(Group(GROUP, "schema registry", "schema registries", leaves=True),),
    runs_on_java=True,
    unpacked_bytes=500 * MIB,
    described={"schema_registry_subjects": GROUP, "schema_registry_users": GROUP},
    lowest={"schema_registry_start_timeout": 1, "schema_registry_stop_timeout": 1},
    reserved_kafka_users=(KAFKA_USER,),
    sizes=("schema_registry_heap",),
    identities=("schema_registry_host",),
    property_variables=("schema_registry_config",),
    passwords={"schema_registry_users": "name"},
    health=(HealthCheck("registry", "schema_registry_health", (GROUP,), "healthy"),),
)
