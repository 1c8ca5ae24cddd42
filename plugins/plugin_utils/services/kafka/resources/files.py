"""The files of a directory of resources: platform.yml, and one for each team.

They are plain YAML, no templates: whoever may change one file must not read others by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import listing, one_line, yaml_type
from ....cluster.variables import Option, convert, documented
from . import KINDS
from .entries import PLATFORM, Entry, FileProblem, ResourceFiles, Team

SUFFIXES = (".yml", ".yaml")
LARGEST = 4 * 1024 * 1024
"""Bytes of a file; the largest that anybody has written is a hundredth of it."""
LONGEST = 32_767
"""Bytes of a text in Kafka's protocol; a broker ends the connection at a longer one."""
DEEPEST = 12
"""Levels of lists and mappings; the deepest entry, a grant of a user, has six."""
_SHOWN = 80
"""Characters of a name in a message."""
TEAMS: Option = {
    "type": "dict",
    "options": {
        "prefixes": {
            "type": "list",
            "elements": "str",
            "required": True,
            "description": "The beginnings of all names that the file of the team may claim, such as "
            "`orders.` for its topics and `orders-` for its groups and users. Each ends with a dot, "
            "a hyphen or an underscore.",
        },
        "quotas": {
            "type": "bool",
            "default": False,
            "description": "Whether the file may set quotas of its users.",
        },
    },
}
"""The keys of a team in platform.yml."""
MINIMUM: Option = {
    "type": "dict",
    "options": {
        "replication": {
            "type": "int",
            "description": "Replicas below which a new topic needs the word lower-replication.",
        },
        "min_isr": {
            "type": "int",
            "description": "Value of min.insync.replicas below which a topic needs the word "
            "lower-min-isr.",
        },
    },
}
"""The keys of minimum in platform.yml."""
_BOOLEAN, _STRING = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:str"
_INTEGER, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_PLATFORM_KEYS = ("teams", "minimum")
_ONLY_IN_AN_INVENTORY = {"users": ("password",)}
"""Kind -> keys that only an inventory may have: a file of a team is read by many."""


def read(directory: str) -> ResourceFiles:
    """Return what the files of a directory describe, with all that is wrong in them."""
    if not directory:
        return ResourceFiles()
    folder = Path(directory)
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    except OSError as error:
        fix = "Create it, or correct kafka_resources_dir."
        problem = FileProblem(str(folder), f"The directory cannot be read: {error.strerror}.", fix)
        return ResourceFiles(directory, problems=(problem,))
    problems: list[FileProblem] = []
    documents = {path: _document(path, problems) for path in paths}
    by_team: dict[str, Path] = {}
    for path in paths:
        if first := by_team.get(path.stem):
            text = f"{first.name} is the file of {path.stem}, too."
            problems.append(FileProblem(str(path), text, "Merge both files."))
        by_team.setdefault(path.stem, path)
    platform = by_team.get(PLATFORM)
    teams = _teams(platform, documents[platform], problems) if platform else {}
    minimum = _minimum(platform, documents[platform], problems) if platform else {}
    entries: list[Entry] = []
    for path in paths:
        team = teams.get(path.stem)
        if path.stem != PLATFORM and team is None:
            text = f"No team is called {path.stem}: platform.yml does not name it."
            fix = f"Add it to teams in {folder / 'platform.yml'} with its prefixes, or rename the file."
            problems.append(FileProblem(str(path), text, fix))
        # An owner who may claim nothing: the other problems of the file are found all the same.
        owner = None if path.stem == PLATFORM else team or Team(path.stem)
        entries += _entries(path, documents[path], owner, problems)
    return ResourceFiles(directory, teams, minimum, tuple(entries), tuple(problems))


