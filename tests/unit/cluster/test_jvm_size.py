from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_options import heap_mb


@pytest.mark.parametrize(
    ("text", "mb"),
    [("512m", 512), ("2g", 2048), ("2G", 2048), ("1024k", 1), ("1048576K", 1024)],
)
def test_heap_mb(text: str, mb: int) -> None:
    assert heap_mb(text) == mb


@pytest.mark.parametrize("text", ["", "512", "1.5g", "2 g", "2gb", "-1m", "0m", "100k", "1t"])
def test_what_no_jvm_takes_is_no_heap(text: str) -> None:
    assert heap_mb(text) is None
