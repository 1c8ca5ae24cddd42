"""What the house rules promise about the tree itself; every check is shown to fail, at the end."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.topology import ROOT

ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))
BASE = ROOT / ".config/molecule/config.yml"
PLAYBOOKS = [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("molecule/shared/*.yml")]
TASKS = sorted([*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/tasks/*.yml")])
DESCRIBE = ROOT / "tests/support/describe.yml"
# What molecule runs without a playbook of its own.
BUILT_IN = {"dependency", "syntax", "idempotence", "check"}


class Loader(yaml.SafeLoader):
    """Reads Ansible's own tags as plain values."""


Loader.add_multi_constructor("!", lambda loader, _, node: loader.construct_scalar(node))


def parse(text: str) -> Any:
    return Loader(text).get_single_data()


def load(path: Path) -> Any:
    return parse(path.read_text())


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of a document, at any depth."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from walk(child)


def tasks_of(document: Any) -> list[dict[str, Any]]:
    """The tasks of a playbook or tasks file, those of blocks included."""
    return [
        node
        for node in walk(document)
        if "name" in node and any("." in key or key == "block" for key in node)
    ]


def tracked() -> list[Path]:
    """What a commit of this tree would hold."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603 - our own words
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


# Argument specs and entry points


def specs_differ(specs: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Ansible never applies a spec's default: what defaults/main.yml does not set is undefined."""
    options = {key: one for entry in specs.values() for key, one in entry["options"].items()}
    problems = [f"{key}: no default in the spec" for key in defaults if key not in options]
    for key, option in options.items():
        if option.get("required"):
            if option.get("default") is not None or defaults.get(key) is not None:
                problems.append(f"{key}: required, yet it has a default")
        elif key not in defaults:
            problems.append(f"{key}: no default in defaults/main.yml")
        elif defaults[key] != option.get("default"):
            problems.append(f"{key}: {defaults[key]!r} is not {option.get('default')!r}")
    return problems


def entries_differ(
    specs: set[str], files: set[str], included: set[str], used: set[str]
) -> list[str]:
    """A tasks file is an entry point with a spec, or a part of one."""
    return [
        *(f"{name}: a spec without tasks" for name in specs - files),
        *(f"{name}: used by tasks_from without tasks" for name in used - files),
        *(f"{name}: used by tasks_from without a spec" for name in used - specs),
        *(f"{name}: neither an entry point nor included" for name in files - specs - included),
    ]


