"""The exporter of consumer lag."""

from __future__ import annotations

from ...cluster.entry import ServiceEntry

ENTRY = ServiceEntry(
    "lag_exporter",
    lowest={"lag_exporter_interval": 1, "lag_exporter_max_groups": 1},
    property_variables=("lag_exporter_client_config",),
)
