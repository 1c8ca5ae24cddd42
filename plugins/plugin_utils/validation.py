"""The check of an inventory by the rules, and its result: on the screen and in files."""

from collections.abc import Sequence
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display

from ..module_utils.formats.values import listing
from .cluster.cluster import Cluster
from .cluster.registry import GROUPS
from .files import write
from .rules import engine
from .rules.catalogue import RULES
from .rules.engine import Problem

INVENTORY = ("The inventory has", "no host was touched")
HOSTS = ("The hosts have", "nothing was changed")
CHANGED_HOSTS = ("The hosts have", "no service was changed")


def forget(*paths: str | None) -> None:
    """Remove the results of a run before: they are no results of this one.

    Raises:
        AnsibleActionFail: a file cannot be removed.

    """
    for path in filter(None, paths):
        try:
            if Path(path).is_file():
                Path(path).unlink()
        except OSError as error:
            message = f"The result cannot be written to {path}: {error.strerror}"
            raise AnsibleActionFail(message) from error


def check(cluster: Cluster, json: str | None, junit: str | None) -> list[Problem]:
    """Return the problems of a cluster, and write the files that are asked for.

    Raises:
        AnsibleActionFail: a file cannot be written.

    """
    problems = engine.check_cluster(RULES, cluster)
    write(json, engine.as_json(RULES, problems, len(cluster.hosts)), "the result")
    write(junit, engine.as_junit(RULES, problems), "the result")
    return problems


def show(problems: Sequence[Problem], subject: str, untouched: str) -> str:
    """Show how many errors there are, then each once, and return the message with which the run ends.

    Ansible shows the message of a failed task twice, and its result too. It knows whether the
    output has colours.
    """
    colors = {
        "heading": constants.COLOR_ERROR,  # type: ignore[attr-defined]  # set when Ansible starts
        "fix": constants.COLOR_OK,  # type: ignore[attr-defined]  # as above
    }
    for kind, line in engine.report_lines(problems, subject, untouched):
        Display().display(line, color=colors.get(kind))
    return engine.brief(problems, subject, untouched)


def summary(cluster: Cluster, problems: Sequence[Problem]) -> str:
    """Return what was checked: how many hosts, of which kinds, and how many warnings."""
    counts = []
    for name, group in GROUPS.items():
        if members := cluster.inventory.members(name):
            counts.append(engine.counted(len(members), group.one, group.several))
        if name == "kafka_brokers" and members:
            racks = {cluster.hosts[name].settings["kafka_rack"] for name in members} - {""}
            counts[-1] += f" in {engine.counted(len(racks), 'rack', 'racks')}" if racks else ""
    hosts = engine.counted(len(cluster.hosts), "host", "hosts")
    warnings = engine.counted(len(engine.warnings(problems)), "warning", "warnings")
    return f"{hosts}: {listing(counts)}; {len(RULES)} rules, {warnings}."
