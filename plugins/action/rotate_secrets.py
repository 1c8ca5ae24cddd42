"""Ansible action: make passwords of Kafka's users, or Spark's secret, anew on the control node."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..plugin_utils import run
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.secrets import store as secrets
from ..plugin_utils.secrets.users import password_problem
from ..plugin_utils.services.kafka.security import SPARK_SECRET, SPARK_UI_KEY
from ..plugin_utils.services.spark.security import SECRET


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Check what is to be made anew, and with `make` make it."""
        users = list(dict.fromkeys(filter(None, map(str.strip, args["users"]))))
        spark = args["spark"]
        problems = [*_of_users(self.cluster, users)]
        confirmed = args["confirmed"] or self._task.check_mode
        problems += _of_spark(self.cluster, args["hosts"], confirmed=confirmed) if spark else ()
        if not (users or spark):
            problems = [_choice(self.cluster)]
        if problems:
            message = "no secret was changed:\n- " + "\n- ".join(problems)
            raise AnsibleActionFail(message)
        if not args["make"]:
            return {"changed": False}
        spark_hosts = self.cluster.spark.values()
        of_sessions = {name for host in spark_hosts for name in host.security.of_sessions}
        texts = [SPARK_SECRET, SPARK_UI_KEY, *sorted(of_sessions)] if spark else []
        present = self.cluster.inventory.secrets
        new = secrets.replace(
            Path(present.directory),
            users,
            texts,
            store=not self._task.check_mode,
            cipher=present.cipher,
        )
        self.cluster = run.renew(self.variables, {}, secrets=new)
        return {"changed": True}


def _of_users(cluster: Cluster, users: Sequence[str]) -> Iterator[str]:
    """Say which users can have no new password, and why."""
    broker = next(iter(cluster.brokers), None)
    if users and (broker is None or not broker.clients.log_in):
        yield "no user of Kafka has a password: the inventory has no listener that takes them"
    elif broker is not None:
        explicit = [
            entry["name"] for entry in broker.settings["kafka_users"] if entry.get("password")
        ]
        for user in users:
            if user in explicit:
                yield (
                    f"the inventory gives the password of {user}: change it in kafka_users and run "
                    "site.yml. For a generated one delete it there, run site.yml, which leaves "
                    f"{user} as it is and fails, and then this again"
                )
            elif problem := password_problem(broker, user):
                yield problem


def _of_spark(cluster: Cluster, hosts: Sequence[str], *, confirmed: bool) -> Iterator[str]:
    """Say why Spark's secret cannot be made anew on these hosts."""
    if not any(host.is_secured for host in cluster.spark.values()):
        yield "Spark has no secret: the inventory has no host with spark_security: standard"
        return
    stored = cluster.inventory.secrets
    used = {str(host.config.get(SECRET, "")) for host in cluster.spark.values()}
    if missing := {name for host in cluster.spark.values() for name in host.security.missing}:
        yield (
            f"{stored.directory} has no {listing(sorted(missing))}: run site.yml, or copy the "
            "directory from the control node that made it"
        )
    elif used != {stored.texts.get(SPARK_SECRET)}:
        yield (
            f"the inventory gives {SECRET}: change it there, remove Spark by teardown.yml, which "
            "keeps its data, and run site.yml"
        )
    if left_out := [name for name in cluster.spark if name not in hosts]:
        yield f"all processes of Spark share its secret, and --limit leaves out {listing(left_out)}"
    if not confirmed:
        yield (
            "a new secret stops all of Spark, ends its jobs, and starts it without them. To go on: "
            "-e rotate_confirm=true"
        )


def _choice(cluster: Cluster) -> str:
    """Return what can be made anew, and how to say so."""
    choices = []
    if names := [
        user.name
        for user in next((broker.security.users for broker in cluster.brokers), [])
        if not [*_of_users(cluster, [user.name])]
    ]:
        choices.append(f"-e user=NAME, several with commas, for {listing(names)}")
    if not [*_of_spark(cluster, [*cluster.spark], confirmed=True)]:
        choices.append("-e secret=spark for what the processes of Spark share")
    return f"say which: {', or '.join(choices) or 'the inventory has none that Millrace makes'}"
