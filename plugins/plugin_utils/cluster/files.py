"""The files of a host as plain data, the entries that the module `service` takes.

Formats are rendered from the templates of the collection; everything here is text or a number.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ...module_utils.formats.properties import escape_key, escape_value
from ...module_utils.formats.values import property_text

COLLECTION = Path(__file__).resolve().parents[3]
Entry = dict[str, Any]


@functools.cache
def _environment() -> Environment:
    loader = FileSystemLoader(COLLECTION / "templates")
    jinja_environment = Environment(  # noqa: S701 - properties and units, no HTML
        loader=loader, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    jinja_environment.filters |= {
        "environment_value": _environment_value,
        "property_key": escape_key,
        "property_text": property_text,
        "property_value": escape_value,
    }
    return jinja_environment


def _environment_value(value: str) -> str:
    """Return a text as it stands in double quotes in a file that systemd or a shell reads."""
    return re.sub(r'[\\"`$]', r"\\\g<0>", value.strip())


def render(template: str, **values: Any) -> str:
    """Return a template of the collection, filled in."""
    return _environment().get_template(template).render(**values)


def properties(values: Mapping[str, Any]) -> str:
    """Return the text of a properties file as Java reads it, sorted by key."""
    return render("properties.j2", properties=values)


def plain_properties(values: Mapping[str, Any]) -> str:
    """Return the text of a properties file without escapes, as librdkafka's clients read it."""
    return render("plain_properties.j2", properties=values)


def read(path: str) -> str:
    """Return a file of the collection."""
    return (COLLECTION / path).read_text(encoding="utf-8")


def parse_yaml(text: str) -> Any:
    """Return what a YAML document of the collection holds, parsed in C where libyaml is there."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader


def text(content: str, **options: Any) -> Entry:
    """Return the entry of a file."""
    return {"content": content, **options}


def property_file(values: Mapping[str, Any], **options: Any) -> Entry:
    """Return the entry of a properties file that is read at a start."""
    return text(properties(values), restart=True, **options)


def environment(values: Mapping[str, str], **options: Any) -> Entry:
    """Return the entry of a systemd environment file."""
    return text(render("environment.j2", environment=values), restart=True, **options)


def link(target: str) -> Entry:
    """Return the entry of a symbolic link."""
    return {"state": "link", "target": target}


def directory(owner: str = "root", mode: str = "0755", group: str = "") -> Entry:
    """Return the entry of a directory; its group is by default called like its owner."""
    return {"state": "directory", "mode": mode, "owner": owner, "group": group or owner}


def yaml_text(value: object) -> str:
    """Return the text of a YAML file; what Ansible has marked is plain in it."""
    plain = json.loads(json.dumps(value))
    head = "# Written by Millrace; change the inventory, not this file.\n"
    body: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
    return head + body
