"""Plants bugs in modules one at a time, and shows which of them no unit test notices.

A bug may remove or end anything: run this by `./lab mutate`, where the machine is read-only.

Cosmic Ray makes the bugs. Each is written into a copy of the tree, where the tests of the module
run, in a process that is forked from one that has imported the libraries already; a bug that leaves
the syntax tree as it was, but for annotations and docstrings, is none.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import hashlib
import importlib
import json
import marshal
import multiprocessing
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[1]
UTILS, UNIT = "plugins/module_utils", "tests/unit"
OPERATIONS = f"{UNIT}/operations"
LEDGER = tuple(
    f"{UNIT}/apps/ledger/test_ledger_{name}.py"
    for name in ("invariants", "verdict", "replicas", "sink", "journal", "exactly_once")
)
TARGETS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "gate": {
        f"{UTILS}/operations/gate.py": [
            f"{OPERATIONS}/test_{name}.py"
            for name in ("gate", "gate_order", "gate_sets", "health", "gate_properties")
        ]
    },
    "snapshot": {f"{UTILS}/kafka/snapshot.py": [f"{UNIT}/kafka/test_snapshot.py"]},
    "roll": {
        "plugins/plugin_utils/operations/roll.py": [f"{OPERATIONS}/test_roll.py"],
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
    "planner": {
        "plugins/action/roll_plan.py": [f"{UNIT}/actions/test_roll_plan.py"],
        "plugins/plugin_utils/operations/roll_stages.py": [f"{OPERATIONS}/test_roll_stages.py"],
    },
    "dynamic": {
        module: [f"{OPERATIONS}/test_dynamic_config.py"]
        for module in (
            f"{UTILS}/operations/dynamic_config.py",
            "plugins/modules/kafka_dynamic_config.py",
        )
    },
    "secrets": {
        "plugins/plugin_utils/cluster/secret_store.py": [f"{UNIT}/cluster/test_secret_store.py"],
        "plugins/plugin_utils/secrets/store.py": [
            f"{UNIT}/secrets/test_secret_generations.py",
            f"{UNIT}/secrets/test_secrets.py",
            f"{UNIT}/secrets/test_signing_requests.py",
            f"{UNIT}/plugin_utils/test_run.py",
            f"{UNIT}/actions/test_rotate_certificates.py",
            f"{UNIT}/actions/test_cluster_action.py",
        ],
        "plugins/plugin_utils/secrets/secret_files.py": [f"{UNIT}/secrets/test_secret_files.py"],
    },
    "authorities": {
        "plugins/plugin_utils/cluster/ca_change.py": [f"{UNIT}/cluster/test_ca_change.py"],
        "plugins/plugin_utils/secrets/authorities.py": [
            f"{UNIT}/secrets/test_{name}.py" for name in ("authorities", "secrets")
        ],
    },
    "removal": {
        f"{UTILS}/host/removal.py": [f"{UNIT}/host/test_{name}.py" for name in ("removal", "paths")]
    },
    "paths": {f"{UTILS}/host/paths.py": [f"{UNIT}/host/test_paths.py"]},
    "files": {
        f"{UTILS}/host/files.py": [
            *(f"{UNIT}/host/test_{name}.py" for name in ("files", "paths")),
            f"{UNIT}/modules/test_service.py",
        ]
    },
    "users": {
        f"{UTILS}/operations/users.py": [f"{OPERATIONS}/test_users.py"],
        f"{UTILS}/kafka/users.py": [
            f"{UNIT}/kafka/test_scram.py",
            f"{OPERATIONS}/test_users.py",
        ],
    },
    "schemas": {
        f"{UTILS}/operations/subjects.py": [f"{OPERATIONS}/test_subjects.py"],
        "plugins/plugin_utils/services/schema_registry/schemas.py": [
            f"{UNIT}/services/schema_registry/test_schemas.py"
        ],
    },
    "connectors": {
        f"{UTILS}/operations/connectors.py": [f"{OPERATIONS}/test_connector_steps.py"],
        "plugins/plugin_utils/services/connect/connectors.py": [
            f"{UNIT}/services/connect/test_connectors.py"
        ],
    },
    "storage": {
        f"{UTILS}/host/storage.py": [f"{UNIT}/host/test_storage.py"],
        "plugins/modules/kafka_storage.py": [f"{UNIT}/modules/test_kafka_storage_module.py"],
        "plugins/action/kafka_storage.py": [f"{UNIT}/actions/test_kafka_storage.py"],
    },
    "restarts": {
        f"{UTILS}/host/start_signs.py": [f"{UNIT}/host/test_start_signs.py"],
        f"{UTILS}/operations/node_restart.py": [
            f"{OPERATIONS}/test_node_restart.py",
            f"{UNIT}/modules/test_kafka_restart.py",
        ],
    },
    "ledger": {
        f"apps/ledger/{name}.py": LEDGER
        for name in ("invariants", "history", "verdict", "replicas", "exactly_once")
    },
}
"""Name -> module -> the tests that have to notice a bug in it."""
# Of an operator's replacements those that are nearest to it: others are noticed with them.
REPLACEMENTS = {
    "ReplaceBinaryOperator": (
        "Add_Sub",
        "Sub_Add",
        "Mul_Div",
        "Div_Mul",
        "FloorDiv_Mul",
        "Mod_FloorDiv",
        "BitOr_BitAnd",
        "BitAnd_BitOr",
    ),
    "ReplaceComparisonOperator": (
        "Eq_NotEq",
        "NotEq_Eq",
        "Is_IsNot",
        "IsNot_Is",
        "Lt_LtE",
        "LtE_Lt",
        "Gt_GtE",
        "GtE_Gt",
        "Lt_GtE",
        "LtE_Gt",
        "Gt_LtE",
        "GtE_Lt",
    ),
}
WANTED = 0.9
"""The share of bugs that has to be noticed."""
SAMPLE = 130
"""A module with more bugs is judged by a sample of so many, the same one in each run."""
LIBRARIES = (
    "ansible.plugins.loader",
    "ansible.plugins.action",
    "ansible.playbook.play",
    "ansible.module_utils.basic",
    "ansible.template",
    "kafka.admin",
    "cryptography.x509",
    "hypothesis",
    "testinfra",
    "unittest.mock",
    "xml.etree.ElementTree",
)
"""What most tests import."""
LATE = -1
"""The exit code of tests that take too long; a bug may be an endless loop."""
# Whether an attacker is in time depends on how busy the machine is.
OPTIONS = (
    "-x",
    "-q",
    "-k",
    "not test_an_exchange_during",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:unraisableexception",
    "-p",
    "no:threadexception",
)
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
    is_sample: bool
    noticed: int = 0
    late: int = 0
    unnoticed: list[Bug] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.noticed + len(self.unnoticed)

    @property
    def share(self) -> float:
        return self.noticed / self.total if self.total else 0

    def __str__(self) -> str:
        sample = " (a sample)" if self.is_sample else ""
        late = f", {self.late} of them by the time that tests take" if self.late else ""
        return f"{self.noticed} of {self.total} bugs in {self.module} noticed{sample}{late}"


def bugs(module: str, original: str, sample: int) -> tuple[list[Bug], bool]:
    """Return bugs of a module, each different from its text and from the others.

    Tells whether there may be more of them than a `sample`.
    """
    candidates = [*_candidates(original)]
    if len(candidates) > sample:
        random.Random(module).shuffle(candidates)
    meanings, planned = {_meaning(original)}, list[Bug]()
    for name, occurrence in candidates:
        if len(planned) == sample:
            return planned, True
        try:
            text = mutate_code(original, get_operator(name)(), occurrence)
        except AttributeError:  # it knows no name with dots among exceptions
            continue
        meaning = _meaning(text)
        if meaning and meaning not in meanings:
            meanings.add(meaning)
            planned.append(Bug(module, name.rpartition("/")[2], original, text))
    return planned, False


def _candidates(original: str) -> Iterator[tuple[str, int]]:
    """Yield each operator as often as it applies to a module, with the number of the place."""
    nodes = [*ast_nodes(get_ast(original))]
    for name in filter(_is_used, sorted(operator_names())):
        operator = get_operator(name)()
        places = (place for node in nodes for place in operator.mutation_positions(node))
        for number, _ in enumerate(places):
            yield name, number


def _is_used(name: str) -> bool:
    kind, _, replacement = name.rpartition("/")[2].partition("_")
    return not get_operator(name).arguments() and replacement in REPLACEMENTS.get(
        kind, (replacement,)
    )


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
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes, each with a copy of the working tree for one bug at a time."""
    names = subprocess.run(COPIED, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    context = multiprocessing.get_context("fork")
    free = context.SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="millrace-mutate-") as directory:
        for number in range(count):
            copy = Path(directory, str(number))
            for name in filter(None, names.split("\0")):
                if (ROOT / name).exists() or (ROOT / name).is_symlink():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
            free.put(copy)
        with ProcessPoolExecutor(count, context, _begin, (free,)) as pool:
            yield pool


