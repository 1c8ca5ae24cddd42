"""The control node's part of the module of this name: its options come from the model."""

from __future__ import annotations

from ..plugin_utils.action import FromModel as ActionModule

__all__ = ["ActionModule"]
