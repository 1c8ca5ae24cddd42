"""The tree itself: what it names is there, and who may know whom.

Every check is shown to fail, at the end.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.action import leave_plan
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import (
    GROUPS,
    JAVA_PRODUCTS,
    groups_of,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.model import (
    Console,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.lag_exporter.model import (
    LagExporter,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.imports import (
    import_closure,
    imported_modules,
    imported_names,
)

from tests.support.lab.topology import ROOT
from tests.unit.tree import (
    ROLES,
    SCENARIOS,
    git_files,
    load,
    parse,
    relative,
    tracked,
    walk,
)

SPARK_GROUPS = groups_of("spark")
PLAYBOOKS = [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("molecule/shared/*.yml")]
TASKS = sorted(ROOT.glob("roles/*/tasks/*.yml"))


# Argument specs and entry points


def specs_differ(specs: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Ansible never applies a spec's default: a role's default is the one of defaults/main.yml.

    An input without a default is a caller's to give.
    """
    entries = [entry.get("options", {}) for entry in specs.values()]
    options = {key: option for entry in entries for key, option in entry.items()}
    problems = [f"{key}: not in the spec" for key in defaults if key not in options]
    for key, option in options.items():
        if option.get("required"):
            if option.get("default") is not None or defaults.get(key) is not None:
                problems.append(f"{key}: required, yet it has a default")
        elif key not in defaults and "default" in option:
            problems.append(f"{key}: not in defaults/main.yml")
        elif defaults.get(key) != option.get("default"):
            problems.append(f"{key}: {defaults[key]!r} is not {option.get('default')!r}")
    return problems


def entries_differ(
    specs: set[str], files: set[str], included: set[str], used: set[str]
) -> list[str]:
    """A tasks file is an entry point, which others use and which has a spec, or a part of one."""
    return [
        *(f"{name}: a spec without tasks" for name in specs - files),
        *(f"{name}: a spec, yet nobody uses it by tasks_from" for name in specs & files - used),
        *(f"{name}: used by tasks_from, without tasks" for name in used - files),
        *(f"{name}: used by tasks_from, without a spec" for name in used & files - specs),
        *(f"{name}: neither an entry point nor included" for name in files - specs - included),
    ]


@cache
def entry_points_used() -> set[tuple[str, str]]:
    """Role and entry point of every include_role."""
    return {
        (path.parent.parent.name, path.stem)
        for file in [*PLAYBOOKS, *TASKS]
        for path in references(load(file), file.parent)
        if path.parent != file.parent and path.parent.parent.parent == ROOT / "roles"
    }


@pytest.mark.parametrize("role", ROLES)
def test_specs_equal_defaults(role: str) -> None:
    specs = load(ROOT / f"roles/{role}/meta/argument_specs.yml")["argument_specs"]
    assert not specs_differ(specs, load(ROOT / f"roles/{role}/defaults/main.yml"))


@pytest.mark.parametrize("role", ROLES)
def test_entry_points_have_a_spec_and_tasks(role: str) -> None:
    folder = ROOT / "roles" / role
    files = {path.stem: load(path) for path in (folder / "tasks").glob("*.yml")}
    included = {
        path.stem
        for document in files.values()
        for path in references(document, folder / "tasks")
        if path.parent == folder / "tasks"
    }
    used = {entry for name, entry in entry_points_used() if name == role}
    assert used, "nobody uses this role"
    specs = load(folder / "meta/argument_specs.yml")["argument_specs"]
    assert not entries_differ(set(specs), set(files), included, used | {"main"})


def counted_restarts(tasks: list[dict[str, Any]]) -> list[str]:
    """The tasks that restart a unit whose starts have been counted until then."""
    return [
        task["name"]
        for before, task in pairwise([{}, *tasks])
        if task.get("ansible.builtin.systemd_service", {}).get("state") == "restarted"
        and "reset-failed" not in str(before.get("ansible.builtin.command"))
    ]


