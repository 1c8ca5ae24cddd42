"""Where Ansible looks for groups, hosts and variables, and what is written elsewhere.

It skips with a warning, or without a word, what is below another key, in a file of another name or
in another directory.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from ...module_utils.formats.key_table import nearest
from ..ansible_internals import is_ini
from ..cluster.inventory import CONNECTION, FileFinding
from ..cluster.registry import GROUPS, PARENTS
from ..cluster.variables import documented
from .sources import files, wrong_bytes

ENDS = (".yml", ".yaml", ".json")
VARIABLES = ("group_vars", "host_vars")
STRUCTURE, NEARLY = ["children", "hosts", "vars"], 0.85
# What nobody takes for variables: documents, copies, templates.
_SKIPPED = re.compile(r"\.(?:md|txt|rst|cfg|bak|orig|old|swp|pyc|pyo|retry|j2|example|sample)$|~$")
_SIMILAR, _SIMILAR_FOLDER, _SIMILAR_END = 0.9, 0.88, 0.7
_VAULT = "$ANSIBLE_VAULT;"
_OURS = frozenset((*GROUPS, *PARENTS, "all"))


class _Texts:
    """The place and the text of each variable of a host in one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.seen: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, host: str, variable: str, text: str, line: int) -> Iterator[FileFinding]:
        """Add one; yield what is wrong if the file has another value for it."""
        first, at = self.seen.setdefault((host, variable), (text, line))
        if first != text and (variable in CONNECTION or variable in documented()):
            name = f"{variable} of {host}"
            yield FileFinding("two values", self.path, line, name, str(at), text)


def findings(
    sources: Iterable[str], groups: Collection[str], hosts: Collection[str]
) -> list[FileFinding]:
    """Return what is lost by its place; `groups` and `hosts` are all of the inventory."""
    lost: dict[FileFinding, None] = {}
    for source in map(Path, (text for text in sources if "," not in text)):
        if source.exists():
            directory = source if source.is_dir() else source.parent
            lost |= dict.fromkeys(_of_directory(directory, groups, hosts))
            for path in map(Path, files([str(source)])):
                lost |= dict.fromkeys(_of_source(path))
            for path in _variable_files(directory):
                lost |= dict.fromkeys(_of_variables(path))
    return list(lost)


def _children(directory: Path, pattern: str = "*") -> list[Path]:
    """Return what is in a directory, nothing if it cannot be listed, which Ansible says."""
    try:
        return sorted(directory.glob(pattern))
    except OSError:
        return []


def _variable_files(directory: Path) -> Iterator[Path]:
    for name in VARIABLES:
        for path in _children(directory / name, "**/*"):
            if path.is_file() and path.suffix in ("", *ENDS):
                yield path


# Names of files and directories


def _of_directory(
    directory: Path, groups: Collection[str], hosts: Collection[str]
) -> Iterator[FileFinding]:
    for path in _children(directory):
        near = nearest(path.name, list(VARIABLES), _SIMILAR_FOLDER)
        if near and path.is_dir() and path.name not in VARIABLES:
            yield FileFinding("folder", str(path), 0, path.name, near)
    for kind, names in (("group_vars", groups), ("host_vars", hosts)):
        if not (directory / kind).is_dir():
            continue
        for path in _children(directory / kind):
            if not path.name.startswith(".") and not _SKIPPED.search(path.name):
                yield from _of_name(path, kind, names)
        for path in _children(directory / kind, "*/**/*"):
            within = path.relative_to(directory / kind).parts
            skipped = _SKIPPED.search(path.name) or any(name.startswith(".") for name in within)
            if path.is_file() and not skipped and path.suffix not in ("", *ENDS):
                yield FileFinding("ending", str(path), 0, path.name, _with_end(path))


