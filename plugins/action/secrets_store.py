"""Ansible action: bring the secrets to the form that kafka_secrets_store names."""

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..plugin_utils import ansible_internals
from ..plugin_utils.action import STORE, LocalAction
from ..plugin_utils.inventory import clear_text
from ..plugin_utils.inventory.reading import SECRETS_DIRECTORY, VAULT_IDENTITY
from ..plugin_utils.secrets import secret_files
from ..plugin_utils.secrets import store as secrets
from ..plugin_utils.secrets.secret_files import SecretFiles, SecretsStateError

_VARIABLES = (secret_files.VARIABLE, SECRETS_DIRECTORY, VAULT_IDENTITY)


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    needs_all_sources = False  # secrets in another form are among what cannot be read

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Encrypt or decrypt the files, and say which."""
        self._refuse_unknown()
        present = self.cluster.inventory.secrets
        files = SecretFiles(Path(present.directory), present.cipher)
        if not files.directory.is_dir():
            return {"changed": False, "msg": f"{files.directory} is not there: nothing to move."}
        if not files.cipher and (tracked := clear_text.tracked_below(files.directory)):
            message = (
                f"git tracks {tracked} in {files.directory}, and would commit it in clear text: "
                f"run git rm -r --cached {files.directory} first. Nothing was changed."
            )
            raise AnsibleActionFail(message)
        moved = self._moved(files)
        result = f"{files.directory}: {secret_files.FORMS[files.kind]}"
        msg = f"{result}, {len(moved)} of them new." if moved else f"{result} already."
        return {"changed": bool(moved), "msg": msg}

    def _moved(self, files: SecretFiles) -> list[str]:
        """Move the files, or with --check find those that would move."""
        reader = ansible_internals.vault_of(self._loader)
        try:
            if self._task.check_mode:
                return secret_files.move(files, reader, store=False)
            with secrets.locked(files):
                return secret_files.move(files, reader, store=True)
        except SecretsStateError as error:
            message = f"{error}. Nothing was changed."
            raise AnsibleActionFail(message) from error
        except OSError as error:
            message = (
                f"the secrets in {files.directory} cannot be moved: {error}. Free space "
                "there, or make it writable, and run this again, which completes the move."
            )
            raise AnsibleActionFail(message) from error

    def _refuse_unknown(self) -> None:
        """Refuse an inventory that does not say where the secrets are, and how they are kept."""
        inventory, invalid = self.cluster.inventory, self.cluster.invalid
        reasons = [f"{finding.where}: {finding.text}" for finding in inventory.unread_sources]
        for name, host in inventory.hosts.items():
            wrong = {variable.name for variable in invalid.get(name, ())}
            reasons += [
                f"{variable} of {name} is not valid"
                for variable in _VARIABLES
                if host.is_unknown(variable) or variable in wrong
            ]
        findings = [finding for finding in inventory.file_findings if finding.kind in STORE]
        needs_other = (
            finding
            for finding in findings
            if finding.kind == "sealed" or finding.name == VAULT_IDENTITY or not finding.value
        )
        reasons += [f"{finding.text} {finding.value}".strip() for finding in needs_other]
        if not inventory.secrets.directory:
            reasons.append("the inventory has no hosts of Millrace")
        if reasons:
            message = f"nothing was changed: {listing(dict.fromkeys(reasons))}"
            raise AnsibleActionFail(message)
