"""Plants bugs in modules one at a time, and shows which of them no unit test notices.

A bug may remove or end anything: run this by `./lab mutate`, where the machine is read-only.

Cosmic Ray makes the bugs. Each is written into a copy of the tree, where the tests of the module
run; one that leaves the syntax tree as it was, but for annotations and docstrings, is none.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.testing import TestOutcome, run_tests

ROOT = Path(__file__).resolve().parents[1]
UTILS, UNIT = "plugins/module_utils", "tests/unit"
OPERATIONS = f"{UNIT}/operations"
LEDGER = tuple(
    f"{UNIT}/test_ledger_{name}.py"
    for name in ("invariants", "verdict", "replicas", "sink", "journal", "exactly_once")
)
TARGETS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "gate": {
        f"{UTILS}/operations/gate.py": [
            f"{OPERATIONS}/test_{name}.py"
            for name in ("gate", "gate_order", "health", "gate_properties")
        ]
    },
    "snapshot": {f"{UTILS}/kafka/snapshot.py": [f"{UNIT}/kafka/test_snapshot.py"]},
    "roll": {
        f"{UTILS}/operations/roll.py": [f"{OPERATIONS}/test_roll.py"],
        f"{UTILS}/operations/node_restart.py": [
            f"{OPERATIONS}/test_node_restart.py",
            f"{UNIT}/modules/test_kafka_restart.py",
        ],
        "plugins/modules/kafka_restart.py": [f"{UNIT}/modules/test_kafka_restart.py"],
        f"{UTILS}/host/operation_file.py": [
            f"{UNIT}/host/test_operation_lock.py",
            f"{UNIT}/plugin_utils/test_operation.py",
            f"{UNIT}/modules/test_kafka_node_module.py",
        ],
        "plugins/plugin_utils/operation.py": [
            f"{UNIT}/plugin_utils/test_operation.py",
            f"{UNIT}/actions/test_roll_plan.py",
            f"{UNIT}/actions/test_kafka_node_action.py",
        ],
        "plugins/action/roll_node.py": [f"{UNIT}/actions/test_roll_node.py"],
    },
    "planner": {"plugins/action/roll_plan.py": [f"{UNIT}/actions/test_roll_plan.py"]},
    "dynamic": {
        module: [f"{OPERATIONS}/test_dynamic_config.py"]
        for module in (
            f"{UTILS}/operations/dynamic_config.py",
            "plugins/modules/kafka_dynamic_config.py",
        )
    },
    "secrets": {
        f"{UTILS}/model/secret_store.py": [
            f"{UNIT}/plugin_utils/test_secret_generations.py",
            f"{UNIT}/rules/test_host_rules.py",
        ],
        "plugins/plugin_utils/secrets.py": [
            f"{UNIT}/plugin_utils/test_secret_generations.py",
            f"{UNIT}/plugin_utils/test_secrets.py",
            f"{UNIT}/plugin_utils/test_signing_requests.py",
            f"{UNIT}/plugin_utils/test_run.py",
            f"{UNIT}/actions/test_rotate_certificates.py",
            f"{UNIT}/actions/test_cluster_action.py",
        ],
    },
    "authorities": {
        f"{UTILS}/model/ca_change.py": [f"{UNIT}/model/test_ca_change.py"],
        "plugins/plugin_utils/authorities.py": [
            f"{UNIT}/plugin_utils/test_{name}.py" for name in ("authorities", "secrets")
        ],
    },
    "storage": {
        f"{UTILS}/host/storage.py": [f"{UNIT}/host/test_storage.py"],
        "plugins/modules/kafka_storage.py": [f"{UNIT}/host/test_storage.py"],
        "plugins/action/kafka_storage.py": [f"{UNIT}/actions/test_kafka_storage.py"],
    },
    "ledger": {
        f"ledger/{name}.py": LEDGER
        for name in ("invariants", "history", "verdict", "replicas", "exactly_once")
    },
}
"""Name -> module -> the tests that have to notice a bug in it."""
# Of an operator's replacements those that are nearest to it: others are noticed with them.
REPLACEMENTS = {
    "ReplaceBinaryOperator": (
        *("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv"),
        *("BitOr_BitAnd", "BitAnd_BitOr"),
    ),
    "ReplaceComparisonOperator": (
        *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt"),
        *("Lt_GtE", "LtE_Gt", "Gt_LtE", "GtE_Lt"),
    ),
}
WANTED = 0.9
"""The share of bugs that has to be noticed."""
COPIED = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")


@dataclass(frozen=True)
class Bug:
    """A module's text with one bug."""

    module: str
    operator: str
    original: str
    text: str


@dataclass
class Result:
    """What became of the bugs of a module."""

    module: str
    noticed: int = 0
    unnoticed: list[Bug] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.noticed + len(self.unnoticed)

    @property
    def share(self) -> float:
        return self.noticed / self.total


