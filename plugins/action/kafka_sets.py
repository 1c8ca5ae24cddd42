"""Ansible action: which brokers of a roll are restarted at the same time."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.action import Action
from ..plugin_utils.cluster import module_options
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.operations.roll_stages import Stage, joined, steps


class ActionModule(Action):
    """Asks the cluster which brokers of each stage it can spare together."""

    OWN = frozenset({"stages"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Divide the stages of which several nodes may go at the same time."""
        written: list[dict[str, Any]] = plain(args["stages"])
        stages = [Stage(tuple(stage["names"]), stage["most"]) for stage in written]
        names = {node.id: name for name, node in self.cluster.kafka.items()}
        ids = {name: number for number, name in names.items()}
        divisible = [stage for stage in stages if stage.most > 1]
        groups = [
            {"brokers": [ids[name] for name in stage.names], "most": stage.most}
            for stage in divisible
        ]
        options = module_options.of_module(self.name, self.cluster, self.host)
        result = self.call({**options, "groups": groups})
        failed = result.get("failed", False)
        alone = [[[ids[name]] for name in stage.names] for stage in divisible]
        sets = iter(alone if failed else result["sets"])
        parts: list[Stage] = []
        for stage in stages:
            if stage.most == 1:
                parts.append(stage)
                continue
            members = ([names[broker] for broker in brokers] for brokers in next(sets))
            parts += [Stage(tuple(together), stage.most) for together in members]
        divided = joined(parts)
        planned = steps(divided)
        rest = [name for step in planned[1:] for name in step]
        reason = f"No broker can be spared beside another: {result.get('msg', '')}"
        return {
            "changed": False,
            "stages": [stage.as_data() for stage in divided],
            "together": list(planned[0]),
            "rest": Stage(tuple(rest), stages[0].most).as_data(),
            "lines": [*([reason] if failed else []), *lines(planned)],
        }


def lines(planned: list[tuple[str, ...]]) -> list[str]:
    """Return the steps as lines to show."""
    shown = ", ".join(" + ".join(step) for step in planned)
    return [f"In {len(planned)} steps, each after its gate check (+ is at the same time): {shown}"]
