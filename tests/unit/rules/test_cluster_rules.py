"""Each rule about inventories by one that it refuses and one that it lets pass."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.variables import (
    Option,
    convert,
    documented,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    Problem,
    check_cluster,
    errors,
    report_lines,
    warnings,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
    KINDS,
)

from tests.unit.rules import (
    certificate_cases,
    connect_cases,
    connection_cases,
    connector_cases,
    console_cases,
    firewall_cases,
    hdfs_cases,
    inventory_cases,
    jvm_cases,
    lag_exporter_cases,
    legal,
    legal_properties,
    mirror_cases,
    monitoring_cases,
    operator_cases,
    plugin_cases,
    policy_cases,
    postgresql_cases,
    principal_cases,
    protection_cases,
    reading_cases,
    refused,
    refused_kafka,
    refused_nodes,
    refused_properties,
    resource_cases,
    schema_registry_cases,
    security_cases,
    spark_cases,
    spark_job_cases,
    value_cases,
)
from tests.unit.rules.draft import NODES, TMP, Change, Draft

REFUSED = [
    *refused.CASES,
    *refused_nodes.CASES,
    *refused_kafka.CASES,
    *refused_properties.CASES,
    *certificate_cases.REFUSED,
    *connect_cases.REFUSED,
    *connection_cases.REFUSED,
    *connector_cases.REFUSED,
    *firewall_cases.REFUSED,
    *hdfs_cases.REFUSED,
    *inventory_cases.REFUSED,
    *jvm_cases.REFUSED,
    *console_cases.REFUSED,
    *lag_exporter_cases.REFUSED,
    *mirror_cases.REFUSED,
    *monitoring_cases.REFUSED,
    *operator_cases.REFUSED,
    *plugin_cases.REFUSED,
    *policy_cases.REFUSED,
    *postgresql_cases.REFUSED,
    *principal_cases.REFUSED,
    *protection_cases.REFUSED,
    *reading_cases.REFUSED,
    *resource_cases.REFUSED,
    *schema_registry_cases.REFUSED,
    *security_cases.REFUSED,
    *spark_cases.REFUSED,
    *spark_job_cases.REFUSED,
    *value_cases.REFUSED,
]
LEGAL = [
    *legal.CASES,
    *certificate_cases.LEGAL,
    *connect_cases.LEGAL,
    *connection_cases.LEGAL,
    *connector_cases.LEGAL,
    *schema_registry_cases.LEGAL,
    *firewall_cases.LEGAL,
    *hdfs_cases.LEGAL,
    *inventory_cases.LEGAL,
    *jvm_cases.LEGAL,
    *console_cases.LEGAL,
    *lag_exporter_cases.LEGAL,
    *mirror_cases.LEGAL,
    *legal_properties.CASES,
    *monitoring_cases.LEGAL,
    *operator_cases.LEGAL,
    *plugin_cases.LEGAL,
    *policy_cases.LEGAL,
    *postgresql_cases.LEGAL,
    *principal_cases.LEGAL,
    *protection_cases.LEGAL,
    *reading_cases.LEGAL,
    *resource_cases.LEGAL,
    *security_cases.LEGAL,
    *spark_cases.LEGAL,
    *spark_job_cases.LEGAL,
    *value_cases.LEGAL,
]


def problems_of(*changes: Change) -> list[Problem]:
    draft = Draft()
    for change in changes:
        change(draft)
    return draft.problems()


def text(problems: list[Problem]) -> str:
    return "\n".join(line for problem in problems for line in problem.lines())


def test_clean_inventory_has_no_problem() -> None:
    assert problems_of() == []


@pytest.mark.parametrize(
    ("rule", "mistake", "phrases"),
    [
        pytest.param(rule, mistake, phrases, id=f"{rule}: {name}")
        for rule, name, mistake, phrases in REFUSED
    ],
)
def test_one_mistake_is_one_problem(rule: str, mistake: Change, phrases: tuple[str, ...]) -> None:
    draft = Draft()
    mistake(draft)
    problems = draft.problems()
    message = text(problems)
    assert [problem.rule for problem in problems] == [rule], message
    assert [phrase for phrase in phrases if phrase not in message] == [], message
    assert "hunter2" not in message
    if corrected(draft, problems[0]):
        remaining = [problem for problem in errors(draft.problems()) if problem.rule != rule]
        assert remaining == [], f"the fix leads into another refusal: {text(remaining)}"


@pytest.mark.parametrize(
    "change", [pytest.param(change, id=f"{rule}: {name}") for rule, name, change in LEGAL]
)
def test_legal_variations(change: Change) -> None:
    problems = problems_of(change)
    assert problems == [], text(problems)


def test_every_rule_has_a_wrong_and_a_legal_case() -> None:
    names = {rule.name for rule in RULES if rule.on_cluster}
    assert names == {case[0] for case in REFUSED}
    assert names == {case[0] for case in LEGAL}


_FIX = re.compile(r"Set (?P<key>[\w.]+): (?P<value>[^\s,;]+?)(?=[.,;]?(?: |$))")


def corrected(draft: Draft, problem: Problem) -> bool:
    """Do what a message says, where it gives a value for a property or a variable."""
    match, place = _FIX.match(problem.fix), re.match(r"(\w+)\[([^\]]+)\]", problem.where)
    continued = match and re.match(r"( and|;)", problem.fix[match.end() :])
    if not match or continued or problem.fix.count(match["key"]) > 1:
        return False
    key, value = match["key"], yaml.safe_load(match["value"])
    hosts = [host for host in problem.hosts or NODES if host in draft.variables]
    if place and "." in key:
        for host in hosts:
            draft.variables[host].setdefault(place[1], {})[key] = value
    elif key in documented():
        draft.variable(key, value, on=tuple(hosts))
    else:
        return False
    return True


def test_a_fix_that_gives_a_value_is_followed() -> None:
    draft = Draft().own("default.replication.factor", 4)
    [problem] = draft.problems()
    assert corrected(draft, problem)
    assert draft.problems() == []


def test_warnings_refuse_nothing() -> None:
    problems = problems_of(lambda d: d.own("log.cleaner.enable", True).own("num.io.threads", 0))
    assert [problem.rule for problem in warnings(problems)] == ["deprecated-key"]
    assert [problem.rule for problem in errors(problems)] == ["key-value"]
    report = [*report_lines(problems, "The inventory has", "no host was touched")]
    assert [line for kind, line in report if kind == "heading"][1:] == [
        f"1. {problem.lines()[0]}" for problem in errors(problems)
    ]


@pytest.mark.parametrize(
    ("rule", "mistake"),
    [
        pytest.param(rule, mistake, id=f"{rule}: {name}")
        for rule, name, mistake, _ in REFUSED
        if rule in ("connector-placeholder", "value-backslashes", "variable-without-group")
    ],
)
def test_what_may_be_meant_is_a_warning(rule: str, mistake: Change) -> None:
    problems = problems_of(mistake)
    assert errors(problems) == []
    assert [problem.rule for problem in warnings(problems)] == [rule]


@pytest.mark.parametrize(("size", "rules"), [("1g", []), ("5g", ["heap-over-memory"])])
def test_a_heap_by_an_option_counts_in_the_memory(size: str, rules: list[str]) -> None:
    problems = problems_of(lambda d: d.variable("kafka_java_options", [f"-Xmx{size}"]))
    assert {problem.rule for problem in problems} == {"heap-option", *rules}


def test_suggested_ids_are_unused_and_differ() -> None:
    draft = Draft().controllers("k1", "k2", "ctl1").ids(k1=3, k2=2, k3=3)
    draft.add_host("ctl1", kafka_node_id=2, kafka_security="open")
    first, second = (problem.fix for problem in draft.problems())
    assert "kafka_node_id: 1 on k3" in first
    assert "kafka_node_id: 100 on ctl1" in second


def test_suggested_zookeeper_ids_are_unused_and_differ() -> None:
    draft = Draft().ensemble("z1", "z2", "z3", "z4", "z5")
    for host, number in {"z1": 1, "z2": 1, "z3": 1, "z4": None, "z5": 0}.items():
        draft.variable("zookeeper_id", number, on=(host,))
    missing, invalid, duplicate = (problem.fix for problem in draft.problems())
    assert "zookeeper_id: 4 on z4" in missing
    assert "zookeeper_id: 5 on z5" in invalid
    assert "zookeeper_id: 2 on z2" in duplicate
    assert "zookeeper_id: 3 on z3" in duplicate


def test_several_mistakes_are_as_many_problems_in_a_stable_order() -> None:
    mistakes: list[Change] = [
        lambda d: d.groups.update(spark_history=[]),
        lambda d: d.add_host("k4"),
        lambda d: d.variable("kafka_hep", "1g"),
        lambda d: d.unresolvable("kafka_rack", "'x' is undefined"),
        lambda d: d.variable("kafka_profile", "fast"),
        lambda d: d.variable("spark_master_port", 9092, on=("k1",)),
        lambda d: d.variable("kafka_heap", "lots"),
        lambda d: d.variable("kafka_data_dirs", [f"{TMP}/kafka"]),
        lambda d: d.ids(k3=2),
        lambda d: d.own("default.replication.factor", 4),
        lambda d: d.own("node.id", 9),
        lambda d: d.own("num.partition", 1),
        lambda d: d.variable("kafka_cluster_id", "x"),
    ]
    problems = problems_of(*mistakes)
    assert [problem.rule for problem in problems] == [
        "empty-group",
        "host-without-group",
        "unknown-variable",
        "unresolved-variable",
        "variable-value",
        "port-conflict",
        "heap-value",
        "data-dir-in-tmp",
        "node-id-duplicate",
        "cluster-id",
        "replication-factor",
        "owned-key",
        "unknown-key",
    ]
    assert problems == problems_of(*reversed(mistakes))


def test_each_unresolved_variable_is_a_problem_and_the_rest_is_judged() -> None:
    draft = Draft().unresolvable("kafka_heap", "a").unresolvable("kafka_rack", "b", on=("k2",))
    problems = draft.own("num.partition", 1).problems()
    assert [(problem.rule, problem.hosts) for problem in problems] == [
        ("unresolved-variable", NODES),
        ("unresolved-variable", ("k2",)),
        ("unknown-key", NODES),
    ]


SPARK_KEYS = (
    "spark.authenticate.secret",
    "spark.jars.packages",
    "spark.sql.streaming.checkpointLocation",
    "spark.executor.memory",
    "spark.executor.cores",
    "spark.authenticate",
    "spark.shuffle.service.port",
)
KAFKA_KEYS = (
    "log.cleanup.policy",
    "ssl.key.password",
    "super.users",
    "authorizer.class.name",
    "min.insync.replicas",
    "default.replication.factor",
    "log.retention.ms",
    "listeners",
    "unknown",
)
JUNK: tuple[object, ...] = (None, "", "junk", -1, 2.5, True, [], [None, "x", {}], {"a": [1]})


def is_accepted(name: str, junk: object, option: Option) -> bool:
    return junk is not None and not convert(name, junk, option)[1]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_rule_fails_on_malformed_input(junk: object) -> None:
    drafts = [Draft().own(key, junk) for key in KAFKA_KEYS]
    drafts += [
        Draft().own_spark("spark.shuffle.service.enabled", True).own_spark(key, junk)
        for key in SPARK_KEYS
    ]
    drafts += [
        Draft().own_zookeeper("tickTime", junk),
        Draft().own_zookeeper("jute.maxbuffer", junk),
    ]
    # Variables whose value is refused have their default, for rules too that read several.
    accepted = [name for name, option in documented().items() if is_accepted(name, junk, option)]
    for names in (documented().keys() - {*accepted}, *([name] for name in accepted)):
        kraft, zookeeper = Draft(), Draft().zookeeper_mode()
        for name in names:
            kraft.variable(name, junk)
            zookeeper.variable(name, junk, on=(*NODES, "z1"))
        drafts += [kraft, zookeeper]
    drafts += [
        Draft().variable("kafka_listeners", [{"name": junk, "port": junk, "protocol": "SSL"}, junk])
    ]
    drafts += [Draft().archive(url=junk, sha512=junk)]
    for key in ("ansible_host", "ansible_port"):
        draft = Draft()
        draft.connections["k1"] = {key: junk}
        drafts.append(draft)
    for draft in drafts:
        problems = check_cluster(RULES, draft.cluster())
        assert [*report_lines(problems, "The inventory has", "no host was touched")]


JUNK_IN_FILES = (
    "",
    "~",
    "''",
    "x",
    "-1",
    "2.5",
    "true",
    "[]",
    "[~, x, {}, [1]]",
    "{a: [1]}",
    "{1: {}}",
    '"a\\nb\\u202e"',
    ".nan",
    "-.inf",
    "'*'",
    "<default>",
    "2026-01-31",
    "9" * 5000,
)


def test_no_rule_fails_on_files_with_malformed_entries() -> None:
    texts = {}
    for name in ("platform", "orders"):
        lines = ["teams: {orders: {prefixes: [orders.]}}"] if name == "platform" else []
        for kind, variable in KINDS.items():
            lines.append(f"{kind}:")
            for key in (*documented()[variable]["options"], "unknown"):
                others = {"name": "orders.x", "user": "app", "topic": "orders.x", "role": "admin"}
                others = {other: text for other, text in others.items() if other != key}
                pairs = [
                    f"{k}: {v}" for k, v in others.items() if k in documented()[variable]["options"]
                ]
                for junk in JUNK_IN_FILES:
                    lines.append(f"  - {{{', '.join([*pairs, f'{key}: {junk}'])}}}")
                    lines.append(f"  - {{{key}: {junk}}}")
        texts[name] = "\n".join(lines)
    without_nodes = Draft().drop_group("kafka_brokers").drop_group("kafka_controllers")
    for draft in (Draft().variable("kafka_security", "standard"), without_nodes):
        problems = check_cluster(RULES, draft.resources(**texts).cluster())
        report = [line for _, line in report_lines(problems, "The files have", "nothing changed")]
        assert [line for line in report if not line.isprintable()] == []


def test_problem_is_plain_data() -> None:
    [problem] = problems_of(lambda draft: draft.ids(k2=None))
    data = problem.as_dict()
    assert (data["rule"], data["severity"], data["hosts"]) == ("node-id-missing", "error", ["k2"])
    assert data["where"] == "kafka_node_id of k2"
    keys = {"rule", "severity", "where", "what", "why", "fix", "hosts", "places", "entry"}
    assert {*data} == keys


@pytest.mark.parametrize(
    ("site", "address"),
    [
        ("", "docs/reference/errors-kafka.md#node-id-missing"),
        (
            "https://docs.example.org/",
            "https://docs.example.org/docs/reference/errors-kafka.html#node-id-missing",
        ),
    ],
)
def test_a_message_ends_with_the_address_of_its_rule(site: str, address: str) -> None:
    [problem] = problems_of(lambda draft: draft.ids(k2=None).variable("docs_url", site))
    assert problem.lines()[-1].endswith(f" {address}")
