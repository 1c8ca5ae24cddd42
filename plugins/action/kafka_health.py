"""The controller's half of the module kafka_health: its options come from the model."""

from __future__ import annotations

from ..plugin_utils.from_model import ActionModule

__all__ = ["ActionModule"]
