"""What the house rules promise about the tree itself; every check is shown to fail, at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.topology import ROOT
from tests.unit.tree import (
    ROLES,
    SCENARIOS,
    git_files,
    load,
    parse,
    relative,
    tasks_of,
    tracked,
    walk,
)

PLAYBOOKS = [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("molecule/shared/*.yml")]
TASKS = sorted([*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/tasks/*.yml")])


# Argument specs and entry points


def specs_differ(specs: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Ansible never applies a spec's default: what defaults/main.yml does not set is undefined."""
    options = {key: one for entry in specs.values() for key, one in entry["options"].items()}
    problems = [f"{key}: not in the spec" for key in defaults if key not in options]
    for key, option in options.items():
        if option.get("required"):
            if option.get("default") is not None or defaults.get(key) is not None:
                problems.append(f"{key}: required, yet it has a default")
        elif key not in defaults:
            problems.append(f"{key}: not in defaults/main.yml")
        elif defaults[key] != option.get("default"):
            problems.append(f"{key}: {defaults[key]!r} is not {option.get('default')!r}")
    return problems


def entries_differ(
    specs: set[str], files: set[str], included: set[str], used: set[str]
) -> list[str]:
    """A tasks file is an entry point with a spec, or a part of one."""
    return [
        *(f"{name}: a spec without tasks" for name in specs - files),
        *(f"{name}: used by tasks_from, without tasks" for name in used - files),
        *(f"{name}: used by tasks_from, without a spec" for name in used - specs),
        *(f"{name}: neither an entry point nor included" for name in files - specs - included),
    ]


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
    for paragraph in text.split("\n\n"):
        if "set_fact:" in paragraph and not re.search(r"(^|\s)# ", paragraph):
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
        for file in [*PLAYBOOKS, *TASKS]
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


# What the tree must not tell


def lab_names(text: str, scenarios: list[str]) -> list[str]:
    """Lines that know where they are tested; virtualization types are facts of the host."""
    # A scenario may have the name of the product that it is about.
    names = "|".join(name for name in scenarios if name not in {"default", *ROLES}) or "podman"
    pattern = re.compile(rf"podman|docker|molecule|\blab_|\.lab\b|MILLRACE_(LAB|STATE)|{names}")
    lines = text.splitlines()
    return [x for x in lines if pattern.search(x) and "virtualization_type" not in x]


def machine_names(text: str) -> list[str]:
    """Lines that name a package index or an absolute path of one machine."""
    index = r"pypi\.org|pythonhosted\.org|repo1?\.maven|deb\.debian\.org|artifactory|/simple\b"
    folder = r"(?<![\w.}*<-])/(?:work|root|opt/wheels)(?![\w.-])"
    return [line for line in text.splitlines() if re.search(f"{index}|{folder}", line)]


def foreign_options(requirements: str) -> list[str]:
    """Lines by which a requirements file would take packages from a place of its own."""
    lines = [line.strip() for line in requirements.splitlines()]
    return [x for x in lines if "://" in x or re.match(r"-[a-z]|--(?!hash)", x)]


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
    text = (ROOT / "requirements.txt").read_text()
    assert text.count("--hash=sha256:") > 50
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
    ignored = {"collections", "molecule", ".config", ".ansible", ".venv", "tests"}
    assert ignored <= set(galaxy["build_ignore"])
    assert (ROOT / galaxy["readme"]).is_file()


# Every check is able to fail


SPECS = {"main": {"options": {"a": {"default": 1}, "must": {"required": True}}}}
TASK = '- name: Do\n  ansible.builtin.debug:\n    msg: "{}"\n'
FACT = "- name: Say\n  ansible.builtin.set_fact:\n    a: 1\n"


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        (specs_differ(SPECS, {"a": 1, "must": None}), []),
        (specs_differ(SPECS, {"a": 2}), ["a: 2 is not 1"]),
        (specs_differ(SPECS, {}), ["a: not in defaults/main.yml"]),
        (specs_differ(SPECS, {"a": 1, "b": 1}), ["b: not in the spec"]),
        (specs_differ(SPECS, {"a": 1, "must": 1}), ["must: required, yet it has a default"]),
        (entries_differ({"main"}, {"main", "install"}, {"install"}, {"main"}), []),
        (entries_differ({"main", "gone"}, {"main"}, set(), set()), ["gone: a spec without tasks"]),
        (
            entries_differ({"x"}, {"x", "y"}, {"y"}, {"y"}),
            ["y: used by tasks_from, without a spec"],
        ),
        (
            entries_differ({"x", "y"}, {"x"}, set(), {"y"}),
            ["y: a spec without tasks", "y: used by tasks_from, without tasks"],
        ),
        (
            entries_differ({"x"}, {"x", "y"}, set(), {"x"}),
            ["y: neither an entry point nor included"],
        ),
        (too_much("install.yml", TASK * 15), []),
        (too_much("install.yml", TASK * 16), ["16 tasks, at most 15"]),
        (too_much("main.yml", TASK * 10 + "\n"), ["31 lines in main.yml, at most 30"]),
        (too_much("a.yml", TASK + "  ignore_errors: true\n"), ["ignore_errors"]),
        (too_much("a.yml", f"{TASK}\n# A fact, since it ends.\n{FACT}"), []),
        (
            too_much("a.yml", f"# About the next.\n{TASK}\n{FACT}"),
            ["a set_fact without its reason"],
        ),
        (lab_names("a: 1\nb: lab_image\nc: k9\n", ["default", "k9"]), ["b: lab_image", "c: k9"]),
        (lab_names("kind: podman\nvirtualization_type: podman\n", []), ["kind: podman"]),
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
        "        - ansible.builtin.include_role: {name: 'millrace.streaming.{{ item.role }}'}\n"
        "          loop: [{role: not}]\n"
    )
    found = list(references(document, ROOT / "playbooks"))
    assert {relative(path) for path in found} == {
        "playbooks/absent.yml",
        "playbooks/vars/absent.yml",
        "roles/absent/tasks/main.yml",
        "absent.yml",
        "roles/kafka/tasks/absent.yml",
        "roles/not/tasks/main.yml",
    }
    assert not any(exists(path) for path in found)


def test_every_kind_of_written_path_is_found() -> None:
    text = "{{ place }}/../a.j2, place ~ '/b.yml', playbooks/no-$x.yml tests/${y:-1}.py molecule/no"
    found = list(written_paths(text, {"place": ROOT / "roles"}))
    assert [relative(path) for path in found] == [
        "a.j2",
        "roles/b.yml",
        "playbooks/no-*.yml",
        "tests/*.py",
        "molecule/no",
    ]
    assert [exists(path) for path in found] == [False] * 3 + [True, False]
    assert exists(ROOT / "playbooks/*.yml")
    assert not exists(ROOT.parent)
