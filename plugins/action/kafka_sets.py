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
        stages = [Stage(tuple(stage["names"]), stage["most"]) for stage in plain(args["stages"])]
        names = {node.id: name for name, node in self.cluster.kafka.items()}
        ids = {name: number for number, name in names.items()}
        groups = [
            {"brokers": [ids[name] for name in stage.names], "most": stage.most}
            for stage in stages
            if stage.most > 1
        ]
        options = module_options.of_module(self.name, self.cluster, self.host)
        result = self.call({**options, "groups": groups})
        failed = result.get("failed", False)
        alone = [[[broker] for broker in group["brokers"]] for group in groups]
        remaining = iter(alone if failed else result["sets"])
        divided = joined(
            part
            for stage in stages
            for part in (
                [
                    Stage(tuple(names[broker] for broker in members), stage.most)
                    for members in next(remaining)
                ]
                if stage.most > 1
                else [stage]
            )
        )
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
