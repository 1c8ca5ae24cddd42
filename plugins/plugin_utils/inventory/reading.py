"""Read Ansible's inventory for the model: each variable resolved, or why it cannot be."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.template import Templar

from ...module_utils.formats.values import listing, yaml_type
from .. import ansible_internals
from ..ansible_internals import CopiedLoader, DataLoader, HostVars, Vault
from ..cluster.inventory import (
    CLUSTER_ID_FILE,
    CONNECTION,
    FileFinding,
    HostVariables,
    Inventory,
    Secrets,
    by_name,
)
from ..cluster.registry import GROUPS
from ..cluster.variables import PREFIXES, defaults, documented
from ..secrets import cluster_id, secret_files
from ..secrets import store as secrets
from ..services.kafka import node as kafka
from ..services.kafka.resources import files as resource_files
from ..services.kafka.resources import merged as resources
from . import clear_text
from . import files as inventory_files
from . import layout as inventory_layout
from . import sources as inventory_sources

SECRETS_DIRECTORY = "kafka_secrets_dir"
VAULT_IDENTITY = "kafka_secrets_vault_id"
HOW_TO_UNSEAL = (
    "Give it: --vault-password-file FILE, --vault-id ID@FILE, or ANSIBLE_VAULT_PASSWORD_FILE"
)
IDENTITY_FIX = (
    "Give each password an id of its own (--vault-id ID@FILE), and set kafka_secrets_vault_id to "
    "that whose password encrypts the secrets"
)
RESOURCES_DIRECTORY = "kafka_resources_dir"


def from_hostvars(
    hostvars: HostVars,
    groups: Mapping[str, Iterable[str]],
    overrides: Mapping[str, Any],
    play: Mapping[str, Any] | None = None,
) -> Inventory:
    """Return the inventory of a run, with all hosts in the order of their names.

    `overrides` are variables that a play sets for every host, which may refer to those of `play`.
    """
    hosts: dict[str, HostVariables] = {}
    directories: set[str] = set()
    members = {str(group): by_name(map(str, names)) for group, names in groups.items()}
    manager = ansible_internals.inventory_of(hostvars)
    loader = ansible_internals.loader_of(hostvars)
    sources = ansible_internals.source_names(manager)
    ours = {name for group in GROUPS for name in members.get(group, ())}
    files = clear_text.Files(loader)
    lost = inventory_sources.findings(manager, loader)
    named = inventory_layout.places(sources)
    for name in by_name(ours.intersection(map(str, hostvars))):
        raw, unreadable = raw_of(hostvars, name)
        directories.add(str(raw.get("inventory_dir") or ""))
        host = read_host(name, raw, hostvars, overrides, play or {}, files)
        wrong = {**unreadable, **_wrong_bytes(unreadable)}
        hosts[name] = dataclasses.replace(host, unreadable=wrong)
    directory = _directory(directories, sources)
    stored_secrets, wrong_secrets = _secrets(hosts, directory, sources, loader, named)
    lost += wrong_secrets
    files_of_resources = resource_files.read(_resources_directory(hosts, directory, hostvars))
    return Inventory(
        members,
        hosts,
        directory,
        *cluster_id.read(Path(directory) / CLUSTER_ID_FILE),
        plain(ansible_internals.extra_variables(hostvars)),
        [
            *lost,
            *inventory_files.findings(sources, ours),
            *inventory_layout.findings(sources, members, members.get("all", ())),
        ],
        stored_secrets,
        sources=sources,
        resource_files=files_of_resources,
        places={**named, **resources.places(files_of_resources)},
    )


def _directory(directories: Iterable[str], sources: Iterable[str]) -> str:
    """Return the directory of the first source (-i) with hosts, whichever of them comes first."""
    paths = (Path(ansible_internals.absolute(text)) for text in sources if "," not in text)
    given = [str(path if path.is_dir() else path.parent) for path in paths]
    known = sorted(filter(None, directories))
    return next((path for path in given if path in known), known[0] if known else "")


def _secrets(
    hosts: Mapping[str, HostVariables],
    directory: str,
    sources: Sequence[str],
    loader: DataLoader,
    named: Mapping[str, Sequence[str]],
) -> tuple[Secrets, list[FileFinding]]:
    """Return what is kept in the directory of secrets, and what is wrong with it."""
    cipher = None
    if _given(hosts, secret_files.VARIABLE) == secret_files.VAULT:
        cipher = ansible_internals.vault_of(loader, _given(hosts, VAULT_IDENTITY))
    places = {name: named.get(name, [directory])[0] for name in (SECRETS_DIRECTORY, VAULT_IDENTITY)}
    path = ""
    try:
        path = str(secrets.directory_of(_given(hosts, SECRETS_DIRECTORY), directory, sources))
        if cipher and not cipher.passwords:
            where, text = (
                places[SECRETS_DIRECTORY],
                f"Ansible has no vault password for the secrets in {path}",
            )
            sealed = FileFinding("sealed", where, 0, SECRETS_DIRECTORY, text, HOW_TO_UNSEAL)
            return Secrets(path, cipher=cipher), [sealed]
        if cipher and (problem := _identity_problem(cipher)):
            where, fix = places[VAULT_IDENTITY], IDENTITY_FIX
            wrong = FileFinding("secrets", where, 0, VAULT_IDENTITY, problem, fix)
            return Secrets(path, cipher=cipher), [wrong]
        return secrets.read(Path(path), cipher), []
    except secret_files.SecretsStateError as error:
        fix = f"{error.fix[0].upper()}{error.fix[1:]}"
        where, problem = places[SECRETS_DIRECTORY], f"{error.problem[0].upper()}{error.problem[1:]}"
        finding = FileFinding("secrets", where, 0, SECRETS_DIRECTORY, problem, fix)
    except AnsibleActionFail as error:
        where = places[SECRETS_DIRECTORY]
        finding = FileFinding("secrets", where, 0, SECRETS_DIRECTORY, str(error))
    return Secrets(path, cipher=cipher), [finding]


def _identity_problem(vault: Vault) -> str:
    """Return why it is not known which password of a vault encrypts, empty where it is."""
    identities = listing(vault.identities)
    if vault.identity and vault.identity not in vault.identities:
        return f"Ansible has no password of the vault id {vault.identity}, but of {identities}"
    if not vault.identity and len(vault.identities) > 1:
        return f"Ansible has passwords of the vault ids {identities}, and none is chosen to encrypt"
    chosen = vault.identity or vault.identities[0]
    if len({password for identity, password in vault.passwords if identity == chosen}) > 1:
        return f"Ansible has several passwords of the vault id {chosen}, and none is chosen"
    return ""


def _wrong_bytes(unreadable: Iterable[str]) -> dict[str, str]:
    """Return why files cannot be read that are no text in UTF-8; Ansible does not say where."""
    reasons = {path: inventory_sources.wrong_bytes(Path(path)) for path in unreadable}
    return {path: reason for path, reason in reasons.items() if reason}


def _given(hosts: Mapping[str, HostVariables], variable: str) -> str:
    """Return what the first host that sets a variable of the whole inventory sets it to."""
    values = (host.variables.get(variable) for host in hosts.values())
    return next((str(value) for value in values if value), "")


def _resources_directory(
    hosts: Mapping[str, HostVariables], directory: str, hostvars: HostVars
) -> str:
    """Return the directory with files of resources, empty for none.

    A relative path begins at the inventory, on the command line where that was typed.
    """
    extra = ansible_internals.extra_variables(hostvars).get(RESOURCES_DIRECTORY)
    if extra:
        return str(Path(str(extra)).expanduser().resolve())
    configured = _given(hosts, RESOURCES_DIRECTORY)
    path = Path(directory) / Path(configured).expanduser()
    return str(path.resolve()) if configured else ""


def from_directory(path: Path) -> Inventory:
    """Return the inventory of a directory or file, as a run with it and without a play sees it.

    Raises:
        AnsibleError: Ansible cannot read a file of it.

    """
    ansible_internals.load_plugins()
    inventory = from_sources([str(path)], DataLoader())
    if lost := inventory.unread_sources:
        message = "; ".join(f"{finding.where}: {finding.text}" for finding in lost)
        raise AnsibleError(message)
    return inventory


def from_sources(sources: list[str], loader: DataLoader) -> Inventory:
    """Return the inventory of sources, as a run with them and without a play sees it.

    What cannot be read of them is in its findings.
    """
    manager = ansible_internals.Sources(sources, loader)
    groups: dict[str, list[str]] = manager.get_groups_dict()  # type: ignore[no-untyped-call]  # ansible-core gives it no types
    return from_hostvars(ansible_internals.new_hostvars(manager, loader), groups, {})


def is_readable(
    sources: Iterable[str], groups: Mapping[str, Iterable[str]], loader: DataLoader
) -> bool:
    """Return whether the files of variables beside sources can be read, and keep what they hold.

    They are those of the groups and their hosts, read as Ansible does it, which reads none again.
    """
    names = {
        "group_vars": groups,
        "host_vars": {host for hosts in groups.values() for host in hosts},
    }
    try:
        for directory in ansible_internals.directories_of(sources):
            for kind, name in ((kind, name) for kind, members in names.items() for name in members):
                for path in loader.find_vars_files(f"{directory}/{kind}", name):
                    content = loader.load_from_file(path, unsafe=True, trusted_as_template=True)
                    if content and not isinstance(content, Mapping):
                        return False
    except (AnsibleError, OSError, ValueError):
        return False
    return True


class _PartialLoader(CopiedLoader):
    """Reads files of variables; one that cannot be read is empty, and `unreadable` says why."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self.unreadable: dict[str, str] = {}

    def load_from_file(self, file_name: str, *args: Any, **options: Any) -> Any:
        """Return what a file holds."""
        try:
            content = super().load_from_file(file_name, *args, **options)
        except (AnsibleError, OSError, ValueError) as error:
            place = ansible_internals.error_position(error)
            line = f" (line {place.line})" if place and place.line else ""
            self.unreadable[file_name] = f"{error}".rstrip(". ") + line
            return {}
        if content and not isinstance(content, Mapping):
            self.unreadable[file_name] = f"it is a {yaml_type(content)}, not a mapping of variables"
            return {}
        return content

    def list_directory(self, path: str) -> list[str]:
        """Return what is in a directory of files of variables."""
        try:
            return list(super().list_directory(path))
        except OSError as error:
            self.unreadable[path] = str(error.strerror)
            return []


