"""The page of a cluster: what is in it, and that nothing of a snapshot can be anything but text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.report_page import (
    page,
)

from tests.unit.snapshot_draft import cluster

LARGEST_BYTES = 2_000_000
"""Of a page of 2,000 topics and 20,000 partitions; a browser reads that in a moment."""


def snapshot_in(text: str) -> Any:
    (document,) = re.findall(r'<script type="application/json" id="snapshot">(.*?)</script>', text)
    return json.loads(document)


@pytest.mark.parametrize(
    "name",
    ["</script><script>alert(1)</script>", "<!--<script>", "a&b", "\u2028é", "@SCRIPT@", "\\u003c"],
)
def test_a_name_stays_a_name(name: str) -> None:
    snapshot = cluster(1)
    snapshot["kafka"]["topics"][0][0] = name
    text = page(snapshot)
    assert snapshot_in(text) == snapshot
    plain = page(cluster(1))
    assert text.count("<") == plain.count("<")
    assert text.count("<script") == 2


def test_only_its_own_style_and_script_are_used() -> None:
    text = page(cluster())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    rules = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for kind, pattern in (("style", "<style>(.*?)</style>"), ("script", "<script>(.*?)</script>")):
        (source,) = re.findall(pattern, text, re.S)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert "connect-src" not in rules
    assert not re.search(r'(src|href)="(?!#)', text)
    named = text.replace("http://www.w3.org/2000/svg", "")  # a namespace, which nobody fetches
    assert "//" not in re.sub(r"^ *//.*| // .*", "", named, flags=re.M)


def test_a_large_cluster_has_a_page_too() -> None:
    text = page(cluster(2000, 10))
    assert len(snapshot_in(text)["kafka"]["topics"]) == 2000
    assert len(text) < LARGEST_BYTES


def test_without_a_snapshot_the_page_may_ask_its_server() -> None:
    text = page()
    assert snapshot_in(text) is None
    assert "connect-src 'self'" in text
