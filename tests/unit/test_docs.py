from __future__ import annotations

from pathlib import Path

import pytest

from docs import generate


@pytest.mark.parametrize("name", sorted(generate.DOCUMENTS))
def test_generated_document_is_current(name: str) -> None:
    old = [path.name for path in generate.stale(generate.DOCUMENTS[name]())]
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
    assert "no document nothing; there are errors" in capsys.readouterr().err
