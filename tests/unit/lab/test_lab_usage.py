"""A command of ./lab that is wrong, or asks what it is, starts nothing."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.lab.topology import ROOT


def lab(*words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        ["./lab", *words],
        cwd=ROOT,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=20,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("words", "topology", "meant"),
    [
        (["upp"], "", "up"),
        (["tets"], "", "test"),
        (["test", "secure"], "", "secured"),
        (["scenario", "zookeper"], "", "zookeeper"),
        (["run", "site"], "kraft_combine", "kraft_combined"),
    ],
)
def test_a_wrong_word_ends_with_2_and_what_was_meant(
    words: list[str], topology: str, meant: str
) -> None:
    code, output = lab(*words, **({"LAB_TOPOLOGY": topology} if topology else {}))
    assert code == 2, output
    assert re.search(rf"Did you mean {meant}\?", output)
    assert len(output.splitlines()) == 1, output


@pytest.mark.parametrize("words", [["run"], ["job"]])
def test_a_missing_word_ends_with_2(words: list[str]) -> None:
    code, output = lab(*words)
    assert code == 2, output
    assert f"./lab {words[0]} " in output


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("verb", ["up", "down", "test", "unit", "bench"])
def test_help_of_a_verb_shows_that_verb_alone(verb: str, option: str) -> None:
    code, output = lab(verb, option)
    assert code == 0, output
    assert output.startswith(f"./lab {verb}")
    assert len(re.findall(r"(?m)^\./lab ", output)) == 1
