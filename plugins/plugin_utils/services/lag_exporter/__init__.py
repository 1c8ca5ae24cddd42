"""The exporter of consumer lag."""

from __future__ import annotations

from ...cluster.entry import Entry

ENTRY = Entry(
    "lag_exporter",
    lowest={"lag_exporter_interval": 1, "lag_exporter_max_groups": 1},
    property_variables=("lag_exporter_client_config",),
)
