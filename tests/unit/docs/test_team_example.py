"""The example of a team's repository: its files are accepted, and its pipelines do what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_directory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster

from tests.support.clients import guide
from tests.support.lab.topology import ROOT
from tests.unit.tree import load

EXAMPLE = ROOT / "examples/team"
GITLAB: dict[str, Any] = load(EXAMPLE / ".gitlab-ci.yml")
GITHUB: dict[str, Any] = load(EXAMPLE / ".github/workflows/kafka.yml")
PLAN, APPLY = "./topics.sh --check --diff", "./topics.sh --diff"
[HOSTS, _] = guide.blocks("3. Write the inventory", "yaml", guide.KAFKA_CLUSTER)


def test_its_files_are_accepted_by_the_platform(tmp_path: Path) -> None:
    folder = tmp_path / "prod/group_vars"
    folder.mkdir(parents=True)
    (folder.parent / "hosts.yml").write_text(HOSTS)
    variables = {"kafka_resources_dir": str(EXAMPLE / "kafka")}
    (folder / "kafka.yml").write_text(yaml.safe_dump(variables))
    cluster = resolve(from_directory(folder.parent))
    assert not [problem.rule for problem in check_cluster(RULES, cluster)]
    users = {user.name: user for user in cluster.brokers[0].security.users}
    prefixes = {
        (kind, grant[kind])
        for grant in users["orders-pipeline"].grants
        for kind in ("topic", "group", "transactional_id")
        if kind in grant and grant["operations"] == ["all"] and grant["pattern"] == "prefixed"
    }
    assert {("topic", "orders."), ("group", "orders-")} <= prefixes


def test_the_topic_of_the_page_is_that_of_the_example() -> None:
    [text, *_] = re.findall(r"^```yaml\n(.*?)^```$", guide.FIRST_TOPIC.read_text(), re.M | re.S)
    assert yaml.safe_load(text)["topics"] == load(EXAMPLE / "kafka/orders.yml")["topics"]


def test_the_script_runs_a_playbook_with_parameters_that_there_are() -> None:
    text = (EXAMPLE / "topics.sh").read_text().replace("\\\n", " ")
    [line] = [line for line in text.splitlines() if "ansible-playbook" in line]
    words = shlex.split(line)
    assert words[:3] == ["exec", "ansible-playbook", "millrace.streaming.topics"]
    assert (ROOT / "playbooks/topics.yml").is_file()
    parameters = load(ROOT / "meta/parameters.yml")["parameters"]
    variables = {"kafka_resources_dir"}
    named = {name for name, _ in guide.extra_variables(words)}
    assert named - variables <= {*parameters}
    assert (EXAMPLE / dict(guide.extra_variables(words))["kafka_resources_dir"]).is_dir()


def test_gitlab_shows_the_plan_of_a_merge_request_and_applies_it_with_approval() -> None:
    plan, apply = GITLAB["plan"], GITLAB["apply"]
    assert plan["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert plan["script"] == [PLAN]
    assert plan["artifacts"]["when"] == "always", "a refused plan is one to read"
    [rule] = apply["rules"]
    assert rule == {"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "manual"}
    assert apply["environment"] == apply["resource_group"] == "kafka"
    assert apply["script"] == [APPLY]
    assert plan["artifacts"]["paths"] == apply["artifacts"]["paths"] == ["plan.json"]


def test_github_shows_the_plan_of_a_pull_request_and_applies_it_with_approval() -> None:
    assert GITHUB["on"] == {"pull_request": None, "push": {"branches": ["main"]}}
    assert GITHUB["permissions"] == {"contents": "read"}
    jobs = GITHUB["jobs"]
    assert jobs["plan"]["if"] == "github.event_name == 'pull_request'"
    assert jobs["apply"]["if"] == "github.event_name == 'push'"
    assert jobs["apply"]["environment"] == jobs["apply"]["concurrency"] == "kafka"
    for job, command in (("plan", PLAN), ("apply", APPLY)):
        steps = jobs[job]["steps"]
        assert [step["run"] for step in steps if "topics.sh" in step.get("run", "")] == [command]
        [upload] = [step for step in steps if "upload-artifact" in step.get("uses", "")]
        assert (upload["if"], upload["with"]["path"]) == ("always()", "plan.json")


@pytest.mark.parametrize("job", ["plan", "apply"])
def test_only_the_step_that_writes_the_login_has_the_secret(job: str) -> None:
    steps = GITHUB["jobs"][job]["steps"]
    with_secret = [step for step in steps if "secrets." in str(step)]
    assert [step["name"] for step in with_secret] == ["Log in"]
    assert with_secret[0]["run"].startswith("umask 077 && ")


def test_git_ignores_what_the_scripts_write() -> None:
    ignored = (EXAMPLE / ".gitignore").read_text().split()
    assert {"client.properties", "plan.json", ".venv/", "collections/"} <= {*ignored}
    assert "ca.pem" not in ignored
