"""Settings in inventory files that Ansible applies to no host.

YAML keeps the last of two equal keys, and reads some texts as numbers.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import yaml

from ...module_utils.formats.key_table import nearest
from ..cluster.inventory import FileFinding
from ..cluster.registry import GROUPS
from ..cluster.variables import Option, documented
from .layout import ENDS, NEARLY, STRUCTURE, VARIABLES

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_TEXTS = ("str", "path")
# As YAML 1.1 reads them (https://yaml.org/type/int.html).
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_BASE_60 = re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+")
_MERGE = "<<"


def findings(sources: Iterable[str], hosts: Collection[str]) -> list[FileFinding]:
    """Return what is lost in the files of inventory sources, and of the variables beside them.

    `hosts` are Millrace's: what belongs to others is theirs.
    """
    ours = frozenset((*GROUPS, *hosts))
    return [
        finding
        for source in map(Path, (text for text in sources if "," not in text))
        if source.exists()
        for path in _files(source)
        for finding in _of_file(path, ours)
    ]


def _files(source: Path) -> Iterator[Path]:
    """Yield the files of a source that are YAML, as far as their names say."""
    directory = source if source.is_dir() else source.parent
    paths = sorted(source.iterdir()) if source.is_dir() else [source]
    beside = (path for name in VARIABLES for path in sorted((directory / name).rglob("*")))
    for path in (*paths, *beside):
        if path.is_file() and path.suffix in ENDS:
            yield path


def _of_file(path: Path, ours: frozenset[str]) -> Iterator[FileFinding]:
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return  # which is a problem of its own
    yield from _of_node(root, str(path), ours, None, within=False)


def _of_node(
    node: yaml.Node | None, path: str, ours: frozenset[str], option: Option | None, *, within: bool
) -> Iterator[FileFinding]:
    """Yield what is lost below a node.

    `within` tells that it belongs to a group, a host or a variable of Millrace; `option` is the
    spec of such a variable, or of a part of it, if the node is its value.
    """
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            spec = documented().get(name) if option is None else _part(option, name)
            is_documented = spec is not None
            inside = within or is_documented or name in ours
            near = nearest(name, STRUCTURE, NEARLY)
            skipped = near and name not in (*STRUCTURE, *ours) and not is_documented
            if skipped and _is_inventory(path) and isinstance(value, yaml.MappingNode):
                yield FileFinding("structure", path, line, name, near)
            if name in first and name != _MERGE and inside:
                yield FileFinding("twice", path, line, name, str(first[name]))
            first.setdefault(name, line)
            yield from _of_node(value, path, ours, spec, within=inside)
    elif isinstance(node, yaml.SequenceNode):
        element = None if option is None else {**option, "type": option.get("elements", "raw")}
        for entry in node.value:
            yield from _of_node(entry, path, ours, element, within=within)
    elif isinstance(node, yaml.ScalarNode) and option is not None and node.tag in _NUMBERS:
        text, value = str(node.value), str(yaml.SafeLoader("").construct_object(node))
        another = _OCTAL.fullmatch(text) or _BASE_60.fullmatch(text)
        if another or (option.get("type", "str") in _TEXTS and text != value):
            yield FileFinding("number", path, node.start_mark.line + 1, "", text, value)


def _part(option: Option, key: str) -> Option:
    """Return the spec of a key of a variable; what is in a mapping of any keys has no type."""
    spec: Option = option.get("options", {}).get(key, {"type": "raw"})
    return spec


def _is_inventory(path: str) -> bool:
    """Return whether a file has hosts and groups, not variables alone."""
    return not any(f"/{name}/" in path for name in VARIABLES)
