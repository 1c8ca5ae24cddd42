"""The filters of what a task has registered on hosts, in Ansible and alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.millrace.streaming.plugins.filter.results import hosts_with, results

from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE

HOSTVARS: dict[str, dict[str, Any]] = {
    "a": {"state": {"units": ["x"], "running": True}, "name": "A"},
    "b": {"state": {"units": [], "running": False}, "name": "B"},
    "c": {},
}
PLAY = """
- hosts: all
  gather_facts: false
  vars:
    any_is_b: "{{ ansible_play_hosts | millrace.streaming.hosts_with(hostvars, 'done.is_b') | length > 0 }}"
  tasks:
    - ansible.builtin.set_fact:
        done: {is_b: "{{ inventory_hostname == 'b' }}", units: ["{{ inventory_hostname }}.x"]}
    - ansible.builtin.assert:
        that:
          - any_is_b
          - ansible_play_hosts | millrace.streaming.hosts_with(hostvars, 'done.is_b') == ['b']
          - (ansible_play_hosts | millrace.streaming.results(hostvars, 'done.units')).b == ['b.x']
    - ansible.builtin.debug:
        msg: "{{ item.0.key }} has {{ item.1 }}"
      loop: "{{ ansible_play_hosts | millrace.streaming.results(hostvars, 'done.units') | dict2items
        | subelements('value') }}"
      run_once: true
"""


def test_each_host_has_its_value() -> None:
    assert results(["a", "b"], HOSTVARS, "name") == {"a": "A", "b": "B"}
    assert results("ab", HOSTVARS, "state.units") == {"a": ["x"], "b": []}
    assert results("ac", HOSTVARS, "state.running", default=None) == {"a": True, "c": None}


def test_hosts_are_found_by_their_value() -> None:
    assert hosts_with("ab", HOSTVARS, "state.running") == ["a"]
    assert hosts_with("ab", HOSTVARS, "state.units") == ["a"]
    assert hosts_with("abc", HOSTVARS, "name", default="") == ["a", "b"]


@pytest.mark.parametrize("path", ["state", "state.units", "name.first"])
def test_a_host_without_a_value_is_no_host_without_units(path: str) -> None:
    with pytest.raises(AnsibleFilterError, match=f"has no {path}"):
        hosts_with("cab", HOSTVARS, path)


def test_ansible_gives_them_the_hosts_of_the_play(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(PLAY)
    done = subprocess.run(
        [ANSIBLE, "-i", "a,b,", "-c", "local", str(tmp_path / "play.yml")],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a has a.x" in done.stdout
    assert "b has b.x" in done.stdout