def _document(path: Path, problems: list[FileProblem]) -> yaml.MappingNode | None:
    """Return a file's mapping as YAML's nodes, or None, with the reason among the problems."""

    def refuse(text: str, fix: str, line: int = 0) -> None:
        problems.append(FileProblem(_at(path, line), text, fix))

    try:
        if path.is_symlink() or not path.is_file():
            refuse("It is no regular file.", "Put the file itself there.")
            return None
        if path.stat().st_size > LARGEST:
            refuse(f"It has more than {LARGEST} bytes.", "Split it by team.")
            return None
        text = path.read_text(encoding="utf-8")
        if unusable := _unusable(text):
            refuse(*unusable)
            return None
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except OSError as error:
        refuse(f"It cannot be read: {error.strerror}.", "Make it readable.")
    except UnicodeDecodeError as error:
        refuse(f"It is no text in UTF-8: byte {error.start}.", "Save it as UTF-8.")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", "")
        refuse(f"It is no YAML: {reason}.", "Correct it.", mark.line + 1 if mark else 0)
    else:
        if root is None:
            refuse("The file is empty.", f"Write one of {listing(KINDS, 'or')}, or delete it.")
        elif not isinstance(root, yaml.MappingNode):
            problem = f"It is a {_kind(root)}, not a mapping."
            refuse(problem, f"Begin with one of {listing(KINDS, 'or')}.", 1)
        else:
            return root
    return None