def test_units_are_restarted_however_often_they_were_started() -> None:
    """After some starts systemd refuses another one, also one that it is asked for."""
    files = list(ROOT.glob("roles/*/tasks/*.yml"))
    assert files
    assert not [name for path in files for name in counted_restarts(load(path) or [])]


# References


def roles_named(text: str, folder: Path) -> list[str]:
    """The roles that a name stands for.

    Of an expression these are the services that the role can be given, or what playbooks give the
    one that they import. Of an item that decommission.yml loops over they are those with members
    that can leave.
    """
    name = text.removeprefix("millrace.streaming.")
    if name == "{{ decommission_service.key }}":
        return [*leave_plan.members([*GROUPS])]
    variable = re.fullmatch(r"{{ (\w+) }}", name)
    if not variable:
        return [name]
    if folder.name == "playbooks":
        variables = [play.get("vars", {}) for file in PLAYBOOKS for play in load(file)]
        return [values[variable[1]] for values in variables if variable[1] in values]
    return [*JAVA_PRODUCTS]


def references(document: Any, folder: Path) -> Iterator[Path]:
    """The files that a playbook or tasks file names by Ansible's own keywords."""
    for node in walk(document):
        for key, value in node.items():
            match key.removeprefix("ansible.builtin."):
                case "import_playbook" | "import_tasks" | "include_tasks":
                    file = value["file"] if isinstance(value, dict) else value
                    yield Path(os.path.normpath(folder / file))
                case "include_role" | "import_role":
                    entry = Path(value.get("tasks_from", "main")).stem
                    for role in roles_named(value["name"], folder):
                        yield ROOT / f"roles/{role}/tasks/{entry}.yml"
                case "roles" if isinstance(value, list) and "hosts" in node:
                    for item in value:
                        name = item if isinstance(item, str) else item["role"]
                        name = name.removeprefix("millrace.streaming.")
                        yield ROOT / f"roles/{name}/tasks/main.yml"
                case "vars_files":
                    yield from (folder / name for name in value)


def written_paths(text: str, places: Mapping[str, Path]) -> Iterator[Path]:
    """The paths in expressions such as `{{ role_path }}/x`, and those from the root of the tree."""
    for place, folder in places.items():
        for suffix in re.findall(rf"\b{place}(?:(?: ?\}}+)|\s*[~+]\s*')(/[\w./*-]*)", text):
            yield Path(os.path.normpath(f"{folder}{suffix}"))
    folders = r"playbooks|molecule|tests|artifacts|templates|roles|inventories|docs|\.ci|\.config"
    # A shell's expansion may be anything: one file that matches will do.
    globs = re.sub(r"\$\{[^}]*\}|\$\w+", "*", text.replace('"', ""))
    for name in re.findall(rf"(?<![\w./~*-])(?:{folders})/[\w./*-]*", globs):
        yield ROOT / name.rstrip(".")


def exists(path: Path) -> bool:
    """Whether it does, or what it matches; runtime state is made when it is needed."""
    if path == ROOT or path.is_relative_to(ROOT / ".lab"):
        return True
    return path.is_relative_to(ROOT) and any(ROOT.glob(relative(path)))


def test_referenced_files_exist() -> None:
    paths = {
        (relative(file), path)
        for file in [*PLAYBOOKS, *TASKS]
        for path in references(load(file), file.parent)
    }
    assert paths
    assert not [f"{name}: {relative(path)}" for name, path in paths if not exists(path)]


def test_written_paths_exist() -> None:
    referenced: set[tuple[str, Path]] = set()
    for file in [*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("molecule/shared/*.yml")]:
        here = ROOT / relative(file).removesuffix(file.name).split("/")[0]
        shared = ROOT / "molecule/shared"
        places = {"playbook_dir": shared if here.name == "molecule" else here}
        text = file.read_text()
        places["lab_files"] = shared / "files"
        referenced |= {(relative(file), path) for path in written_paths(text, places)}
    for file in ROOT.glob("roles/*/*/*.yml"):
        places = {"role_path": file.parent.parent}
        referenced |= {(relative(file), p) for p in written_paths(file.read_text(), places)}
    for name in ("lab", ".ci/run"):
        text = (ROOT / name).read_text() if (ROOT / name).is_file() else ""
        referenced |= {(name, path) for path in written_paths(text, {})}
    assert referenced
    assert not [f"{name}: {path}" for name, path in sorted(referenced) if not exists(path)]


