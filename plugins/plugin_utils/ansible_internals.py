"""What the collection uses of ansible-core's private parts, in one place.

Private is what Ansible's guide for developers does not offer to plugins: how an inventory is read
and kept, where a value is written, vaults. It may be another one in each release of ansible-core.
"""

import os
import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible import constants
from ansible._internal._datatag._tags import Origin
from ansible.errors import AnsibleError
from ansible.inventory.data import InventoryData
from ansible.inventory.manager import IGNORED, InventoryManager, _InventoryDataWrapper
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultHelper, VaultLib, VaultSecret, is_encrypted
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import init_plugin_loader
from ansible.utils.collection_loader._collection_config import AnsibleCollectionConfig
from ansible.utils.path import basedir, unfrackpath
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

__all__ = [
    "DataLoader",
    "HostVars",
    "InventoryManager",
]


@dataclass(frozen=True)
class Position:
    """Where something is written: a file, and a line of it."""

    path: str
    line: int = 0
    """0 where that is not known."""

    def __str__(self) -> str:
        """Return it as `file:line`."""
        return f"{self.path}:{self.line}" if self.line else self.path


def origin(value: object) -> Position | None:
    """Return where a value, or the value that an error is about, is written.

    YAML's `true`, `false` and `null` carry no position.
    """
    tag = value if isinstance(value, Origin) else Origin.get_tag(value)
    return Position(str(tag.path), tag.line_num or 0) if tag and tag.path else None


def description(value: object) -> str:
    """Return what Ansible says about the origin of a value that is in no file, as with -e."""
    tag = Origin.get_tag(value)
    return str(tag.description or "") if tag and not tag.path else ""


def error_position(error: BaseException | None) -> Position | None:
    """Return what an error, or an error that caused it, is about; one with a line comes first."""
    places: list[Position] = []
    while error is not None:
        if place := origin(getattr(error, "obj", None)):
            places.append(place)
        error = error.__cause__
    return next((place for place in places if place.line), next(iter(places), None))


def reason(error: BaseException) -> str:
    """Return what the first cause of an error says, without what Ansible says around it."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = str(getattr(error, "_original_message", "") or error)
    return " ".join(text.split()).rstrip(". ")


def _ini_line(error: BaseException) -> str:
    """Return the line at which Ansible stopped to read an INI file, which its error lacks."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    lines = (frame.f_locals.get("line") for frame in frames if frame.f_code.co_name == "_parse")
    return str(next(lines, None) or "")


class CopiedLoader(DataLoader):
    """Reads files as another loader does: from its directory, with the passwords of its vaults."""

    def __init__(self, loader: DataLoader) -> None:
        """Take over what the other loader has."""
        super().__init__()  # type: ignore[no-untyped-call]  # ansible-core gives it no types
        self.set_basedir(loader.get_basedir())
        self.set_vault_secrets(loader._vault.secrets)

    def note(self, file_name: str) -> None:
        """Take note of a file that is read."""

    def _get_file_contents(self, file_name: str) -> tuple[bytes, bool]:
        self.note(self.path_dwim(file_name))
        return super()._get_file_contents(file_name)


class SourceLoader(CopiedLoader):
    """Reads files as another loader does, but some lines of some files otherwise."""

    def __init__(self, loader: DataLoader) -> None:
        """Take over what the other loader has."""
        super().__init__(loader)
        self.replaced: dict[str, dict[int, bytes]] = {}

    def _get_file_contents(self, file_name: str) -> tuple[bytes, bool]:
        content, shown = super()._get_file_contents(file_name)
        lines = content.splitlines()
        for number, text in self.replaced.get(file_name, {}).items():
            lines[number - 1] = text
        return (b"\n".join(lines) if file_name in self.replaced else content), shown


@dataclass(frozen=True)
class SourceError:
    """Why a file of the inventory, or a line of it, is not read: the error of each plugin."""

    path: str
    errors: Mapping[str, Exception]
    line: int = 0


class _Data(InventoryData):
    """Hosts and groups; a group that cannot be in another one is noted, and left out of it."""

    def __init__(self) -> None:
        super().__init__()
        self.cycles: list[tuple[str, str, str]] = []

    def add_child(self, group: str, child: str) -> bool:
        try:
            return super().add_child(group, child)
        except AnsibleError:
            if group not in self.groups or child not in self.groups:
                raise
            self.cycles.append((str(self.current_source), group, child))
            return False


