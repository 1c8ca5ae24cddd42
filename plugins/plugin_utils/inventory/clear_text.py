"""What the values of an inventory consist of: clear text of its files, or what others cannot read.

A value from a vault, an environment variable or a service is hidden, and so is one that is given
with -e. A file that an expression looks up is clear text if git tracks it unencrypted.
"""

import contextlib
import functools
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ansible.errors import AnsibleError
from ansible.template import Templar
from jinja2 import Environment, TemplateSyntaxError, nodes

from ...module_utils.formats.values import mapping, sequence
from .. import ansible_internals
from ..ansible_internals import CopiedLoader, DataLoader
from ..cluster.inventory import Expression
from ..cluster.secret_variables import CONFIGS, FILES, LOGINS, OPTIONS, PASSWORDS, RECEIVERS, TEXTS
from ..cluster.variables import defaults

_OTHERS = "hostvars"  # what they have is not followed
# What Ansible itself sets, which has no file.
_MAGIC = (
    "inventory_dir",
    "inventory_file",
    "inventory_hostname",
    "inventory_hostname_short",
    "playbook_dir",
    "role_path",
    "role_name",
    "groups",
    "group_names",
    "vars",
    _OTHERS,
    "omit",
    "ansible_version",
    "ansible_playbook_python",
    "ansible_config_file",
)
_HEADER_BYTES = 64
_LOOKUPS = ("lookup", "query", "q")
_READING = ("file", "ini", "template", "unvault")  # by the loader
_PURE = ("dict", "first_found", "items", "list", "varnames", "vars")
_JINJA = Environment(  # noqa: S701 - it only parses
    extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], keep_trailing_newline=True
)


@dataclass(frozen=True)
class _Template:
    """The parts of a value."""

    texts: tuple[str, ...]
    names: frozenset[str] = frozenset()
    """Names that may be variables."""
    lookups: frozenset[str] = frozenset()


@functools.cache
def _parsed(text: str) -> _Template:
    """Return the parts of a text; one that is no expression, or a wrong one, is its only part."""
    if "{" not in text:
        return _Template((text,))
    try:
        root = _JINJA.parse(text)
    except TemplateSyntaxError:
        return _Template((text,))
    constants = [str(node.value) for node in root.find_all(nodes.Const)]
    variables = [node.name for node in root.find_all(nodes.Name)]
    attributes = [node.attr for node in root.find_all(nodes.Getattr)]
    return _Template(
        (*constants, *(node.data for node in root.find_all(nodes.TemplateData))),
        # As in lookup('vars', 'name') and hostvars['k1'].name.
        frozenset((*constants, *variables, *attributes)),
        frozenset(_lookup(call) for call in root.find_all(nodes.Call) if _is_lookup(call)),
    )


def _is_lookup(call: nodes.Call) -> bool:
    return isinstance(call.node, nodes.Name) and call.node.name in _LOOKUPS


def _lookup(call: nodes.Call) -> str:
    """Return the name of a lookup, empty if it is computed."""
    first = call.args[0] if call.args else None
    return str(first.value).rpartition(".")[2] if isinstance(first, nodes.Const) else ""


class Files(CopiedLoader):
    """The files of a run: which are clear text, and which an expression reads."""

    def __init__(self, loader: DataLoader) -> None:
        """Read files as another loader does."""
        super().__init__(loader)
        self.is_vault = functools.cache(_is_vault)
        self.is_tracked = functools.cache(_is_tracked)
        self._read: list[Path] = []

    def read_by(self, value: object, variables: dict[str, Any]) -> list[Path]:
        """Return the files that are read to resolve a value."""
        self._read.clear()
        with contextlib.suppress(AnsibleError):
            Templar(loader=self, variables=variables).template(value)
        return [*self._read]

    def note(self, file_name: str) -> None:
        """Keep the name of a file that is read."""
        self._read.append(Path(file_name))