def entry_points_used() -> set[tuple[str, str]]:
    """Role and entry point of every include_role."""
    return {
        (path.parent.parent.name, path.stem)
        for file in [*PLAYBOOKS, *TASKS, DESCRIBE]
        for path in references(load(file), file.parent)
        if path.parent.name == "tasks" and path.parents[2].name == "roles"
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


# Sizes


def too_much(name: str, text: str) -> list[str]:
    """What a tasks file or playbook has too much of."""
    document = parse(text)
    tasks = tasks_of(document)
    problems = [f"{len(tasks)} tasks, at most 15"] if len(tasks) > 15 else []
    if name == "main.yml" and len(text.splitlines()) > 30:
        problems.append(f"{len(text.splitlines())} lines in main.yml, at most 30")
    if any("ignore_errors" in node for node in walk(document)):
        problems.append("ignore_errors")
    # A task with the comments above it; a set_fact inside a block may have its reason above the block.
    for chunk in re.findall(r"(?:^ *#.*\n)*^- (?:.*\n)(?:^ +.*\n|^\n(?=^ ))*", text, re.M):
        if "set_fact:" in chunk and not re.search(r"(^|\s)# ", chunk):
            problems.append("a set_fact without its reason")
    return problems


@pytest.mark.parametrize("path", [*TASKS, *PLAYBOOKS], ids=relative)
def test_tasks_files_are_small(path: Path) -> None:
    assert not too_much(path.name, path.read_text())


@pytest.mark.parametrize("role", ROLES)
def test_roles_have_few_variables(role: str) -> None:
    specs = load(ROOT / f"roles/{role}/meta/argument_specs.yml")["argument_specs"]
    assert 1 <= len({key for entry in specs.values() for key in entry["options"]}) <= 30


def test_conditions_are_few() -> None:
    tasks = [task for path in TASKS for task in tasks_of(load(path))]
    assert len(tasks) > 30
    assert sum("when" in task for task in tasks) <= 0.4 * len(tasks)


def test_modules_are_short() -> None:
    lengths = {
        relative(path): len(path.read_text().splitlines())
        for path in tracked()
        if path.suffix == ".py"
    }
    assert len(lengths) > 20
    assert not {name: length for name, length in lengths.items() if length > 400}


# References


def references(document: Any, folder: Path) -> Iterator[Path]:
    """The files that a playbook or tasks file names by Ansible's own keywords."""
    for node in walk(document):
        for key, value in node.items():
            match key.removeprefix("ansible.builtin."):
                case "import_playbook" | "import_tasks" | "include_tasks":
                    yield Path(os.path.normpath(folder / value))
                case "include_role" | "import_role":
                    entry = Path(value.get("tasks_from", "main")).stem
                    role = value["name"].removeprefix("millrace.streaming.")
                    # A name from a loop stands for each of its items.
                    names = [item["role"] for item in node["loop"]] if "{{" in role else [role]
                    yield from (ROOT / f"roles/{name}/tasks/{entry}.yml" for name in names)
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
        for rest in re.findall(rf"\b{place}(?:(?: ?\}}+)|\s*[~+]\s*')(/[\w./*-]*)", text):
            yield Path(os.path.normpath(f"{folder}{rest}"))
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
    found = {
        (relative(file), path)
        for file in [*PLAYBOOKS, *TASKS, DESCRIBE]
        for path in references(load(file), file.parent)
    }
    assert len(found) > 20
    assert not [f"{name}: {relative(path)}" for name, path in found if not exists(path)]


def test_written_paths_exist() -> None:
    found: set[tuple[str, Path]] = set()
    for file in [*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("molecule/shared/*.yml")]:
        here = ROOT / relative(file).removesuffix(file.name).split("/")[0]
        shared = ROOT / "molecule/shared"
        places = {"playbook_dir": shared if here.name == "molecule" else here}
        text = file.read_text()
        places["lab_files"] = shared / "files"
        found |= {(relative(file), path) for path in written_paths(text, places)}
    for file in ROOT.glob("roles/*/*/*.yml"):
        places = {"role_path": file.parent.parent}
        found |= {(relative(file), p) for p in written_paths(file.read_text(), places)}
    for name in ("lab", ".ci/run"):
        text = (ROOT / name).read_text() if (ROOT / name).is_file() else ""
        found |= {(name, path) for path in written_paths(text, {})}
    assert len(found) > 20
    assert not [f"{name}: {path}" for name, path in sorted(found) if not exists(path)]


# Molecule: each of these is green while nothing ran


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(base)
    for key, value in over.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, dict) else value
    return both


def molecule_problems(config: Mapping[str, Any]) -> list[str]:
    """Why a scenario of this (merged) configuration might prove nothing."""
    problems = []
    playbooks = config["ansible"]["playbooks"]
    sequence = [action.split() for action in config["scenario"]["test_sequence"]]
    names = [action for action, *_ in sequence]
    for action, path in playbooks.items():
        file = Path(path.replace("${MOLECULE_PROJECT_DIRECTORY}", str(ROOT)))
        if not file.is_file():
            problems.append(f"{action}: there is no {path}")
        if action not in names:
            problems.append(f"{action}: its playbook never runs")
    testinfra = config.get("verifier", {}).get("name") == "testinfra"
    for action, *arguments in sequence:
        if action not in BUILT_IN | playbooks.keys() and not (action == "verify" and testinfra):
            problems.append(f"{action}: no base playbook, so it would be skipped")
        for argument in arguments:
            target = ROOT / argument
            if action == "verify" and testinfra and not any(target.glob("test_*.py")):
                problems.append(f"{action}: {argument} is no directory of tests")
            if not target.exists():
                problems.append(f"{action}: there is no {argument}")
    order = ["create", "check", "converge", "idempotence", "verify"]
    places = [names.index(name) for name in order if name in names]
    if len(places) < len(order) or places != sorted(places) or names[-1] != "destroy":
        problems.append(f"{names} does not go through {[*order, 'destroy']}, in this order")
    if set(names[: names.index("check") if "check" in names else 0]) - {
        "destroy",
        "create",
        "syntax",
    }:
        problems.append("check has to find virgin hosts")
    if testinfra and "ansible-inventory" not in config["verifier"].get("options", {}):
        problems.append("testinfra would see no hosts: set verifier.options.ansible-inventory")
    return problems


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_proves_something(name: str) -> None:
    text = (ROOT / f"molecule/{name}/molecule.yml").read_text()
    config = parse(text)
    assert len(text.splitlines()) <= 10
    assert config.get("scenario", {}).get("name", name) == name
    assert not molecule_problems(merged(load(BASE), config))