class Sources(InventoryManager):
    """The sources of an inventory, read as far as they can be, without a word on the screen.

    `unread` are the files that no plugin reads, and lines of INI files; `cycles` are file, group
    and child of each group that would contain itself.
    """

    def __init__(self, sources: Sequence[str], loader: DataLoader) -> None:
        """Read them."""
        self.unread: list[SourceError] = []
        copied = SourceLoader(loader)
        super().__init__(copied, sources=list(sources), parse=False)  # type: ignore[no-untyped-call]  # ansible-core gives it no types
        data = _Data()
        self._inventory, self.cycles = data, data.cycles
        self.parse_sources()  # type: ignore[no-untyped-call]  # ansible-core gives it no types

    def parse_source(self, source: str, cache: bool = False) -> bool:
        """Read a file, or all of a directory; return whether anything was read."""
        if Path(source).is_dir():
            read = [self.parse_source(path, cache) for path in entries(source)]
            return any(read)
        self._inventory.current_source = source
        while errors := self._parse(source, cache=cache):
            if not self._skip_line(source, errors.get("ini")):
                self.unread.append(SourceError(source, errors))
                break
        self._inventory.current_source = None
        return not errors

    def _parse(self, source: str, *, cache: bool) -> dict[str, Exception]:
        """Let plugins read a file; return their errors if none can."""
        errors: dict[str, Exception] = {}
        for plugin in self._fetch_inventory_plugins():
            name = str(plugin._load_name)
            try:
                if not plugin.verify_file(source):
                    continue
                tag = Origin(description=f"inventory plugin {name}")
                data = _InventoryDataWrapper(self._inventory, target_plugin=plugin, origin=tag)
                plugin.parse(data, self._loader, source, cache=cache)
            except Exception as error:
                errors[name] = error
            else:
                return {}
        return errors or {"": AnsibleError("no inventory plugin reads it")}

    def _skip_line(self, source: str, error: Exception | None) -> bool:
        """Leave a line out of an INI file that is wrong, but not the host that it begins with."""
        text = _ini_line(error) if error else ""
        if error is None or not text or not is_ini(Path(source)):
            return False
        replaced = self._loader.replaced.setdefault(source, {})
        lines = Path(source).read_text(encoding="utf-8", errors="replace").splitlines()
        lines = [replaced.get(n, line.encode()).decode() for n, line in enumerate(lines, start=1)]
        number = next((n for n, line in enumerate(lines, start=1) if line.strip() == text), 0)
        if not number:
            return False
        if number not in replaced:
            self.unread.append(SourceError(source, {"ini": error}, number))
            replaced[number] = b"" if text.startswith("[") else text.split()[0].encode()
        else:
            replaced[number] = b""
        return True