def _is_vault(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return ansible_internals.is_vault(stream.read(_HEADER_BYTES))
    except OSError:
        return False


def _is_tracked(path: Path) -> bool:
    """Return whether git tracks a file; without git, or outside of a repository, it does not."""
    git, real = shutil.which("git"), path.resolve()
    if git is None or not real.is_file():
        return False
    command = [git, "-C", str(real.parent), "ls-files", "--error-unmatch", "--", real.name]
    done = subprocess.run(command, check=False, capture_output=True)
    return done.returncode == 0


def tracked_below(directory: Path) -> str:
    """Return a file in a directory that git tracks; empty if there is none, or no repository."""
    git = shutil.which("git")
    if git is None or not directory.is_dir():
        return ""
    command = [git, "-C", str(directory), "ls-files", "--", "."]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    names = [name for name in done.stdout.splitlines() if Path(name).name != ".gitignore"]
    return names[0] if names and not done.returncode else ""


class _Parts:
    """The parts of a value, collected through all variables that it refers to."""

    def __init__(self, scope: Mapping[str, Any], given: Collection[str], files: Files) -> None:
        self.clear: dict[str, str] = {}
        self.hidden = self.computed = self.reads_files = False
        self._scope, self._given, self._files = scope, given, files
        self._seen = {*_MAGIC}

    def add(self, variable: str, value: object) -> None:
        """Add a value that a variable has, or has in it, as it is written."""
        # An encrypted value is no str, and would be decrypted by being made one.
        if ansible_internals.is_encrypted_value(value):
            self.hidden = True
        elif isinstance(value, Mapping):
            self._add_all(variable, value.values())
        elif isinstance(value, list | tuple):
            self._add_all(variable, value)
        elif isinstance(value, str):
            self._add_text(variable, value)
        elif value is not None:
            self.clear.setdefault(str(value), "")

    def _add_all(self, variable: str, values: Iterable[object]) -> None:
        for value in values:
            self.add(variable, value)

    def _add_text(self, variable: str, value: str) -> None:
        template, place = _parsed(str(value)), ansible_internals.origin(value)
        if place and not self._is_hidden(variable, place.path):
            for text in template.texts:
                self.clear.setdefault(text, str(place))
        else:
            self.hidden = True
        self.computed |= template.texts != (value,)
        self.reads_files |= not template.lookups.isdisjoint(_READING)
        self.hidden |= not template.lookups <= {*_READING, *_PURE}
        self.hidden |= _OTHERS in template.names
        for name in sorted((template.names & self._scope.keys()) - self._seen):
            self._seen.add(name)
            self.add(name, self._scope[name])

    def _is_hidden(self, variable: str, path: str) -> bool:
        untracked = variable in self._given and not self._files.is_tracked(Path(path))
        return untracked or self._files.is_vault(Path(path))

    def add_files(self, paths: Collection[Path]) -> None:
        """Add the files that were looked up; if they are not known, they are hidden."""
        self.hidden |= not paths
        for path in paths:
            if self._files.is_tracked(path) and not self._files.is_vault(path):
                text = path.read_text(encoding="utf-8", errors="replace")
                self.clear.setdefault(text.strip(), str(path))
            else:
                self.hidden = True


def expressions(
    raw: Mapping[str, Any],
    values: Mapping[str, Any],
    scope: Mapping[str, Any],
    given: Collection[str],
    files: Files,
) -> dict[str, Expression]:
    """Return what values that may be secrets consist of, without those that are plain clear text.

    `raw` are the variables of a host as they are written, `values` as they are resolved, `scope`
    all that their expressions may refer to; `given` are those of the command line. A key is
    `variable[key]`, `variable[name]` of a user, or the variable where it has no such parts.
    Ansible's own passwords are there in any case, since only Ansible resolves them.
    """
    by_place = {}
    for variable in (*CONFIGS, *OPTIONS, *FILES, *RECEIVERS, *TEXTS, *PASSWORDS, *LOGINS):
        for place, value in _places(variable, raw.get(variable), values.get(variable)):
            parts = _Parts(scope, given, files)
            parts.add(variable, value)
            if parts.reads_files:
                parts.add_files(files.read_by(value, {**defaults(), **scope}))
            if parts.hidden or parts.computed or variable in LOGINS:
                by_place[place] = Expression(parts.clear, parts.hidden)
    return by_place


def _is_list_of_mappings(raw: object) -> TypeGuard[list[Mapping[str, Any]]]:
    return isinstance(raw, list) and all(isinstance(entry, Mapping) for entry in raw)


def _places(variable: str, raw: object, resolved: object) -> Iterator[tuple[str, object]]:
    """Yield the places of a variable and what is written there."""
    if isinstance(raw, Mapping):
        yield from ((f"{variable}[{key}]", value) for key, value in raw.items())
    elif variable in PASSWORDS and _is_list_of_mappings(raw):
        for entry, named in zip(raw, sequence(resolved), strict=False):
            name = mapping(named).get(PASSWORDS[variable])
            yield f"{variable}[{name}]", entry.get("password")
    elif raw is not None:
        yield variable, raw
