"""The control node's part of the module of this name: its options come from the model."""

from ..plugin_utils.from_model import ActionModule as ActionModule
