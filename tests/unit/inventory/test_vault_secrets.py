"""Which password of a vault a run uses for its secrets, and what it says where it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecret
from ansible_collections.millrace.streaming.plugins.plugin_utils import ansible_internals
from ansible_collections.millrace.streaming.plugins.plugin_utils.ansible_internals import Vault
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import (
    FileFinding,
    Inventory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import reading
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets

Passwords = list[tuple[str, bytes]]
ONE: Passwords = [("default", b"one")]
TWO: Passwords = [("dev", b"two"), ("prod", b"one")]


def read(place: Path, passwords: Passwords, **variables: Any) -> Inventory:
    """Return the inventory of a run with passwords of vaults."""
    document = {
        "kafka_brokers": {"hosts": {"k1": {"kafka_node_id": 1}}, "vars": variables},
    }
    (place / "hosts.yml").write_text(yaml.safe_dump(document))
    ansible_internals.load_plugins()
    loader: Any = DataLoader()
    loader.set_vault_secrets([(name, VaultSecret(text)) for name, text in passwords])
    return reading.from_sources([str(place / "hosts.yml")], loader)


def finding(inventory: Inventory) -> FileFinding:
    """The one thing that is wrong with it."""
    [found] = inventory.misread
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a secret in a vault."""
    cipher = Vault((("default", b"one"),))
    secrets.keep(tmp_path / ".secrets", "passwords/admin", "hunter2", cipher)
    return tmp_path


@pytest.mark.parametrize(
    ("passwords", "variables"),
    [
        (ONE, {}),
        (TWO, {"kafka_secrets_vault_id": "prod"}),
        (TWO, {"kafka_secrets_vault_id": "dev"}),
        ([*ONE, *ONE], {}),
    ],
)
def test_secrets_are_decrypted_by_any_password(
    place: Path, passwords: Passwords, variables: dict[str, Any]
) -> None:
    inventory = read(place, passwords, kafka_secrets_store="vault", **variables)
    assert not inventory.misread
    assert inventory.secrets.passwords == {"admin": "hunter2"}
    assert inventory.secrets.store


def test_the_identity_of_ansible_cfg_encrypts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_VAULT_ENCRYPT_IDENTITY", "prod")
    inventory = read(place, TWO, kafka_secrets_store="vault")
    cipher = inventory.secrets.cipher
    assert cipher
    assert cipher.encrypt("text").startswith("$ANSIBLE_VAULT;1.2;AES256;prod\n")


@pytest.mark.parametrize(
    ("passwords", "variables", "kind", "words", "fix"),
    [
        ([], {}, "sealed", "no vault password for the secrets in", "--vault-password-file"),
        ([("default", b"two")], {}, "secrets", "admin cannot be read", "Give the vault password"),
        (TWO, {}, "secrets", "vault ids dev and prod, and none is chosen", "_vault_id"),
        (TWO, {"kafka_secrets_vault_id": "test"}, "secrets", "of the vault id test", "_vault_id"),
        ([*ONE, ("default", b"two")], {}, "secrets", "several passwords of the vault", "an id of"),
        (
            ONE,
            {"kafka_secrets_store": "files"},
            "secrets",
            "encrypted by ansible-vault, and kafka_secrets_store is files",
            "Set kafka_secrets_store: vault, or run secrets_store.yml",
        ),
    ],
)
def test_what_cannot_be_read_is_one_problem_with_what_to_do(
    place: Path, passwords: Passwords, variables: dict[str, Any], kind: str, words: str, fix: str
) -> None:
    inventory = read(place, passwords, **{"kafka_secrets_store": "vault", **variables})
    found = finding(inventory)
    assert found.kind == kind
    assert words in found.text
    assert fix in found.value
    assert inventory.secrets.directory == str(place / ".secrets")
    assert not inventory.secrets.passwords


def test_passwords_are_shown_nowhere(place: Path) -> None:
    inventory = read(place, ONE, kafka_secrets_store="vault")
    assert "one" not in repr(inventory.secrets.cipher)
    assert "hunter2" not in repr(inventory.secrets)
