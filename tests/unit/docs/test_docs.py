"""Generated documents are current, and modules and actions are documented as they are."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    health_check,
    options,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils import action
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import GROUPS
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES

from docs import generate
from tests.support.lab.topology import ROOT
from tests.unit import in_process
from tests.unit.cluster import small
from tests.unit.cluster.inventories import INVENTORIES, read

PLUGINS = "ansible_collections.millrace.streaming.plugins"
MODULES = sorted(path.stem for path in ROOT.glob("plugins/modules/*.py"))
ROUTED = in_process.routed_actions()
ACTIONS = sorted(
    {path.stem for path in ROOT.glob("plugins/action/*.py")} - {*ROUTED.values()} | {*ROUTED}
)


@pytest.mark.parametrize("name", sorted(generate.DOCUMENTS))
def test_generated_document_is_current(name: str) -> None:
    documents = generate.DOCUMENTS[name]()
    assert documents
    old = [str(path.relative_to(generate.ROOT)) for path in generate.stale(documents)]
    assert not old, f"run: python docs/generate.py {name}"


def test_check_reports_a_stale_document_and_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.md"
    path.write_text("old\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "DOCUMENTS", {"one": lambda: {path: "new\n"}})
    assert generate.main(["--check"]) == 1
    assert "old.md" in capsys.readouterr().out
    assert path.read_text() == "old\n"
    assert generate.main(["one"]) == 0
    assert path.read_text() == "new\n"
    assert generate.main(["--check"]) == 0


def test_an_alert_without_a_section_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs/operate").mkdir(parents=True)
    (tmp_path / "docs/alerts.json").write_text((ROOT / "docs/alerts.json").read_text())
    text = (ROOT / "docs/operate/alerts.md").read_text()
    (tmp_path / "docs/operate/alerts.md").write_text(text.replace("### KafkaDown\n", ""))
    folder = tmp_path / "roles/monitoring/files"
    folder.mkdir(parents=True)
    (folder / "alerts").symlink_to(ROOT / "roles/monitoring/files/alerts")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="KafkaDown"):
        generate.alerts()


def test_a_figure_without_its_record_is_named() -> None:
    record = {"what": "`roll`", "figures": ["1 s"], "date": "2026-11-27", "machine": "2 cores"}
    with pytest.raises(ValueError, match=r"`roll`.* has no commit"):
        generate.record_table("x", {"columns": ["what", "it"], "records": [record]})
    with pytest.raises(ValueError, match="no records latency"):
        generate.record_table("latency", None)


def test_each_rule_has_an_entry_at_its_address() -> None:
    pages = {path.stem: text for path, text in generate.errors().items()}
    assert {rule.page for rule in RULES} <= {*generate.ERRORS}
    for rule in RULES:
        assert f"\n### {rule.name}\n" in pages[Path(rule.page).name], rule.name


def test_a_rule_without_an_entry_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read = generate._yaml
    monkeypatch.setattr(
        generate, "_yaml", lambda path: {k: v for k, v in read(path).items() if k != "no-hosts"}
    )
    with pytest.raises(ValueError, match="no-hosts"):
        generate.errors()


def test_unknown_document_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        generate.main(["nothing"])
    refusal = capsys.readouterr().err
    assert all(name in refusal for name in ("nothing", *generate.DOCUMENTS))


def test_variables_of_a_role_are_listed_for_each_entry_point() -> None:
    level = {"type": "str", "description": "How far", "choices": ["low", "high"], "default": "low"}
    listeners = {
        "type": "list",
        "elements": "dict",
        "description": "Where it listens.",
        "options": {"port": {"type": "int", "description": "Port."}},
        "default": [{"port": 1}],
    }
    name = {"type": "str", "description": "Name of the job.", "required": True}
    speed = {"type": "int", "description": "How | fast."}
    lines = generate.role_section(
        "thing",
        {
            "argument_specs": {
                "main": {
                    "short_description": "Makes things",
                    "options": {"thing_level": level, "thing_listeners": listeners},
                },
                "job": {
                    "short_description": "Runs a job",
                    "options": {"thing_name": name, "thing_speed": speed},
                },
                "remove": {"short_description": "Removes them"},
            }
        },
    )
    text = "\n".join(lines)
    assert "## thing\n\nMakes things.\n" in text
    assert "| `thing_level` | str | `low` | How far. One of `low`, `high`. |" in text
    assert '| `[{"port": 1}]` | Where it listens. |' in text
    assert "| `thing_listeners[].port` | int |  | Port. |" in text
    after = text.partition("### thing, tasks_from: job")[2]
    assert "Runs a job." in after
    assert "| `thing_name` | str | required | Name of the job. |" in after
    assert "| `thing_speed` | int |  | How \\| fast. |" in after


# Modules and actions


class FoundError(Exception):
    """What a module gave to AnsibleModule."""

    def __init__(self, argument_spec: Mapping[str, Any]) -> None:
        self.argument_spec = argument_spec


def arguments(name: str, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """The argument spec of a module; none of a stub, whose work is all its action's."""

    def found(argument_spec: Mapping[str, Any], **_: object) -> NoReturn:
        raise FoundError(argument_spec)

    module = importlib.import_module(f"{PLUGINS}.modules.{name}")
    if not hasattr(module, "main"):
        return {}
    for user in (module, options, health_check):
        monkeypatch.setattr(user, "AnsibleModule", found, raising=False)
    with pytest.raises(FoundError) as caught:
        module.main()
    return caught.value.argument_spec


