"""Which texts of an inventory nobody may read, whatever their variables are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecret, VaultSecretsContext
from ansible_collections.millrace.streaming.plugins.plugin_utils import ansible_internals
from ansible_collections.millrace.streaming.plugins.plugin_utils.ansible_internals import Vault
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import hidden
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.clear_text import Files

WORD = b"a word"
HOSTS = """\
kafka_brokers: {{hosts: {{k1: {{kafka_node_id: 1}}}}}}
all:
  vars:
    plain: visible
    site_password: called-so
    nested: {{api_token: called-so-inside, other: [visible]}}
    ansible_become_password: "{{{{ site_password }}}}-login"
    encrypted: !vault |
{encrypted}
"""


def test_what_is_encrypted_or_called_a_secret_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault((("default", WORD),))
    lines = vault.encrypt("in-a-value").splitlines()
    encrypted = "\n".join(f"      {line}" for line in lines)
    (tmp_path / "hosts.yml").write_text(HOSTS.format(encrypted=encrypted))
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/all.yml").write_text(
        vault.encrypt("x: {y: [in-a-file], z: 'in-a-{file'}\n")
    )
    ansible_internals.load_plugins()
    loader: Any = DataLoader()
    passwords: Any = [("default", VaultSecret(WORD))]
    loader.set_vault_secrets(passwords)
    monkeypatch.setattr(VaultSecretsContext, "_current", VaultSecretsContext(passwords))
    manager = ansible_internals.InventoryManager(
        loader=loader, sources=[str(tmp_path / "hosts.yml")]
    )
    hostvars = ansible_internals.new_hostvars(manager, loader)
    texts = {*hidden.values(hostvars, "k1", Files(loader))}
    assert texts == {
        "called-so-login",
        "called-so",
        "called-so-inside",
        "in-a-value",
        "in-a-file",
        "in-a-{file",
    }
