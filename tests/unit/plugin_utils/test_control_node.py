"""A control node with an ansible-core or a Python that Millrace does not support."""

from __future__ import annotations

import subprocess
import sys

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils import (
    refuse_control_node,
    supported_cores,
)

from tests.support.lab.topology import ROOT

SUPPORTED = ">=2.19.0,<2.23.0"
RUN = """
import sys

import ansible.release

ansible.release.__version__, *words = sys.argv[1:]
from ansible.cli.playbook import main

main(["ansible-playbook", *words])
"""
"""Runs ansible-playbook as if it were of another version."""


@pytest.mark.parametrize("core", ["2.19.0", "2.19.14", "2.21.5", "2.22.0rc1", "2.22.7"])
@pytest.mark.parametrize("python", [(3, 11, 0), (3, 13, 5), (3, 14, 9)])
def test_what_is_supported_is_accepted(core: str, python: tuple[int, ...]) -> None:
    refuse_control_node(core, python, SUPPORTED)


@pytest.mark.parametrize(
    ("core", "python"),
    [
        ("2.18.19", (3, 11, 7)),
        ("2.23.0", (3, 14, 0)),
        ("2.23.0.dev0", (3, 14, 0)),
        ("2.19.14", (3, 10, 12)),
        ("2.22.0", (3, 15, 0)),
    ],
)
def test_what_is_not_supported_is_refused(core: str, python: tuple[int, ...]) -> None:
    with pytest.raises(AnsibleError) as refused:
        refuse_control_node(core, python, SUPPORTED)
    for text in (
        core,
        ".".join(map(str, python)),
        SUPPORTED,
        "3.11",
        "3.14",
        "requirements/control-node.txt",
    ):
        assert text in str(refused.value)


@pytest.mark.parametrize(
    ("core", "playbook"), [("2.18.19", "validate"), ("2.18.19", "teardown"), ("2.99.0", "site")]
)
def test_a_run_is_refused_before_its_first_task(core: str, playbook: str) -> None:
    words = [core, "-i", str(ROOT / "inventories/single"), str(ROOT / f"playbooks/{playbook}.yml")]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode
    shown = done.stdout + done.stderr
    assert shown.count(supported_cores()) == 1, shown
    assert f"ansible-core {core}" in shown
    assert "TASK" not in shown
    assert "Traceback" not in shown
    assert "WARNING" not in shown, "the sentence of the collection is enough"
