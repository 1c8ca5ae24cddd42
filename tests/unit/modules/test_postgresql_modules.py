"""What a PostgreSQL server has to have and what is wrong with it, by a client that is played."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.module_runner import run_module

PSQL = """#!/bin/sh
statement=$(cat)
echo "$statement" >> "$STATE/asked"
case $statement in
  *refused*) echo 'ERROR:  permission denied' >&2; exit 3;;
  *MAKE*) touch "$STATE/made";;
  *made*) [ -e "$STATE/made" ] && echo t || echo f;;
  *problem*) printf 'a slot is lost\\n\\nanother too\\n';;
esac
"""
STEP = {"what": "the table", "database": "flights", "check": "SELECT made", "apply": "MAKE it"}


@pytest.fixture
def psql_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the client was asked, a line each."""
    client = tmp_path / "psql"
    client.write_text(PSQL)
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("STATE", str(tmp_path))
    return tmp_path / "asked"


def setup(steps: list[dict[str, str]], *, check: bool = False) -> dict[str, Any]:
    connection = {"socket": "/run/db", "port": 5432, "user": getpass.getuser(), "wait": 0.0}
    return run_module("postgresql_setup", {**connection, "steps": steps}, check=check)


def checks(**options: Any) -> dict[str, Any]:
    connection = {"socket": "/run/db", "port": 5432, "user": getpass.getuser()}
    return run_module("postgresql_checks", {**connection, **options})


def query(text: str) -> list[dict[str, str]]:
    return [{"database": "flights", "query": text}]


def test_what_is_missing_is_made_once(psql_log: Path) -> None:
    first, second = setup([STEP]), setup([STEP])
    assert (first["changed"], first["done"]) == (True, ["the table"])
    assert (second["changed"], second["done"]) == (False, [])
    assert psql_log.read_text().count("MAKE") == 1


def test_check_mode_makes_nothing(psql_log: Path) -> None:
    assert setup([STEP], check=True)["done"] == ["the table"]
    assert "MAKE" not in psql_log.read_text()


def test_in_check_mode_a_server_that_is_not_there_lacks_everything(psql_log: Path) -> None:
    assert setup([{**STEP, "check": "refused"}], check=True)["done"] == ["the table"]


def test_a_client_that_ends_before_it_has_read_is_no_answer(psql_log: Path) -> None:
    """As psql does without a server, and runuser without the account."""
    (psql_log.parent / "psql").write_text("#!/bin/sh\necho 'no account' >&2\nexit 1\n")
    long = {**STEP, "check": "SELECT made " + "x" * 200_000}
    assert setup([long], check=True)["done"] == ["the table"]
    assert "no account" in setup([long])["msg"]


def test_a_refused_statement_is_shown_without_the_others(psql_log: Path) -> None:
    result = setup([{**STEP, "apply": "refused 'SCRAM-SHA-256$1'"}])
    assert result["failed"]
    assert "permission denied" in result["msg"]
    assert "SCRAM" not in str(result)


def test_each_line_of_a_result_is_a_problem(psql_log: Path) -> None:
    result = checks(health=query("problem"), connectors=query("refused"))
    assert result["failed"]
    assert result["problems"] == ["a slot is lost", "another too"]
    assert not checks(health=query("nothing")).get("failed")


def test_what_connectors_lack_is_asked_only_for_them(psql_log: Path) -> None:
    result = checks(part="connectors", health=query("refused"), connectors=query("problem"))
    assert "no connector was changed" in result["msg"]


def test_a_server_that_does_not_answer_is_a_problem(psql_log: Path) -> None:
    assert "does not answer" in checks(health=query("refused"))["msg"]