def own_options(name: str) -> frozenset[str]:
    """The options that an action does not hand to the module of its name."""
    plugin = in_process.plugin("action", name).ActionModule
    own_names: frozenset[str] = getattr(plugin, "OWN", frozenset())
    return own_names


def of_model(name: str) -> dict[str, Any]:
    """The options that the model gives a module, none where its action does it."""
    ids = {"k1": {"kafka_node_id": 1, "zookeeper_id": 1}}
    deployment = small.cluster(
        {group: ["k1"] for group in GROUPS}, ids, {"k1": Facts(small.DEBIAN_12)}
    )
    is_modelled = name in module_options.modules()
    return module_options.of_module(name, deployment, "k1") if is_modelled else {}


def meaning(option: Mapping[str, Any]) -> dict[str, Any]:
    """What of an option a caller has to know, without what it is by default."""
    shown = ("type", "elements", "choices", "required", "default")
    spec = {key: option[key] for key in shown if option.get(key) not in (None, False)}
    return {"type": "str", **spec}


def differences(documented: Mapping[str, Any], specs: Mapping[str, Any]) -> list[str]:
    """Where documentation says something else than the specs."""
    names = sorted({*documented, *specs})
    problems = [f"{name}: not documented" for name in names if name not in documented]
    problems += [f"{name}: documented, and not taken" for name in names if name not in specs]
    return problems + [
        f"{name}: {meaning(documented[name])} is not {meaning(specs[name])}"
        for name in names
        if name in documented
        and name in specs
        and meaning(documented[name]) != meaning(specs[name])
    ]


@pytest.mark.parametrize("name", MODULES)
def test_options_are_documented_as_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task may have the options of the page alone: the action of the same name sees to that."""
    specs, documented = arguments(name, monkeypatch), action.options(name)
    if name not in ACTIONS:
        assert not documented, "no task has it: an action gives all its options"
        return
    if not specs:
        text = (ROOT / f"plugins/action/{name}.py").read_text()
        assert not [key for key in documented if f'args["{key}"]' not in text], "nobody reads it"
        return
    of_action = own_options(name)
    handed = {key: option for key, option in documented.items() if key not in of_action}
    # Where the model gives an option, there is no default to document.
    modelled = {
        key: {**option, "default": None} for key, option in specs.items() if key in of_model(name)
    }
    taken = {key: option for key, option in {**specs, **modelled}.items() if key in handed}
    assert not differences(handed, taken)


@pytest.mark.parametrize("name", module_options.modules())
def test_modules_take_what_the_model_gives_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    modelled, of_tasks = of_model(name), action.options(name)
    specs = {
        key: option
        for key, option in arguments(name, monkeypatch).items()
        if key in modelled or key not in of_tasks
    }
    assert not ArgumentSpecValidator(specs).validate(modelled).error_messages


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_has_a_page(name: str) -> None:
    assert name in MODULES


def test_each_module_with_options_from_the_model_has_an_action_that_gives_them() -> None:
    """Without one Ansible would call the module with the options of the task alone."""
    used = {"kafka_restart"}  # by the action roll_node
    assert {*module_options.modules()} - used <= {*ACTIONS}
    assert {*ROUTED} <= {*module_options.modules()}


def test_each_difference_is_found() -> None:
    spec = {"a": {"type": "int", "default": 1}, "b": {"required": True}, "c": {"choices": ["x"]}}
    assert not differences({**spec, "b": {"type": "str", "required": True}}, spec)
    assert differences({"a": {"type": "str"}, "b": spec["b"], "d": {}}, spec) == [
        "c: not documented",
        "d: documented, and not taken",
        "a: {'type': 'str'} is not {'type': 'int', 'default': 1}",
    ]


def test_each_kind_of_request_for_an_outside_authority_is_named(tmp_path: Path) -> None:
    kinds = set()
    for name in INVENTORIES:
        cluster = read(name, tmp_path)
        nodes = [
            node_certificate
            for node in cluster.kafka.values()
            for node_certificate in node.certificates
        ]
        for certificate in (*nodes, *cluster.web_certificates):
            kinds.add(certificate.name.partition("/")[2])
    text = (ROOT / "docs/deploy/site_ca.md").read_text()
    (sentence,) = re.findall(r"A kind is (.*?)\.\s", text, re.DOTALL)
    assert kinds == set(re.findall("`([a-z_]+)`", sentence))
