"""The tasks of a roll, and when site.yml includes them."""

from __future__ import annotations

import yaml

from tests.support.lab.topology import ROOT

NODE = "millrace.streaming.kafka_node"


def test_an_operation_is_complete_only_after_every_other_task() -> None:
    """Else a failure after the last node would leave a record that says finished."""
    (roll,) = yaml.safe_load((ROOT / "roles/kafka/tasks/roll.yml").read_text())
    *before, last = roll["block"]
    assert last[NODE] == {"complete": True}
    assert NODE not in str(before)
    assert roll["always"][0][NODE] == {"finish": True}


def test_what_follows_a_role_is_left_out_with_what_it_reads() -> None:
    """Else site.yml --skip-tags service ends with an error about a variable that is not there."""
    plays = yaml.safe_load((ROOT / "playbooks/site.yml").read_text())
    tasks = [task for play in plays for task in play.get("post_tasks", ())]
    read = {
        "__host_loaded": "host",
        "__java_needs": "java",
        "restart_needed": "service",
        "roll_resume": "service",
        "former_plugins": "service",
    }
    for task in tasks:
        assert task["tags"] == [tag for name, tag in read.items() if name in str(task)]
    assert len(tasks) == 9


def test_users_log_in_where_the_nodes_listen_by_then() -> None:
    """A changed listener is only there after the restarts, and a login before them fails."""
    tasks = ROOT / "roles/kafka/tasks"
    (*_, applied) = yaml.safe_load((tasks / "main.yml").read_text())
    roll, late = yaml.safe_load((tasks / "restart.yml").read_text())
    (early,) = [task for task in applied["block"] if "users.yml" in str(task)]
    assert "roll.yml" in str(roll)
    assert "users.yml" in str(late)
    pending = late["when"][-1]
    assert pending.endswith("length > 0")
    assert early["when"] == [pending.replace("> 0", "== 0")]