def is_ini(path: Path) -> bool:
    """Return whether a file looks like an inventory in INI: a line is the name of a group."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return bool(re.search(r"^\s*\[[\w:.-]+\]\s*(?:#.*)?$", text, re.M))


def entries(directory: str) -> list[str]:
    """Return what Ansible reads of a directory of inventories, in its order."""
    names = sorted(os.listdir(directory))  # noqa: PTH208 - of bytes that are no text, too
    return [f"{directory}/{name}" for name in names if not IGNORED.search(os.fsencode(name))]


def read_sources(manager: InventoryManager) -> set[str]:
    """Return the sources and files that Ansible has read."""
    return {str(source) for source in manager._inventory.processed_sources if source}


def source_names(manager: InventoryManager) -> list[str]:
    """Return the sources of an inventory (-i), also those that Ansible could not read."""
    return [str(source) for source in manager._sources or ()]


def inventory_of(hostvars: HostVars) -> InventoryManager:
    """Return the inventory whose hosts have these variables."""
    manager: InventoryManager = hostvars._inventory
    return manager


def loader_of(hostvars: HostVars) -> DataLoader:
    """Return what reads the files of these variables."""
    loader: DataLoader = hostvars._loader
    return loader


def extra_variables(hostvars: HostVars) -> Mapping[str, Any]:
    """Return the variables of the command line (-e)."""
    variables: Mapping[str, Any] = hostvars._variable_manager.extra_vars
    return variables


def new_hostvars(manager: InventoryManager, loader: DataLoader) -> HostVars:
    """Return the variables of all hosts of an inventory, as a run without a play has them."""
    return HostVars(manager, VariableManager(loader=loader, inventory=manager), loader)


def variables_of(manager: InventoryManager, loader: DataLoader, name: str) -> Mapping[str, Any]:
    """Return the variables of a host as they are written, with files as a loader reads them.

    Raises:
        AnsibleError: a file of them cannot be read.

    """
    host = manager.get_host(name)
    variables = VariableManager(loader=loader, inventory=manager)
    raw: Mapping[str, Any] = variables.get_vars(host=host, include_hostvars=False)
    return raw


def directories_of(sources: Iterable[str]) -> set[str]:
    """Return the directories beside whose group_vars and host_vars Ansible reads sources."""
    return {basedir(source) for source in sources if "," not in source}


def absolute(path: str) -> str:
    """Return a path as Ansible makes it absolute, without following links."""
    return str(unfrackpath(path, follow=False))


def load_plugins() -> None:
    """Let Ansible find collections, where no command of it has done that."""
    if not AnsibleCollectionConfig.collection_finder:
        init_plugin_loader()


def is_vault(start: bytes) -> bool:
    """Return whether a file that begins so is encrypted by ansible-vault."""
    return bool(is_encrypted(start))


def is_encrypted_value(value: object) -> bool:
    """Return whether a value is encrypted by ansible-vault, without decrypting it."""
    return bool(VaultHelper.get_ciphertext(value, with_tags=False))


@dataclass(frozen=True)
class Vault:
    """Encrypts and decrypts as ansible-vault does, with the passwords of a run."""

    passwords: tuple[tuple[str, bytes], ...] = field(repr=False)
    """Each with its vault id."""
    identity: str = ""
    """The vault id whose password encrypts, empty where there is one password alone."""

    @property
    def identities(self) -> list[str]:
        """The vault ids of its passwords."""
        return list(dict.fromkeys(identity for identity, _ in self.passwords))

    def encrypt(self, text: str) -> str:
        """Return a text as ansible-vault encrypts it."""
        identity = self.identity or self.identities[0]
        library: Any = VaultLib
        secret = _vault_secret(dict(self.passwords)[identity])
        return str(library().encrypt(text, secret=secret, vault_id=identity).decode())

    def decrypt(self, content: bytes) -> str:
        """Return the text of an encrypted file.

        Raises:
            ValueError: no password is the one with which it was encrypted, or it is damaged.

        """
        text = _DECRYPTED.get((self.passwords, content))
        if text is None:
            library: Any = VaultLib
            secrets = [(identity, _vault_secret(word)) for identity, word in self.passwords]
            try:
                text = str(library(secrets).decrypt(content).decode())
            except (AnsibleError, ValueError) as error:
                message = "no vault password of this run decrypts it"
                raise ValueError(message) from error
            _DECRYPTED[self.passwords, content] = text
        return text


def _vault_secret(password: bytes) -> Any:
    untyped: Any = VaultSecret
    return untyped(password)


# A password is derived anew for each file, which takes milliseconds; a process reads files twice.
_DECRYPTED: dict[tuple[object, bytes], str] = {}


def vault_of(loader: DataLoader, identity: str = "") -> Vault:
    """Return the passwords of the vaults of a run; `identity` is the vault id that encrypts."""
    loaded = loader._vault.secrets or ()
    passwords = tuple((str(name), bytes(secret.bytes)) for name, secret in loaded)
    configured = constants.config.get_config_value("DEFAULT_VAULT_ENCRYPT_IDENTITY")
    return Vault(passwords, identity or str(configured or ""))


def remote_shell(action: ActionBase) -> Any:
    """Return the shell of an action's connection: its temporary directory, how it joins paths."""
    return action._connection._shell


def send_file(action: ActionBase, path: str, remote_path: str | bytes) -> None:
    """Copy a file of the control node to the host of an action.

    Raises:
        AnsibleError: it cannot be copied.

    """
    action._transfer_file(path, remote_path)


def run_action(
    action: ActionBase, name: str, arguments: dict[str, Any], variables: dict[str, Any]
) -> dict[str, Any]:
    """Let another action do its work on the host of an action, and return its answer."""
    task = action._task.copy()
    task.args = arguments
    delegate = action._shared_loader_obj.action_loader.get(
        name,
        task=task,
        connection=action._connection,
        play_context=action._play_context,
        loader=action._loader,
        templar=action._templar,
        shared_loader_obj=action._shared_loader_obj,
    )
    result: dict[str, Any] = delegate.run(task_vars=variables)
    return result
