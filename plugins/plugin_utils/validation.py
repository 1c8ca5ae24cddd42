"""The check of an inventory by the rules, and its result in files."""

from ..module_utils.model.cluster import Cluster
from ..module_utils.rules import RULES, engine
from ..module_utils.rules.engine import Problem
from .files import write


def check(cluster: Cluster, json: str | None, junit: str | None) -> tuple[list[Problem], str]:
    """Return the problems of a cluster and their report, and write the files that are asked for.

    Raises:
        AnsibleActionFail: a file cannot be written.

    """
    problems = engine.check_cluster(RULES, cluster)
    write(json, engine.as_json(RULES, problems, len(cluster.hosts)), "the result")
    write(junit, engine.as_junit(RULES, problems), "the result")
    return problems, engine.report(problems, "The inventory has", "no host was touched")
