"""The sources of an inventory (-i) that Ansible cannot read, each with its place and what to do."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from ...module_utils.formats.values import yaml_type
from .. import ansible_internals
from ..ansible_internals import DataLoader, InventoryManager, SourceError, Sources
from ..cluster.inventory import FileFinding

DEFAULT = "/etc/ansible/hosts"
"""The source of a run without -i, which need not be there."""
_YAML = (".yml", ".yaml", ".json")
_FIXES = {
    "absent": "Correct the path after -i.",
    "script": "Let it print JSON alone on standard output, and end with 0.",
    "mode": "Make it executable (chmod +x), so that Ansible runs it.",
    "auto": "Let its inventory plugin answer: `ansible-inventory --list -vvv -i FILE` shows more.",
    "yaml": "Correct it: each group at the left, and below a group hosts, children or vars.",
    "ini": "Write a host's variables as name=value, and names of groups in brackets.",
    "": "Move it out of the inventory, or rename it as Ansible skips it, as in README.md.",
}


def findings(manager: InventoryManager, loader: DataLoader) -> list[FileFinding]:
    """Return what an inventory lacks of its sources, read again where Ansible could not."""
    if not isinstance(manager, Sources):
        read = ansible_internals.read_sources(manager)
        unread = [
            path for path in files(ansible_internals.source_names(manager)) if path not in read
        ]
        if not unread:
            return []
        manager = Sources(unread, loader)
    cycles = [
        FileFinding("cycle", path, _line(path, group, child), group, child)
        for path, group, child in manager.cycles
    ]
    return [*map(_finding, manager.unread), *cycles]


def _line(path: str, group: str, child: str) -> int:
    """Return the line of a YAML file with a child of a group, 0 if it cannot be found."""

    def lines(node: yaml.Node | None, parent: str) -> Iterator[int]:
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            if parent == group and key.value == child:
                yield key.start_mark.line + 1
            for inner, below in value.value if isinstance(value, yaml.MappingNode) else ():
                if inner.value == "children":
                    yield from lines(below, str(key.value))

    try:
        root = yaml.compose(Path(path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return 0
    return next(lines(root, ""), 0)


def static_findings(sources: Iterable[str], loader: DataLoader) -> list[FileFinding]:
    """Return what cannot be read of sources, without those that run a program or ask a service."""
    paths = [path for path in files(sources) if not _is_dynamic(Path(path))]
    return findings(Sources(paths, loader), loader) if paths else []


def files(sources: Iterable[str]) -> Iterator[str]:
    """Yield the files that Ansible reads of sources, and those that are not there."""
    for source in sources:
        path = source if "," in source else ansible_internals.absolute(source)
        if path == DEFAULT and not Path(path).exists():
            continue
        if "," in source or not Path(path).is_dir():
            yield path
        else:
            yield from files(ansible_internals.entries(path))


def _is_dynamic(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix not in _YAML:
        return os.access(path, os.X_OK)
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(root, yaml.MappingNode) and any(k.value == "plugin" for k, _ in root.value)


def _finding(error: SourceError) -> FileFinding:
    path = Path(error.path)
    kind = "absent" if not path.exists() else _kind(path, error)
    cause = error.errors.get(kind) or next(iter(error.errors.values()))
    places = map(ansible_internals.error_position, (cause, *error.errors.values()))
    line = error.line or next((place.line for place in places if place and place.line), 0)
    text = ansible_internals.reason(cause)
    if kind == "absent":
        text = "there is no such file or directory"
    elif not kind or kind == "mode":
        text = "it is neither YAML nor INI, and Ansible cannot run it"
    elif reason := wrong_bytes(path) or _no_mapping(path, kind):
        text = reason
    elif kind == "auto":
        text = f"its inventory plugin fails: {text}"
    elif kind == "script":
        text = f"its output is no inventory: {text}"
    return FileFinding("unread", error.path, line, kind, text, fix_of(path) or _FIXES[kind])


def _kind(path: Path, error: SourceError) -> str:
    """Return the format in which a file is meant to be, empty if that is not clear."""
    if path.suffix in _YAML:
        return "auto" if "auto" in error.errors and _is_dynamic(path) else "yaml"
    if "script" in error.errors:
        return "script"
    if ansible_internals.is_ini(path) or path.suffix == ".ini":
        return "ini"
    return "mode" if path.is_file() and path.read_bytes().startswith(b"#!") else ""


def _no_mapping(path: Path, kind: str) -> str:
    if kind != "yaml":
        return ""
    try:
        root = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return ""
    return "" if isinstance(root, dict) else f"it is a {yaml_type(root)}, not a mapping of groups"


def wrong_bytes(path: Path) -> str:
    """Say which byte keeps a file from being text in UTF-8, empty if none does."""
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return f"line {line} is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
    except OSError:
        pass
    return ""


def fix_of(path: Path) -> str:
    """Return what to do with a file that is no text in UTF-8, empty for any other."""
    if not wrong_bytes(path):
        return ""
    return f"Save it in UTF-8; one in Latin-1: iconv -f latin1 -t utf-8 {path} > NEW."