def _unusable(text: str) -> tuple[str, str, int] | None:
    """Return what of YAML's means a document has that files of resources do not, and the line.

    It is seen before anything is composed: the C code that does so ends the process by a nesting
    that is deep enough, and aliases of aliases fill its memory.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            return "It has an alias (*).", "Write out the value.", line
        if getattr(event, "tag", None):
            return "It has a tag (!).", "Delete it, or quote a value that begins with !.", line
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return "It is nested too deeply.", "Write lists of entries.", line
    return None


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return "text"
    return "list" if isinstance(node, yaml.SequenceNode) else "mapping"


def _shown(node: yaml.Node) -> str:
    """Return a key or a name as a message shows it: in one line, and not all of a long one."""
    if not isinstance(node, yaml.ScalarNode):
        return f"({_kind(node)})"
    text = one_line(str(node.value)[: _SHOWN * 2])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _at(path: Path, line: int) -> str:
    return f"{path}:{line}" if line else str(path)


def _teams(
    path: Path, root: yaml.MappingNode | None, problems: list[FileProblem]
) -> dict[str, Team]:
    """Return the teams of platform.yml."""
    teams: dict[str, Team] = {}
    for key, node in root.value if root else ():
        if key.value != "teams":
            continue
        if not isinstance(node, yaml.MappingNode):
            text = f"teams is a {_kind(node)}, not a mapping of names."
            fix = "Write each team as a key with its prefixes."
            problems.append(FileProblem(_at(path, key.start_mark.line + 1), text, fix))
            continue
        options = {str(name.value): TEAMS for name, _ in node.value}
        problems += _misread(path, node, {"type": "dict", "options": options})
        for name, value in node.value:
            where, team = _at(path, name.start_mark.line + 1), _shown(name)
            values, errors = _convert(f"teams[{team}]", value, TEAMS)
            problems += [FileProblem(where, text, "Name the team's prefixes.") for text in errors]
            prefixes = (values or {}).get("prefixes") or ()
            if values is not None and not errors:
                problems += _wrong_prefixes(where, team, prefixes)
            teams[team] = Team(
                team, tuple(filter(None, prefixes)), (values or {}).get("quotas") is True
            )
    return teams


def _minimum(
    path: Path, root: yaml.MappingNode | None, problems: list[FileProblem]
) -> dict[str, int]:
    """Return what platform.yml wants of a topic at least."""
    for key, node in root.value if root else ():
        if key.value == "minimum":
            problems += _misread(path, node, MINIMUM)
            values, errors = _convert("minimum", node, MINIMUM)
            where = _at(path, key.start_mark.line + 1)
            fix = "Set replication and min_isr to numbers."
            problems += [FileProblem(where, text, fix) for text in errors]
            return {name: value for name, value in (values or {}).items() if value is not None}
    return {}


def _wrong_prefixes(where: str, team: str, prefixes: Any) -> Iterator[FileProblem]:
    if team == PLATFORM:
        yield FileProblem(where, "platform is the owner of this file.", "Choose another name.")
    if not prefixes:
        text = f"{team} has no prefix, so that nothing could be its own."
        yield FileProblem(where, text, f"Write one that ends with a dot, {team}. for example.")
    for prefix in prefixes:
        if not prefix or prefix[-1].isalnum():
            text = f"The prefix {prefix!r} of {team} ends with a letter or a digit."
            fix = f"End it with a dot, a hyphen or an underscore: {prefix or team}. for example, "
            fix += "else it is also the beginning of other teams' names."
            yield FileProblem(where, text, fix)


def _entries(
    path: Path, root: yaml.MappingNode | None, team: Team | None, problems: list[FileProblem]
) -> Iterator[Entry]:
    """Yield the entries of a file."""
    keys = [*KINDS] if team else [*_PLATFORM_KEYS, *KINDS]
    seen: dict[str, int] = {}
    for key, node in root.value if root else ():
        kind, line = _shown(key), key.start_mark.line + 1
        where = _at(path, line)
        if kind in seen:
            text = f"The key {kind} is already on line {seen[kind]}."
            problems.append(FileProblem(where, text, "Merge both under one key."))
        seen.setdefault(kind, line)
        if kind not in keys:
            near = nearest(kind, keys)
            fix = f"Did you mean {near}?" if near else f"Choose of {listing(keys)}."
            problems.append(FileProblem(where, f"There is no key {kind}.", fix))
        elif not isinstance(node, yaml.SequenceNode):
            if kind not in _PLATFORM_KEYS:
                text = f"{kind} is {'empty' if _is_empty(node) else 'no list'}."
                fix = "Begin each entry with a hyphen, or delete the key."
                problems.append(FileProblem(where, text, fix))
        elif kind in KINDS:
            for item in node.value:
                if entry := _entry(path, kind, item, team, problems):
                    yield entry


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.value


def _entry(
    path: Path, kind: str, node: yaml.Node, team: Team | None, problems: list[FileProblem]
) -> Entry | None:
    line = node.start_mark.line + 1
    where = _at(path, line)
    variable = documented()[KINDS[kind]]
    option = {"type": "dict", "options": variable["options"]}
    if not isinstance(node, yaml.MappingNode):
        text = f"An entry of {kind} is a {_kind(node)}, not a mapping."
        problems.append(FileProblem(where, text, "Write its keys, beginning with name."))
        return None
    names = [_shown(value) for key, value in node.value if key.value == "name"]
    label = f"{kind}[{names[0]}]" if names else f"An entry of {kind}"
    problems += _misread(path, node, option)
    values, errors = _convert(label, node, option)
    fix = "Correct the entry; the reference of resources has its keys."
    problems += [FileProblem(where, text, fix) for text in errors]
    if values is None:
        return None
    missing = [
        name
        for name, part in option["options"].items()
        if part.get("required") and values.get(name) in (None, "")
    ]
    if missing:
        problems.append(FileProblem(where, f"{label} has no {listing(missing)}.", "Add it."))
    for key in _ONLY_IN_AN_INVENTORY.get(kind, ()):
        if values.get(key) is not None:
            text = f"{label} has a {key}."
            fix = f"Delete it: then one is generated. A chosen {key} belongs to a vault."
            problems.append(FileProblem(where, text, fix))
    if team and values.get("owner") not in (None, "", team.name):
        text = f"{label} has the owner {values['owner']} in the file of {team.name}."
        problems.append(FileProblem(where, text, "Delete owner, or move the entry."))
    return Entry(kind, values, where, team)


def _convert(
    label: str, node: yaml.Node, option: Option
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the values of a node, converted by an argument spec, and the spec's errors.

    There are values as well beside keys that the spec does not have, and None if others are wrong:
    a rule takes their types for certain.
    """
    try:
        value = yaml.SafeLoader("").construct_document(node)
    except yaml.YAMLError as error:
        return None, [f"{label}: {getattr(error, 'problem', error)}."]
    except ValueError as error:  # a date that the calendar lacks, a number of very many digits
        return None, [f"{label} has a value that cannot be read: {error}."]
    if not isinstance(value, Mapping):
        return None, [f"{label} is a {yaml_type(value)}, not a mapping."]
    values, errors = convert(label, value, option)
    if not errors:
        return values, []
    documented_keys = {key: value[key] for key in value if key in option["options"]}
    values, further = convert(label, documented_keys, option)
    return None if further else values, errors


