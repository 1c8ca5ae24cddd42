"""kafka-python behind its one adapter: imported late, from where a host has it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library

from tests.support.lab.topology import ROOT
from tests.unit.tree import relative, tracked

ADAPTER = ROOT / "plugins/module_utils/kafka"
HERE = Path(__file__).parent
PRIVATE = {"_client", "_manager", "_net", "_sender", "_transaction_manager", "_accumulator"}
"""Attributes of kafka-python's objects by which somebody could reach into them."""
MODULE = "ansible_collections.millrace.streaming.plugins.module_utils.kafka.library"


def run(program: str, *arguments: Path) -> str:
    """Run a program in a process that has not imported anything yet; returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {MODULE} as library\n{program}", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", sorted({*library._NAMES, *library._MODULES}))
def test_each_name_is_kafka_pythons(name: str) -> None:
    member = getattr(library, name)
    module = member.__name__ if isinstance(member, ModuleType) else member.__module__
    assert module.partition(".")[0] == "kafka"


def test_an_unknown_name_is_none_of_its_own() -> None:
    with pytest.raises(AttributeError, match="KafkaPoet"):
        _ = library.KafkaPoet


def test_nothing_is_imported_before_it_is_read() -> None:
    program = "import sys\nbefore = 'kafka' in sys.modules\nlibrary.errors.KafkaError"
    assert run(f"{program}\nprint(before, 'kafka' in sys.modules)") == "False True"


def test_a_directory_without_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(library.NoLibraryError, match=f"kafka-python is not in {tmp_path}"):
        library.use(tmp_path)


FAKE = "KafkaProducer = 'from here'\n"
USE = "import sys\nfrom pathlib import Path\nlibrary.use(Path(sys.argv[1]))\n"


def test_it_is_taken_from_where_it_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka/__init__.py").write_text(FAKE)
    assert run(f"{USE}print(library.KafkaProducer)", tmp_path) == "from here"


def test_it_is_taken_from_the_newest_wheel(tmp_path: Path) -> None:
    for version, content in (("3.0.1", "KafkaProducer = 'old'\n"), ("3.0.2", FAKE)):
        with zipfile.ZipFile(tmp_path / f"kafka_python-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("kafka/__init__.py", content)
    assert run(f"{USE}print(library.KafkaProducer)", tmp_path) == "from here"


def test_what_clients_log_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka/__init__.py").touch()
    program = "import logging\nlogging.getLogger('kafka.conn').error('refused')\n"
    logged = "logging.basicConfig(stream=sys.stdout)\n"
    assert run(f"{USE}import logging\n{logged}{program}", tmp_path) == ""


# Nowhere else


SUSPECT = re.compile(rf"(import|from|,)\s*\\?\s*kafka\b|\.({'|'.join(PRIVATE)})\b")
"""What a file has that imports kafka-python or reaches into its objects."""


@cache
def sources() -> dict[Path, ast.Module]:
    """The suspect Python files but the adapter's own, and the programs that readers copy."""
    excluded = (ADAPTER, ROOT / "examples")
    return {
        path: ast.parse(text)
        for path in tracked()
        if path.suffix == ".py"
        and not any(path.is_relative_to(directory) for directory in excluded)
        if SUSPECT.search(text := path.read_text())
    }


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def reached_into(tree: ast.Module) -> set[str]:
    """Return the private attributes of others that a source reads."""
    attributes = {node for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    own_attributes = {
        node for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    return {node.attr for node in attributes - own_attributes} & PRIVATE


def test_only_the_adapter_imports_kafka_python() -> None:
    importers = {
        relative(path)
        for path, tree in sources().items()
        if any(name.partition(".")[0] == "kafka" for name in imported(tree))
    }
    assert not importers


def test_only_the_adapter_and_its_tests_reach_into_its_objects() -> None:
    offending = {
        relative(path): names
        for path, tree in sources().items()
        if not path.is_relative_to(HERE) and (names := reached_into(tree))
    }
    assert not offending


def test_both_would_be_found() -> None:
    source = "import kafka.errors\nfrom kafka import x\nclient._manager.run(self._net)\n"
    assert all(SUSPECT.search(line) for line in source.splitlines())
    tree = ast.parse(source)
    assert list(imported(tree)) == ["kafka.errors", "kafka"]
    assert reached_into(tree) == {"_manager"}