def test_every_topology_has_its_scenario() -> None:
    inventories = [path.parent for path in ROOT.glob("inventories/*/hosts.yml")]
    lab = {path.name for path in inventories if has_lab_image(path)}
    assert "default" in SCENARIOS
    assert set(SCENARIOS) <= {path.name for path in inventories}
    assert lab <= set(SCENARIOS)


def has_lab_image(inventory: Path) -> bool:
    return any("lab_image:" in path.read_text() for path in inventory.rglob("*.yml"))


def test_molecule_runs_without_workers() -> None:
    callers = [ROOT / "lab", *ROOT.glob(".ci/*"), *ROOT.glob("tests/stages/*.py")]
    assert not [relative(path) for path in callers if "--workers" in path.read_text()]


# What the tree must not tell


def lab_names(text: str, scenarios: list[str]) -> list[str]:
    """Lines that know where they are tested; virtualization types are facts of the host."""
    names = "|".join(name for name in scenarios if name != "default") or "podman"
    pattern = re.compile(rf"podman|docker|molecule|\blab_|\.lab\b|MILLRACE_(LAB|STATE)|{names}")
    lines = text.splitlines()
    return [x for x in lines if pattern.search(x) and "virtualization_type" not in x]


def machine_names(text: str) -> list[str]:
    """Lines that name a package index or an absolute path of one machine."""
    index = r"pypi\.org|pythonhosted\.org|repo1?\.maven|deb\.debian\.org|artifactory|/simple\b"
    folder = r"(?<![\w.}*-])/(?:work|root|opt/wheels)(?![\w.-])"
    return [line for line in text.splitlines() if re.search(f"{index}|{folder}", line)]


@pytest.mark.parametrize("role", ROLES)
def test_roles_do_not_know_the_lab(role: str) -> None:
    texts = {x: x.read_text() for x in (ROOT / "roles" / role).rglob("*") if x.is_file()}
    assert texts
    assert not {relative(x): found for x, t in texts.items() if (found := lab_names(t, SCENARIOS))}


def test_no_file_names_an_index_or_this_machine() -> None:
    texts = {path: path.read_bytes().decode(errors="replace") for path in tracked()}
    assert len(texts) > 50
    here = Path(__file__)
    assert not {
        relative(x): found for x, t in texts.items() if x != here and (found := machine_names(t))
    }


def test_requirements_come_from_the_clients_own_index() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert any(line.strip().startswith("--hash=sha256:") for line in lines)
    assert not [x for x in lines if "://" in x or re.match(r"-[a-z]|--(?!hash)", x.strip())]


# The collection


def test_the_clone_is_the_collection() -> None:
    link = "collections/ansible_collections/millrace/streaming"
    listed = subprocess.run(
        ["git", "ls-files", "-s", link], cwd=ROOT, check=True, capture_output=True, text=True
    )  # noqa: S603, S607 - our own words
    assert listed.stdout.startswith("120000 "), "tracked as a symbolic link"
    assert str((ROOT / link).readlink()) == "../../.."
    assert (ROOT / link).resolve() == ROOT
    galaxy = load(ROOT / "galaxy.yml")
    assert f"{galaxy['namespace']}.{galaxy['name']}" == "millrace.streaming"
    ignored = {"collections", "molecule", ".config", ".ansible", ".venv", "tests"}
    assert ignored <= set(galaxy["build_ignore"])
    assert (ROOT / galaxy["readme"]).is_file()
