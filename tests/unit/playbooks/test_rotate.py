"""rotate_certificates.yml until the first host would be touched: what it refuses and writes.

The refusals of the action are in tests/unit/actions/test_rotate_certificates.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.playbooks.runs import run

HOSTS = """\
all:
  vars:
    kafka_security: standard
    host_memory_mb: 4096
kafka_brokers:
  hosts:
    k1: {ansible_host: 192.0.2.1, kafka_node_id: 1}
kafka_controllers:
  hosts:
    k1:
"""
SPARK = """\
all: {hosts: {s1: {ansible_host: 192.0.2.1, host_memory_mb: 4096}}}
spark_masters: {hosts: {s1: }}
spark_workers: {hosts: {s1: }}
"""


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (HOSTS.replace("host_memory_mb", "kafka_hep: 1g\n    host_memory_mb"), (), "kafka_hep"),
        (HOSTS, ("-e", "rotate=ca", "-e", "rotate_back=true"), "nothing to go back from"),
        (SPARK, (), "no Kafka node has certificates"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_host_is_touched(
    tmp_path: Path, text: str, options: tuple[str, ...], words: str
) -> None:
    code, output = run(tmp_path, text, *options, playbook="rotate_certificates")
    assert code == 2, output
    assert words in output
    assert not [*tmp_path.glob(".secrets/ca*")]