# Groups


def groups_left_out(hosts: str) -> list[str]:
    """What a pattern for all of Spark, or for all hosts, leaves out: its services would be too."""
    patterns = (set(pattern.split(":")) for pattern in re.findall(r"[\w:]+", hosts))
    named = next(
        (groups for groups in patterns if {"spark_masters", "spark_workers"} <= groups), set()
    )
    required = GROUPS if "kafka_brokers" in named else SPARK_GROUPS
    return [group for group in required if named and group not in named]


def test_plays_for_all_hosts_name_every_group() -> None:
    plays = [
        (playbook, str(play.get("hosts", play.get("vars"))))
        for playbook in PLAYBOOKS
        for play in load(playbook)
    ]
    shared = ROOT / "playbooks/vars/hosts.yml"
    plays += [(shared, hosts) for hosts in load(shared).values()]
    readmes = [ROOT / "roles" / role / "README.md" for role in ROLES]
    plays += [
        (readme, line)
        for readme in readmes
        if readme.is_file()
        for line in readme.read_text().splitlines()
    ]
    assert any("spark_workers" in hosts for _, hosts in plays)
    assert not {
        (relative(path), *left_out) for path, hosts in plays if (left_out := groups_left_out(hosts))
    }


# What the tree must not tell


def lab_names(text: str, scenarios: list[str]) -> list[str]:
    """Lines that know where they are tested."""
    # A scenario of one word is called like what it is about.
    names = "|".join(name for name in scenarios if "_" in name) or "podman"
    pattern = re.compile(rf"podman|docker|molecule|\blab_|\.lab\b|MILLRACE_(LAB|STATE)|{names}")
    return [line for line in text.splitlines() if pattern.search(line)]


def machine_names(text: str) -> list[str]:
    """Lines that name a package index or an absolute path of one machine."""
    index = r"pypi\.org|pythonhosted\.org|repo1?\.maven|deb\.debian\.org|artifactory|/simple\b"
    folder = r"(?<![\w.}*<-])/(?:work|root|opt/wheels)(?![\w.-])"
    return [line for line in text.splitlines() if re.search(f"{index}|{folder}", line)]


def foreign_options(requirements: str) -> list[str]:
    """Lines by which a requirements file would take packages from a place of its own."""
    lines = [line.strip() for line in requirements.splitlines()]
    return [line for line in lines if "://" in line or re.match(r"-[a-z]|--(?!hash)", line)]


@pytest.mark.parametrize("role", ROLES)
def test_roles_do_not_know_the_lab(role: str) -> None:
    paths = (ROOT / "roles" / role).rglob("*")
    texts = {path: path.read_text() for path in paths if path.is_file() and path.suffix != ".pyc"}
    assert texts
    assert not {
        relative(path): names for path, t in texts.items() if (names := lab_names(t, SCENARIOS))
    }


def test_no_file_names_an_index_or_this_machine() -> None:
    texts = {path: path.read_bytes().decode(errors="replace") for path in tracked()}
    assert texts
    here = Path(__file__)
    assert not {
        relative(path): names
        for path, t in texts.items()
        if path != here and (names := machine_names(t))
    }


