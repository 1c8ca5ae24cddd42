"""What values of an inventory are made of: clear text of its files, or what is hidden."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import PromptVaultSecret, VaultLib, VaultSecretsContext
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Inventory
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
    from_sources,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster

HOSTS = """\
kafka_controllers: {hosts: {k1: {kafka_node_id: 1}}}
kafka_brokers: {hosts: {k1: }}
backup: {hosts: {b1: {of_another: hunter2-of-another}}}
"""
PASSWORD = "hunter2-hunter2"
VAULT = PromptVaultSecret(b"password of the vault")
CLEAR, HIDDEN = True, False
# Other variables of group_vars/all.yml.
OTHERS = f"""
clear: {PASSWORD}
nested: {{users: {{app: {PASSWORD}}}}}
over_two: "{{{{ clear }}}}"
number: 1234567890
"""
EXPRESSIONS = {
    PASSWORD: CLEAR,
    "{{ clear }}": CLEAR,
    "{{ over_two }}": CLEAR,
    "{{ nested.users['app'] }}": CLEAR,
    "{{ clear | trim }}-{{ inventory_hostname }}": CLEAR,
    "{{ lookup('vars', 'clear') }}": CLEAR,
    "{{ hostvars['k1'].clear }}": CLEAR,
    "{{ number }}": CLEAR,
    f"{{{{ '{PASSWORD}' }}}}": CLEAR,
    f"{{{{ nowhere | default('{PASSWORD}') }}}}": CLEAR,
    f"{{{{ lookup('env', 'MILLRACE_NONE') | default('{PASSWORD}', true) }}}}": CLEAR,
    "{{ (vault ~ '-x') if false else clear }}": CLEAR,
    "{{ lookup('file', inventory_dir ~ '/tracked') }}": CLEAR,
    "{{ lookup('ansible.builtin.file', inventory_dir ~ '/tracked') | b64encode }}": CLEAR,
    "{{ (lookup('file', inventory_dir ~ '/tracked.json') | from_json).password }}": CLEAR,
    "{{ lookup('file', inventory_dir ~ '/ignored') }}": HIDDEN,
    "{{ lookup('file', inventory_dir ~ '/tracked.vault') }}": HIDDEN,
    "{{ lookup('env', 'HOME') }}": HIDDEN,
    "{{ lookup('password', '/dev/null') }}": HIDDEN,
    "{{ query('pipe', 'echo hunter2-hunter2') | first }}": HIDDEN,
    "{{ vault }}": HIDDEN,
    "{{ vault ~ clear }}": HIDDEN,
    "{{ {'app': vault}.app }}": HIDDEN,
    "{{ whole }}": HIDDEN,
    "{{ hostvars['b1'].of_another }}": HIDDEN,
    "{{ given }}": HIDDEN,
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@cache  # deriving the key of a vault is slow on purpose
def encrypted(text: str) -> str:
    return str(VaultLib([("default", VAULT)]).encrypt(text).decode())


def git(place: Path, *words: str) -> None:
    subprocess.run(["git", "-C", place, *words], check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return an inventory in a repository, with a vault and files of secrets."""
    write(tmp_path / "hosts.yml", HOSTS)
    block = "\n".join(f"  {line}" for line in encrypted(f"{PASSWORD}-vault").splitlines())
    write(tmp_path / "group_vars/all/all.yml", f"{OTHERS}vault: !vault |\n{block}\n")
    write(tmp_path / "group_vars/all/vault.yml", encrypted(f"whole: {PASSWORD}-whole\n"))
    write(tmp_path / "tracked", f"{PASSWORD}\n")
    write(tmp_path / "tracked.json", f'{{"password": "{PASSWORD}"}}\n')
    write(tmp_path / "tracked.vault", encrypted(f"{PASSWORD}-file"))
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    write(tmp_path / "ignored", f"{PASSWORD}-ignored\n")
    return tmp_path


@pytest.fixture(autouse=True)
def _vault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open what is encrypted in a file, as a run with the password does."""
    monkeypatch.setattr(VaultSecretsContext, "_current", VaultSecretsContext([("default", VAULT)]))


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what gives variables with -e."""

    def give(words: str) -> None:
        monkeypatch.setattr(context, "CLIARGS", CLIArgs({"extra_vars": (words,)}))
        monkeypatch.setattr(load_extra_vars, "extra_vars", None, raising=False)

    return give


def read(place: Path, **variables: object) -> Inventory:
    """Read the inventory with further variables, and with the password of its vaults."""
    write(place / "group_vars/all/more.yml", yaml.safe_dump(variables))
    loader = DataLoader()
    loader.set_vault_secrets([("default", VAULT)])
    return from_sources([str(place / "hosts.yml")], loader)


def refused(inventory: Inventory, *rules: str) -> set[str]:
    """Return where rules refuse an inventory, all of whose variables are resolved."""
    assert inventory.hosts["k1"].unresolved == {}
    problems = check_cluster(RULES, cluster.resolve(inventory))
    return {problem.where.partition(" of ")[0] for problem in problems if problem.rule in rules}


