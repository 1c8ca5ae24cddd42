"""The files of forges and of pre-commit run what `./lab` runs, and not nothing."""

from __future__ import annotations

import re
import shutil
from typing import Any

import yaml

from tests.support.lab.topology import ROOT
from tests.unit.tree import relative, tracked


def load(path: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / path).read_text())
    return document


def test_both_forges_run_the_whole_test_and_read_no_secret() -> None:
    steps = load(".github/workflows/test.yml")["jobs"]["test"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert (
        len([command for command in commands if re.search(r"\.ci/run \$ARGUMENTS", command)]) == 1
    )
    assert load(".gitlab-ci.yml")["test"]["script"] == [".ci/run $ARGUMENTS"]
    for path in (".github/workflows/test.yml", ".gitlab-ci.yml"):
        assert not re.findall(r"(?i)secrets\.|token|password", (ROOT / path).read_text())


def test_each_hook_of_pre_commit_has_files_and_its_program() -> None:
    files = [relative(path) for path in tracked()]
    pinned = "".join(
        (ROOT / f"requirements/{name}.txt").read_text() for name in ("tests", "release")
    )
    [repository] = load(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        program = hook["entry"].split()[0].rpartition("/")[2]
        assert f"\n{program}==" in pinned or shutil.which(program), hook
        assert [path for path in files if re.search(hook.get("files", ""), path)], hook