@pytest.mark.parametrize("name", sorted(path.name for path in ROOT.glob("requirements/*.txt")))
def test_requirements_come_from_the_clients_own_index(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    assert "--hash=sha256:" in text
    assert not foreign_options(text)


# The collection


def test_the_clone_is_the_collection() -> None:
    link = "collections/ansible_collections/millrace/streaming"
    (listed,) = git_files("--stage", link)
    assert listed.startswith("120000 "), "not tracked as a symbolic link"
    assert str((ROOT / link).readlink()) == "../../.."
    assert (ROOT / link).resolve() == ROOT
    galaxy = load(ROOT / "galaxy.yml")
    assert f"{galaxy['namespace']}.{galaxy['name']}" == "millrace.streaming"
    assert (ROOT / galaxy["readme"]).is_file()


# Who may import whom

# Each folder of plugins/ whose modules others import, and what these may import of plugins/. What a
# host runs is in module_utils alone.
MAY_IMPORT = {
    "module_utils.formats": set(),
    "module_utils.host": {"module_utils.formats"},
    "module_utils.kafka": {"module_utils.formats", "module_utils.host"},
    "module_utils.operations": {"module_utils.formats", "module_utils.kafka", "module_utils.host"},
    # Of the model: what services have in common, the services, and the cluster made of them. Which
    # of their modules come first says the test of circles.
    "plugin_utils.cluster": {"module_utils.formats", "module_utils.host", "plugin_utils.services"},
    "plugin_utils.services": {
        "module_utils.formats",
        "module_utils.host",
        "module_utils.kafka",
        "plugin_utils.cluster",
        "plugin_utils.rules",
    },
    "plugin_utils.rules": {
        "module_utils.formats",
        "module_utils.host",
        "plugin_utils.cluster",
        "plugin_utils.services",
    },
    "plugin_utils.secrets": {
        "module_utils.formats",
        "module_utils.host",
        "plugin_utils.cluster",
        "plugin_utils.services",
        "plugin_utils.files",
        "plugin_utils.operation",
    },
    "plugin_utils.inventory": {
        "module_utils.formats",
        "plugin_utils.cluster",
        "plugin_utils.services",
        "plugin_utils.secrets",
        "plugin_utils.ansible_internals",
    },
    "plugin_utils.operations": {
        "module_utils.formats",
        "module_utils.kafka",
        "module_utils.host",
        "module_utils.operations",
        "plugin_utils.cluster",
        "plugin_utils.services",
        "plugin_utils.rules",
    },
}
HOST_PROGRAMS = ("plugins/modules/*.py", *Console.sources, *LagExporter.sources)
"""What starts on hosts, by patterns of its own modules."""


def folders_imported(source: str, path: str) -> set[str]:
    """The folders of plugins/ of which a source at a path imports something: module_utils.host."""
    pattern = re.compile(r"plugins\.((?:module_utils|plugin_utils)\.\w+|\w+)(?:\.|$)")
    matches = (pattern.match(name) for name in imported_names(source, path))
    return {match[1] for match in matches if match} - {"module_utils", "plugin_utils"}


def forbidden_imports(folder: str, folders: Iterable[str]) -> set[str]:
    """What the modules of a folder import of plugins/ and must not."""
    return {*folders} - {folder, *MAY_IMPORT[folder]}


def test_each_folder_that_others_import_is_known() -> None:
    folders = (path.parent for path in ROOT.glob("plugins/*_utils/*/__init__.py"))
    assert {".".join(folder.parts[-2:]) for folder in folders} == MAY_IMPORT.keys()


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_imports_go_one_way(folder: str) -> None:
    paths = [*(ROOT / "plugins" / folder.replace(".", "/")).rglob("*.py")]
    imports = {path: folders_imported(path.read_text(), relative(path)) for path in paths}
    assert imports
    assert not {
        relative(path): wrong
        for path, folders in imports.items()
        if (wrong := forbidden_imports(folder, folders))
    }


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Modules of which each imports the one before it, the first also being the last."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        modules: list[str] = error.args[1]
        return modules
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {
        relative(path): imported_modules(relative(path)) for path in ROOT.glob("plugins/**/*.py")
    }
    assert any(graph.values())
    assert not circle(graph)


def test_hosts_run_module_utils_and_nothing_else_of_the_plugins() -> None:
    """What no program of a host imports is the control node's, and lies in plugin_utils."""
    closure = {path for path in import_closure(*HOST_PROGRAMS) if path.startswith("plugins/")}
    shared = {relative(path) for path in ROOT.glob("plugins/module_utils/**/*.py")}
    modules = {relative(path) for path in ROOT.glob("plugins/modules/*.py")}
    assert modules
    assert closure - modules == shared


# What is used of ansible-core

PUBLIC = re.compile(
    r"ansible(\.(constants|context|errors|release|template|utils\.display|module_utils\..+|"
    r"plugins\.(action|callback|lookup)))?"
)
"""The modules that Ansible's guide for developers offers to plugins."""
_ITSELF = ("self", "self._untyped", "cls", "super()")
INTERNALS = ROOT / "plugins/plugin_utils/ansible_internals.py"


def private_uses(source: str) -> list[str]:
    """What a source uses of ansible-core's private parts: modules, and members of objects.

    A member that begins with an underscore is for its class, those that derive from it, and the
    file that defines it.
    """
    tree = ast.parse(source)
    defined = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    problems = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.startswith("ansible."):
                problems += [module] if not PUBLIC.fullmatch(module) else []
            case ast.Import(names=names):
                modules = [name.name for name in names if name.name.startswith("ansible.")]
                problems += [module for module in modules if not PUBLIC.fullmatch(module)]
            case ast.Attribute(value=value, attr=member) if re.match("_[^_]", member):
                holder = ast.unparse(value)
                if holder not in _ITSELF and member not in defined:
                    problems.append(f"{holder}.{member}")
    return problems


def test_private_parts_of_ansible_are_used_in_one_file() -> None:
    kinds = ("plugin_utils", "action", "filter", "lookup")
    folders = (*(f"plugins/{kind}" for kind in kinds), "tests/support")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text() for path in paths}
    texts = {
        path: text
        for path, text in texts.items()
        if re.search(r"(?m)^\s*(from|import) ansible\b", text)
    }
    assert private_uses(texts.pop(INTERNALS))
    assert not {
        relative(path): uses for path, text in texts.items() if (uses := private_uses(text))
    }


