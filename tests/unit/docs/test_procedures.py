"""Every command of a page with a procedure is run by a test, and every alert has commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.guide.test_alert_commands import LABELS
from tests.support.clients import guide
from tests.support.clients.operator import LOCAL, host_of
from tests.support.lab.topology import ROOT
from tests.unit.cluster.inventories import read
from tests.unit.docs.documents import prose
from tests.unit.tree import relative

# Page -> the tests that run all commands of the sections that they name.
RUN_BY = {
    guide.KAFKA_CLUSTER: "tests/stages/test_installed.py",
    guide.EXISTING_MONITORING: "tests/guide/test_existing_monitoring.py",
    guide.PIPELINE: "tests/unit/playbooks/test_pipeline.py",
    guide.SHARED_STATE: "tests/unit/playbooks/test_secrets_store.py",
    guide.SITE_CA: "tests/unit/playbooks/test_certificate_requests.py",
    guide.REPOSITORY: "tests/unit/docs/test_site_example.py",
    guide.CLOSED_NETWORK: "tests/unit/docs/test_closed_network.py",
    guide.CONTROL_NODE: "tests/guide/test_procedures.py",
    guide.TEAMS: "tests/guide/test_resources.py",
    guide.RESOURCES: "tests/guide/test_resources.py",
    guide.FIRST_TOPIC: "tests/guide/test_resources.py",
    guide.DISK: "tests/machines/test_3_procedures.py",
    guide.UNREACHABLE: "tests/machines/test_3_procedures.py",
}
ALL_SERVICES = "full"
"""Where tests/guide/test_alert_commands.py runs."""


def sections(page: Path) -> list[str]:
    """The sections of a page that have commands."""
    titles = re.findall(r"^## (.+)$", prose(page.read_text()), flags=re.M)
    return [title for title in titles if guide.commands(title, page)]


@pytest.mark.parametrize("page", RUN_BY, ids=relative)
def test_a_test_runs_the_commands_of_each_section(page: Path) -> None:
    text = (ROOT / RUN_BY[page]).read_text()
    named = sections(page)
    assert named
    assert not [title for title in named if f'"{title}"' not in text]
    in_sections = [line for title in named for line in guide.commands(title, page)]
    assert in_sections == guide.page_commands(page), "a command is above the first section"


@pytest.mark.parametrize(
    "name", ["test_alert_commands", "test_existing_monitoring", "test_procedures", "test_resources"]
)
def test_a_scenario_runs_the_pages(name: str) -> None:
    plays = "".join(path.read_text() for path in ROOT.glob("molecule/*/verify.yml"))
    assert f"tests/guide/{name}.py" in plays


def test_every_alert_says_what_to_type() -> None:
    parts = re.split(r"^### (\w+)$", guide.ALERTS.read_text(), flags=re.M)[1:]
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    assert texts
    assert not [name for name, text in texts.items() if "```sh\n" not in text]


def test_every_command_about_an_alert_has_its_place(tmp_path: Path) -> None:
    cluster = read(ALL_SERVICES, tmp_path)
    hosts = set()
    for command in guide.page_commands(guide.ALERTS):
        text = command
        for label, value in LABELS.items():
            text = text.replace(label, value)
        hosts |= set() if LOCAL.match(text) else {host_of(cluster, text)}
    assert len(hosts) > 1
    with pytest.raises(KeyError):
        host_of(cluster, "systemctl status nothing")