WAYS: Mapping[str, Any] = {
    "kafka_users": lambda text: [{"name": "app", "password": text}],
    "kafka_ca_key": lambda text: text,
    "kafka_config": lambda text: {"ssl.key.password": text},
    "kafka_client_config": lambda text: {
        "sasl.jaas.config": f'X required username="{PASSWORD}" password="{text}";'
    },
    "kafka_java_options": lambda text: ["-Xss4m", f"-Da.password={text}"],
    "ansible_become_password": lambda text: text,
}


@pytest.mark.parametrize("variable", ["kafka_users", "kafka_ca_key", "kafka_config"])
@pytest.mark.parametrize(("text", "clear"), EXPRESSIONS.items())
def test_a_secret_in_clear_text_is_found_through_expressions(
    place: Path, variable: str, text: str, clear: bool, command_line: Callable[[str], None]
) -> None:
    command_line(f"given={PASSWORD}-given")
    inventory = read(place, **{variable: WAYS[variable](text)})
    assert bool(refused(inventory, "secret-visible")) is clear


@pytest.mark.parametrize("variable", WAYS)
@pytest.mark.parametrize(
    ("text", "clear"),
    [
        *((value, True) for value in (PASSWORD, "{{ clear }}", "{{ over_two }}")),
        *(
            (value, False)
            for value in ("{{ vault }}", "{{ whole }}", "{{ lookup('env', 'HOME') }}")
        ),
    ],
)
def test_every_variable_with_secrets_is_checked(
    place: Path, variable: str, text: str, clear: bool
) -> None:
    where = refused(
        read(place, **{variable: WAYS[variable](text)}), "secret-visible", "login-visible"
    )
    assert {place_of.partition("[")[0] for place_of in where} == ({variable} if clear else set())


@pytest.mark.parametrize("file", ["tracked", "ignored"])
def test_a_login_from_a_file_is_refused_if_git_tracks_it(place: Path, file: str) -> None:
    text = f"{{{{ lookup('file', inventory_dir ~ '/{file}') }}}}"
    expected = {"ansible_password"} if file == "tracked" else set()
    assert refused(read(place, ansible_password=text), "login-visible") == expected


def test_of_a_whole_expression_only_what_is_in_clear_text_is_refused(place: Path) -> None:
    text = "{{ base | combine({'ssl.keystore.password': vault}) }}"
    inventory = read(place, base={"ssl.key.password": PASSWORD}, kafka_config=text)
    assert refused(inventory, "secret-visible") == {"kafka_config[ssl.key.password]"}


def test_the_place_of_the_clear_text_is_named(place: Path) -> None:
    inventory = read(place, kafka_users=[{"name": "app", "password": "{{ over_two }}"}])
    problems = check_cluster(RULES, cluster.resolve(inventory))
    [message] = [problem.what for problem in problems if problem.rule == "secret-visible"]
    assert f"{place}/group_vars/all/all.yml:2" in message


def test_without_a_repository_only_variables_are_clear_text(place: Path) -> None:
    for path in sorted((place / ".git").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (place / ".git").rmdir()
    file = "{{ lookup('file', inventory_dir ~ '/tracked') }}"
    config = {"ssl.key.password": file, "ssl.keystore.password": "{{ clear }}"}
    inventory = read(place, kafka_config=config)
    assert refused(inventory, "secret-visible") == {"kafka_config[ssl.keystore.password]"}


def test_what_a_vault_holds_as_such_is_hidden(place: Path) -> None:
    users = [{"name": "app", "password": PASSWORD}, {"name": "b", "password": "{{ clear }}"}]
    write(place / "host_vars/k1.yml", encrypted(yaml.safe_dump({"kafka_users": users})))
    problems = check_cluster(RULES, cluster.resolve(read(place)))
    [message] = [problem.what for problem in problems if problem.rule == "secret-visible"]
    assert "password of b " in message


@pytest.mark.parametrize("tracked", [True, False])
def test_a_file_given_on_the_command_line_is_clear_text_if_git_tracks_it(
    place: Path, command_line: Callable[[str], None], tracked: bool
) -> None:
    write(place / "given.yml", yaml.safe_dump({"kafka_ca_key": PASSWORD}))
    if tracked:
        git(place, "add", "given.yml")
    command_line(f"@{place}/given.yml")
    assert refused(read(place), "secret-visible") == ({"kafka_ca_key"} if tracked else set())


def test_a_value_given_on_the_command_line_is_hidden(
    place: Path, command_line: Callable[[str], None]
) -> None:
    command_line(f'{{"kafka_config": {{"ssl.key.password": "{PASSWORD}"}}}}')
    assert refused(read(place), "secret-visible") == set()


@pytest.mark.parametrize("variable", [name for name in WAYS if not name.startswith("ansible_")])
def test_an_expression_that_gives_nothing_is_refused(
    place: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("APP_PASSWORD", raising=False)
    text = "{{ lookup('env', 'APP_PASSWORD') }}"
    where = refused(read(place, **{variable: WAYS[variable](text)}), "secret-empty")
    assert {place_of.partition("[")[0] for place_of in where} == {variable}
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    assert not refused(
        read(place, **{variable: WAYS[variable](text)}), "secret-empty", "secret-visible"
    )