def raw_of(hostvars: HostVars, name: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return a host's variables as they are written, and file -> why it cannot be read.

    Ansible reads all variables of a host or none: where a file of host_vars or group_vars fails,
    they are read again without it. Ansible reads those of the host of a task before the task: a
    play that begins with such a host needs the lookup `readable_hosts`.

    Raises:
        AnsibleActionFail: something else than such a file fails; names the host.

    """
    try:
        variables: Any = hostvars.raw_get(name)
    except AnsibleError:
        loader = _PartialLoader(ansible_internals.loader_of(hostvars))
    else:
        return variables, {}
    manager = ansible_internals.inventory_of(hostvars)
    try:
        variables = ansible_internals.variables_of(manager, loader, name)
    except AnsibleError as error:
        message = f"The variables of {name} cannot be read: {error}"
        raise AnsibleActionFail(message) from error
    return variables, loader.unreadable


def read_host(
    name: str,
    own: Mapping[str, Any],
    hostvars: HostVars,
    overrides: Mapping[str, Any],
    play: Mapping[str, Any],
    files: clear_text.Files,
) -> HostVariables:
    """Return a host's variables, resolved one by one from how they are written."""
    raw = {**own, **overrides}
    scope = {**defaults(), **raw, "hostvars": hostvars}
    loader = ansible_internals.loader_of(hostvars)
    templar = Templar(loader=loader, variables=scope)
    of_play = Templar(loader=loader, variables={**play, **scope})
    values: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    for variable in sorted(str(key) for key in raw if str(key).startswith(PREFIXES)):
        resolver = of_play if variable in overrides else templar
        try:
            values[variable] = plain(resolver.template(raw[variable]))
        except AnsibleError as error:
            properties = raw[variable]
            if variable not in kafka.LAYERS or not isinstance(properties, Mapping):
                unresolved[variable] = f"{error}".rstrip(". ") + source_location(properties)
                continue
            values[variable] = {}
            for key, value in properties.items():
                try:
                    values[variable][str(key)] = plain(resolver.template(value))
                except AnsibleError as wrong:
                    # As if Kafka filled it in at its start: it is set, and no rule checks it.
                    values[variable][str(key)] = "${unresolved}"
                    reason = f"{wrong}".rstrip(". ") + source_location(value)
                    unresolved[f"{variable}[{key}]"] = reason
    connection: dict[str, Any] = {}
    for variable in CONNECTION:
        if variable in raw:
            try:
                connection[variable] = plain(templar.template(raw[variable]))
            except AnsibleError as error:
                unresolved[variable] = f"{error}".rstrip(". ") + source_location(raw[variable])
    other_names = frozenset(
        str(key) for key in raw if key not in CONNECTION and not str(key).startswith(PREFIXES)
    )
    parameters = ansible_internals.extra_variables(hostvars)
    all_names = {**play, **raw, "hostvars": hostvars}
    made_of = clear_text.expressions(raw, values, all_names, parameters, files)
    places = {x: str(place) for x in raw if (place := _place(raw[x])) and x not in overrides}
    for variable in values:
        if variable not in overrides:
            places |= _places(variable, raw[variable])
    return HostVariables(
        name, values, unresolved, connection, made_of, others=other_names, places=places
    )


def plain(value: Any) -> Any:
    """Return a copy in Python's own types; Ansible's are filled in when they are read."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(entry) for entry in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def source_location(value: object) -> str:
    """Return where a value is written, as ` (file:line)`; empty where Ansible does not know."""
    place = _place(value)
    description = ansible_internals.description(value)
    return f" ({place})" if place else f" ({description})" if description else ""


def _place(value: object) -> ansible_internals.Position | None:
    place = ansible_internals.origin(value)
    if place is None and isinstance(value, Mapping):
        places = (ansible_internals.origin(entry) for entry in value.values())
        place = next((place for place in places if place), None)
    return place


def _places(variable: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the places of a variable and of its parts, as rules name them, and where they are.

    A part of a list has the name that it has itself, if any, or its number.
    """
    if place := _place(value):
        yield variable, str(place)
    if isinstance(value, Mapping):
        for key, entry in value.items():
            name = f"{variable}[{key}]"
            if place := _place(entry) or ansible_internals.origin(key):
                yield name, str(place)
            yield from _places(name, entry)
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            label = entry.get("name", number) if isinstance(entry, Mapping) else number
            yield from _places(f"{variable}[{label}]", entry)


def play_overrides(task_vars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented variables that this play sets itself, as they are written.

    A role's defaults are no such variables: the model has them from the argument specs.
    """
    host = str(task_vars["inventory_hostname"])
    raw = task_vars["hostvars"].raw_get(host)
    return {
        name: task_vars[name]
        for name, option in documented().items()
        if name.startswith(PREFIXES)
        and name in task_vars
        and (name not in raw or raw[name] is not task_vars[name])
        and task_vars[name] != raw.get(name, option.get("default"))
    }