def bugs(module: str, original: str) -> Iterator[Bug]:
    """Yield the bugs of a module, each different from its text and from the others."""
    known = {_meaning(original)}
    for name in filter(_is_used, sorted(operator_names())):
        for text in _texts(original, name):
            meaning = _meaning(text)
            if meaning and meaning not in known:
                known.add(meaning)
                yield Bug(module, name.rpartition("/")[2], original, text)


def _is_used(name: str) -> bool:
    kind, _, replacement = name.rpartition("/")[2].partition("_")
    return not get_operator(name).arguments() and replacement in REPLACEMENTS.get(
        kind, (replacement,)
    )


def _texts(original: str, name: str) -> Iterator[str]:
    """Yield what an operator makes of a module, at each place where it applies."""
    for occurrence in itertools.count():
        try:
            text = mutate_code(original, get_operator(name)(), occurrence)
        except AttributeError:  # it knows no name with dots among exceptions
            continue
        if text is None:
            return
        yield text


def _meaning(text: str) -> str:
    """Return the syntax tree without what has no effect; empty if it is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arguments):  # how they may be given
            node.posonlyargs = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults = [*node.defaults, *filter(None, node.kw_defaults)]
            node.args, node.kwonlyargs, node.kw_defaults = [], [], []
        elif isinstance(node, ast.keyword) and node.arg == "frozen":
            node.value = ast.Constant(None)
    return ast.dump(tree)


@contextmanager
def copies(count: int) -> Iterator[SimpleQueue[Path]]:
    """Give copies of the working tree, each for one bug at a time."""
    names = subprocess.run(  # noqa: S603 - our own command
        COPIED, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    free: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="millrace-mutate-") as directory:
        for number in range(count):
            copy = Path(directory, str(number))
            for name in filter(None, names.split("\0")):
                if (ROOT / name).exists() or (ROOT / name).is_symlink():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
            free.put(copy)
        yield free


def _command(copy: Path, tests: Sequence[str]) -> str:
    words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--rootdir={copy}"]
    paths = [str(copy / test) for test in tests]
    return " ".join([sys.executable, *words, *paths])


def examine(
    module: str, tests: Sequence[str], free: SimpleQueue[Path], pool: ThreadPoolExecutor
) -> Result:
    """Plant every bug of a module, and return what became of them.

    Raises:
        SystemExit: the tests fail without a bug, or cannot be run with one.

    """
    copy = free.get()
    original = (copy / module).read_text(encoding="utf-8")
    begun = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own command
        _command(copy, tests).split(), cwd=copy, capture_output=True, text=True, check=False
    )
    free.put(copy)
    if done.returncode:
        sys.exit(f"the tests of {module} fail without a bug:\n{done.stdout[-3000:]}")
    seconds = 10 + 5 * (time.monotonic() - begun)
    result, lock = Result(module), threading.Lock()
    failures: list[str] = []

    def plant(bug: Bug) -> None:
        copy = free.get()
        path = copy / bug.module
        try:
            path.write_text(bug.text, encoding="utf-8")
            outcome, said = run_tests(f"env --chdir={copy} {_command(copy, tests)}", seconds)
        finally:
            path.write_text(original, encoding="utf-8")
            free.put(copy)
        with lock:
            if outcome == TestOutcome.SURVIVED:
                result.unnoticed.append(bug)
            elif outcome == TestOutcome.KILLED:
                result.noticed += 1
            else:
                failures.append(said)

    list(pool.map(plant, bugs(module, original)))
    if failures or not result.total:
        text = f"{module}: {result.total} bugs tried, {len(failures)} could not be: {failures[:1]}"
        sys.exit(text)
    return result


def _difference(bug: Bug) -> str:
    lines = difflib.unified_diff(
        bug.original.splitlines(), bug.text.splitlines(), bug.module, bug.operator, n=0, lineterm=""
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine the targets that are named, by default all; return 1 if too few bugs are noticed."""
    parser = argparse.ArgumentParser(prog="./lab mutate", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="MODULE", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--json", type=Path, help="write the shares to this file")
    chosen = parser.parse_args(arguments)
    wrong = sorted(set(chosen.names) - set(TARGETS))
    if wrong:
        parser.error(f"there is no {', '.join(wrong)}; there are: {', '.join(TARGETS)}")
    os.environ.pop("ANSIBLE_CONFIG", None)  # each copy has its own
    count = os.cpu_count() or 1
    results: dict[str, list[Result]] = {}
    with copies(count) as free, ThreadPoolExecutor(count) as pool:
        for name in chosen.names or TARGETS:
            for module, tests in TARGETS[name].items():
                found = examine(module, tests, free, pool)
                results.setdefault(name, []).append(found)
                for bug in found.unnoticed:
                    print(_difference(bug))  # noqa: T201 - the result of the command
                text = f"{name}: {found.noticed} of {found.total} bugs in {module} noticed"
                print(text, flush=True)  # noqa: T201
    if chosen.json:
        shares = {
            name: {one.module: [one.noticed, one.total] for one in found}
            for name, found in results.items()
        }
        chosen.json.write_text(json.dumps(shares, indent=2) + "\n")
    return int(any(one.share < WANTED for found in results.values() for one in found))


if __name__ == "__main__":
    sys.exit(main())