def _begin(free: SimpleQueue[Path]) -> None:
    """Take a copy, and do there what would take most of the time of a short test."""
    copy = free.get()
    os.chdir(copy)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)
    _keep_compiled(copy.parent)


def _keep_compiled(directory: Path) -> None:
    """Compile a module of the collection once: Ansible does it whenever a process imports one."""
    from ansible.utils.collection_loader import _collection_finder

    loader: Any = _collection_finder._AnsibleCollectionPkgLoaderBase
    compile_code = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        source = self.get_source(fullname)
        if source is None:
            return compile_code(self, fullname)
        name = self.get_filename(fullname).encode()
        compiled = directory / hashlib.sha256(name + b"\0" + source).hexdigest()
        if not compiled.exists():
            new = compiled.with_suffix(f".{os.getpid()}")
            new.write_bytes(marshal.dumps(compile_code(self, fullname)))
            new.replace(compiled)
        return marshal.loads(compiled.read_bytes())  # noqa: S302 - written above

    loader.get_code = get_code


def run_tests(tests: Sequence[str], seconds: float | None = None) -> tuple[int, str]:
    """Run tests in the copy of this process; return their exit code and the end of the output.

    Tests that take longer than `seconds` are ended. What they have started ends with them.
    """
    with tempfile.TemporaryFile() as output:
        process = os.fork()
        if not process:
            code = int(pytest.ExitCode.INTERNAL_ERROR)
            try:
                os.setsid()
                for descriptor in (1, 2):
                    os.dup2(output.fileno(), descriptor)
                code = int(pytest.main([*OPTIONS, f"--rootdir={Path.cwd()}", *tests]))
            finally:
                os._exit(code)
        ended = os.pidfd_open(process)
        in_time = select.select([ended], [], [], seconds)[0]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.close(ended)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        output.seek(0)
        text = output.read().decode("utf-8", "replace")[-3000:]
        return (code if in_time else LATE), text