def _of_name(path: Path, kind: str, names: Collection[str]) -> Iterator[FileFinding]:
    """Yield what a file or directory of variables lacks a reader for, by its name."""
    if path.is_symlink() and not path.exists():
        yield FileFinding("link", str(path), 0, path.name, str(path.readlink()))
        return
    if path.name in names:
        return
    name = path.stem if path.is_file() and path.suffix in ENDS else path.name
    if name in names:
        earlier = ("", *ENDS[: ENDS.index(path.suffix)])
        beside = [candidate for end in earlier if (candidate := path.with_suffix(end)).exists()]
        if beside:
            yield FileFinding("hidden", str(path), 0, name, str(beside[0]))
        return
    is_named = path.stem in names or path.stem in GROUPS
    if path.is_file() and path.suffix not in ("", *ENDS) and (is_named or _near_end(path)):
        yield FileFinding("ending", str(path), 0, path.name, _with_end(path))
    elif kind == "group_vars":
        near = "" if name in GROUPS else _near_group(name)
        yield FileFinding("unused" if near else "nobody", str(path), 0, name, near or "group")
    else:
        host = _near_host(name, names)
        end = path.suffix if name != path.name else ""
        text = f"{host}{end}" if host else "host"
        yield FileFinding("unused host" if host else "nobody", str(path), 0, name, text)


def _near_group(name: str) -> str:
    """Return the group that a file is meant for: nearly its name, or the end of it."""
    ends = [group for group in GROUPS if group.endswith(f"_{name}")]
    return ends[0] if len(ends) == 1 else nearest(name, [*GROUPS, *PARENTS], _SIMILAR)


def _near_host(name: str, hosts: Collection[str]) -> str:
    """Return the host that a file is meant for: with or without its domain."""
    longer = (host for host in hosts if host.startswith(f"{name}.") or name.startswith(f"{host}."))
    return next(longer, "")


def _near_end(path: Path) -> str:
    return nearest(path.suffix, list(ENDS), _SIMILAR_END)


def _with_end(path: Path) -> str:
    return path.with_suffix(_near_end(path) or ENDS[0]).name


# What is in the files


def _compose(path: Path) -> yaml.Node | None:
    try:
        root: yaml.Node | None = yaml.compose(
            path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
        )
    except (OSError, ValueError, yaml.YAMLError):
        return None  # which is a problem of its own
    return root


def _of_source(path: Path) -> Iterator[FileFinding]:
    if not path.is_file():
        return
    if path.suffix in ENDS:
        root = _compose(path)
        yield from _vault_texts(root, str(path))
        pairs = _pairs(root)
        if not any(name == "plugin" for name, _, _ in pairs):
            texts = _Texts(str(path))
            for name, line, value in pairs:
                yield from _of_group(name, line, value, str(path), texts)
    elif is_ini(path):
        if wrong := wrong_bytes(path):
            yield FileFinding("bytes", str(path), 0, path.name, wrong)
        yield from _of_ini(path)


