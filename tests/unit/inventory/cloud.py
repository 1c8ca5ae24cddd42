"""An inventory plugin that answers as that of a cloud does, from a file of instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

DOCUMENTATION = """
name: cloud
short_description: list instances of a cloud that is a file
extends_documentation_fragment: [constructed]
options:
  plugin: {description: This plugin., required: true}
  regions: {description: Those of the instances., type: list, elements: str}
  filters: {description: Fields and tags with the value that an instance must have., type: dict}
  hostnames: {description: Not used, it is tag:Name., type: list, elements: str}
  strict_permissions: {description: Not used., type: bool}
"""


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Reads cloud.json beside the directory of the inventory."""

    NAME = "cloud"

    def verify_file(self, path: str) -> bool:
        """Return whether a file configures this plugin, by its name as the plugin of AWS has it."""
        return path.endswith("aws_ec2.yml")

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add the running instances of the regions."""
        super().parse(inventory, loader, path, cache)
        plugin: Any = self  # ansible-core gives it no types
        plugin._read_config_data(path)
        answer = Path(path).parent.with_name("cloud.json")
        if not answer.exists():
            message = "the cloud does not answer"
            raise AnsibleParserError(message)
        regions, filters = plugin.get_option("regions"), plugin.get_option("filters")
        for instance in json.loads(answer.read_text()):
            if instance["region"] in regions and is_chosen(instance, filters):
                add(plugin, instance)


def is_chosen(instance: dict[str, Any], filters: dict[str, str]) -> bool:
    """Return whether an instance has the fields and tags that are asked for."""
    fields = {f"tag:{name}": value for name, value in instance["tags"].items()}
    fields["instance-state-name"] = instance["state"]
    return all(fields.get(name) == value for name, value in filters.items())


def add(plugin: Any, instance: dict[str, Any]) -> None:
    """Add an instance as a host, with its variables and groups."""
    name, strict = instance["tags"]["Name"], plugin.get_option("strict")
    plugin.inventory.add_host(name)
    for variable, value in instance.items():
        plugin.inventory.set_variable(name, variable, value)
    plugin._set_composite_vars(plugin.get_option("compose"), instance, name, strict=strict)
    groups = plugin.get_option("keyed_groups")
    plugin._add_host_to_keyed_groups(groups, instance, name, strict=strict)