def plant(bug: Bug, tests: Sequence[str], seconds: float, number: int) -> int:
    """Return the exit code of the tests with a bug, and remove it again."""
    path = Path(bug.module)
    path.write_text(bug.text, encoding="utf-8")
    os.utime(path, (number, number))  # Python knows compiled code by time and size
    try:
        return run_tests(tests, seconds)[0]
    finally:
        path.write_text(bug.original, encoding="utf-8")


def examine(module: str, tests: Sequence[str], pool: ProcessPoolExecutor, sample: int) -> Result:
    """Plant the bugs of a module, or a sample of them, and return what became of them.

    Raises:
        SystemExit: the tests fail without a bug.

    """
    begun = time.monotonic()
    code, output = pool.submit(run_tests, tests).result()
    if code:
        sys.exit(f"the tests of {module} fail without a bug:\n{output}")
    seconds = 60 + 10 * (time.monotonic() - begun)
    planned, is_sample = bugs(module, (ROOT / module).read_text(encoding="utf-8"), sample)
    result = Result(module, is_sample)
    pending = [
        (bug, pool.submit(plant, bug, tests, seconds, number))
        for number, bug in enumerate(planned, 1)
    ]
    for bug, future in pending:
        if code := future.result():
            result.noticed += 1
            result.late += code == LATE
        else:
            result.unnoticed.append(bug)
            print(_difference(bug), flush=True)  # noqa: T201 - the result of the command
    return result


def _difference(bug: Bug) -> str:
    lines = difflib.unified_diff(
        bug.original.splitlines(), bug.text.splitlines(), bug.module, bug.operator, n=0, lineterm=""
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine the targets that are named, by default all; return 1 if too few bugs are noticed."""
    parser = argparse.ArgumentParser(prog="./lab mutate", description=__doc__.splitlines()[0])
    modules = {module: tests for target in TARGETS.values() for module, tests in target.items()}
    text = f"of {', '.join(TARGETS)}, or the path of a module of theirs"
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="how many bugs at once")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many bugs of a module")
    parser.add_argument("--json", type=Path, help="write the shares to this file")
    chosen = parser.parse_args(arguments)
    wrong = sorted({*chosen.names} - {*TARGETS, *modules})
    if wrong:
        parser.error(f"there is no {', '.join(wrong)}; there are: {', '.join(TARGETS)}")
    if not os.statvfs("/").f_flag & os.ST_RDONLY:
        parser.error("this machine is not read-only: a bug could remove it; run ./lab mutate")
    os.environ.pop("ANSIBLE_CONFIG", None)  # each copy has its own
    results: list[Result] = []
    with workers(chosen.workers) as pool:
        for name in chosen.names or TARGETS:
            for module in TARGETS.get(name, [name]):
                results.append(examine(module, modules[module], pool, chosen.sample))
                print(results[-1], flush=True)  # noqa: T201 - the result of the command
    if chosen.json:
        shares = {result.module: [result.noticed, result.total] for result in results}
        chosen.json.write_text(json.dumps(shares, indent=2) + "\n")
    return int(any(result.share < WANTED for result in results))


if __name__ == "__main__":
    sys.exit(main())
