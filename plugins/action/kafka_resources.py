"""Ansible action: compare what lives in a cluster with its description, through a login of Kafka.

It runs on the control node and contacts no host but the brokers. Everything that files and
inventory have wrong is refused before that.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.properties import parse_properties
from ..module_utils.formats.values import listing
from ..plugin_utils import validation
from ..plugin_utils.action import Action
from ..plugin_utils.cluster.module_options import of_module
from ..plugin_utils.files import write
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.rules import engine
from ..plugin_utils.rules.catalogue import RULES
from ..plugin_utils.services.kafka.node import KafkaNode
from ..plugin_utils.services.kafka.resources import merged
from ..plugin_utils.services.kafka.resources.entries import Entry
from ..plugin_utils.services.kafka.rules import resources as rules
from ..plugin_utils.services.kafka.security import ADMIN, NODES
from .client_config import refuse_unknown

FILES = ("The description of resources has", "nothing was changed")
_WRITTEN = ("changed", "failed", "msg", "counts", "plan", "unmanaged", "hidden", "findings")
"""What the file of a plan has of the result."""
_ON_THE_CONTROL_NODE = ("team", "client_config", "json")
_LOGIN = ("sasl.", "bootstrap.servers")


class ActionModule(Action):
    """Call the module on the control node, with what the inventory and files describe."""

    OWN = frozenset({"team", "client_config", "json"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        validation.forget(args["json"])
        client_config = args["client_config"]
        # With a login of its own the run may have an inventory without secrets, or none. What has
        # no entry in what is left of one is not unmanaged.
        self.needs_all_sources = not client_config or bool(args["prune"])
        own_rules = [rule for rule in RULES if rule.module == rules.__name__]
        problems = engine.check_cluster(own_rules, self.cluster)
        for line in engine.warning_lines(problems):
            self._display.warning(line)
        if engine.errors(problems):
            raise AnsibleActionFail(validation.show(problems, *FILES))
        if args["prune"] and not rules.cluster_entries(self.cluster):
            message = (
                f"nothing is described, so that prune would delete all that begins with "
                f"{args['prune']}: set kafka_resources_dir, or -i to the inventory"
            )
            raise AnsibleActionFail(message)
        resources = self._resources(args["team"], None if client_config else self._broker())
        options = {**resources, **self.connection(client_config), **self._explicit()}
        result = self.call(options)
        shown = {key: plain(result[key]) for key in _WRITTEN if key in result}
        text = json.dumps(shown, indent=2)
        write(args["json"], f"{text}\n", "the plan")
        return result

    def _explicit(self) -> dict[str, Any]:
        """Return the task's options that the module takes as they are."""
        options = self._task.args.items()
        return {key: value for key, value in options if key not in self.OWN}

    def _broker(self) -> KafkaNode | None:
        return next(iter(self.cluster.brokers), None)

    def connection(self, client_config: str | None) -> dict[str, Any]:
        """Return the options by which the module connects, and what is not to be touched.

        Raises:
            AnsibleActionFail: there is neither a file of client properties nor a broker.

        """
        broker = self._broker()
        if client_config:
            login = _own_login(client_config)
        elif self.host in self.cluster.kafka:
            login = _login_of_host(of_module("kafka_users", self.cluster, self.host))
        elif broker:
            login = _login(broker)
        else:
            message = (
                "there is no inventory with brokers, so client_config is needed: a file of client "
                "properties, as clients.yml writes it"
            )
            raise AnsibleActionFail(message)
        return {
            "service_topics": rules.service_topics(self.cluster),
            "service_users": self._service_users(),
            **login,
        }

    def _resources(self, team: str | None, broker: KafkaNode | None) -> dict[str, Any]:
        """Return the resources of all, or of a team, and what a topic should have at least.

        Without `broker` the login knows no passwords of users: their grants are ACLs.
        """
        listed = rules.cluster_entries(self.cluster)
        files = self.cluster.inventory.resource_files
        users: dict[str, Any] = {}
        if broker:
            options = of_module("kafka_users", self.cluster, broker.name)
            users = {user["name"]: user for user in options["users"]}
        described = files.teams.get(team or "")
        first = self._broker()
        return {
            # A file of client properties may be that of another cluster.
            **({"cluster_id": first.cluster_id} if first and first.cluster_id else {}),
            "resources": merged.resources(self._of_team(team, listed) if team else listed, users),
            "elsewhere": _of_others(team, listed) if team else {},
            "floor": _floor(first) if first else dict(files.minimum),
            "scope": list(described.prefixes) if described else [],
        }

    def _of_team(self, team: str, listed: list[Entry]) -> list[Entry]:
        owned = [entry for entry in listed if entry.owner == team]
        teams = sorted({*self.cluster.inventory.resource_files.teams, *(e.owner for e in listed)})
        if team not in teams:
            message = f"there is no team {team}; there are {listing(teams) or 'none'}"
            raise AnsibleActionFail(message)
        return owned

    def _service_users(self) -> list[str]:
        """Return the users that no entry describes: those of nodes, services and own programs."""
        broker = self._broker()
        if broker is None:
            return []
        listed = {
            entry.name for entry in rules.cluster_entries(self.cluster) if entry.kind == "users"
        }
        names = {NODES, *(user.name for user in broker.security.users)}
        return sorted(names - listed)


def _of_others(team: str, listed: list[Entry]) -> dict[str, Any]:
    """Return the resources that others describe than a team, users by their ACLs.

    They are not unmanaged, although the run of the team does not compare them.
    """
    return {
        kind: [record for record in records if record["owner"] != team]
        for kind, records in merged.resources(listed, {}).items()
    }


def _own_login(client_config: str) -> dict[str, Any]:
    """Return how to connect with a file of client properties."""
    path = Path(client_config).expanduser().absolute()
    try:
        properties = parse_properties(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"client_config {path} cannot be read: {error}"
        raise AnsibleActionFail(message) from error
    # As Kafka's tools do, which are started where the file is.
    stores = {
        key: str(path.parent / value)
        for key, value in properties.items()
        if key.endswith("store.location") and value
    }
    return {"client_properties": {**properties, **stores}}


def _login(broker: KafkaNode) -> dict[str, Any]:
    """Return how the administrator connects from the control node, and how users log in there."""
    refuse_unknown(broker, ADMIN)
    properties = broker.clients.local_config(ADMIN)
    encryption: Mapping[str, Any] = {
        key: value for key, value in properties.items() if not key.startswith(_LOGIN)
    }
    listener = broker.security.login_listener
    return {
        "client_properties": properties,
        "mechanism": broker.security.login_mechanism,
        "login_bootstrap": broker.clients.user_bootstrap if listener else [],
        "login_properties": (
            {**encryption, "security.protocol": listener.protocol} if listener else {}
        ),
    }


def _login_of_host(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a broker connects to its own cluster, of the options of the module kafka_users."""
    return {key: value for key, value in options.items() if key != "users"}


def _floor(broker: KafkaNode) -> dict[str, Any]:
    """Return what the cluster's profile gives a topic at least."""
    minimum = broker.properties.number("min.insync.replicas")
    return {"replication": broker.replication_factor, "min_isr": minimum}
