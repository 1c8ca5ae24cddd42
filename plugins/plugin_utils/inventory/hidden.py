"""What an inventory hides: values that ansible-vault has encrypted, logins, what is called secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ansible.errors import AnsibleError

from .. import ansible_internals
from ..ansible_internals import HostVars
from ..cluster.secret_variables import LOGINS
from .clear_text import Files
from .reading import plain, raw_of

_NAME = re.compile(r"password|passphrase|passwd|secret|token|credential|private_key|api_key", re.I)
_EXPRESSION = re.compile(r"\{[{%#]")


def values(hostvars: HostVars, host: str, files: Files) -> Iterator[str]:
    """Yield the texts of a host's variables that nobody may read, of any variable.

    Raises:
        AnsibleActionFail: the variables cannot be read; names the host.

    """
    for name, value in raw_of(hostvars, host)[0].items():
        yield from _hidden(value, files, called=bool(_NAME.search(str(name))))
    for name in LOGINS:
        try:
            value = plain(hostvars[host].get(name))
        except AnsibleError:  # an expression that only a task could resolve
            continue
        if value:
            yield str(value)


def _hidden(value: object, files: Files, *, called: bool) -> Iterator[str]:
    """Yield the hidden texts in a value; `called` says whether its name says that it is secret."""
    if ansible_internals.is_encrypted_value(value):
        try:
            yield str(value)
        except AnsibleError:  # of another vault, so that no host has it either
            return
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _hidden(entry, files, called=called or bool(_NAME.search(str(key))))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _hidden(entry, files, called=called)
    elif isinstance(value, str) and not _EXPRESSION.search(value):
        place = ansible_internals.origin(value)
        if called or (place and files.is_vault(Path(place.path))):
            yield str(value)
