"""A command of ./lab that is wrong, or asks what it is, starts nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.lab.topology import ROOT


def lab(*words: str, cwd: Path = ROOT, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        ["./lab", *words],
        cwd=cwd,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=20,
    )
    return done.returncode, done.stdout


def copied(tmp_path: Path) -> Path:
    """Return another checkout, of which there is only what its words need; it has no containers."""
    checkout = tmp_path / "another checkout"
    for directory in ("inventories/connect", "molecule", "playbooks"):
        (checkout / directory).mkdir(parents=True)
    for name in ("lab", "lab.bash"):
        shutil.copy(ROOT / name, checkout)
    # The first of its PATH: it never reaches the images of this machine.
    podman = checkout / ".venv/bin/podman"
    podman.parent.mkdir(parents=True)
    podman.write_text("#!/bin/sh\n")
    podman.chmod(0o755)
    return checkout


@pytest.mark.parametrize(
    ("words", "topology", "meant"),
    [
        (["upp"], "", "up"),
        (["tets"], "", "test"),
        (["test", "secure"], "", "secured"),
        (["scenario", "zookeper"], "", "zookeeper"),
        (["run", "site"], "kraft_combine", "kraft_combined"),
        (["run", "sites"], "", "site"),
        (["up", "kraft_combine"], "", "kraft_combined"),
        (["up", "--al"], "", "--help"),
        (["test", "--ful"], "", "--full"),
        (["test", "unit", "lin"], "", "lint"),
        (["chaos", "--minutes", "3", "--sed", "1"], "", "--seed"),
        (["keys", "sprak", "4.2.0"], "", "spark"),
        (["bench", "deplo"], "", "deploy"),
        (["completion", "bsh"], "", "bash"),
        (["help", "tets"], "", "test"),
    ],
)
def test_a_wrong_word_ends_with_2_and_what_was_meant(
    words: list[str], topology: str, meant: str
) -> None:
    code, output = lab(*words, LAB_TOPOLOGY=topology)
    assert code == 2, output
    assert re.search(rf"Did you mean {meant}\?", output)
    assert len(output.splitlines()) == 1, output


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["job"],
        ["ssh"],
        ["scenario"],
        ["bench"],
        ["keys", "kafka"],
        ["chaos", "--minutes"],
        ["up", "connect", "registry"],
    ],
)
def test_a_word_that_is_missing_or_too_many_ends_with_2(words: list[str]) -> None:
    code, output = lab(*words)
    assert code == 2, output
    assert len(output.splitlines()) == 1, output
    assert f"./lab {words[0]} " in output


@pytest.mark.parametrize(
    "words", [["--all", "NAME"], ["NAME", "--all"], ["--all", "--all", "NAME"]]
)
def test_the_caches_are_never_removed_with_one_lab(tmp_path: Path, words: list[str]) -> None:
    """In a copy: were it not refused, everything there would be removed."""
    checkout = copied(tmp_path)
    (checkout / ".lab/NAME").mkdir(parents=True)
    (checkout / ".lab/NAME/inventory").touch()
    code, output = lab("down", *words, cwd=checkout, MILLRACE_CACHE=str(tmp_path / "cache"))
    assert code == 2, output
    assert len(output.splitlines()) == 1, output
    assert (checkout / ".lab/NAME/inventory").exists()


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("verb", ["up", "down", "test", "unit", "bench"])
def test_help_of_a_verb_shows_that_verb_alone(verb: str, option: str) -> None:
    code, output = lab(verb, option)
    assert code == 0, output
    assert output.startswith(f"usage: ./lab {verb}")
    assert {*re.findall(r"\./lab (\w+)", output)} == {verb}
    assert lab("help", verb) == (0, output)


BASH = """
source <(./lab completion bash)
COMP_WORDS=(./lab "$@") COMP_CWORD=$#
"$(complete -p lab | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# The widgets of an interactive zsh offer what a completion function adds.
ZSH = """
autoload -Uz compinit && compinit -D -u
compadd() { shift; print -l -- ${(M)@:#${words[CURRENT]}*}; }
source <(./lab completion zsh)
words=(./lab "$@") CURRENT=$(($# + 1))
${_comps[lab]}
"""


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("words", "offered", "others"),
    [
        ([""], {"up", "test", "completion"}, {"complete", "ahead", "sandbox"}),
        (["te"], {"test"}, {"up"}),
        (["up", "conn"], {"connect"}, {"full"}),
        (["-v", "up", ""], {"connect", "full"}, {"up"}),
        (["up", "connect", ""], {"--help"}, {"full"}),
        (["test", "se"], {"secured"}, {"lint"}),
        (["test", "lint", ""], {"secured", "zookeeper"}, {"vms_example"}),
        (["test", "--f"], {"--full"}, {"lint"}),
        (["scenario", ""], {"zookeeper"}, {"lint"}),
        (["run", "rolling_"], {"rolling_restart"}, {"site"}),
        (["chaos", "--minutes", "3", ""], {"--seed"}, {"up"}),
        (["keys", ""], {"spark", "4.2.0"}, {"up"}),
        (["keys", "spark", ""], {"4.2.0"}, {"spark"}),
        (["completion", ""], {"bash", "zsh"}, {"up"}),
    ],
)
def test_words_are_completed(
    shell: str, words: list[str], offered: set[str], others: set[str]
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not there")
    script = {"bash": BASH, "zsh": ZSH}[shell]
    done = subprocess.run(
        [shell, *({"bash": ["--norc"], "zsh": ["-f"]}[shell]), "-c", script, shell, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    found = {*done.stdout.splitlines()}
    assert offered <= found, done
    assert not others & found


@pytest.mark.parametrize(("shell", "options"), [("bash", "--norc"), ("zsh", "-f")])
def test_completion_runs_its_own_checkout_alone_and_no_candidate(
    tmp_path: Path, shell: str, options: str
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not there")
    checkout = copied(tmp_path)
    for name in ("$(touch x)", "`touch x`", "connect;touch x"):
        (checkout / "inventories" / name).mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lab").write_text("#!/bin/sh\ntouch x\n")
    (elsewhere / "lab").chmod(0o755)
    script = {"bash": BASH, "zsh": ZSH}[shell].replace("./lab completion", '"$LAB" completion')
    done = subprocess.run(
        [shell, options, "-c", script, shell, "up", ""],
        cwd=elsewhere,
        env={**os.environ, "LAB": str(checkout / "lab")},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert "connect" in done.stdout.splitlines(), done
    assert [path.name for path in tmp_path.rglob("x")] == []
    if shell == "bash":  # unlike zsh it does not quote what it inserts
        assert "touch" not in done.stdout
