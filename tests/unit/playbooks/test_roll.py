"""The tasks of a roll: whatever fails, the record of the operation does not call it finished."""

from __future__ import annotations

import yaml

from tests.support.topology import ROOT

NODE = "millrace.streaming.kafka_node"


def test_an_operation_is_complete_only_after_every_other_task() -> None:
    """Else a failure after the last node would leave a record that says finished."""
    (roll,) = yaml.safe_load((ROOT / "roles/kafka/tasks/roll.yml").read_text())
    *before, last = roll["block"]
    assert last[NODE] == {"complete": True}
    assert NODE not in str(before)
    assert roll["always"][0][NODE] == {"finish": True}
