from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.inventory_rules import (
    RULES,
    Problem,
    errors,
    judge,
    lines_about,
    report,
    warnings,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules import REGISTERED

from tests.unit import (
    inventory_cases,
    inventory_cases_kafka,
    inventory_cases_keys,
    inventory_cases_nodes,
    inventory_legal,
    inventory_legal_keys,
)
from tests.unit.inventory_draft import (
    FACTORS,
    SPECS,
    TMP,
    Draft,
    Mistake,
    kafka,
    spark,
    zookeeper,
)

CASES = [
    *inventory_cases.CASES,
    *inventory_cases_nodes.CASES,
    *inventory_cases_kafka.CASES,
    *inventory_cases_keys.CASES,
]
LEGAL = [*inventory_legal.LEGAL, *inventory_legal_keys.LEGAL]


def judged(*mistakes: Mistake) -> list[Problem]:
    draft = Draft()
    for mistake in mistakes:
        mistake(draft)
    return judge(draft.inventory())


def told(problems: list[Problem]) -> str:
    """Put errors and warnings into words."""
    return "\n".join(line for problem in problems for line in lines_about(problem))


def test_clean_inventory_has_no_problem() -> None:
    assert judged() == []


@pytest.mark.parametrize(
    ("rule", "mistake", "fragments"),
    [
        pytest.param(rule, mistake, parts, id=f"{rule}: {name}")
        for rule, name, mistake, parts in CASES
    ],
)
def test_one_mistake_is_one_problem(
    rule: str, mistake: Mistake, fragments: tuple[str, ...]
) -> None:
    problems = judged(mistake)
    message = told(problems)
    assert [problem.rule for problem in problems] == [rule], message
    for fragment in fragments:
        assert fragment in message
    assert "hunter2" not in message


def test_every_rule_has_a_wrong_and_a_legal_case() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert set(names) == {case[0] for case in CASES}
    assert set(names) == {case[0] for case in LEGAL}


def test_no_rule_is_left_out() -> None:
    assert sorted(REGISTERED, key=lambda rule: rule.name) == sorted(
        RULES, key=lambda rule: rule.name
    )


@pytest.mark.parametrize(
    "change", [pytest.param(change, id=f"{rule}: {name}") for rule, name, change in LEGAL]
)
def test_legal_variations(change: Mistake) -> None:
    problems = judged(change)
    assert problems == [], told(problems)


def test_warnings_refuse_nothing() -> None:
    problems = judged(lambda d: d.own("log.cleaner.enable", True).own("num.io.threads", 0))
    assert [problem.rule for problem in warnings(problems)] == ["deprecated-key"]
    assert [problem.rule for problem in errors(problems)] == ["key-value"]
    assert report(problems).startswith("The inventory has 1 problem;")


def test_suggested_ids_are_unused_and_differ() -> None:
    draft = Draft()
    draft.groups["all"].append("ctl1")
    draft.groups["kafka_controllers"] = ["k1", "k2", "ctl1"]
    draft.descriptions["ctl1"] = {"kafka": kafka(2) | {"advertised_host": "ctl1"}}
    draft.ids(k1=3, k2=2, k3=3)
    fixes = [problem.fix for problem in judge(draft.inventory())]
    assert fixes == ["Set kafka_node_id: 1 on k3.", "Set kafka_node_id: 100 on ctl1."]


def test_host_outside_the_run_keeps_its_id() -> None:
    draft = Draft()
    draft.descriptions["k3"] = {}
    draft.variables["k3"]["kafka_node_id"] = 2
    [problem] = judge(draft.inventory())
    assert problem.what == "node.id 2 is used by k2 and k3."


def test_twelve_mistakes_are_twelve_problems_in_a_stable_order() -> None:
    mistakes: list[Mistake] = [
        lambda d: d.groups.update(spark_history=[]),
        lambda d: d.add_host("k4"),
        lambda d: d.variable("kafka_hep", "1g"),
        lambda d: d.variable("kafka_profile", "fast"),
        lambda d: d.descriptions["k1"]["spark"]["ports"].update(spark_master_port=9092),
        lambda d: d.kafka("heap", value="lots"),
        lambda d: d.kafka("data_dirs", value=[f"{TMP}/kafka"]),
        lambda d: d.ids(k3=2),
        lambda d: d.own("default.replication.factor", 4),
        lambda d: d.own("node.id", 9),
        lambda d: d.own("num.partition", 1),
        lambda d: d.kafka("cluster_id", value="x"),
    ]
    problems = judged(*mistakes)
    assert [problem.rule for problem in problems] == [
        "empty-group",
        "host-without-group",
        "unknown-variable",
        "variable-value",
        "port-clash",
        "heap-value",
        "data-dir-in-tmp",
        "node-id-duplicate",
        "cluster-id",
        "replication-factor",
        "owned-key",
        "unknown-key",
    ]
    assert problems == judged(*reversed(mistakes))
    assert report(problems).startswith("The inventory has 12 problems; no host was touched.")


SPARK_KEYS = (
    "spark.authenticate.secret",
    "spark.jars.packages",
    "spark.sql.streaming.checkpointLocation",
    "spark.executor.memory",
    "spark.executor.cores",
    "spark.authenticate",
)
KAFKA_KEYS = ("log.cleanup.policy", "ssl.key.password", "super.users", "authorizer.class.name")
JUNK: tuple[object, ...] = (None, "", "junk", -1, 2.5, True, [], [None, "x", {}], {"a": [1]})


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_rule_falls_over_malformed_input(junk: object) -> None:
    drafts = [Draft().kafka(part, value=junk) for part in kafka(1)]
    drafts += [
        Draft().kafka("own_config", layer, value=junk)
        for layer in ("kafka_config", "kafka_host_config")
    ]
    drafts += [Draft().own(key, junk) for key in (*FACTORS, *KAFKA_KEYS, "unknown")]
    drafts += [Draft().spark("k1", **{part: junk}) for part in spark("k1")]
    drafts += [Draft().description("k1", **{part: junk}) for part in ("host", "kafka", "spark")]
    drafts += [Draft().variable(name, junk) for spec in SPECS.values() for name in spec]
    drafts += [Draft().kafka("listeners", value=[{"name": junk, "port": junk}, junk])]
    drafts += [Draft().zookeeper_mode().kafka(part, value=junk) for part in kafka(1)]
    drafts += [Draft().own_spark(key, junk) for key in SPARK_KEYS]
    drafts += [Draft().own_zookeeper("tickTime", junk)]
    drafts += [Draft().variable("spark_worker_cores", junk).own_spark("spark.executor.cores", 1)]
    drafts += [
        Draft().ensemble().description("z1", zookeeper=zookeeper(1) | {part: junk})
        for part in zookeeper(1)
    ]
    drafts += [Draft().archive(url=junk, sha512=junk)]
    for key in ("ansible_host", "ansible_port"):
        draft = Draft()
        draft.connections["k1"] = {key: junk}
        drafts.append(draft)
    for draft in drafts:
        report(judge(draft.inventory()))


def test_problem_is_plain_data() -> None:
    [problem] = judged(lambda draft: draft.ids(k2=None))
    assert problem.as_dict() == {
        "rule": "node-id-missing",
        "where": "kafka_node_id of k2",
        "what": "k2 has no node.id.",
        "why": "A node's data is bound to its id, so the id is written down and never counted out.",
        "fix": "Set kafka_node_id: 2 on k2.",
        "hosts": ["k2"],
        "severity": "error",
    }
