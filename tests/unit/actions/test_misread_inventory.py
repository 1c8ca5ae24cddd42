"""No action works on the hosts that are left of an inventory."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.errors import AnsibleError

from tests.unit.actions.clean_cluster import clean, run_checks
from tests.unit.in_process import AnsibleRun

pytestmark = pytest.mark.usefixtures("local_tmp")


def misread(place: Path) -> tuple[AnsibleRun, Path]:
    file = clean(place).inventory / "more.yml"
    file.write_text("kafka_brokers: [\n")
    return AnsibleRun(file.parent), file


def test_an_action_refuses_it(tmp_path: Path) -> None:
    ansible, file = misread(tmp_path)
    with pytest.raises(AnsibleError, match=str(file)):
        ansible.task("artifacts", "k1")


def test_the_check_names_it(tmp_path: Path) -> None:
    ansible, file = misread(tmp_path)
    result = run_checks(ansible)
    assert [problem["rule"] for problem in result["problems"]] == ["inventory-unread"]
    assert result["problems"][0]["where"] == f"{file}:2"


def test_a_directory_of_secrets_within_the_inventory_is_one_of_its_problems(tmp_path: Path) -> None:
    ansible = clean(tmp_path, kafka_secrets_dir="secrets", kafka_hep="1g")
    result = run_checks(ansible)
    assert {"secrets-directory", "unknown-variable"} <= {
        problem["rule"] for problem in result["problems"]
    }
