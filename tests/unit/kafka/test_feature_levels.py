"""Features of a cluster as kafka-python shows them, and raising a level."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import features
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

NOT_CONTROLLER, FEATURE_UPDATE_FAILED = 41, 96


class Admin:
    """An admin client with features, whose controller answers with these results."""

    def __init__(self, *results: tuple[int, str | None], whole: tuple[int, str] = (0, "")) -> None:
        self._results = [
            SimpleNamespace(error_code=code, error_message=text) for code, text in results
        ]
        self._whole, self._manager = whole, self
        self.sent: list[Any] = []

    def describe_features(self) -> dict[str, Any]:
        return {
            "metadata.version": {"supported": (7, 30), "finalized": (7, 25)},
            "share.version": {"supported": (0, 1)},
            "gone.version": {"finalized": (0, 1)},
        }

    def _build_feature_updates(self, wanted: dict[str, int]) -> list[Any]:
        # As kafka-python does it.
        from kafka.protocol.admin import UpdateFeaturesRequest
        return []

    def run(self, send: Any, request: Any) -> Any:
        self.sent.append(request)
        code, message = self._whole
        return SimpleNamespace(error_code=code, error_message=message, results=self._results)