def _misread(path: Path, node: yaml.Node, option: Option | None) -> Iterator[FileProblem]:
    """Yield what YAML reads in another way than it is written, and keys that it would lose."""
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            name = str(key.value)
            if name in first:
                text = f"The key {_shown(key)} is already on line {first[name]}."
                yield FileProblem(_at(path, line), text, "Delete one of both.")
            first.setdefault(name, line)
            if not isinstance(key, yaml.ScalarNode) or key.tag != _STRING:
                text = f"The key {_shown(key)} is no text."
                yield FileProblem(_at(path, line), text, "Quote it.")
            yield from _misread(path, value, _part(option, name))
    elif isinstance(node, yaml.SequenceNode):
        element = {**(option or {}), "type": (option or {}).get("elements", "raw")}
        for item in node.value:
            yield from _misread(path, item, element)
    elif isinstance(node, yaml.ScalarNode):
        yield from _misread_scalar(path, node, option or {})


def _misread_scalar(path: Path, node: yaml.ScalarNode, option: Option) -> Iterator[FileProblem]:
    where, text = _at(path, node.start_mark.line + 1), str(node.value)
    shown = "this secret" if option.get("no_log") else _shown(node)
    is_text = option.get("type", "str") in ("str", "path")
    if node.tag == _BOOLEAN and text.lower() not in ("true", "false"):
        word = "true" if text.lower() in ("yes", "on") else "false"
        fix = f"Write {word}, or quote it where it is a name."
        yield FileProblem(where, f"YAML reads {shown} as {word}.", fix)
    elif node.tag == _TIMESTAMP:
        yield FileProblem(where, f"YAML reads {shown} as a date.", "Quote it.")
    elif node.tag in (_INTEGER, _FLOAT) and _is_other_number(node, is_text=is_text):
        fix = "Quote it." if is_text else "Write the number in decimal digits."
        yield FileProblem(where, f"YAML reads {shown} as another number.", fix)
    elif len(text) > LONGEST or len(text.encode(errors="replace")) > LONGEST:
        fix = "Shorten it."
        yield FileProblem(where, f"It has more than {LONGEST} bytes, Kafka's limit.", fix)
    elif "{{" in text or "{%" in text:
        fix = (
            "Write the value: files of resources are no templates. Variables are for the inventory."
        )
        yield FileProblem(where, "It has an expression of Jinja2.", fix)


def _is_other_number(node: yaml.ScalarNode, *, is_text: bool) -> bool:
    """Return whether YAML 1.1 reads a number in another way than people: octal, base 60.

    As a text (`is_text`) no digit of it may change, as those of 1.10 would.
    """
    text = str(node.value)
    digits = text.lstrip("+-")
    if not is_text:
        return ":" in text or (node.tag == _INTEGER and digits[:1] == "0" and digits != "0")
    try:
        return str(yaml.SafeLoader("").construct_object(node)) != text
    except ValueError:  # more digits than Python reads; its conversion says so
        return False


def _part(option: Option | None, key: str) -> Option:
    part: Option = (option or {}).get("options", {}).get(key, {"type": "raw"})
    return part