def _pairs(node: yaml.Node | None) -> list[tuple[str, int, yaml.Node]]:
    """Return key, line and value of a mapping."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return [(str(key.value), key.start_mark.line + 1, value) for key, value in pairs]


def _of_group(
    group: str, line: int, node: yaml.Node, path: str, texts: _Texts
) -> Iterator[FileFinding]:
    for key, at, value in _pairs(node):
        if key == "children":
            yield from _of_members(value, path, "groups")
            for child, place, below in _pairs(value):
                yield from _of_group(child, place, below, path, texts)
        elif key == "hosts":
            yield from _of_members(value, path, "hosts")
            for host, _, variables in _pairs(value):
                yield from _deep(variables, path)
                for variable, place, value_node in _pairs(variables):
                    if isinstance(value_node, yaml.ScalarNode):
                        yield from texts.add(host, variable, str(value_node.value), place)
        elif key == "vars":
            yield from _deep(value, path)
        elif not nearest(key, STRUCTURE, NEARLY) and (group in _OURS or _is_ours(key)):
            is_group = isinstance(value, yaml.MappingNode) and key not in documented()
            yield FileFinding("below", path, at, key, group, "children" if is_group else "vars")


def _is_ours(key: str) -> bool:
    return key in _OURS or key in documented()


def _of_members(node: yaml.Node, path: str, kind: str) -> Iterator[FileFinding]:
    """Yield what Ansible takes for a host or a group because it is one level too deep."""
    for key, line, _ in _pairs(node):
        if key in STRUCTURE:
            yield FileFinding("member", path, line, key, kind)


def _deep(node: yaml.Node, path: str) -> Iterator[FileFinding]:
    """Yield `vars` among variables, of which it would be one."""
    for key, line, value in _pairs(node):
        if key == "vars" and isinstance(value, yaml.MappingNode):
            yield FileFinding("deep", path, line, key, "variables")


def _of_variables(path: Path) -> Iterator[FileFinding]:
    root = _compose(path)
    yield from _deep(root, str(path)) if root else ()
    yield from _vault_texts(root, str(path))


def _vault_texts(node: yaml.Node | None, path: str) -> Iterator[FileFinding]:
    """Yield each encrypted text that YAML takes for a plain one."""
    for key, line, value in _pairs(node):
        text = value.value.lstrip() if isinstance(value, yaml.ScalarNode) else ""
        if text.startswith(_VAULT) and value.tag != "!vault":
            yield FileFinding("vault text", path, line, key, "!vault |")
        yield from _vault_texts(value, path)
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _vault_texts(entry, path)


def _of_ini(path: Path) -> Iterator[FileFinding]:
    texts, kind = _Texts(str(path)), "hosts"
    text = path.read_text(encoding="utf-8", errors="replace")
    for line, words in enumerate(map(str.split, text.splitlines()), start=1):
        if words and words[0].startswith("["):
            kind = "other" if ":" in words[0] else "hosts"
        elif words and kind == "hosts" and not words[0].startswith(("#", ";")):
            for variable, sign, value in (word.partition("=") for word in words[1:]):
                if sign:
                    yield from texts.add(words[0], variable, value, line)


# Where things are


def places(sources: Iterable[str]) -> Mapping[str, list[str]]:
    """Return `group NAME`, `host NAME` or a variable -> the files and lines that name it."""
    by_name: dict[str, list[str]] = {}
    for source in map(Path, (text for text in sources if "," not in text)):
        directory = source if source.is_dir() else source.parent
        for path in map(Path, files([str(source)])):
            if path.suffix in ENDS:
                for name, line, value in _pairs(_compose(path)):
                    _add_group(name, line, value, path, by_name)
            elif path.is_file() and is_ini(path):
                _add_ini(path, by_name)
        for path in _variable_files(directory):
            for name, line, _ in _pairs(_compose(path)):
                by_name.setdefault(name, []).append(f"{path}:{line}")
    return by_name


def _add_group(
    group: str, line: int, node: yaml.Node, path: Path, found: dict[str, list[str]]
) -> None:
    found.setdefault(f"group {group}", []).append(f"{path}:{line}")
    for key, _, value in _pairs(node):
        for name, at, below in _pairs(value):
            if key == "children":
                _add_group(name, at, below, path, found)
            elif key == "hosts":
                found.setdefault(f"host {name}", []).append(f"{path}:{at}")
                for variable, place, _ in _pairs(below):
                    found.setdefault(variable, []).append(f"{path}:{place}")
            elif key == "vars":
                found.setdefault(name, []).append(f"{path}:{at}")


def _add_ini(path: Path, found: dict[str, list[str]]) -> None:
    kind = "hosts"
    text = path.read_text(encoding="utf-8", errors="replace")
    for line, words in enumerate(map(str.split, text.splitlines()), start=1):
        match = re.match(r"\[([^\]:]+):?(\w*)\]", words[0]) if words else None
        if match:
            kind = match[2] or "hosts"
            found.setdefault(f"group {match[1]}", []).append(f"{path}:{line}")
        elif words and kind == "hosts" and not words[0].startswith(("#", ";")):
            found.setdefault(f"host {words[0]}", []).append(f"{path}:{line}")