# Exceptions from checks

# Of linters that read the rest of their own comment, the reason is in the next one.
_MARKER = re.compile(
    r"#\s*(?P<noqa>(?:ruff: |flake8: )?noqa)|#\s*(?P<mypy>type:\s*ignore)"
    r"|#\s*(?P<shellcheck>shellcheck disable)"
    r"|#\s*(?:nosec|pragma:|pylint:|mypy:|no(?:vm|vermin)\b|fmt:|(?:yaml|hado)lint )"
)
_REASONED = {
    "noqa": re.compile(r"# noqa: [\w\[\]-]+(?:, [\w\[\]-]+)* - \w"),
    "mypy": re.compile(r"# type: ignore\[[\w, -]+\]  # \w"),
    "shellcheck": re.compile(r"# shellcheck disable=[\w,]+ # \w"),
}


def without_reason(text: str) -> list[str]:
    """The lines that except something from a check, and do not say what and why."""
    return [
        line
        for line in text.splitlines()
        for marker in _MARKER.finditer(line)
        if marker.lastgroup is None or not _REASONED[marker.lastgroup].match(line, marker.start())
    ]


def test_every_exception_from_a_check_has_its_reason() -> None:
    pages = (".md", ".json", ".csv")
    texts = {
        path: path.read_bytes().decode(errors="replace")
        for path in tracked()
        if path.suffix not in pages
    }
    texts.pop(Path(__file__))
    assert any(_MARKER.search(text) for text in texts.values())
    assert not {
        relative(path): lines for path, text in texts.items() if (lines := without_reason(text))
    }


# Every check is able to fail


