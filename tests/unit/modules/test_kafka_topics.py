"""Topics that sinks read must exist: the module that asks the cluster for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations.options import (
    FailedError,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_topics


def work(readers: dict[str, list[str]], existing: list[str] | None) -> dict[str, Any]:
    def ask(question: Any) -> Any:
        assert existing is not None, "nothing is to be asked"
        return question(SimpleNamespace(list_topics=lambda: existing))

    module: Any = SimpleNamespace(params={"topics": readers})
    cluster: Any = SimpleNamespace(ask=ask)
    return kafka_topics.work(module, cluster)


def test_topics_that_exist_are_no_change() -> None:
    assert work({"orders": ["a"]}, ["orders", "others"]) == {"changed": False}


def test_without_sinks_the_cluster_is_not_asked() -> None:
    assert work({}, None) == {"changed": False}


def test_all_topics_that_are_missing_are_named() -> None:
    with pytest.raises(FailedError) as refused:
        work({"order": ["a", "b"], "planes": ["c"], "there": ["d"]}, ["orders", "there"])
    message = str(refused.value)
    for text in ("a, b", "did you mean orders", "c reads planes"):
        assert text in message
    assert "there," not in message
