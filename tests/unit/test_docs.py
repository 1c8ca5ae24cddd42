from __future__ import annotations

from pathlib import Path

import pytest

from docs import generate


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
    assert capsys.readouterr().out == "old.md is stale\n"
    assert path.read_text() == "old\n"
    assert generate.main(["one"]) == 0
    assert path.read_text() == "new\n"
    assert generate.main(["--check"]) == 0


def test_unknown_document_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        generate.main(["nothing"])
    known = ", ".join(generate.DOCUMENTS)
    assert f"no document nothing; there are {known}" in capsys.readouterr().err


def test_role_readme_tells_entry_points_and_variables() -> None:
    level = {"type": "str", "description": "How far", "choices": ["low", "high"], "default": "low"}
    listeners = {
        "type": "list",
        "elements": "dict",
        "description": "Where it listens.",
        "options": {"port": {"type": "int", "description": "Port."}},
        "default": [{"port": 1}],
    }
    name = {"type": "str", "description": "Name of the job.", "required": True}
    text = generate.role_readme(
        "thing",
        {
            "argument_specs": {
                "main": {
                    "short_description": "Makes things",
                    "options": {"thing_level": level, "thing_listeners": listeners},
                },
                "job": {
                    "short_description": "Runs | a job",
                    "options": {"thing_level": level, "thing_name": name},
                },
            }
        },
    )
    assert "\nMakes things.\n" in text
    assert "| `main` | Makes things. |" in text
    assert "| `job` | Runs \\| a job. |" in text
    assert "| `thing_level` | str | `low` | How far. One of `low`, `high`. |" in text
    assert '| `[{"port": 1}]` | Where it listens. Keys: `port`. |' in text
    assert text.count("thing_level") == 1, "what `main` takes is told once"
    after = text.partition("The entry point `job` also takes:")[2]
    assert "| `thing_name` | str | required | Name of the job. |" in after