SPECS = {
    "main": {"options": {"a": {"default": 1}, "must": {"required": True}, "given": {}}},
    "remove": {},
}
IMPORTS = """
from ansible_collections.millrace.streaming.plugins.plugin_utils import rules
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster
from ansible.module_utils.basic import AnsibleModule
from ..host import files
from .gate import Policy
from . import health
from ...action import cluster
"""
IMPORTED = folders_imported(IMPORTS, "plugins/module_utils/operations/gate.py")


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        (specs_differ(SPECS, {"a": 1, "must": None}), []),
        (specs_differ(SPECS, {"a": 2}), ["a: 2 is not 1"]),
        (specs_differ(SPECS, {}), ["a: not in defaults/main.yml"]),
        (specs_differ(SPECS, {"a": 1, "given": 1}), ["given: 1 is not None"]),
        (specs_differ(SPECS, {"a": 1, "b": 1}), ["b: not in the spec"]),
        (specs_differ(SPECS, {"a": 1, "must": 1}), ["must: required, yet it has a default"]),
        (entries_differ({"main"}, {"main", "install"}, {"install"}, {"main"}), []),
        (entries_differ({"x", "gone"}, {"x"}, set(), {"x"}), ["gone: a spec without tasks"]),
        (
            entries_differ({"x", "y"}, {"x", "y"}, {"y"}, {"x"}),
            ["y: a spec, yet nobody uses it by tasks_from"],
        ),
        (
            entries_differ({"x"}, {"x", "y"}, {"y"}, {"x", "y"}),
            ["y: used by tasks_from, without a spec"],
        ),
        (entries_differ({"x"}, {"x"}, set(), {"x", "y"}), ["y: used by tasks_from, without tasks"]),
        (
            entries_differ({"x"}, {"x", "y"}, set(), {"x"}),
            ["y: neither an entry point nor included"],
        ),
        (
            sorted(IMPORTED),
            [
                "action",
                "module_utils.host",
                "module_utils.kafka",
                "module_utils.operations",
                "plugin_utils.rules",
            ],
        ),
        (
            sorted(forbidden_imports("module_utils.operations", IMPORTED)),
            ["action", "plugin_utils.rules"],
        ),
        (circle({"a": ["b"], "b": ["c"], "c": []}), []),
        (circle({"a": ["b", "c"], "b": ["a"]}), ["a", "b", "a"]),
        (private_uses("from ansible.errors import A\nself._x\nclass B: _y = a.__b"), []),
        (private_uses("from ansible.inventory.manager import A"), ["ansible.inventory.manager"]),
        (private_uses("import ansible.vars.manager"), ["ansible.vars.manager"]),
        (private_uses("hostvars._inventory"), ["hostvars._inventory"]),
        (
            without_reason(
                "x  # noqa: S1, S2 - why\nx: y # noqa: a-b[c] - why\n"
                "x  # type: ignore[a-b]  # why\n# shellcheck disable=SC1,SC2 # why\n"
            ),
            [],
        ),
        (
            without_reason("x  # noqa\n# noqa: S1\n# noqa: S1 why\n# ruff: noqa: S1 - why"),
            ["x  # noqa", "# noqa: S1", "# noqa: S1 why", "# ruff: noqa: S1 - why"],
        ),
        (
            without_reason("# type: ignore  # why\n# type: ignore[a]\n# shellcheck disable=SC1"),
            ["# type: ignore  # why", "# type: ignore[a]", "# shellcheck disable=SC1"],
        ),
        (without_reason("# nosec - why\n# fmt: off"), ["# nosec - why", "# fmt: off"]),
        (groups_left_out("zookeeper:kafka_brokers:spark_masters"), []),
        (groups_left_out(":".join(GROUPS)), []),
        (groups_left_out(f"{{{{ '{':'.join(SPARK_GROUPS[:-1])}' if x }}}}"), ["spark_connect"]),
        (groups_left_out(":".join([*GROUPS][1:])), [next(iter(GROUPS))]),
        (lab_names("a: 1\nb: lab_image\nc: k_9\n", ["vm", "k_9"]), ["b: lab_image", "c: k_9"]),
        (lab_names("kind: podman\nupgrade: true\n", ["upgrade"]), ["kind: podman"]),
        (machine_names("--work-dir /var/work\n$work/root.tar\n{{ a }}/work\n"), []),
        (machine_names("cd /work/main\nhome=/root\n"), ["cd /work/main", "home=/root"]),
        (
            machine_names("https://pypi.org/x\nhttp://h/simple/\n"),
            ["https://pypi.org/x", "http://h/simple/"],
        ),
        (
            foreign_options("-i http://h/x\n--find-links /x\n    --hash=sha256:1\n"),
            ["-i http://h/x", "--find-links /x"],
        ),
    ],
)
def test_each_check_finds_what_it_is_for(problems: list[str], expected: list[str]) -> None:
    assert problems == expected


