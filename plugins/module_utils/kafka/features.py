"""Features of a cluster (KIP-584): what brokers support, what is finalized, raising a level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import library
from .answers import refusal

ELR = "eligible.leader.replicas.version"
_TIMEOUT_MS = 30_000


def supported(admin: Any) -> dict[str, tuple[int, int]]:
    """Return feature -> (lowest, highest level) that the asked broker supports."""
    described = admin.describe_features()
    return {
        name: levels["supported"] for name, levels in described.items() if "supported" in levels
    }


def finalized(admin: Any) -> dict[str, int]:
    """Return feature -> finalized level, as the asked broker knows it."""
    described = admin.describe_features()
    return {
        name: levels["finalized"][1] for name, levels in described.items() if "finalized" in levels
    }


def update(admin: Any, wanted: Mapping[str, int], *, validate_only: bool) -> str:
    """Send features to the active controller; return why it refuses, empty if it does not.

    The admin client's own method puts the whole answer into its error.
    """
    request = library.UpdateFeaturesRequest(
        timeout_ms=_TIMEOUT_MS,
        feature_updates=admin._build_feature_updates(dict(wanted)),
        validate_only=validate_only,
        min_version=1,
    )
    response = admin._manager.run(admin._send_request_to_controller, request)
    reasons = [refusal(result) for result in (response, *(response.results or ()))]
    return next(filter(None, reasons), "")
