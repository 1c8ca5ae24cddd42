"""The example of a site's own repository, with the collection built and installed as its page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.uuids import is_cluster_id
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.secret_files import (
    SecretFiles,
)

from tests.support.clients import guide
from tests.support.lab.topology import ROOT
from tests.unit.module_runner import HANGS_SECONDS
from tests.unit.tree import load, walk

EXAMPLE = ROOT / "examples/site"
TOOLS = Path(sys.executable).parent
GITLAB: dict[str, Any] = load(EXAMPLE / ".gitlab-ci.yml")
GITHUB: dict[str, Any] = load(EXAMPLE / ".github/workflows/kafka.yml")
[AWX] = load(EXAMPLE / "awx.yml")
COPY, ENTER, INSTALL, ACTIVATE = guide.commands("1. Copy and install", guide.REPOSITORY)
[NEW_ID] = guide.commands("2. Describe your cluster", guide.REPOSITORY)
NEW_PASSWORD, NAME_PASSWORD, VALIDATE, EXPLAIN, PREFLIGHT, APPLY = guide.commands(
    "3. Validate and deploy", guide.REPOSITORY
)

SEALED = "Ansible has no vault password"


def run(place: Path, command: str, *, code: int = 0) -> str:
    """Run a command in the site's directory, as it is typed there; what it prints."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        capture_output=True,
        text=True,
        cwd=place,
        timeout=HANGS_SECONDS,
        env={
            **kept,
            "ANSIBLE_HOME": str(place.parent / "home"),
            "HOME": str(place.parent),
            "PATH": f"{TOOLS}:{os.environ['PATH']}",
        },
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with the collection of this tree, as install.sh installs it, without Python packages."""
    base = tmp_path_factory.mktemp("site")
    build = [f"{TOOLS}/ansible-galaxy", "collection", "build", "--output-path", str(base)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [built] = base.glob("millrace-streaming-*.tar.gz")
    # Of the collection, which is what a user has.
    run(base, f"tar -xzf {built} examples/site && mv examples/site kafka")
    place = base / "kafka"
    source = {"collections": [{"name": str(built), "type": "file"}]}
    (place / "requirements.yml").write_text(yaml.safe_dump(source))
    [install] = [line for line in steps() if "ansible-galaxy" in line]
    run(place, install.replace(".venv/bin/", ""))
    return place


def steps() -> list[str]:
    """The commands of install.sh."""
    lines = (EXAMPLE / "install.sh").read_text().splitlines()
    return [line for line in lines if line.startswith((".venv/", "python3"))]


def test_the_page_copies_and_installs_it() -> None:
    assert shlex.split(COPY)[:3] == ["cp", "-R", "examples/site"]
    assert shlex.split(COPY)[3] == shlex.split(ENTER)[1]
    assert (INSTALL, ACTIVATE) == ("./install.sh", ". .venv/bin/activate")


def test_what_it_installs_is_what_the_collection_has(site: Path) -> None:
    [pinned] = [line for line in steps() if "--require-hashes" in line]
    assert (site / shlex.split(pinned)[-1]).read_bytes() == (
        ROOT / "requirements/control-node.txt"
    ).read_bytes()


def test_the_page_makes_an_id_of_a_cluster(tmp_path: Path) -> None:
    assert is_cluster_id(run(tmp_path, NEW_ID).strip())


def test_it_is_validated_without_secrets_and_without_a_password(site: Path) -> None:
    output = run(site, f"{VALIDATE} 2>&1")
    assert "3 controllers and 3 brokers" in output
    assert SEALED in output
    assert not (site / "prod/.secrets").exists()


def test_the_page_makes_a_password_that_only_its_owner_reads(site: Path) -> None:
    output = run(site, f"{NEW_PASSWORD}\n{NAME_PASSWORD}\n{VALIDATE} 2>&1")
    assert SEALED not in output
    assert (site.parent / ".vault-password").stat().st_mode & 0o777 == 0o600


# The secrets of a run, in repositories of git that take the place of the forge's


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone, at its only commit as a forge checks it out, of a repository with push.sh."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "push.sh").write_text((EXAMPLE / "push.sh").read_text())
    (work / "push.sh").chmod(0o755)
    (work / ".gitignore").write_text((EXAMPLE / ".gitignore").read_text())
    commit = "git add --all && git -c user.name=a -c user.email=a@example.org commit -qm first"
    run(work, f"git init -q -b main && {commit}")
    run(tmp_path, f"git clone -q --bare work forge && git clone -q forge {CLONE}")
    run(tmp_path / CLONE, "git checkout -q --detach")
    return tmp_path / CLONE


CLONE = "clone"
PUSH = "./push.sh ../forge main"


def write_secret(place: Path, text: str) -> Path:
    """Write a secret; the directory."""
    folder = place / "prod/.secrets"
    folder.mkdir(parents=True)
    (folder / "ca.key").write_text(text)
    return folder


def pushed(place: Path) -> list[str]:
    return run(place, "git --git-dir ../forge ls-tree -r --name-only main").splitlines()


def test_new_secrets_are_pushed_beside_a_commit_of_others(clone: Path) -> None:
    first = pushed(clone)
    run(clone, PUSH)
    assert pushed(clone) == first, "there are none yet"
    commit = "git add --all && git -c user.name=b -c user.email=b@example.org commit -qm second"
    run(clone.parent / "work", f"touch topics && {commit} && git push -q ../forge main")
    write_secret(clone, "$ANSIBLE_VAULT;1.1;AES256\n")
    run(clone, PUSH)
    assert {"topics", "prod/.secrets/ca.key"} <= {*pushed(clone)}
    count = "git --git-dir ../forge rev-list --count main"
    assert run(clone, f"{PUSH} && {count}") == "3\n", "nothing is new the second time"


def test_secrets_in_clear_text_are_not_pushed(clone: Path) -> None:
    first = pushed(clone)
    SecretFiles(write_secret(clone, "a key\n")).prepare()
    run(clone, PUSH)
    assert pushed(clone) == first


def test_a_property_is_explained(site: Path) -> None:
    (site.parent / ".vault-password").write_text("a password\n")
    assert "log.retention" in run(site, f"{NAME_PASSWORD}\n{EXPLAIN}")


def test_a_wrong_change_is_refused_with_its_file(site: Path) -> None:
    """As the pipelines run it, which show the file to the server."""
    orders = site / "resources/orders.yml"
    text = orders.read_text()
    [command] = [line for line in GITLAB["validate"]["script"] if "validate" in line]
    try:
        orders.write_text(text.replace("orders.paid", "billing.paid"))
        output = run(site, command, code=2)
    finally:
        orders.write_text(text)
    assert f"{orders}:" in output
    cases = ET.parse(site / "problems.xml").iter("testcase")
    refused = [case.get("name") for case in cases if case.find("failure") is not None]
    assert refused == ["resource-prefix"]


def test_its_playbooks_are_those_of_the_collection(site: Path) -> None:
    paths = sorted(EXAMPLE.glob("playbooks/*.yml"))
    for path in paths:
        [play] = load(path)
        assert play["ansible.builtin.import_playbook"] == f"millrace.streaming.{path.stem}"
    names = shlex.join(f"playbooks/{path.name}" for path in paths)
    output = run(site, f"ansible-playbook -i prod --syntax-check {names}")
    assert output.count("playbook: playbooks/") == len(paths) == 5


def test_the_tasks_of_a_deployment_are_listed(site: Path) -> None:
    assert "Resolve the cluster" in run(
        site, "ansible-playbook -i prod millrace.streaming.site --list-tasks"
    )


def test_what_the_scripts_run_is_there() -> None:
    scripts = [(EXAMPLE / name).read_text() for name in ("plan.sh", "apply.sh")]
    named = {*re.findall(r"millrace\.streaming\.(\w+)", "\n".join([*scripts, PREFLIGHT]))}
    named |= {*re.findall(r"^  show (\w+)", scripts[0], re.M)}
    assert {"site", "resources", "health", "preflight"} <= named
    assert not [name for name in named if not (ROOT / f"playbooks/{name}.yml").is_file()]
    assert "--check --diff" in scripts[0]
    assert APPLY == "./apply.sh"


def test_a_plan_is_written_even_if_it_fails(site: Path, tmp_path: Path) -> None:
    """With a stand-in for Ansible that prints much."""
    programs = tmp_path / "programs"
    programs.mkdir()
    stand_in = programs / "ansible-playbook"
    stand_in.write_text(
        "#!/bin/sh\n"
        'case "$*" in *streaming.site*) seq 20000; exit 0 ;; esac\n'
        "echo 'fatal: it needs a word'; exit 2\n"
    )
    stand_in.chmod(0o755)
    run(site, f"PATH={programs}:$PATH ./plan.sh", code=2)
    plan = (site / "plan.md").read_text()
    assert len(plan) < 65536
    assert plan.startswith("## Plan\n")
    assert "it needs a word" in plan
    assert plan.count("~~~~~~") == 2


# An inventory as AWX gives it to a job: a program that prints what was read from the repository.


def test_the_inventory_of_awx_is_accepted(site: Path, tmp_path: Path) -> None:
    exported = run(site, "ansible-inventory -i prod/hosts.yml --list --export")
    assert json.loads(exported)["kafka"]["vars"]["kafka_cluster_id"]
    program = tmp_path / "hosts"
    program.write_text(f"#!/bin/sh\ncat << 'END'\n{exported}\nEND\n")
    program.chmod(0o755)
    variables = json.dumps(AWX["vars"]["awx_variables"])
    command = ["ansible-playbook", "-i", str(program), "playbooks/validate.yml", "-e", variables]
    assert "3 controllers and 3 brokers" in run(site, shlex.join(command))


def test_awx_has_templates_of_playbooks_and_parameters_that_there_are() -> None:
    templates = AWX["vars"]["awx_templates"]
    assert not [t["name"] for t in templates if not (EXAMPLE / t["playbook"]).is_file()]
    parameters = load(ROOT / "meta/parameters.yml")["parameters"]
    questions = [question for t in templates for question in t.get("survey", ())]
    assert questions
    assert not [q["variable"] for q in questions if q["variable"] not in parameters]
    names = {template["name"] for template in templates}
    scheduled = {schedule["template"] for schedule in AWX["vars"]["awx_schedules"]}
    [workflow] = [
        task["awx.awx.workflow_job_template"]
        for task in AWX["tasks"]
        if "awx.awx.workflow_job_template" in task
    ]
    nodes = {node["identifier"]: node for node in workflow["schema"]}
    used = {
        node["unified_job_template"]["name"]
        for node in nodes.values()
        if node["unified_job_template"]["type"] == "job_template"
    }
    assert scheduled | used <= names
    order, node = [], nodes["plan"]
    while node["related"]["success_nodes"]:
        [after] = node["related"]["success_nodes"]
        node = nodes[after["identifier"]]
        order.append(node["identifier"])
    assert order == ["approval", "apply", "resources", "health"]


# The pipelines of both forges


def test_gitlab_validates_and_plans_a_merge_request_and_applies_it_with_approval() -> None:
    request = [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert GITLAB["validate"]["rules"] == GITLAB["plan"]["rules"] == request
    assert GITLAB["validate"]["artifacts"]["when"] == "always", "a refused one is one to read"
    assert GITLAB["validate"]["artifacts"]["reports"] == {"junit": "problems.xml"}
    assert GITLAB["plan"]["script"] == ["./plan.sh"]
    assert "plan.md" in GITLAB["plan"]["after_script"][0], "also of a plan that failed"
    [rule] = GITLAB["apply"]["rules"]
    assert rule == {"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "manual"}
    assert GITLAB["apply"]["environment"] == "kafka"
    assert GITLAB["apply"]["resource_group"] == GITLAB["plan"]["resource_group"] == "kafka"
    assert GITLAB["apply"]["script"] == ["./apply.sh"]
    assert GITLAB["apply"]["after_script"][0].startswith("./push.sh "), "also if it failed"


def test_github_validates_and_plans_a_pull_request_and_applies_it_with_approval() -> None:
    jobs = GITHUB["jobs"]
    assert jobs["apply"]["if"] == "github.event_name == 'push'"
    assert GITHUB["on"] == {"pull_request": None, "push": {"branches": ["main"]}}
    for name in ("validate", "plan"):
        assert jobs[name]["if"] == "github.event_name == 'pull_request'"
    assert jobs["apply"]["environment"] == jobs["apply"]["concurrency"] == "kafka"
    assert jobs["plan"]["concurrency"] == "kafka"
    runs = {name: [step.get("run") for step in job["steps"]] for name, job in jobs.items()}
    assert "./plan.sh" in runs["plan"]
    assert runs["apply"][-2] == "./apply.sh"
    assert runs["apply"][-1].startswith("./push.sh ")
    assert jobs["apply"]["steps"][-1]["if"] == "always()", "also if it failed"
    [validate] = [line for line in GITLAB["validate"]["script"] if "validate" in line]
    assert validate in runs["validate"], "both forges do the same"


def test_what_may_write_to_a_pull_request_has_no_secrets() -> None:
    assert GITHUB["permissions"] == {"contents": "read"}
    jobs = GITHUB["jobs"]
    writers = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert writers == {"comment": {"pull-requests": "write"}, "apply": {"contents": "write"}}
    assert "kafka" not in str(jobs["comment"]["runs-on"])
    assert jobs["apply"]["environment"] == "kafka", "once somebody has approved it"


def test_git_ignores_what_runs_write_but_the_encrypted_secrets() -> None:
    ignored = (EXAMPLE / ".gitignore").read_text().split()
    assert {".venv/", "collections/", "plan.json", "plan.md"} <= {*ignored}
    assert not [line for line in ignored if "secrets" in line]
    assert load(EXAMPLE / "prod/group_vars/kafka.yml")["kafka_secrets_store"] == "vault"


def test_the_settings_of_ansible_are_those_of_this_tree() -> None:
    """But for where roles and the collection are."""

    def settings(path: Path) -> dict[tuple[str, str], str]:
        parser = ConfigParser(interpolation=None)
        parser.read(path)
        return {(s, name): value for s in parser.sections() for name, value in parser[s].items()}

    ours, example = settings(ROOT / "ansible.cfg"), settings(EXAMPLE / "ansible.cfg")
    assert ours.keys() - {("defaults", "roles_path")} == example.keys()
    differing = {key for key in example if example[key] != ours[key]}
    assert differing == {("defaults", "collections_path")}


def test_the_execution_environment_installs_what_the_collection_pins() -> None:
    """.ci/release has ansible-builder read it."""
    document = load(EXAMPLE / "execution-environment.yml")
    assert document["version"] == 3
    assert document["dependencies"]["galaxy"] == "requirements.yml"
    [install] = document["additional_build_steps"]["append_final"]
    place = "/usr/share/ansible/collections/ansible_collections/millrace/streaming/"
    [path] = [word for word in install.split() if word.startswith(place)]
    assert (ROOT / path.removeprefix(place)).is_file()
    assert "--require-hashes" in install


def test_no_file_of_it_names_a_place_that_there_is_only_here() -> None:
    texts = [path.read_text() for path in EXAMPLE.rglob("*") if path.is_file()]
    assert not [text for text in texts if str(ROOT) in text]
    addresses = {
        word for text in texts for word in re.findall(r"https?://(?!\S*@\$)([\w.-]+)", text)
    }
    assert addresses
    assert all(name.endswith("example.org") for name in addresses)
    assert [*walk([load(EXAMPLE / "prod/hosts.yml")])]