def test_every_kind_of_reference_is_found() -> None:
    document = parse(
        "- import_playbook: absent.yml\n"
        "- hosts: all\n"
        "  vars_files: [vars/absent.yml]\n"
        "  roles: [millrace.streaming.absent]\n"
        "  tasks:\n"
        "    - block:\n"
        "        - ansible.builtin.include_tasks: ../absent.yml\n"
        "        - ansible.builtin.include_role: {name: kafka, tasks_from: absent}\n"
    )
    paths = list(references(document, ROOT / "playbooks"))
    assert {relative(path) for path in paths} == {
        "playbooks/absent.yml",
        "playbooks/vars/absent.yml",
        "roles/absent/tasks/main.yml",
        "absent.yml",
        "roles/kafka/tasks/absent.yml",
    }
    assert not any(exists(path) for path in paths)


def modules_started(document: Any) -> list[str]:
    """The modules of Python that tasks start by `-m`."""
    lists = [value for node in walk(document) for value in node.values() if isinstance(value, list)]
    return [words[at + 1] for words in lists for at, word in enumerate(words[:-1]) if word == "-m"]


def test_modules_that_tasks_start_are_there() -> None:
    names = {name for path in (*PLAYBOOKS, *TASKS) for name in modules_started(load(path))}
    assert names
    assert not [name for name in names if importlib.util.find_spec(name) is None]
    argv = {"argv": ["python", "-m", "apps.ledger", "run"]}
    assert modules_started([{"ansible.builtin.command": argv}]) == ["apps.ledger"]


def test_a_role_that_another_is_given_is_that_of_any_service() -> None:
    name = "millrace.streaming.{{ service_product }}"
    chosen = parse(f"- include_role: {{name: '{name}', tasks_from: health}}\n")
    paths = references(chosen, ROOT / "roles/service/tasks")
    assert {relative(path) for path in paths} >= {
        "roles/kafka/tasks/health.yml",
        "roles/zookeeper/tasks/health.yml",
    }


def test_every_kind_of_written_path_is_found() -> None:
    text = "{{ place }}/../a.j2, place ~ '/b.yml', playbooks/no-$x.yml tests/${y:-1}.py molecule/no"
    paths = list(written_paths(text, {"place": ROOT / "roles"}))
    assert [relative(path) for path in paths] == [
        "a.j2",
        "roles/b.yml",
        "playbooks/no-*.yml",
        "tests/*.py",
        "molecule/no",
    ]
    assert [exists(path) for path in paths] == [False] * 3 + [True, False]
    assert exists(ROOT / "playbooks/*.yml")
    assert not exists(ROOT.parent)


def imported(path: Path) -> set[str]:
    """The first parts of the names of all modules that a file imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    return modules


def test_smoke_needs_nothing_that_tests_alone_install() -> None:
    """A user runs tests/cluster with requirements/control-node.txt."""
    distributions = importlib.metadata.packages_distributions()
    text = (ROOT / "requirements/control-node.txt").read_text()
    installed = {name.lower() for name in re.findall(r"(?m)^([\w.-]+)==", text)}
    folders = ("tests/cluster", "tests/support/services", "tests/support/lab")
    paths = [
        ROOT / "conftest.py",
        *(path for folder in folders for path in (ROOT / folder).glob("*.py")),
    ]
    missing = {
        f"{relative(path)}: {name}"
        for path in paths
        for name in imported(path) & distributions.keys()
        if not {distribution.lower() for distribution in distributions[name]} & installed
    }
    assert not missing


def test_a_restart_that_counts_is_found() -> None:
    restart = {"name": "a", "ansible.builtin.systemd_service": {"state": "restarted"}}
    allowed = {"name": "b", "ansible.builtin.command": {"argv": ["systemctl", "reset-failed"]}}
    assert counted_restarts([restart]) == ["a"]
    assert not counted_restarts([allowed, restart])
