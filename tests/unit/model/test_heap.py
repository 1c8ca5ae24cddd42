from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.model.heap import heap_mb


@pytest.mark.parametrize(
    ("text", "mb"),
    [("512m", 512), ("2g", 2048), ("2G", 2048), ("1024k", 1), ("1048576K", 1024)],
)
def test_heap_mb(text: Any, mb: int) -> None:
    assert heap_mb(text) == mb


@pytest.mark.parametrize("text", ["", "512", "1.5g", "2 g", "2gb", "-1m", "0m", "100k", "1t", 512])
def test_heap_mb_names_the_value_and_the_legal_forms(text: Any) -> None:
    with pytest.raises(ValueError, match=r"legal: .*'512m', '2g'") as error:
        heap_mb(text)
    assert repr(text) in str(error.value)
